// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/values/layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

enum { LAYOUT_QUEUE = 64, WORD_BYTES = 8 };

// SIZE_LIMIT: no container has as many items, so its size was never set.
#define SIZE_LIMIT (UINT64_C(1) << 40)

// layout_bare completes the type without typedefs and qualifiers, and gives it. The
// table may move.
static uint32_t layout_bare(struct layout_object *object, uint32_t type)
{
    uint32_t bare = type_strip(object->table, type);
    if (object->dwarf != NULL)
        type_dwarf_complete(object->dwarf, bare);
    return bare;
}

// layout_is_transparent returns true if a member's own members are searched without its
// being named: an unnamed structure, or a base class, which has no name or that of its
// type.
static bool layout_is_transparent(const struct type_table *table,
                                  const struct type_part *part)
{
    const struct type *type = &table->types[type_strip(table, part->type)];
    return (type->kind == TYPE_STRUCT || type->kind == TYPE_UNION) &&
           (part->name[0] == 0 || strcmp(part->name, type->name) == 0);
}

// A layout_queue is the structures that are still to be looked at: bases have bases.
struct layout_queue {
    struct layout_member items[LAYOUT_QUEUE];
    size_t first;
    size_t count;
};

static void layout_queue_add(struct layout_queue *queue, uint32_t type, uint64_t offset)
{
    if (queue->count < LAYOUT_QUEUE)
        queue->items[queue->count++] = (struct layout_member){ type, offset };
}

// layout_find_name finds a member by name, length bytes, in a type and its bases.
static bool layout_find_name(struct layout_object *object, uint32_t index,
                             const char *name, size_t length, struct layout_member *out)
{
    const struct type_table *table = object->table;
    struct layout_queue queue;
    queue.first = queue.count = 0;
    layout_queue_add(&queue, index, 0);
    while (queue.first < queue.count) {
        const struct layout_member in = queue.items[queue.first++];
        const struct type *type = &table->types[type_strip(table, in.type)];
        bool has_members = type->kind == TYPE_STRUCT || type->kind == TYPE_UNION;
        for (uint32_t i = 0;
             has_members && i < type->part_count && object->work++ < LAYOUT_WORK; i++) {
            const struct type_part *part = &table->parts[type->first_part + i];
            uint64_t offset = in.offset + part->offset_bits / 8;
            if (strncmp(part->name, name, length) == 0 && part->name[length] == 0) {
                *out = (struct layout_member){ part->type, offset };
                return true;
            }
            if (layout_is_transparent(table, part))
                layout_queue_add(&queue, part->type, offset);
        }
    }
    return false;
}

static bool layout_resolve(struct layout_object *object, uint32_t type,
                           const char *path, struct layout_member *out)
{
    struct layout_member at = { type, 0 };
    while (*path != 0) {
        struct layout_member next;
        size_t length = strcspn(path, ".");
        if (!layout_find_name(object, at.type, path, length, &next))
            return false;
        at = (struct layout_member){ next.type, at.offset + next.offset };
        path += length + (path[length] == '.');
    }
    *out = at;
    return true;
}

bool layout_member_of(struct layout_object *object, uint32_t type, const char *path,
                      struct layout_member *out)
{
    return layout_resolve(object, layout_bare(object, type), path, out);
}

bool layout_fits(struct layout_object *object, const struct layout_row *row)
{
    const struct type *type = &object->table->types[object->type];
    if (strncmp(type->name, row->name, strlen(row->name)) != 0)
        return false;
    for (size_t i = 0; i < LAYOUT_MEMBERS; i++) {
        const char *path = row->paths[i];
        bool optional = path != NULL && path[0] == '?';
        object->members[i] = (struct layout_member){ 0 };
        if (path != NULL &&
            !layout_resolve(object, object->type, path + optional,
                            &object->members[i]) &&
            !optional)
            return false;
    }
    // An allocator may have pointers of its own, which are classes.
    const struct type *first =
        &object->table->types[type_strip(object->table, object->members[0].type)];
    if ((row->read == layout_read_range || row->read == layout_read_counted ||
         row->read == layout_read_text) &&
        first->kind != TYPE_POINTER)
        return false;
    object->row = row;
    return true;
}

uint32_t layout_argument(const struct layout_object *object, uint32_t type,
                         uint32_t index)
{
    const struct type *of = &object->table->types[type_strip(object->table, type)];
    return index < of->argument_count
               ? object->table->parts[of->first_part + of->part_count + index].type
               : TYPE_UNKNOWN_INDEX;
}

int64_t layout_argument_value(const struct layout_object *object, uint32_t type,
                              uint32_t index)
{
    const struct type *of = &object->table->types[type_strip(object->table, type)];
    return index < of->argument_count
               ? object->table->parts[of->first_part + of->part_count + index].value
               : 0;
}

uint32_t layout_target(const struct layout_object *object, uint32_t type)
{
    const struct type *pointer = &object->table->types[type_strip(object->table, type)];
    return pointer->kind == TYPE_POINTER ? pointer->target : TYPE_UNKNOWN_INDEX;
}

uint32_t layout_element(const struct layout_object *object, uint32_t type)
{
    const struct type *array = &object->table->types[type_strip(object->table, type)];
    return array->kind == TYPE_ARRAY ? array->target : TYPE_UNKNOWN_INDEX;
}

uint64_t layout_size(struct layout_object *object, uint32_t type)
{
    uint64_t size;
    if (object->table->types[type_strip(object->table, type)].kind == TYPE_FORWARD)
        (void)layout_bare(object, type); // another unit may define it
    return type != TYPE_UNKNOWN_INDEX && type_size(object->table, type, &size) == CH_OK
               ? size
               : 0;
}

// layout_alignment is the alignment of a type: the one that it asks for, or that of its
// member with the largest.
static uint64_t layout_alignment(struct layout_object *object, uint32_t index)
{
    const struct type_table *table = object->table;
    struct layout_queue queue;
    uint64_t largest = 1;
    queue.first = queue.count = 0;
    layout_queue_add(&queue, index, 0);
    while (queue.first < queue.count) {
        uint32_t bare = layout_bare(object, queue.items[queue.first++].type);
        const struct type *type = &table->types[bare];
        uint64_t own = type->alignment;
        if (type->kind == TYPE_ARRAY) {
            layout_queue_add(&queue, type->target, 0);
            if (type->vector)
                (void)!type_size(table, bare, &own);
        } else if (type->kind == TYPE_STRUCT || type->kind == TYPE_UNION) {
            for (uint32_t i = 0; i < type->part_count && object->work++ < LAYOUT_WORK;
                 i++)
                layout_queue_add(&queue, table->parts[type->first_part + i].type, 0);
        } else if (own == 0) {
            own = type->encoding & TYPE_COMPLEX ? type->size / 2 : type->size;
        }
        if (own > largest && (own & (own - 1)) == 0)
            largest = own;
    }
    return largest;
}

uint64_t layout_after(struct layout_object *object, uint64_t offset, uint32_t type)
{
    uint64_t alignment = layout_alignment(object, type);
    return (offset + alignment - 1) / alignment * alignment;
}

static bool layout_is_mapped(const struct layout_object *object, uint64_t address)
{
    return object->held == NULL || held_file_is_mapped(object->held, address);
}

bool layout_number(const struct layout_object *object, uint64_t address, uint64_t size,
                   uint64_t *number, struct layout_view *out)
{
    uint64_t read = 0; // targets are little-endian
    if (size == 0 || size > sizeof(read))
        return false;
    if (memory_read(object->memory, address, &read, (size_t)size) != CH_OK) {
        if (!layout_is_mapped(object, address))
            layout_damage(out, "a link leads to where no memory is");
        else
            out->missing = true;
        return false;
    }
    *number = read;
    return true;
}

bool layout_word(const struct layout_object *object, uint64_t address, uint64_t *word,
                 struct layout_view *out)
{
    return layout_number(object, address, WORD_BYTES, word, out);
}

bool layout_field(const struct layout_object *object, size_t index, uint64_t *number,
                  struct layout_view *out)
{
    const struct layout_member *member = &object->members[index];
    uint64_t size;
    return member->type != TYPE_UNKNOWN_INDEX &&
           type_size(object->table, member->type, &size) == CH_OK &&
           layout_number(object, object->address + member->offset, size, number, out);
}

bool layout_add(struct layout_view *out, uint32_t type, uint64_t address)
{
    if (out->item_count == LAYOUT_ITEMS)
        return false;
    out->items[out->item_count++] =
        (struct layout_item){ .value = { .type = type, .address = address } };
    return true;
}

void layout_add_key(struct layout_view *out, uint32_t key_type, uint64_t key,
                    uint32_t value_type, uint64_t value)
{
    if (out->item_count < LAYOUT_ITEMS)
        out->items[out->item_count++] = (struct layout_item){
            .key = { .type = key_type, .address = key },
            .value = { .type = value_type, .address = value },
        };
}

bool layout_add_pair(struct layout_object *object, struct layout_view *out,
                     uint32_t type, uint64_t address)
{
    static const char *const names[][2] = {
        { "first", "second" },
        { "__cc_.first", "__cc_.second" },
        { "__cc.first", "__cc.second" },
        { "__0", "__1" },
        { "key", "elem" },
    };
    struct layout_member key;
    struct layout_member value;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (out->form != LAYOUT_PAIRS || out->item_count == LAYOUT_ITEMS ||
            !layout_member_of(object, type, names[i][0], &key) ||
            !layout_member_of(object, type, names[i][1], &value))
            continue;
        layout_add_key(out, key.type, address + key.offset, value.type,
                       address + value.offset);
        return true;
    }
    out->form = LAYOUT_SEQUENCE;
    return layout_add(out, type, address);
}

void layout_damage(struct layout_view *out, const char *what)
{
    if (out->damage == NULL)
        out->damage = what;
}

void layout_past_end(struct layout_view *out)
{
    out->form = LAYOUT_CHOICE;
    out->choice = "end()";
    out->item_count = 0;
}

void layout_choose(struct layout_object *object, uint64_t index,
                   struct layout_view *out)
{
    if (index >= object->table->types[object->type].argument_count) {
        layout_damage(out, "its index is that of none");
        return;
    }
    out->index = (int64_t)index;
    (void)layout_add(out, layout_argument(object, object->type, (uint32_t)index),
                     object->address + object->members[1].offset);
}

void layout_elements(struct layout_object *object, struct layout_view *out,
                     uint32_t type, uint64_t address, uint64_t size)
{
    uint64_t each = layout_size(object, type);
    uint64_t bytes = size * each;
    out->size = size;
    if (size == 0)
        return;
    if (each == 0) {
        out->kind = NULL; // nothing is known of the elements
        return;
    }
    if (size >= SIZE_LIMIT || bytes / each != size || address + bytes < address) {
        layout_damage(out, "its size is impossible");
        return;
    }
    if (!layout_is_mapped(object, address) ||
        !layout_is_mapped(object, address + bytes - 1)) {
        layout_damage(out, "it leads to where no memory is");
        return;
    }
    for (uint64_t i = 0; i < size && layout_add(out, type, address + i * each); i++)
        continue;
}

void layout_read_inside(struct layout_object *object, struct layout_view *out)
{
    out->form = LAYOUT_INSIDE;
    (void)layout_add(out, object->members[0].type,
                     object->address + object->members[0].offset);
}

void layout_read_range(struct layout_object *object, struct layout_view *out)
{
    uint64_t begin;
    uint64_t end;
    uint64_t limit;
    uint32_t type = layout_target(object, object->members[0].type);
    uint64_t each = layout_size(object, type);
    if (!layout_field(object, 0, &begin, out) || !layout_field(object, 1, &end, out))
        return;
    if (each == 0 && end > begin) {
        out->kind = NULL; // nothing is known of the elements
        return;
    }
    if (each == 0)
        each = 1;
    if (end < begin || (end - begin) % each != 0 ||
        (object->members[2].type != TYPE_UNKNOWN_INDEX &&
         layout_field(object, 2, &limit, out) && limit < end)) {
        layout_damage(out, "its end is not where an element ends");
        out->no_size = true;
        return;
    }
    layout_elements(object, out, type, begin, (end - begin) / each);
}

void layout_read_counted(struct layout_object *object, struct layout_view *out)
{
    uint64_t begin;
    uint64_t count;
    uint32_t type = layout_target(object, object->members[0].type);
    if (layout_size(object, type) <= 1 &&
        layout_argument(object, object->type, 0) != TYPE_UNKNOWN_INDEX)
        type = layout_argument(object, object->type, 0); // the pointer is one to bytes
    if (layout_field(object, 0, &begin, out) && layout_field(object, 1, &count, out))
        layout_elements(object, out, type, begin, count);
}

void layout_read_text(struct layout_object *object, struct layout_view *out)
{
    enum { SHORT_OFFSET = 16 }; // libstdc++ has room for short texts in the string
    uint64_t width =
        layout_size(object, layout_target(object, object->members[0].type));
    uint8_t last;
    out->form = LAYOUT_TEXT;
    out->width = width == 2 || width == 4 ? (uint8_t)width : 1;
    if (!layout_field(object, 0, &out->address, out) ||
        !layout_field(object, 1, &out->size, out)) {
        out->kind = NULL;
        return;
    }
    bool in_itself = out->address == object->address + SHORT_OFFSET;
    // libstdc++ ends also an empty text with a NUL; others may point nowhere then.
    bool ends =
        strcmp(object->row->paths[0], "_M_dataplus._M_p") == 0 && object->held != NULL;
    bool unread =
        memory_read(object->memory, out->address, &last, sizeof(last)) != CH_OK;
    out->missing = out->size != 0 && unread;
    if (out->size >= SIZE_LIMIT ||
        (in_itself && (out->size + 1) * out->width > SHORT_OFFSET) ||
        ((out->missing || (ends && unread)) &&
         (object->held == NULL || !layout_is_mapped(object, out->address))))
        out->kind = NULL;
}

void layout_read_pointer(struct layout_object *object, struct layout_view *out)
{
    uint32_t type = layout_target(object, object->members[0].type);
    out->form = LAYOUT_POINTER;
    if (!layout_field(object, 0, &out->address, out)) {
        out->kind = NULL;
        return;
    }
    if (out->address != 0 && layout_size(object, type) != 0)
        (void)layout_add(out, type, out->address);
}

// tuple_take takes a member of a tuple's base that has an element.
static void tuple_take(struct layout_object *object, struct layout_view *out,
                       uint32_t base, const struct type_part *part, uint64_t offset)
{
    static const char *const names[][2] = { { "_Head_base<", "_M_head_impl" },
                                            { "__tuple_leaf<", "__value_" } };
    const char *name = object->table->types[base].name;
    int64_t number = layout_argument_value(object, base, 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strncmp(name, names[i][0], strlen(names[i][0])) != 0 ||
            strcmp(part->name, names[i][1]) != 0 || number < 0)
            continue;
        if ((uint64_t)number >= out->size)
            out->size = (uint64_t)number + 1;
        if (number < LAYOUT_ITEMS)
            out->items[number].value =
                (struct type_place){ .type = part->type,
                                     .address = object->address + offset };
    }
}

void layout_read_tuple(struct layout_object *object, struct layout_view *out)
{
    const struct type_table *table = object->table;
    struct layout_queue queue;
    queue.first = queue.count = 0;
    layout_queue_add(&queue, object->type, 0);
    while (queue.first < queue.count) {
        const struct layout_member in = queue.items[queue.first++];
        uint32_t bare = layout_bare(object, in.type);
        const struct type type = table->types[bare];
        for (uint32_t i = 0; i < type.part_count && object->work++ < LAYOUT_WORK; i++) {
            const struct type_part *part = &table->parts[type.first_part + i];
            uint64_t offset = in.offset + part->offset_bits / 8;
            tuple_take(object, out, bare, part, offset);
            if (layout_is_transparent(table, part))
                layout_queue_add(&queue, part->type, offset);
        }
    }
    out->item_count = out->size < LAYOUT_ITEMS ? (size_t)out->size : LAYOUT_ITEMS;
}

void layout_bits(struct layout_object *object, struct layout_view *out,
                 uint64_t address, uint64_t first, uint64_t size)
{
    enum { BITS_SHOWN = 64, BITS = 8 };
    size_t at = 0;
    out->form = LAYOUT_WORDS;
    out->size = size;
    for (uint64_t i = 0; i < size && i < BITS_SHOWN; i++) {
        uint64_t byte;
        if (!layout_number(object, address + (first + i) / BITS, 1, &byte, out))
            return;
        out->word[at++] = byte >> (first + i) % BITS & 1 ? '1' : '0';
    }
    if (size > BITS_SHOWN)
        (void)snprintf(out->word + at, sizeof(out->word) - at, "...");
}

void layout_read_bit_set(struct layout_object *object, struct layout_view *out)
{
    int64_t size = layout_argument_value(object, object->type, 0);
    if (size < 0)
        return;
    layout_bits(object, out, object->address + object->members[0].offset, 0,
                (uint64_t)size);
    size_t count = strspn(out->word, "01"); // it is written from the highest bit on
    for (size_t i = 0; i < count / 2; i++) {
        char bit = out->word[i];
        out->word[i] = out->word[count - 1 - i];
        out->word[count - 1 - i] = bit;
    }
}

// layout_read_duration writes a number of periods, with the unit if there is one.
void layout_read_duration(struct layout_object *object, struct layout_view *out)
{
    static const struct {
        int64_t times;
        int64_t parts;
        const char *unit;
    } units[] = { { 1, 1000000000, "ns" }, { 1, 1000000, "us" }, { 1, 1000, "ms" },
                  { 1, 1, "s" },           { 60, 1, "min" },     { 3600, 1, "h" },
                  { 86400, 1, "d" } };
    const struct type *of =
        &object->table->types[type_strip(object->table, object->members[0].type)];
    uint32_t period = layout_argument(object, object->type, 1);
    uint64_t ticks;
    if (object->dwarf != NULL)
        type_dwarf_complete(object->dwarf, type_strip(object->table, period));
    int64_t times = layout_argument_value(object, period, 0);
    int64_t parts = layout_argument_value(object, period, 1);
    if (of->kind != TYPE_INTEGER || times == 0 ||
        !layout_field(object, 0, &ticks, out)) {
        out->kind = NULL;
        return;
    }
    out->form = LAYOUT_WORDS;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (units[i].times == times && units[i].parts == parts)
            (void)snprintf(out->word, sizeof(out->word), "%" PRId64 " %s",
                           (int64_t)ticks, units[i].unit);
    if (out->word[0] == 0)
        (void)snprintf(out->word, sizeof(out->word),
                       "%" PRId64 " of %" PRId64 "/%" PRId64 " s", (int64_t)ticks,
                       times, parts);
}

void layout_read_optional(struct layout_object *object, struct layout_view *out)
{
    uint64_t engaged;
    out->form = LAYOUT_CHOICE;
    if (!layout_field(object, 1, &engaged, out))
        return;
    if (engaged > 1)
        layout_damage(out, "it neither holds a value nor none");
    if (engaged == 1)
        (void)layout_add(out, object->members[0].type,
                         object->address + object->members[0].offset);
}

// layout_second_half completes a character of UTF-16, which is at index at, if it is
// the first of two halves, and gives how many of these there are.
static int layout_second_half(const struct memory_reader *memory,
                              const struct layout_view *view, uint64_t at,
                              uint32_t *unit)
{
    uint16_t second;
    if (view->width != 2 || *unit >> 10 != 0x36 || at + 1 >= view->size ||
        memory_read(memory, view->address + (at + 1) * 2, &second, 2) != CH_OK ||
        second >> 10 != 0x37)
        return 1;
    *unit = 0x10000 + ((*unit & 0x3ff) << 10) + (second & 0x3ff);
    return 2;
}

uint64_t layout_read_characters(const struct memory_reader *memory,
                                const struct layout_view *view, size_t limit,
                                struct text *out)
{
    char encoded[UTF8_MAX_BYTES];
    uint64_t at = 0;
    while (at < view->size && out->size < limit) {
        uint32_t unit = 0;
        if (memory_read(memory, view->address + at * view->width, &unit, view->width) !=
            CH_OK)
            break;
        at += layout_second_half(memory, view, at, &unit);
        if (unit == 0)
            text_append_string(out, "\\x00");
        else if (view->width == 1 || unit < 0x80)
            text_append(out, &unit, 1);
        else
            text_append(out, encoded, utf8_encode(unit, encoded));
    }
    return at;
}
