// SPDX-License-Identifier: Apache-2.0
#include "agent/raw/raw_stacks.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hex.h"
#include "formats/interchange/cbf.h"

// Elements that are not places: frames were left out here, or the walk was stopped.
#define RAW_OMITTED UINT32_MAX
#define RAW_CUT (UINT32_MAX - 1)

enum { RAW_INDEX_FIRST = 256 };

static uint64_t raw_hash(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15;
    return hash ^ hash >> 32;
}

static struct raw_index_slot *raw_index_start(const struct raw_index *index,
                                              uint64_t hash)
{
    return &index->slots[hash & (index->size - 1)];
}

// raw_index_next is the slot after slot, wrapping at the end.
static struct raw_index_slot *raw_index_next(const struct raw_index *index,
                                             struct raw_index_slot *slot)
{
    return slot + 1 != index->slots + index->size ? slot + 1 : index->slots;
}

static void raw_index_put(const struct raw_index *index, struct raw_index_slot entry)
{
    struct raw_index_slot *slot = raw_index_start(index, entry.hash);
    while (slot->number != 0)
        slot = raw_index_next(index, slot);
    *slot = entry;
}

// raw_index_grow makes room for one more number, keeping the table at most half full.
static bool raw_index_grow(struct raw_index *index)
{
    if (2 * (index->used + 1) <= index->size)
        return true;
    struct raw_index larger = {
        .size = index->size != 0 ? 2 * index->size : RAW_INDEX_FIRST,
        .used = index->used,
    };
    larger.slots = calloc(larger.size, sizeof(*larger.slots));
    if (larger.slots == NULL)
        return false;
    for (size_t i = 0; i < index->size; i++)
        if (index->slots[i].number != 0)
            raw_index_put(&larger, index->slots[i]);
    free(index->slots);
    *index = larger;
    return true;
}

static void raw_index_add(struct raw_index *index, uint64_t hash, size_t number)
{
    raw_index_put(index, (struct raw_index_slot){ hash, (uint32_t)number + 1 });
    index->used++;
}

// add_place gives the number of frame's place, and adds the place if it is new.
static enum ch_status add_place(struct raw_stacks *t, const struct unwind_frame *frame,
                                uint32_t group, uint32_t *out)
{
    uint64_t hash =
        raw_hash(frame->address,
                 (uint64_t)group << 16 | (uint64_t)frame->kind << 8 | frame->trust);
    if (!raw_index_grow(&t->place_index) || t->place_count >= RAW_CUT ||
        !array_reserve(&t->places, &t->place_capacity, t->place_count,
                       sizeof(*t->places)))
        return CH_ERR_NO_MEMORY;
    for (struct raw_index_slot *slot = raw_index_start(&t->place_index, hash);
         slot->number != 0; slot = raw_index_next(&t->place_index, slot)) {
        const struct raw_place *place = &t->places[slot->number - 1];
        if (place->address == frame->address && place->kind == frame->kind &&
            place->trust == frame->trust && place->group == group) {
            *out = slot->number - 1;
            return CH_OK;
        }
    }
    struct raw_place *place = &t->places[t->place_count];
    *place = (struct raw_place){ .address = frame->address,
                                 .kind = frame->kind,
                                 .trust = frame->trust,
                                 .image = SIZE_MAX,
                                 .group = group };
    t->find_image(t->context, place);
    raw_index_add(&t->place_index, hash, t->place_count);
    *out = (uint32_t)t->place_count++;
    return CH_OK;
}

// stacks_equal compares a stored stack with one whose elements were just appended.
static bool stacks_equal(const struct raw_stacks *t, const struct raw_stack *a,
                         const struct raw_stack *b)
{
    return a->count == b->count && a->end == b->end && a->omitted == b->omitted &&
           memcmp(&t->elements[a->first], &t->elements[b->first],
                  a->count * sizeof(*t->elements)) == 0;
}

// add_stack gives the number of a stack whose elements were just appended; if an equal
// stack is stored, the appended elements are dropped.
static enum ch_status add_stack(struct raw_stacks *t, const struct raw_stack *stack,
                                size_t *out)
{
    uint64_t hash = raw_hash(stack->omitted, stack->end);
    for (size_t i = 0; i < stack->count; i++)
        hash = raw_hash(hash, t->elements[stack->first + i]);
    if (!raw_index_grow(&t->stack_index) ||
        !array_reserve(&t->stacks, &t->stack_capacity, t->stack_count,
                       sizeof(*t->stacks)))
        return CH_ERR_NO_MEMORY;
    for (struct raw_index_slot *slot = raw_index_start(&t->stack_index, hash);
         slot->number != 0; slot = raw_index_next(&t->stack_index, slot)) {
        if (slot->hash != hash || !stacks_equal(t, &t->stacks[slot->number - 1], stack))
            continue;
        t->element_count = stack->first;
        *out = slot->number - 1;
        return CH_OK;
    }
    raw_index_add(&t->stack_index, hash, t->stack_count);
    t->stacks[t->stack_count] = *stack;
    *out = t->stack_count++;
    return CH_OK;
}

enum ch_status raw_stacks_add(struct raw_stacks *t,
                              const struct backtrace_limit *backtrace,
                              const uint32_t *groups, enum unwind_end end,
                              size_t *out_number)
{
    struct raw_stack stack = { .first = t->element_count,
                               .count = backtrace_limit_count(backtrace),
                               .end = end };
    if (!array_reserve_many(&t->elements, &t->element_capacity, t->element_count,
                            stack.count, sizeof(*t->elements)))
        return CH_ERR_NO_MEMORY;
    for (size_t i = 0; i < stack.count; i++) {
        struct backtrace_entry entry = backtrace_limit_entry(backtrace, i);
        uint32_t element = entry.kind == BACKTRACE_OMITTED ? RAW_OMITTED : RAW_CUT;
        if (entry.kind == BACKTRACE_OMITTED)
            stack.omitted = entry.omitted;
        if (entry.kind == BACKTRACE_FRAME &&
            add_place(t, &entry.frame, groups != NULL ? groups[i] : 0, &element) !=
                CH_OK) {
            t->element_count = stack.first;
            return CH_ERR_NO_MEMORY;
        }
        t->elements[t->element_count++] = element;
    }
    enum ch_status status = add_stack(t, &stack, out_number);
    if (status != CH_OK)
        t->element_count = stack.first;
    return status;
}

static void write_element(const struct raw_stack *stack, uint32_t element,
                          struct json_writer *w)
{
    if (element < RAW_CUT) {
        json_write_uint(w, element);
        return;
    }
    json_write_object(w);
    json_write_key(w, "kind");
    json_write_plain(w, element == RAW_OMITTED ? "omit" : "trunc");
    if (element == RAW_OMITTED) {
        json_write_key(w, "count");
        json_write_uint(w, stack->omitted);
    }
    json_write_end(w, '}');
}

// A cbf_room is the buffers in which CBF is encoded, one stack after another.
struct cbf_room {
    uint8_t *bytes;
    char *base64;
    size_t capacity;
};

static void cbf_room_deinit(struct cbf_room *room)
{
    free(room->bytes);
    free(room->base64);
}

// reserve_cbf makes room for a stack of count elements.
static bool reserve_cbf(struct cbf_room *room, size_t count)
{
    size_t needed = CBF_OVERHEAD + count * CBF_FRAME_MAX;
    if (needed <= room->capacity)
        return true;
    cbf_room_deinit(room);
    room->bytes = malloc(needed);
    room->base64 = malloc(BASE64_SIZE(needed));
    room->capacity = room->bytes != NULL && room->base64 != NULL ? needed : 0;
    return room->capacity != 0;
}

static enum ch_status encode_element(const struct raw_stacks *t,
                                     const struct raw_stack *stack, uint32_t element,
                                     struct cbf_writer *writer)
{
    static const enum cbf_op ops[] = {
        [UNWIND_KIND_PC] = CBF_PC, [UNWIND_KIND_RA] = CBF_RETURN_ADDRESS
    };
    if (element == RAW_OMITTED)
        return cbf_write_frame(writer, CBF_OMIT, stack->omitted);
    if (element == RAW_CUT)
        return cbf_write_frame(writer, CBF_TRUNC, 0);
    const struct raw_place *place = &t->places[element];
    return cbf_write_frame(writer, ops[place->kind], place->address);
}

static enum ch_status encode_stack(const struct raw_stacks *t,
                                   const struct raw_stack *stack, struct cbf_room *room)
{
    struct cbf_writer writer;
    if (!reserve_cbf(room, stack->count))
        return CH_ERR_NO_MEMORY;
    enum ch_status status =
        cbf_writer_init(&writer, 64, CBF_SPECIFIED, room->bytes, room->capacity);
    for (size_t i = 0; status == CH_OK && i < stack->count; i++)
        status = encode_element(t, stack, t->elements[stack->first + i], &writer);
    if (status != CH_OK)
        return status;
    cbf_write_end(&writer);
    base64_encode(room->bytes, writer.size, room->base64);
    return CH_OK;
}

static enum ch_status write_raw_stack(const struct raw_stacks *t,
                                      const struct raw_stack *stack,
                                      struct cbf_room *room, struct json_writer *w)
{
    enum ch_status status = encode_stack(t, stack, room);
    json_write_object(w);
    if (status == CH_OK) {
        json_write_key(w, "cbf");
        json_write_plain(w, room->base64);
    }
    json_write_key(w, "ended");
    json_write_plain(w, unwind_end_name(stack->end));
    json_write_key(w, "frames");
    json_write_array(w);
    for (size_t i = 0; i < stack->count; i++)
        write_element(stack, t->elements[stack->first + i], w);
    json_write_end(w, ']');
    json_write_end(w, '}');
    return status == CH_OK ? CH_OK : CH_ERR_NO_MEMORY;
}

static void write_place(const struct raw_stacks *t, const struct raw_place *place,
                        struct json_writer *w)
{
    json_write_object(w);
    json_write_key(w, "kind");
    json_write_plain(w, place->kind == UNWIND_KIND_PC ? "pc" : "ra");
    json_write_key(w, "address");
    json_write_hex(w, place->address);
    json_write_key(w, "trust");
    json_write_plain(w, unwind_trust_name(place->trust));
    if (place->image != SIZE_MAX) {
        json_write_key(w, "image");
        json_write_uint(w, place->image);
        json_write_key(w, "image_offset");
        json_write_hex(w, place->offset);
    }
    if (t->write_name != NULL)
        t->write_name(t->context, w, place);
    if (place->group != 0)
        t->write_group(t->context, w, place->group);
    json_write_end(w, '}');
}

enum ch_status raw_stacks_write(const struct raw_stacks *t, struct json_writer *w)
{
    struct cbf_room CH_CLEANUP(cbf_room_deinit) room = { 0 };
    enum ch_status status = CH_OK;
    json_write_key(w, "stacks");
    json_write_array(w);
    for (size_t i = 0; i < t->stack_count; i++)
        if (write_raw_stack(t, &t->stacks[i], &room, w) != CH_OK)
            status = CH_ERR_NO_MEMORY;
    json_write_end(w, ']');
    json_write_key(w, "places");
    json_write_array(w);
    for (size_t i = 0; i < t->place_count; i++)
        write_place(t, &t->places[i], w);
    json_write_end(w, ']');
    return status;
}

void raw_stacks_deinit(struct raw_stacks *stacks)
{
    free(stacks->places);
    free(stacks->place_index.slots);
    free(stacks->stacks);
    free(stacks->stack_index.slots);
    free(stacks->elements);
    *stacks = (struct raw_stacks){ 0 };
}
