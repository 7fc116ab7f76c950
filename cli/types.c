// SPDX-License-Identifier: Apache-2.0
//
// How it works: types_file_open reads a file into a type table; `dump` prints its
// entries as C (types_print.c) or JSON, `diff` compares what dump prints of two files.
// A NAME that the file has no entry for is derived from its base (derive).
// Invariant: an entry that the file repeats is printed once (is_new_entry).
#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/checked.h"
#include "cli/session/command.h"
#include "cli/types_print.h"
#include "symbolizer/types/type_image.h"
#include "symbolizer/types/type_name.h"
#include "symbolizer/types/type_table.h"

// `crashhook types diff`: the declarations of two files that differ.
//
// Declarations are compared as `types dump` prints them, by kind and name. Where a file
// has several of one name, all of them count. There is no limit beyond those of a
// table.

// A diff_entry is a named type, function or variable, as text.
struct diff_entry {
    char *key;  // its kind and name
    char *text; // its layout or signature
};

struct diff_side {
    struct diff_entry *entries; // sorted; each text of a key once
    size_t count;
    size_t capacity;
};

static void diff_side_deinit(struct diff_side *side)
{
    for (size_t i = 0; i < side->count; i++) {
        free(side->entries[i].key);
        free(side->entries[i].text);
    }
    free(side->entries);
}

static bool diff_add(struct diff_side *side, const char *kind, const char *name,
                     const struct text *text)
{
    struct diff_entry entry = { NULL, NULL };
    if (text->size == 0)
        return true;
    if (!text_ok(text) || !array_reserve(&side->entries, &side->capacity, side->count,
                                         sizeof(*side->entries)))
        return false;
    if (asprintf(&entry.key, "%s %s", kind, name) < 0)
        return false;
    entry.text = strdup(text->bytes);
    side->entries[side->count++] = entry;
    return entry.text != NULL;
}

static int diff_compare(const void *left, const void *right)
{
    const struct diff_entry *a = left;
    const struct diff_entry *b = right;
    int order = strcmp(a->key, b->key);
    return order != 0 ? order : strcmp(a->text, b->text);
}

// diff_read lists what a table declares. Types without a name are in those that use
// them. A type that is only declared somewhere is left out.
static bool diff_read(const struct type_table *table, struct diff_side *side)
{
    CH_CLEANUP(text_deinit) struct text text = { 0 };
    bool ok = true;
    for (uint32_t i = TYPE_UNKNOWN_INDEX + 1; ok && i < table->count; i++) {
        const struct type *type = &table->types[i];
        text_clear(&text);
        if (type->name[0] == 0 || type->kind == TYPE_FORWARD)
            continue;
        types_print_text(table, i, &text);
        ok = diff_add(side, type_kind_name(type->kind), type->name, &text);
    }
    for (uint32_t i = 0; ok && i < table->symbol_count; i++) {
        const struct type_symbol *symbol = &table->symbols[i];
        bool function = table->types[symbol->type].kind == TYPE_FUNCTION;
        text_clear(&text);
        if (symbol->name[0] == 0)
            continue;
        types_print_symbol_text(table, symbol, &text);
        ok = diff_add(side, function ? "function" : "variable", symbol->name, &text);
    }
    if (!ok)
        return false;
    size_t kept = 0;
    if (side->count != 0)
        qsort(side->entries, side->count, sizeof(*side->entries), diff_compare);
    for (size_t i = 0; i < side->count; i++) {
        if (kept != 0 &&
            diff_compare(&side->entries[kept - 1], &side->entries[i]) == 0) {
            free(side->entries[i].key);
            free(side->entries[i].text);
            continue;
        }
        side->entries[kept++] = side->entries[i];
    }
    side->count = kept;
    return true;
}

// diff_group gives the number of entries from at on that have the key of the first.
static size_t diff_group(const struct diff_side *side, size_t at)
{
    size_t count = 0;
    while (at + count < side->count &&
           strcmp(side->entries[at + count].key, side->entries[at].key) == 0)
        count++;
    return count;
}

static bool diff_equal(const struct diff_entry *a, size_t a_count,
                       const struct diff_entry *b, size_t b_count)
{
    bool equal = a_count == b_count;
    for (size_t i = 0; equal && i < a_count; i++)
        equal = strcmp(a[i].text, b[i].text) == 0;
    return equal;
}

static void diff_print_lines(const char *text, char sign)
{
    while (*text != 0) {
        size_t length = strcspn(text, "\n");
        printf("%c %.*s\n", sign, (int)length, text);
        text += length + (text[length] != 0);
    }
}

static void diff_print_texts(const char *key, const struct diff_entry *entries,
                             size_t count)
{
    printf(",\"%s\":[", key);
    for (size_t i = 0; i < count; i++) {
        fputs(i != 0 ? "," : "", stdout);
        json_print_string(entries[i].text, strlen(entries[i].text));
    }
    putchar(']');
}

// diff_print prints one difference; a or b is of 0 entries if the other is alone.
static void diff_print(const struct diff_entry *a, size_t a_count,
                       const struct diff_entry *b, size_t b_count, bool json,
                       bool first)
{
    const char *what = a_count == 0 ? "added" : b_count == 0 ? "removed" : "changed";
    const char *key = a_count != 0 ? a->key : b->key;
    if (json) {
        printf("%s{\"what\":\"%s\",\"name\":", first ? "\n " : ",\n ", what);
        json_print_string(key, strlen(key));
        diff_print_texts("before", a, a_count);
        diff_print_texts("after", b, b_count);
        putchar('}');
        return;
    }
    printf("%s ", what);
    json_print_string(key, strlen(key)); // a name may contain anything
    putchar('\n');
    for (size_t i = 0; b_count != 0 && i < a_count; i++)
        diff_print_lines(a[i].text, '-');
    for (size_t i = 0; a_count != 0 && i < b_count; i++)
        diff_print_lines(b[i].text, '+');
}

// diff_walk prints all differences, and returns whether one breaks programs.
static bool diff_walk(const struct diff_side *before, const struct diff_side *after,
                      bool json)
{
    size_t i = 0;
    size_t k = 0;
    bool broken = false;
    bool first = true;
    while (i < before->count || k < after->count) {
        int order = i == before->count ? 1
                    : k == after->count
                        ? -1
                        : strcmp(before->entries[i].key, after->entries[k].key);
        size_t a = order <= 0 ? diff_group(before, i) : 0;
        size_t b = order >= 0 ? diff_group(after, k) : 0;
        if (!diff_equal(before->entries + i, a, after->entries + k, b)) {
            diff_print(before->entries + i, a, after->entries + k, b, json, first);
            broken = broken || a != 0;
            first = false;
        }
        i += a;
        k += b;
    }
    return broken;
}

// types_diff_print prints what was changed, removed and added, and returns the exit
// code: 1 if a structure, union, enum, typedef, function or variable of before is
// another one in after, or is missing there.
static int types_diff_print(const struct type_table *before,
                            const struct type_table *after, bool json)
{
    CH_CLEANUP(diff_side_deinit) struct diff_side old = { 0 };
    CH_CLEANUP(diff_side_deinit) struct diff_side new = { 0 };
    if (!diff_read(before, &old) || !diff_read(after, &new)) {
        command_fail("cannot compare types: %s", ch_status_name(CH_ERR_NO_MEMORY));
        return COMMAND_USAGE;
    }
    fputs(json ? "{\"differences\":[" : "", stdout);
    bool broken = diff_walk(&old, &new, json);
    if (json)
        printf("],\"compatible\":%s}\n", broken ? "false" : "true");
    return broken ? COMMAND_FAILED : COMMAND_DONE;
}

// listing is the entries printed so far. DWARF units repeat each other's types, and the
// CTF of an object file has variables in two tables: each is listed once.
struct listing {
    const struct type_table *table;
    enum type_source source;
    const char *wanted;   // NULL: everything
    struct text spelling; // wanted, in the form of types_squeeze
    bool json;
    size_t printed; // in the current array
    size_t found;
    uint64_t *seen; // hashes, in an open-addressing table
    size_t seen_count;
    size_t seen_capacity;
};

// hash_type_name is FNV-1a; 0 marks a free slot.
static uint64_t hash_type_name(const struct text *entry)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < entry->size; i++)
        hash = (hash ^ (uint8_t)entry->bytes[i]) * 0x100000001b3u;
    return hash != 0 ? hash : 1;
}

static uint64_t *find_listed_slot(uint64_t *seen, size_t capacity, uint64_t hash)
{
    size_t at = (size_t)hash & (capacity - 1);
    while (seen[at] != 0 && seen[at] != hash)
        at = (at + 1) & (capacity - 1);
    return &seen[at];
}

// is_new_entry records an entry and returns whether it was not listed before. If memory
// is short, every entry counts as new.
static bool is_new_entry(struct listing *listing, const struct text *entry)
{
    if (listing->seen_count * 2 >= listing->seen_capacity) {
        size_t capacity = listing->seen_capacity != 0 ? listing->seen_capacity * 2 : 64;
        uint64_t *seen = calloc(capacity, sizeof(seen[0]));
        if (seen == NULL)
            return true;
        for (size_t i = 0; i < listing->seen_capacity; i++)
            if (listing->seen[i] != 0)
                *find_listed_slot(seen, capacity, listing->seen[i]) = listing->seen[i];
        free(listing->seen);
        listing->seen = seen;
        listing->seen_capacity = capacity;
    }
    uint64_t hash = hash_type_name(entry);
    uint64_t *slot = find_listed_slot(listing->seen, listing->seen_capacity, hash);
    if (*slot == hash)
        return false;
    *slot = hash;
    listing->seen_count++;
    return true;
}

static void print_entry(struct listing *listing, const struct text *entry)
{
    if (entry->size == 0)
        return;
    if (listing->json)
        fputs(listing->printed != 0 ? ",\n  " : "\n  ", stdout);
    fwrite(entry->bytes, 1, entry->size, stdout);
    listing->printed++;
    listing->found++;
}

// types_squeeze appends a type's name with blanks only where they separate words, and
// with one star for a pointer to a function, for which type_name writes two.
static void types_squeeze(const char *name, struct text *out)
{
    for (const char *at = name; *at != 0; at++) {
        bool blank = isspace((unsigned char)*at) != 0;
        char last = out->size != 0 ? out->bytes[out->size - 1] : 0;
        const char *next = at + 1;
        while (isspace((unsigned char)*next))
            next++;
        bool between_words = (isalnum((unsigned char)last) || last == '_') &&
                             (isalnum((unsigned char)*next) || *next == '_');
        if (!blank)
            text_append(out, at, 1);
        else if (between_words)
            text_append_string(out, " ");
    }
    char *twice = text_ok(out) && out->size != 0 ? strstr(out->bytes, "(*)(*)") : NULL;
    if (twice == NULL)
        return;
    memmove(twice, twice + 3, strlen(twice + 3) + 1);
    out->size -= 3;
}

// types_drop_qualifiers appends a spelling without const, volatile and restrict.
static void types_drop_qualifiers(const char *spelling, struct text *out)
{
    static const char *const words[] = { "const", "volatile", "restrict" };
    bool was_space = true;
    while (*spelling != 0) {
        size_t length = strcspn(spelling, " \t*[]()");
        bool drop = false;
        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
            drop = drop || (length == strlen(words[i]) &&
                            strncmp(spelling, words[i], length) == 0);
        length = length != 0 ? length : 1;
        bool is_space = isspace((unsigned char)*spelling) != 0;
        if (!drop && !(is_space && was_space))
            text_append(out, spelling, length);
        was_space = is_space || (drop && was_space);
        spelling += length;
    }
}

// types_name_length gives the length of the name that a spelling begins with: that of
// "long" in `long [3]`.
static size_t types_name_length(const char *spelling)
{
    size_t length = strcspn(spelling, "*[(");
    while (length != 0 && isspace((unsigned char)spelling[length - 1]))
        length--;
    return length;
}

// types_base gives the name in a spelling that debug information has: "session" of
// `struct session *`, "long int" of `long [3]`.
static void types_base(const char *written, struct text *out)
{
    static const char *const words[] = { "struct ", "union ", "enum " };
    CH_CLEANUP(text_deinit) struct text plain = { 0 };
    CH_CLEANUP(text_deinit) struct text name = { 0 };
    types_drop_qualifiers(written, &plain);
    const char *spelling = text_ok(&plain) && plain.size != 0 ? plain.bytes : "";
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t length = strlen(words[i]);
        if (strncmp(spelling, words[i], length) == 0)
            spelling += length;
    }
    text_append(&name, spelling, types_name_length(spelling));
    text_append_string(
        out, text_ok(&name) && name.size != 0 ? type_usual_name(name.bytes) : "");
}

// types_read_spelling prepares the spelling that types are compared with.
static void types_read_spelling(struct listing *listing)
{
    CH_CLEANUP(text_deinit) struct text whole = { 0 };
    const char *wanted = listing->wanted;
    size_t length = types_name_length(wanted);
    CH_CLEANUP(text_deinit) struct text written = { 0 };
    text_appendf(&written, "%.*s", (int)length, wanted);
    text_appendf(&whole, "%s%s",
                 text_ok(&written) ? type_usual_name(written.bytes) : "",
                 wanted + length);
    if (text_ok(&whole))
        types_squeeze(whole.bytes, &listing->spelling);
}

// type_is_wanted returns true if a type is listed: it matches by its name as C spells
// it, or by its tag.
static bool type_is_wanted(const struct listing *listing, uint32_t index)
{
    const struct type *type = &listing->table->types[index];
    if (type->kind == TYPE_SLICE) // it is part of a member, and not a type in C
        return false;
    if (listing->wanted == NULL || strcmp(listing->wanted, type->name) == 0)
        return true;
    CH_CLEANUP(text_deinit) struct text name = { 0 };
    CH_CLEANUP(text_deinit) struct text squeezed = { 0 };
    if (type_name(listing->table, index, &name) != CH_OK || name.bytes == NULL)
        return false;
    types_squeeze(name.bytes, &squeezed);
    return squeezed.size != 0 && squeezed.size == listing->spelling.size &&
           memcmp(squeezed.bytes, listing->spelling.bytes, squeezed.size) == 0;
}

// types_find gives the type with that spelling.
static uint32_t types_find(const struct listing *listing, const char *spelling)
{
    CH_CLEANUP(text_deinit) struct text copy = { 0 };
    text_append_string(&copy, spelling);
    const struct listing one = { .table = listing->table,
                                 .wanted = spelling,
                                 .spelling = copy };
    for (uint32_t i = 1; text_ok(&copy) && i < listing->table->count; i++) {
        if (type_is_wanted(&one, i))
            return i;
    }
    return TYPE_UNKNOWN_INDEX;
}

// A derived is a type made of one that the file has.
struct derived {
    uint64_t size;
    bool sized;
    const char *kind; // NULL: it is that type itself
};

// derive follows what comes after the name of a type: stars, dimensions, a pointer to a
// function or an array. False: it is none of these, or has no size.
static bool derive(const char *rest, struct derived *derived)
{
    for (; *rest != 0; rest++) {
        char *end = NULL;
        if (isspace((unsigned char)*rest))
            continue;
        if (*rest == '*') {
            *derived = (struct derived){ sizeof(uint64_t), true, "pointer" };
            continue;
        }
        if (strncmp(rest, "(*", 2) == 0) {
            char last = rest[strlen(rest) - 1];
            *derived = (struct derived){ sizeof(uint64_t), true, "pointer" };
            return strchr(rest, ')') == rest + 2 && (last == ')' || last == ']');
        }
        if (*rest != '[' || !derived->sized ||
            !checked_mul_u64(derived->size, strtoull(rest + 1, &end, 10),
                             &derived->size) ||
            end == rest + 1 || *end != ']')
            return false;
        derived->kind = "array";
        rest = end;
    }
    return derived->sized;
}

// print_derived prints a qualified type, a pointer to a type, or an array of one, that
// the file does not use, and so has no entry for.
static void print_derived(struct listing *listing)
{
    CH_CLEANUP(text_deinit) struct text plain = { 0 };
    CH_CLEANUP(text_deinit) struct text name = { 0 };
    CH_CLEANUP(text_deinit) struct text entry = { 0 };
    types_drop_qualifiers(listing->wanted, &plain);
    if (!text_ok(&plain) || plain.size == 0)
        return;
    size_t length = types_name_length(plain.bytes);
    text_append(&name, plain.bytes, length);
    if (!text_ok(&name) || name.size == 0)
        return;
    const char *usual = type_usual_name(name.bytes);
    uint32_t base = types_find(listing, usual);
    struct derived derived = { .sized = false };
    if (base == TYPE_UNKNOWN_INDEX && strcmp(usual, "void") != 0)
        return;
    derived.sized = type_size(listing->table, base, &derived.size) == CH_OK;
    if (!derive(plain.bytes + length, &derived))
        return;
    const char *kind = derived.kind != NULL
                           ? derived.kind
                           : type_kind_name(listing->table->types[base].kind);
    if (!listing->json) {
        text_appendf(&entry, "%s, %" PRIu64 " bytes, %s\n", listing->wanted,
                     derived.size, kind);
        print_entry(listing, &entry);
        return;
    }
    fputs("\n  {\"name\":", stdout);
    json_print_string(listing->wanted, strlen(listing->wanted));
    printf(",\"kind\":\"%s\",\"size\":%" PRIu64 "}", kind, derived.size);
    listing->found++;
}

static void print_types(struct listing *listing)
{
    struct text entry = { 0 };
    for (uint32_t i = TYPE_UNKNOWN_INDEX + 1; i < listing->table->count; i++) {
        if (!type_is_wanted(listing, i))
            continue;
        text_clear(&entry);
        if (listing->json)
            types_print_json(listing->table, i, &entry);
        else
            types_print_text(listing->table, i, &entry);
        if (entry.size == 0 && listing->wanted != NULL &&
            listing->table->types[i].kind != TYPE_FUNCTION)
            types_print_kind(listing->table, i, &entry);
        if (listing->source == TYPE_FROM_CTF || is_new_entry(listing, &entry))
            print_entry(listing, &entry);
    }
    if (listing->wanted != NULL && listing->found == 0)
        print_derived(listing);
    text_deinit(&entry);
}

// print_symbols prints either the functions or the variables.
static void print_symbols(struct listing *listing, bool functions)
{
    struct text entry = { 0 };
    for (uint32_t i = 0; i < listing->table->symbol_count; i++) {
        const struct type_symbol *symbol = &listing->table->symbols[i];
        bool is_function = listing->table->types[symbol->type].kind == TYPE_FUNCTION;
        if (is_function != functions ||
            (listing->wanted != NULL && strcmp(symbol->name, listing->wanted) != 0))
            continue;
        text_clear(&entry);
        if (listing->json)
            types_print_symbol_json(listing->table, symbol, &entry);
        else
            types_print_symbol_text(listing->table, symbol, &entry);
        if (is_new_entry(listing, &entry))
            print_entry(listing, &entry);
    }
    text_deinit(&entry);
}

// begin_array begins a member of the document; text is what precedes its elements.
static void begin_array(struct listing *listing, const char *text)
{
    listing->printed = 0;
    if (listing->json)
        fputs(text, stdout);
}

// print_file_headers prints what the file says of its CTF or BTF as a whole.
static void print_file_headers(const struct listing *listing,
                               const struct type_bytes *file)
{
    CH_CLEANUP(text_deinit) struct text headers = { 0 };
    if (listing->json)
        types_print_headers_json(file, listing->source, &headers);
    else
        types_print_headers_text(file, listing->source, &headers);
    fputs(listing->json ? "\"headers\":" : "", stdout);
    (void)fwrite(headers.bytes, 1, headers.size, stdout);
    fputs(listing->json ? ",\n " : "", stdout);
}

static void print_all(struct listing *listing, const struct type_bytes *headers_of)
{
    if (listing->json)
        printf("{\"source\":\"%s\",", type_source_name(listing->source));
    if (headers_of != NULL)
        print_file_headers(listing, headers_of);
    begin_array(listing, "\"types\":[");
    print_types(listing);
    begin_array(listing, "],\n \"functions\":[");
    print_symbols(listing, true);
    begin_array(listing, "],\n \"variables\":[");
    print_symbols(listing, false);
    if (listing->json)
        puts("]}");
}

// wanted_source reads the option; false: its value is not valid.
static bool wanted_source(const struct options *options, enum type_source *out)
{
    const char *value = options_value(options, "source");
    *out = TYPE_FROM_EITHER;
    if (value == NULL)
        return true;
    for (*out = TYPE_FROM_CTF; *out <= TYPE_FROM_BTF; (*out)++) {
        if (strcmp(value, type_source_name(*out)) == 0)
            return true;
    }
    return false;
}

// types_file is one file that a command reads, with the file that it continues.
struct types_file {
    const char *path;
    const char *base; // NULL: none
    struct text bytes;
    struct text base_bytes;
    struct type_file *types;
};

static void types_file_deinit(struct types_file *file)
{
    type_file_close(file->types);
    text_deinit(&file->bytes);
    text_deinit(&file->base_bytes);
}

static int fail_to_read(const struct types_file *file, enum ch_status status,
                        enum type_source wanted)
{
    const struct type_bytes bytes = { file->bytes.bytes, file->bytes.size };
    static const char *const nothing[] = {
        [TYPE_FROM_EITHER] = "neither CTF, BTF nor DWARF",
        [TYPE_FROM_CTF] = "no CTF",
        [TYPE_FROM_BTF] = "no BTF",
        [TYPE_FROM_DWARF] = "no DWARF",
    };
    if (status == CH_ERR_NOT_FOUND)
        return command_fail("'%s' has %s", file->path, nothing[wanted]);
    if (file->base == NULL && type_btf_continues(&bytes))
        return command_fail("'%s' continues the BTF of another file; name that with "
                            "--base, a kernel's is /sys/kernel/btf/vmlinux",
                            file->path);
    return command_fail("cannot read types of '%s': %s", file->path,
                        status == CH_ERR_MALFORMED
                            ? "it is no file of ELF, CTF or BTF, or damaged"
                            : ch_status_name(status));
}

// types_file_open reads the types of a file, of DWARF those of spelling, and reports a
// failure.
static bool types_file_open(struct types_file *file, enum type_source wanted,
                            const char *spelling)
{
    CH_CLEANUP(text_deinit) struct text name = { 0 };
    if (spelling != NULL)
        types_base(spelling, &name);
    if (command_read_file(file->path, &file->bytes) != CH_OK ||
        (file->base != NULL &&
         command_read_file(file->base, &file->base_bytes) != CH_OK))
        return false;
    const struct type_bytes bytes = { file->bytes.bytes, file->bytes.size };
    const struct type_bytes base = { file->base_bytes.bytes, file->base_bytes.size };
    enum ch_status status =
        type_file_open(&file->types, &bytes, &base, wanted,
                       spelling != NULL && text_ok(&name) ? name.bytes : NULL);
    if (status != CH_OK)
        fail_to_read(file, status, wanted);
    return status == CH_OK;
}

static int run_types_dump(const struct options *options)
{
    CH_CLEANUP(types_file_deinit)
    struct types_file file = { .path = options->arguments[0],
                               .base = options_value(options, "base") };
    struct listing listing = { .wanted = options->arguments[1],
                               .json = options_given(options, "json") };
    enum type_source wanted;
    if (!wanted_source(options, &wanted))
        return command_misused("types dump: --source is 'ctf', 'btf' or 'dwarf'");
    if (!types_file_open(&file, wanted, listing.wanted))
        return COMMAND_FAILED;
    if (listing.wanted != NULL)
        types_read_spelling(&listing);
    listing.table = type_file_table(file.types);
    listing.source = type_file_source(file.types);
    const struct type_bytes bytes = { file.bytes.bytes, file.bytes.size };
    print_all(&listing, options_given(options, "headers") ? &bytes : NULL);
    free(listing.seen);
    text_deinit(&listing.spelling);
    if (listing.wanted != NULL && listing.found == 0)
        return command_fail("'%s' has no type, function or variable '%s'", file.path,
                            listing.wanted);
    return COMMAND_DONE;
}

static int run_types_diff(const struct options *options)
{
    CH_CLEANUP(types_file_deinit)
    struct types_file before = { .path = options->arguments[0],
                                 .base = options_value(options, "base") };
    CH_CLEANUP(types_file_deinit)
    struct types_file after = { .path = options->arguments[1], .base = before.base };
    enum type_source wanted;
    if (!wanted_source(options, &wanted))
        return command_misused("types diff: --source is 'ctf', 'btf' or 'dwarf'");
    if (!types_file_open(&before, wanted, NULL) ||
        !types_file_open(&after, wanted, NULL))
        return COMMAND_USAGE;
    return types_diff_print(type_file_table(before.types), type_file_table(after.types),
                            options_given(options, "json"));
}

#define TYPES_OPTIONS                                                                  \
    { "json", NULL, "one JSON document", 0 },                                          \
        { "source", "ctf|btf|dwarf",                                                   \
          "which to read; otherwise BTF, without it CTF, without it DWARF", 0 },       \
    {                                                                                  \
        "base", "FILE",                                                                \
            "the BTF that the file's BTF continues: the kernel's, of a module", 0      \
    }

static const struct option types_dump_options[] = {
    TYPES_OPTIONS,
    { "headers", NULL,
      "first the version, byte order, parent and labels of each dictionary", 0 },
    { 0 },
};

static const struct option types_diff_options[] = { TYPES_OPTIONS, { 0 } };

const struct command types_dump_command = {
    .name = "types dump",
    .arguments = "FILE [NAME]",
    .summary = "The C types in a file's CTF, BTF or DWARF, or the one called NAME",
    .options = types_dump_options,
    .run = run_types_dump,
    .arguments_min = 1,
    .arguments_max = 2,
};

const struct command types_diff_command = {
    .name = "types diff",
    .arguments = "BEFORE AFTER",
    .summary =
        "How types, functions and variables of two files differ; exits with 1 if "
        "programs built with one do not work with the other",
    .options = types_diff_options,
    .run = run_types_diff,
    .arguments_min = 2,
    .arguments_max = 2,
};
