// SPDX-License-Identifier: Apache-2.0
#include "languages/jitted.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sorted.h"
#include "formats/runtime/jitdump.h"

void jitted_deinit(struct jitted *jitted)
{
    for (size_t i = 0; i < jitted->count; i++)
        text_deinit(&jitted->codes[i].name);
    free(jitted->codes);
    *jitted = (struct jitted){ 0 };
}

void jitted_want(struct jitted *jitted, uint64_t address)
{
    if (jitted->count < JITTED_ADDRESSES &&
        array_reserve(&jitted->codes, &jitted->capacity, jitted->count,
                      sizeof(jitted->codes[0])))
        jitted->codes[jitted->count++] = (struct jitted_code){ .address = address };
}

static int by_code_address(const void *left, const void *right)
{
    const struct jitted_code *a = left;
    const struct jitted_code *b = right;
    return a->address < b->address ? -1 : a->address > b->address;
}

void jitted_sort(struct jitted *jitted)
{
    if (jitted->count > 1)
        qsort(jitted->codes, jitted->count, sizeof(jitted->codes[0]), by_code_address);
}

// first_code is the index of the first address at start or after it.
static size_t first_code(const struct jitted *jitted, uint64_t start)
{
    return SORTED_BEFORE(jitted->codes, jitted->count, address, start);
}

static void name_code(struct jitted_code *code, const char *name, size_t size,
                      const char *source)
{
    text_clear(&code->name);
    text_append(&code->name, name, size < JITTED_NAME_BYTES ? size : JITTED_NAME_BYTES);
    code->source = text_ok(&code->name) && code->name.size != 0 ? source : NULL;
    code->moved = false;
}

// may_name returns true if source may give this code a name: the last one of its own
// counts.
static bool may_name(const struct jitted_code *code, const char *source)
{
    return code->source == NULL || strcmp(code->source, source) == 0;
}

// name_range gives a name to the addresses in [start, start + size).
static void name_range(struct jitted *jitted, uint64_t start, uint64_t size,
                       const char *name, size_t name_size, const char *source)
{
    size_t i = first_code(jitted, start);
    for (; i < jitted->count && jitted->codes[i].address - start < size; i++)
        if (may_name(&jitted->codes[i], source))
            name_code(&jitted->codes[i], name, name_size, source);
}

void jitted_name(struct jitted *jitted, uint64_t start, uint64_t size, const char *name,
                 const char *source)
{
    name_range(jitted, start, size, name, strlen(name), source);
}

void jitted_read_map(struct jitted *jitted, const void *bytes, size_t size)
{
    struct cursor c = cursor_over(bytes, size);
    struct perf_map_entry entry;
    while (perf_map_next(&c, &entry) == CH_OK)
        name_range(jitted, entry.start, entry.size, entry.name, entry.name_size,
                   "perf-map");
}

// note_record notes the addresses in the code of a record.
static void note_record(struct jitted *jitted, const struct jitdump_record *record,
                        const char *source)
{
    size_t i = first_code(jitted, record->start);
    for (; i < jitted->count && jitted->codes[i].address - record->start < record->size;
         i++) {
        struct jitted_code *code = &jitted->codes[i];
        if (!may_name(code, source))
            continue;
        if (record->kind == JITDUMP_LOAD) {
            name_code(code, record->name, record->name_size, source);
        } else {
            code->index = record->index;
            code->moved = true;
        }
    }
}

// name_moved gives a record's name to code that was moved after it was loaded.
static void name_moved(struct jitted *jitted, const struct jitdump_record *record,
                       const char *source)
{
    if (record->kind != JITDUMP_LOAD)
        return;
    for (size_t i = 0; i < jitted->count; i++) {
        struct jitted_code *code = &jitted->codes[i];
        if (code->moved && code->index == record->index)
            name_code(code, record->name, record->name_size, source);
    }
}

void jitted_read_dump(struct jitted *jitted, const void *bytes, size_t size)
{
    static const char source[] = "jitdump";
    struct cursor c = cursor_over(bytes, size);
    struct jitdump_record record;
    if (jitdump_open(&c) != CH_OK)
        return;
    struct cursor again = c;
    while (jitdump_next(&c, &record) == CH_OK)
        note_record(jitted, &record, source);
    bool moved = false;
    for (size_t i = 0; i < jitted->count; i++)
        moved = moved || jitted->codes[i].moved;
    while (moved && jitdump_next(&again, &record) == CH_OK)
        name_moved(jitted, &record, source);
}

const struct jitted_code *jitted_find(const struct jitted *jitted, uint64_t address)
{
    size_t i = first_code(jitted, address);
    return i < jitted->count && jitted->codes[i].address == address &&
                   jitted->codes[i].source != NULL
               ? &jitted->codes[i]
               : NULL;
}

// cut_number cuts ":123" off the end of size bytes.
static size_t cut_number(const char *text, size_t size)
{
    size_t end = size;
    while (end > 0 && text[end - 1] >= '0' && text[end - 1] <= '9')
        end--;
    return end > 0 && end < size && text[end - 1] == ':' ? end - 1 : size;
}

// file_after is the space before the file of a function of JavaScript, both of which
// may contain spaces; NULL: there is none.
static const char *file_after(const char *name, size_t size)
{
    static const char *const begins[] = { " /", " file://", " node:" };
    for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
        const char *space = memmem(name, size, begins[i], strlen(begins[i]));
        if (space != NULL)
            return space;
    }
    return memrchr(name, ' ', size);
}

// split_javascript: a letter for the compiler, the function, and where it is defined.
static struct jitted_place split_javascript(const char *name, size_t size)
{
    static const char anonymous[] = "(anonymous)";
    struct jitted_place place = { .language = "javascript" };
    size_t skipped = size != 0 && strchr("~^*+=-", name[0]) != NULL;
    name += skipped;
    size -= skipped;
    const char *space = file_after(name, size);
    size_t length = space != NULL ? (size_t)(space - name) : size;
    place.function = length != 0 ? name : anonymous;
    place.function_size = length != 0 ? length : sizeof(anonymous) - 1;
    if (space != NULL && space + 1 < name + size) {
        place.file = space + 1;
        place.file_size = size - length - 1;
        place.file_size = cut_number(place.file, place.file_size);
        place.file_size = cut_number(place.file, place.file_size);
    }
    return place;
}

// is_method is true for the name of a method of Java, `long shop.Cart.total(int)`, as
// opposed to a part of the virtual machine.
static bool is_method(const char *name, size_t size)
{
    const char *open = memchr(name, '(', size);
    return open != NULL && name[size - 1] == ')' &&
           memchr(name, '.', (size_t)(open - name)) != NULL;
}

struct jitted_place jitted_name_split(const char *name, size_t size, bool hotspot)
{
    static const char *const scripts[] = { "JS:", "LazyCompile:", "Function:",
                                           "Script:", "Eval:" };
    for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
        size_t length = strlen(scripts[i]);
        if (size > length && memcmp(name, scripts[i], length) == 0)
            return split_javascript(name + length, size - length);
    }
    struct jitted_place place = { .function = name, .function_size = size };
    if (hotspot && is_method(name, size))
        place.language = "java";
    const char *colon = size > 4 ? memrchr(name + 4, ':', size - 4) : NULL;
    if (size > 4 && memcmp(name, "py::", 4) == 0 && colon != NULL) {
        place.language = "python";
        place.function = name + 4;
        place.function_size = (size_t)(colon - place.function);
        place.file = colon + 1;
        place.file_size = size - (size_t)(place.file - name);
    }
    return place;
}
