// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/session/command.h"
#include "cli/types_print.h"
#include "symbolizer/types/type_file.h"
#include "symbolizer/types/type_name.h"

// listing is the entries printed so far. DWARF units repeat each other's types, and the
// CTF of an object file has variables in two tables: each is listed once.
struct listing {
    const struct type_table *table;
    enum type_source source;
    const char *wanted; // NULL: everything
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

// is_new_entry records an entry and says whether it was not listed before. If memory is
// short, every entry counts as new.
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

// type_is_wanted says whether a type is listed: it matches by its name as written, or
// by its tag.
static bool type_is_wanted(const struct listing *listing, uint32_t index)
{
    const struct type *type = &listing->table->types[index];
    if (type->kind == TYPE_SLICE) // it is part of a member, and not a type in C
        return false;
    if (listing->wanted == NULL || strcmp(listing->wanted, type->name) == 0)
        return true;
    CH_CLEANUP(text_deinit) struct text name = { 0 };
    return type_name(listing->table, index, &name) == CH_OK &&
           strcmp(name.bytes, listing->wanted) == 0;
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
        if (listing->source == TYPE_FROM_CTF || is_new_entry(listing, &entry))
            print_entry(listing, &entry);
    }
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

static void print_all(struct listing *listing)
{
    if (listing->json)
        printf("{\"source\":\"%s\",",
               listing->source == TYPE_FROM_CTF ? "ctf" : "dwarf");
    begin_array(listing, "\"types\":[");
    print_types(listing);
    begin_array(listing, "],\n \"functions\":[");
    print_symbols(listing, true);
    begin_array(listing, "],\n \"variables\":[");
    print_symbols(listing, false);
    if (listing->json)
        puts("]}");
}

static int fail_to_read(const char *path, enum ch_status status,
                        enum type_source wanted)
{
    static const char *const nothing[] = {
        [TYPE_FROM_EITHER] = "neither CTF nor DWARF",
        [TYPE_FROM_CTF] = "no CTF",
        [TYPE_FROM_DWARF] = "no DWARF",
    };
    if (status == CH_ERR_NOT_FOUND)
        return command_fail("'%s' has %s", path, nothing[wanted]);
    return command_fail("cannot read types of '%s': %s", path, ch_status_name(status));
}

// wanted_source reads the option; false: its value is not valid.
static bool wanted_source(const struct options *options, enum type_source *out)
{
    const char *value = options_value(options, "source");
    *out = TYPE_FROM_EITHER;
    if (value == NULL)
        return true;
    *out = strcmp(value, "dwarf") == 0 ? TYPE_FROM_DWARF : TYPE_FROM_CTF;
    return *out == TYPE_FROM_DWARF || strcmp(value, "ctf") == 0;
}

static int run_types_dump(const struct options *options)
{
    const char *path = options->arguments[0];
    CH_CLEANUP(text_deinit) struct text data = { 0 };
    struct type_file *file;
    struct listing listing = { .wanted = options->arguments[1],
                               .json = options_given(options, "json") };
    enum type_source wanted;
    if (!wanted_source(options, &wanted))
        return command_misused("types dump: --source is 'ctf' or 'dwarf'");
    if (command_read_file(path, &data) != CH_OK)
        return COMMAND_FAILED;
    enum ch_status status =
        type_file_open(&file, data.bytes, data.size, wanted, listing.wanted);
    if (status != CH_OK)
        return fail_to_read(path, status, wanted);
    listing.table = type_file_table(file);
    listing.source = type_file_source(file);
    print_all(&listing);
    free(listing.seen);
    type_file_close(file);
    if (listing.wanted != NULL && listing.found == 0)
        return command_fail("'%s' has no type, function or variable '%s'", path,
                            listing.wanted);
    return COMMAND_DONE;
}

static const struct option types_dump_options[] = {
    { "json", NULL, "one JSON document", 0 },
    { "source", "ctf|dwarf", "which to read; otherwise CTF, and DWARF without it", 0 },
    { 0 },
};

const struct command types_dump_command = {
    .name = "types dump",
    .arguments = "FILE [NAME]",
    .summary = "The C types in a file's CTF or DWARF, or the one called NAME",
    .options = types_dump_options,
    .run = run_types_dump,
    .arguments_min = 1,
    .arguments_max = 2,
};
