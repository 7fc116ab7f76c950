// SPDX-License-Identifier: Apache-2.0
#include "agent/messages/heap_fault.h"

#include <string.h>

enum { PAGE_BYTES_MAX = 64 << 10 };

bool heap_state_is_sane(const struct heap_state *state)
{
    uint64_t page = state->page_bytes;
    return state->mode != POOL_NO && state->mode < POOL_MODES && state->slots != 0 &&
           state->slots <= HEAP_SLOTS_MAX && page != 0 && page <= PAGE_BYTES_MAX &&
           (page & (page - 1)) == 0 &&
           state->bytes == state->slots * (HEAP_SLOT_BYTES + page) + 2 * page &&
           state->base <= UINT64_MAX - state->bytes &&
           state->trap == state->base + state->bytes - page;
}

bool heap_event_is_sane(const struct heap_event *event)
{
    return event->cbf_size <= sizeof(event->cbf) && event->origin < HEAP_ORIGINS;
}

// heap_read_block reads a block. False: it has never been used, or it was changing.
static bool heap_read_block(const struct memory_reader *reader,
                            const struct heap_state *state, uint64_t slot,
                            struct heap_block *out)
{
    uint64_t start =
        state->base + state->page_bytes + slot * (HEAP_SLOT_BYTES + state->page_bytes);
    uint64_t at;
    return !__builtin_add_overflow(state->blocks, slot * sizeof(*out), &at) &&
           memory_read(reader, at, out, sizeof(*out)) == CH_OK &&
           (out->status == HEAP_LIVE || out->status == HEAP_FREED) &&
           out->size <= HEAP_SLOT_BYTES && out->address >= start &&
           out->address - start <= HEAP_SLOT_BYTES - out->size &&
           heap_event_is_sane(&out->allocated) && heap_event_is_sane(&out->freed);
}

// distance_to is how far an address is outside of a block.
static uint64_t distance_to(const struct heap_block *block, uint64_t address)
{
    uint64_t end = block->address + block->size;
    if (address < block->address)
        return block->address - address;
    return address >= end ? address - end : 0;
}

// find_nearest finds the block that an address belongs to: the one in its slot, and for
// an address in a guard page the nearer of both.
static bool find_nearest(const struct memory_reader *reader,
                         const struct heap_state *state, uint64_t address,
                         struct heap_block *out)
{
    const uint64_t stride = HEAP_SLOT_BYTES + state->page_bytes;
    uint64_t offset = address - state->base;
    uint64_t after = offset / stride; // the slot after the guard page, or around it
    bool is_guard = offset % stride < state->page_bytes;
    struct heap_block before;
    bool has_after = after < state->slots && heap_read_block(reader, state, after, out);
    bool has_before =
        is_guard && after > 0 && heap_read_block(reader, state, after - 1, &before);
    if (has_before &&
        (!has_after || distance_to(&before, address) < distance_to(out, address)))
        *out = before;
    return has_before || has_after;
}

static enum crash_kind access_kind(const struct heap_block *block, uint64_t address)
{
    if (block->status == HEAP_FREED)
        return CRASH_KIND_USE_AFTER_FREE;
    if (address < block->address)
        return CRASH_KIND_HEAP_UNDERFLOW;
    // Within a live block the fault has another reason.
    return address >= block->address + block->size ? CRASH_KIND_HEAP_OVERFLOW
                                                   : CRASH_KIND_NONE;
}

static void read_failure(const struct memory_reader *reader,
                         const struct heap_state *state, uint64_t address,
                         struct heap_fault *out)
{
    static const enum crash_kind kinds[HEAP_ERRORS] = {
        [HEAP_DOUBLE_FREE] = CRASH_KIND_DOUBLE_FREE,
        [HEAP_INVALID_FREE] = CRASH_KIND_INVALID_FREE,
        [HEAP_MISMATCHED_FREE] = CRASH_KIND_MISMATCHED_FREE,
        [HEAP_DAMAGE_BEFORE] = CRASH_KIND_HEAP_UNDERFLOW,
        [HEAP_DAMAGE_AFTER] = CRASH_KIND_HEAP_OVERFLOW,
    };
    uint64_t number = (address - state->trap) / HEAP_TRAP_BYTES;
    if (number >= HEAP_FAILURES)
        return;
    const struct heap_failure *failure = &state->failures[number];
    // The block's status is HEAP_BUSY while free checks it.
    struct heap_block *block = &out->block;
    uint64_t at = state->blocks + failure->slot * sizeof(*block);
    if (failure->error >= HEAP_ERRORS || failure->slot >= state->slots ||
        failure->origin >= HEAP_ORIGINS ||
        memory_read(reader, at, block, sizeof(*block)) != CH_OK ||
        block->size > HEAP_SLOT_BYTES || !heap_event_is_sane(&block->allocated) ||
        !heap_event_is_sane(&block->freed))
        return;
    out->kind = kinds[failure->error];
    out->found_by = crash_heap_deallocator((enum heap_origin)failure->origin);
    out->address = failure->address;
}

void heap_fault_read(const struct memory_reader *reader, uint64_t state_address,
                     uint64_t address, struct heap_fault *out)
{
    struct heap_state state;
    out->kind = CRASH_KIND_NONE;
    if (memory_read(reader, state_address, &state, sizeof(state)) != CH_OK ||
        !heap_state_is_sane(&state) || address - state.base >= state.bytes)
        return;
    if (address >= state.trap) {
        read_failure(reader, &state, address, out);
        return;
    }
    if (!find_nearest(reader, &state, address, &out->block))
        return;
    out->kind = access_kind(&out->block, address);
    out->found_by = NULL;
    out->address = address;
}

void heap_fault_find(struct capture *capture, uint64_t address, struct heap_fault *out)
{
    size_t at = 0;
    uint64_t state;
    out->kind = CRASH_KIND_NONE;
    while (
        out->kind == CRASH_KIND_NONE &&
        capture_next_place(capture, PLACE_HEAP, sizeof(struct heap_state), &at, &state))
        heap_fault_read(&capture->reader, state, address, out);
}

static struct crash_heap_event event_facts(const struct heap_event *event,
                                           uint64_t crash_ns, const char *by)
{
    bool is_earlier = event->realtime_ns <= crash_ns;
    if (event->realtime_ns == 0)
        return (struct crash_heap_event){ .age_ms = CRASH_HEAP_NO_AGE };
    return (struct crash_heap_event){
        .thread = event->tid,
        .by = by,
        .age_ms = is_earlier ? (int64_t)((crash_ns - event->realtime_ns) / 1000000)
                             : CRASH_HEAP_NO_AGE,
    };
}

void heap_fault_facts(const struct heap_fault *fault, uint64_t crash_realtime_ns,
                      struct crash_heap *out)
{
    const struct heap_block *block = &fault->block;
    const struct heap_event *allocated = &block->allocated;
    const struct heap_event *freed = &block->freed;
    *out = (struct crash_heap){ .kind = fault->kind };
    if (fault->kind == CRASH_KIND_NONE)
        return;
    out->found_by = fault->found_by;
    out->address = fault->address;
    out->block = block->address;
    out->size = block->size;
    out->allocated =
        event_facts(allocated, crash_realtime_ns,
                    crash_heap_allocator((enum heap_origin)allocated->origin));
    out->freed = event_facts(freed, crash_realtime_ns,
                             crash_heap_deallocator((enum heap_origin)freed->origin));
}
