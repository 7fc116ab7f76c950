// SPDX-License-Identifier: Apache-2.0
#include "agent/raw/raw_sampled_heap.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/facts/raw_write.h"
#include "agent/messages/heap_fault.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/hex.h"
#include "formats/interchange/cbf.h"

enum { PIECE_BYTES = 16 << 10, SLOTS_AT_ONCE = 256, SLOTS_OF_CRASH = 4096 };

struct raw_sampled_heap_stack {
    struct heap_event event; // the earliest of them
    uint64_t count;
    uint64_t bytes;
    double squares; // of the sizes
};

struct raw_sampled_heap {
    struct heap_state state;
    struct raw_sampled_heap_stack *stacks;
    size_t count;
    size_t capacity;
};

// copy_records reads what can be read of a table; the rest becomes zero.
static void copy_records(struct capture *capture, uint64_t address, uint8_t *to,
                         size_t size)
{
    memset(to, 0, size);
    for (size_t at = 0; at < size; at += PIECE_BYTES) {
        size_t piece = size - at < PIECE_BYTES ? size - at : PIECE_BYTES;
        if (capture_is_process(capture))
            (void)target_memory_copy(&capture->memory, address + at, to + at, piece);
        else if (memory_read(&capture->reader, address + at, to + at, piece) != CH_OK)
            memset(to + at, 0, piece);
    }
}

// copy_steady_records reads a table of count items, and makes those zero that changed
// meanwhile. NULL: memory is short.
static uint8_t *copy_steady_records(struct capture *capture, uint64_t address,
                                    size_t count, size_t item)
{
    bool is_stopped = capture->stop.count != 0 || !capture_is_process(capture);
    uint8_t *table = malloc(count * item);
    uint8_t *again = is_stopped ? table : malloc(count * item);
    if (table != NULL)
        copy_records(capture, address, table, count * item);
    if (again != NULL && !is_stopped)
        copy_records(capture, address, again, count * item);
    for (size_t i = 0; table != NULL && again != NULL && i < count; i++)
        if (memcmp(table + i * item, again + i * item, item) != 0)
            memset(table + i * item, 0, item);
    if (again != table)
        free(again);
    return table;
}

static void add_event(struct raw_sampled_heap *heap, const struct heap_event *event,
                      uint64_t size)
{
    if (!heap_event_is_sane(event) ||
        !array_reserve(&heap->stacks, &heap->capacity, heap->count,
                       sizeof(heap->stacks[0])))
        return;
    heap->stacks[heap->count++] = (struct raw_sampled_heap_stack){
        .event = *event,
        .count = 1,
        .bytes = size,
        .squares = (double)size * (double)size,
    };
}

// add_blocks adds the blocks of some slots.
static void add_blocks(struct raw_sampled_heap *heap, struct capture *capture,
                       uint64_t first, size_t count)
{
    uint64_t address = heap->state.blocks + first * sizeof(struct heap_block);
    uint8_t *table =
        copy_steady_records(capture, address, count, sizeof(struct heap_block));
    for (size_t i = 0; table != NULL && i < count; i++) {
        const struct heap_block *block =
            (const void *)(table + i * sizeof(struct heap_block));
        if (block->status == HEAP_LIVE && block->size <= HEAP_SLOT_BYTES)
            add_event(heap, &block->allocated, block->size);
    }
    free(table);
}

// add_slots adds the pool's blocks, some at a time: their number is the process's word.
static void add_slots(struct raw_sampled_heap *heap, struct capture *capture)
{
    uint64_t slots = heap->state.slots;
    if (capture->crash != NULL && slots > SLOTS_OF_CRASH)
        slots = SLOTS_OF_CRASH;
    for (uint64_t at = 0; at < slots; at += SLOTS_AT_ONCE)
        add_blocks(heap, capture, at,
                   slots - at < SLOTS_AT_ONCE ? (size_t)(slots - at) : SLOTS_AT_ONCE);
}

static void add_live(struct raw_sampled_heap *heap, struct capture *capture)
{
    uint8_t *table =
        heap->state.live != 0
            ? copy_steady_records(capture, heap->state.live, HEAP_LIVE_PLACES,
                                  sizeof(struct heap_live))
            : NULL;
    for (size_t i = 0; table != NULL && i < HEAP_LIVE_PLACES; i++) {
        const struct heap_live *live =
            (const void *)(table + i * sizeof(struct heap_live));
        if (live->address > HEAP_LIVE_BUSY && live->size >> 48 == 0)
            add_event(heap, &live->allocated, live->size);
    }
    free(table);
}

static int by_cbf(const void *left, const void *right)
{
    const struct heap_event *a = &((const struct raw_sampled_heap_stack *)left)->event;
    const struct heap_event *b = &((const struct raw_sampled_heap_stack *)right)->event;
    if (a->cbf_size != b->cbf_size)
        return a->cbf_size < b->cbf_size ? -1 : 1;
    return memcmp(a->cbf, b->cbf, a->cbf_size);
}

static int by_bytes(const void *left, const void *right)
{
    const struct raw_sampled_heap_stack *a = left;
    const struct raw_sampled_heap_stack *b = right;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return by_cbf(left, right);
}

static void sum_up(struct raw_sampled_heap_stack *to,
                   const struct raw_sampled_heap_stack *from)
{
    to->count += from->count;
    to->bytes += from->bytes;
    to->squares += from->squares;
    if (from->event.realtime_ns < to->event.realtime_ns)
        to->event.realtime_ns = from->event.realtime_ns;
}

static void group_by_stack(struct raw_sampled_heap *heap)
{
    size_t kept = 0;
    if (heap->count == 0)
        return;
    qsort(heap->stacks, heap->count, sizeof(heap->stacks[0]), by_cbf);
    for (size_t i = 1; i < heap->count; i++) {
        if (by_cbf(&heap->stacks[kept], &heap->stacks[i]) == 0)
            sum_up(&heap->stacks[kept], &heap->stacks[i]);
        else
            heap->stacks[++kept] = heap->stacks[i];
    }
    heap->count = kept + 1;
    qsort(heap->stacks, heap->count, sizeof(heap->stacks[0]), by_bytes);
}

// whole_root is that of a number below 2^120, rounded down.
static uint64_t whole_root(double number)
{
    uint64_t root = 0;
    for (uint64_t bit = UINT64_C(1) << 60; bit != 0; bit >>= 1)
        if ((double)(root | bit) * (double)(root | bit) <= number)
            root |= bit;
    return root;
}

static void write_sizes(struct json_writer *w,
                        const struct raw_sampled_heap_stack *stack)
{
    raw_write_count(w, "count", stack->count);
    raw_write_count(w, "bytes", stack->bytes);
    raw_write_count(w, "spread_bytes", whole_root(stack->squares));
}

void raw_sampled_heap_list_images(struct raw_threads *threads,
                                  const struct heap_event *event)
{
    struct cbf_reader reader;
    struct cbf_frame frame;
    if (cbf_reader_init(&reader, event->cbf, event->cbf_size) != CH_OK)
        return;
    while (cbf_next_frame(&reader, &frame) == CH_OK)
        if (frame.kind == CBF_PC || frame.kind == CBF_RETURN_ADDRESS)
            raw_threads_list_image(threads,
                                   frame.value - (frame.kind == CBF_RETURN_ADDRESS));
}

void raw_sampled_heap_write_backtrace(struct json_writer *w,
                                      const struct heap_event *event)
{
    char base64[BASE64_SIZE(HEAP_CBF_BYTES)];
    base64_encode(event->cbf, event->cbf_size, base64);
    json_write_key(w, "backtrace");
    json_write_object(w);
    json_write_key(w, "cbf");
    json_write_plain(w, base64);
    json_write_end(w, '}');
}

static void write_stack(struct raw_threads *threads, struct json_writer *w,
                        const struct raw_sampled_heap_stack *stack, uint64_t now_ns)
{
    const struct heap_event *event = &stack->event;
    json_write_object(w);
    write_sizes(w, stack);
    if (event->realtime_ns != 0 && event->realtime_ns <= now_ns)
        raw_write_count(w, "oldest_ms", (now_ns - event->realtime_ns) / 1000000);
    if (event->cbf_size != 0) {
        raw_sampled_heap_list_images(threads, event);
        raw_sampled_heap_write_backtrace(w, event);
    }
    json_write_end(w, '}');
}

static void raw_sampled_heap_print(struct raw_threads *threads, struct json_writer *w,
                                   const struct raw_sampled_heap *heap)
{
    const struct capture *capture = threads->capture;
    size_t most = capture->crash != NULL ? RAW_HEAP_STACKS : SIZE_MAX;
    struct raw_sampled_heap_stack others = { 0 };
    uint64_t now_ns = capture->crash != NULL ? capture->crash->realtime_ns
                                             : clock_now_ms(CLOCK_REALTIME) * 1000000;
    json_write_key(w, "heap");
    json_write_object(w);
    raw_write_string(w, "mode", heap->state.mode == POOL_EVERY ? "every" : "sample");
    raw_write_count(w, "rate", heap->state.rate);
    raw_write_count(w, "lost",
                    heap->state.mode == POOL_EVERY ? heap->state.refused
                                                   : heap->state.live_lost);
    json_write_key(w, "stacks");
    json_write_array(w);
    for (size_t i = 0; i < heap->count; i++) {
        if (i < most)
            write_stack(threads, w, &heap->stacks[i], now_ns);
        else
            sum_up(&others, &heap->stacks[i]);
    }
    json_write_end(w, ']');
    if (others.count != 0) {
        json_write_key(w, "others");
        json_write_object(w);
        write_sizes(w, &others);
        json_write_end(w, '}');
    }
    json_write_end(w, '}');
}

void raw_sampled_heap_write(struct raw_threads *threads, struct json_writer *w)
{
    struct capture *capture = threads->capture;
    struct raw_sampled_heap heap = { 0 };
    size_t at = 0;
    uint64_t address;
    bool is_open = false;
    while (!is_open &&
           capture_next_place(capture, PLACE_HEAP, sizeof(heap.state), &at, &address))
        is_open = memory_read(&capture->reader, address, &heap.state,
                              sizeof(heap.state)) == CH_OK &&
                  heap_state_is_sane(&heap.state);
    // Where each allocation is guarded, a crash takes no time to read so many blocks.
    if (!is_open || heap.state.rate == 0 ||
        (heap.state.mode == POOL_EVERY && capture->crash != NULL))
        return;
    add_slots(&heap, capture);
    add_live(&heap, capture);
    group_by_stack(&heap);
    raw_sampled_heap_print(threads, w, &heap);
    free(heap.stacks);
}
