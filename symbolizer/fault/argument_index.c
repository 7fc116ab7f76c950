// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/fault/argument_index.h"

#include <stdlib.h>
#include <string.h>

#include "report/file/held_file.h"
#include "report/summary/crash_words.h"
#include "report/value/report.h"
#include "symbolizer/values/layout_table.h"

// type_extent_of_object finds the elements of the object at place. False: it is no
// array and no such container, or what it says of itself is impossible.
static bool type_extent_of_object(const struct type_value *how,
                                  const struct type_place *place,
                                  struct type_extent *out)
{
    struct layout_view view;
    uint32_t index = type_strip(how->table, place->type);
    const struct type *type = &how->table->types[index];
    if (type->kind == TYPE_ARRAY) {
        *out = (struct type_extent){ "array", place->address, type->count, 0 };
        return type->count != 0 &&
               type_size(how->table, type->target, &out->each) == CH_OK &&
               out->each != 0;
    }
    struct layout_object object = { .table = how->table,
                                    .dwarf = how->dwarf,
                                    .memory = how->memory,
                                    .held = how->held,
                                    .type = index,
                                    .address = place->address };
    if (!layout_table_find(&object) || !layout_is_contiguous(object.row) ||
        !layout_table_read(&object, &view) || view.damage != NULL || view.no_size)
        return false;
    *out = (struct type_extent){ view.kind, view.address, view.size, view.width };
    if (view.form == LAYOUT_TEXT)
        return true;
    if (!layout_field(&object, 0, &out->address, &view) || view.item_count == 0 ||
        view.items[0].value.address != out->address)
        return false;
    out->each = layout_size(&object, view.items[0].value.type);
    return out->each != 0;
}

// extent_bytes gives the bytes of the block at address. Its head has its size; that of
// one with a mapping of its own fills the mapping's pages, of another the head of the
// next block says that it is in use. 0: none of both is so.
static uint64_t extent_bytes(const struct type_value *how, uint64_t address)
{
    enum { HEAD = 16, PAGE = 4096, IN_USE = 1, MAPPED = 2, FLAGS = 7, SMALLEST = 32 };
    uint64_t before;
    uint64_t head;
    uint64_t next;
    const struct held_mapping *mapping =
        how->held != NULL && address % HEAD == 0
            ? held_file_mapping(how->held, address - HEAD)
            : NULL;
    if (mapping == NULL || mapping->flags & HELD_OF_FILE ||
        !(mapping->flags & HELD_WRITE) ||
        memory_read_word(how->memory, address - HEAD, &before) != CH_OK ||
        memory_read_word(how->memory, address - HEAD / 2, &head) != CH_OK)
        return 0;
    uint64_t size = head & ~(uint64_t)FLAGS;
    if (size < SMALLEST || size > mapping->end - (address - HEAD))
        return 0;
    if ((head & FLAGS) == MAPPED)
        return before == 0 && (address - HEAD) % PAGE == 0 && size % PAGE == 0
                   ? size - HEAD
                   : 0;
    if (head & MAPPED ||
        memory_read_word(how->memory, address - HEAD / 2 + size, &next) != CH_OK)
        return 0;
    return size % HEAD == 0 && (next & (IN_USE | MAPPED)) == IN_USE &&
                   (next & ~(uint64_t)FLAGS) >= SMALLEST
               ? size - HEAD / 2
               : 0;
}

// type_extent_of_block finds the elements of the type in glibc's block that begins at
// address. False: no block is proved to begin there.
static bool type_extent_of_block(const struct type_value *how, uint32_t type,
                                 uint64_t address, struct type_extent *out)
{
    uint64_t bytes = extent_bytes(how, address);
    *out = (struct type_extent){ "block", address, 0, 0 };
    if (bytes == 0 || type_size(how->table, type, &out->each) != CH_OK ||
        out->each == 0)
        return false;
    out->count = bytes / out->each;
    return out->count != 0;
}

enum { ARRAYS_MAX = 128, NUMBERS_MAX = 256, MEMBERS_MAX = 64, WORD_BYTES = 8 };

// A part is a variable, or a member of what it is or points to.
struct part {
    const struct argument_variable *variable;
    const char *link;   // "", "." or "->"
    const char *member; // "" for none
};

struct index_array {
    struct part part;
    struct type_extent extent;
};

struct index_number {
    struct part part;
    int64_t value;
};

// search is the arrays and numbers of a scope.
struct search {
    const struct argument_scope *scope;
    struct type_value how;
    struct index_array arrays[ARRAYS_MAX];
    size_t array_count;
    struct index_number numbers[NUMBERS_MAX];
    size_t number_count;
};

void argument_index_deinit(struct argument_index *index)
{
    text_deinit(&index->index);
    text_deinit(&index->array);
}

// search_value reads a number or a pointer of up to 8 bytes. False: it is not known.
static bool search_value(const struct search *s, const struct part *part,
                         const struct type_place *place, uint64_t *out)
{
    const struct argument_frame *frame = &s->scope->call->frame;
    const struct type *type = &s->how.table->types[place->type];
    *out = 0;
    if (type->size == 0 || type->size > WORD_BYTES)
        return false;
    if (!part->variable->in_register || part->link[0] != 0)
        return memory_read(s->how.memory, place->address, out, (size_t)type->size) ==
               CH_OK;
    if (!argument_frame_knows(frame, part->variable->place))
        return false;
    memcpy(out, &frame->registers.value[part->variable->place], (size_t)type->size);
    return true;
}

static void search_add_number(struct search *s, const struct part *part,
                              const struct type_place *place)
{
    const struct type *type = &s->how.table->types[place->type];
    uint64_t value;
    if (s->number_count == NUMBERS_MAX || type->encoding & TYPE_BOOLEAN ||
        !search_value(s, part, place, &value))
        return;
    unsigned shift = 64 - 8 * (unsigned)type->size;
    if (type->encoding & TYPE_SIGNED)
        value = (uint64_t)((int64_t)(value << shift) >> shift);
    s->numbers[s->number_count++] = (struct index_number){ *part, (int64_t)value };
}

static void search_add_array(struct search *s, const struct part *part,
                             const struct type_place *place)
{
    const struct type *type = &s->how.table->types[place->type];
    struct index_array array = { .part = *part };
    uint64_t pointer;
    uint8_t first;
    if (s->array_count == ARRAYS_MAX)
        return;
    bool found =
        type->kind == TYPE_POINTER
            ? search_value(s, part, place, &pointer) &&
                  type_extent_of_block(&s->how, type->target, pointer, &array.extent)
            : type_extent_of_object(&s->how, place, &array.extent);
    // A wild pointer leads to no object, so nothing is beside that.
    if (found && array.extent.address != 0 &&
        memory_read(s->how.memory, array.extent.address, &first, sizeof(first)) ==
            CH_OK)
        s->arrays[s->array_count++] = array;
}

static void search_add(struct search *s, const struct part *part,
                       const struct type_place *at)
{
    const struct type_place place = { .type = type_strip(s->how.table, at->type),
                                      .address = at->address };
    switch (s->how.table->types[place.type].kind) {
    case TYPE_INTEGER:
        search_add_number(s, part, &place);
        return;
    case TYPE_ARRAY:
    case TYPE_STRUCT:
        if (!part->variable->in_register || part->link[0] != 0)
            search_add_array(s, part, &place);
        return;
    case TYPE_POINTER:
        search_add_array(s, part, &place);
        return;
    default:
        return;
    }
}

// search_add_members adds the members of the object at place.
static void search_add_members(struct search *s, const struct argument_variable *of,
                               const char *link, const struct type_place *place)
{
    const struct type_table *table = s->how.table;
    if (s->how.dwarf != NULL)
        type_dwarf_complete(s->how.dwarf, place->type);
    const struct type structure = table->types[place->type];
    if (structure.kind != TYPE_STRUCT)
        return;
    for (uint32_t i = 0; i < structure.part_count && i < MEMBERS_MAX; i++) {
        const struct type_part member = table->parts[structure.first_part + i];
        const struct part part = { of, link, member.name };
        const struct type_place at = { .type = member.type,
                                       .address =
                                           place->address + member.offset_bits / 8 };
        if (member.base == TYPE_BASE_NONE && member.name[0] != 0 &&
            member.offset_bits % 8 == 0)
            search_add(s, &part, &at);
    }
}

static void search_add_variable(struct search *s,
                                const struct argument_variable *variable)
{
    const struct type_table *table = s->how.table;
    const struct part whole = { variable, "", "" };
    struct type_place place = { .type = type_strip(table, variable->type),
                                .address = variable->place };
    const struct type *type = &table->types[place.type];
    uint64_t pointer;
    size_t arrays = s->array_count;
    if (type->kind == TYPE_POINTER && type->reference) { // it is what it refers to
        if (!search_value(s, &whole, &place, &pointer))
            return;
        place = (struct type_place){ .type = type_strip(table, type->target),
                                     .address = pointer };
        const struct part referred = { variable, ".", "" };
        search_add(s, &referred, &place);
        return;
    }
    search_add(s, &whole, &place);
    if (type->kind == TYPE_STRUCT && !variable->in_register &&
        s->array_count == arrays) {
        search_add_members(s, variable, ".", &place);
    } else if (type->kind == TYPE_POINTER &&
               search_value(s, &whole, &place, &pointer)) {
        place = (struct type_place){ .type = type_strip(table, type->target),
                                     .address = pointer };
        search_add_members(s, variable, "->", &place);
    }
}

// search_explains returns true if the address is that of the array's element of that
// number, which it does not have.
static bool search_explains(const struct index_array *array,
                            const struct index_number *number, uint64_t address)
{
    int64_t offset;
    const struct type_extent *extent = &array->extent;
    bool inside = number->value >= 0 && (uint64_t)number->value < extent->count;
    return !inside && extent->each <= INT32_MAX &&
           !__builtin_mul_overflow(number->value, (int64_t)extent->each, &offset) &&
           address - extent->address - (uint64_t)offset < extent->each;
}

static void part_append(const struct part *part, struct text *out)
{
    text_clear(out);
    text_append_string(out, part->variable->name);
    if (part->member[0] == 0)
        return;
    text_append_string(out, part->link);
    text_append_string(out, part->member);
}

// search_find finds the pair that explains the address. Variables of inlined calls may
// have the same number, of which the first is innermost.
static bool search_find(const struct search *s, uint64_t address,
                        struct argument_index *out)
{
    const struct index_array *array = NULL;
    const struct index_number *number = NULL;
    for (size_t i = 0; i < s->array_count; i++)
        for (size_t k = 0; k < s->number_count; k++) {
            if (!search_explains(&s->arrays[i], &s->numbers[k], address))
                continue;
            if (array != NULL &&
                (array->extent.address != s->arrays[i].extent.address ||
                 array->extent.count != s->arrays[i].extent.count ||
                 number->value != s->numbers[k].value))
                return false;
            if (array != NULL)
                continue;
            array = &s->arrays[i];
            number = &s->numbers[k];
        }
    if (array == NULL)
        return false;
    part_append(&number->part, &out->index);
    part_append(&array->part, &out->array);
    out->variable = *number->part.variable;
    out->is_variable = number->part.member[0] == 0;
    out->value = number->value;
    out->extent = array->extent;
    return text_ok(&out->index) && text_ok(&out->array);
}

// search_find_array finds the only array that has begin and ends before the address.
static bool search_find_array(const struct search *s, uint64_t begin, uint64_t address,
                              struct argument_index *out)
{
    const struct index_array *found = NULL;
    for (size_t i = 0; i < s->array_count; i++) {
        const struct type_extent *extent = &s->arrays[i].extent;
        uint64_t bytes;
        if (__builtin_mul_overflow(extent->count, extent->each, &bytes) ||
            begin - extent->address >= bytes || address - extent->address < bytes)
            continue;
        if (found != NULL &&
            found->extent.address + found->extent.count * found->extent.each !=
                extent->address + bytes)
            return false;
        if (found == NULL)
            found = &s->arrays[i];
    }
    if (found == NULL)
        return false;
    part_append(&found->part, &out->array);
    out->extent = found->extent;
    return text_ok(&out->array);
}

// extent_distance gives how far an address is after the end of an array, or, negative,
// before its begin. False: it is in it, or further away than objects beside each other
// are.
static bool extent_distance(const struct type_extent *extent, uint64_t address,
                            int64_t *out)
{
    enum { NEAR_BYTES = 1 << 16 };
    uint64_t bytes;
    if (__builtin_mul_overflow(extent->count, extent->each, &bytes) || bytes == 0)
        return false;
    bool after = address >= extent->address;
    uint64_t distance =
        after ? address - extent->address - bytes : extent->address - address;
    *out = after ? (int64_t)distance : -(int64_t)distance;
    return distance < NEAR_BYTES; // and not in it, where the difference wraps
}

static bool search_find_nearest(const struct search *s, uint64_t address,
                                struct argument_index *out)
{
    const struct index_array *nearest = NULL;
    for (size_t i = 0; i < s->array_count; i++) {
        int64_t distance;
        if (address - s->arrays[i].extent.address <
            s->arrays[i].extent.count * s->arrays[i].extent.each)
            return false;
        if (!extent_distance(&s->arrays[i].extent, address, &distance) ||
            (nearest != NULL && llabs(distance) >= llabs(out->value)))
            continue;
        nearest = &s->arrays[i];
        out->value = distance;
    }
    if (nearest == NULL)
        return false;
    part_append(&nearest->part, &out->array);
    out->variable = *nearest->part.variable;
    out->extent = nearest->extent;
    return text_ok(&out->array);
}

// search_begin lists the arrays and numbers of a call's scope; NULL: out of memory, or
// its debug information is not there.
static struct search *search_begin(struct argument_trace *trace, size_t call)
{
    const struct argument_stack *stack = trace->stack;
    const struct argument_call *caller = &stack->calls[call];
    if (!argument_scope_read(&trace->scope, stack, call, caller->vaddr, trace->frames))
        return NULL;
    struct search *s = calloc(1, sizeof(*s));
    struct type_image *types = &caller->image->types;
    if (s == NULL)
        return NULL;
    s->scope = &trace->scope;
    s->how = (struct type_value){
        .table = &types->table,
        .memory = stack->memory,
        .dwarf = types->dwarf != NULL ? &types->dwarf_types : NULL,
        .held = stack->held,
    };
    for (size_t i = 0; i < trace->scope.count; i++)
        if (!trace->scope.variables[i].is_part && !trace->scope.variables[i].is_null)
            search_add_variable(s, &trace->scope.variables[i]);
    return s;
}

bool argument_index_find(struct argument_trace *trace, size_t call, uint64_t address,
                         struct argument_index *out)
{
    struct search *s = search_begin(trace, call);
    bool found = s != NULL && search_find(s, address, out);
    free(s);
    return found;
}

bool argument_index_find_array(struct argument_trace *trace, size_t call,
                               uint64_t begin, uint64_t address,
                               struct argument_index *out)
{
    struct search *s = search_begin(trace, call);
    bool found = s != NULL && search_find_array(s, begin, address, out);
    free(s);
    return found;
}

// index_find_nearest finds the array that is nearest to address; out->value is how far
// it is after the end, or, if it is negative, before the begin.
static bool index_find_nearest(struct argument_trace *trace, size_t call,
                               uint64_t address, struct argument_index *out)
{
    struct search *s = search_begin(trace, call);
    bool found = s != NULL && search_find_nearest(s, address, out);
    free(s);
    return found;
}

// index_is_beside returns true if the crash is an access that may be beside an object,
// and gives its address.
static bool index_is_beside(const json_t *crash, uint64_t *out)
{
    enum { NULL_AREA_BYTES = 65536 };
    const uint64_t others = CRASH_KIND_BIT(STACK_OVERFLOW) |
                            CRASH_KIND_BIT(NULL_DEREFERENCE) |
                            CRASH_KIND_BIT(WILD_JUMP) | CRASH_KIND_BIT(EXECUTE_OF_DATA);
    return !crash_words_is_kind(crash, others) &&
           report_address(json_object_get(crash, "access"), "address", out) &&
           *out >= NULL_AREA_BYTES;
}

json_t *argument_index_nearest(struct argument_trace *trace, const json_t *crash)
{
    enum { CALLS = 4 };
    const struct argument_stack *stack = trace->stack;
    struct argument_index best = { 0 };
    size_t looked = 0;
    uint64_t address;
    if (!index_is_beside(crash, &address))
        return NULL;
    for (size_t i = 0; i < stack->count && looked < CALLS; i++) {
        struct argument_index found = { 0 };
        if (report_flag(stack->calls[i].from, "system") ||
            stack->calls[i].image == NULL)
            continue;
        looked++;
        bool nearer = index_find_nearest(trace, i, address, &found) &&
                      (best.array.size == 0 || llabs(found.value) < llabs(best.value));
        argument_index_deinit(nearer ? &best : &found);
        if (nearer)
            best = found;
    }
    if (best.array.size == 0)
        return NULL;
    uint64_t bytes = best.extent.count * best.extent.each;
    json_t *nearest = json_pack(
        "{s:s, s:s, s:I, s:I, s:s, s:I, s:s*}", "object", best.array.bytes, "container",
        best.extent.kind, "bytes", (json_int_t)bytes, "distance",
        (json_int_t)llabs(best.value), "side", best.value < 0 ? "before" : "after",
        "frame", (json_int_t)best.variable.frame, "function",
        report_string(json_array_get(trace->frames, best.variable.frame), "function"));
    argument_index_deinit(&best);
    return nearest;
}
