// SPDX-License-Identifier: Apache-2.0
#include "cli/types_diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cli/session/command.h"
#include "cli/types_print.h"

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

int types_diff_print(const struct type_table *before, const struct type_table *after,
                     bool json)
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
