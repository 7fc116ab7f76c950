// SPDX-License-Identifier: Apache-2.0
#include "report/summary/crash_heap.h"

#include <inttypes.h>

const char *crash_heap_allocator(enum heap_origin origin)
{
    static const char *const names[HEAP_ORIGINS] = {
        [HEAP_BY_MALLOC] = "malloc",
        [HEAP_BY_NEW] = "operator new",
        [HEAP_BY_NEW_ARRAY] = "operator new[]",
    };
    return origin < HEAP_ORIGINS ? names[origin] : NULL;
}

const char *crash_heap_deallocator(enum heap_origin origin)
{
    static const char *const names[HEAP_ORIGINS] = {
        [HEAP_BY_MALLOC] = "free",
        [HEAP_BY_NEW] = "operator delete",
        [HEAP_BY_NEW_ARRAY] = "operator delete[]",
    };
    return origin < HEAP_ORIGINS ? names[origin] : NULL;
}

static void append_bytes(uint64_t count, struct text *out)
{
    text_appendf(out, "%" PRIu64 " byte%s", count, count == 1 ? "" : "s");
}

// append_age appends "2.1 s earlier".
static void append_age(int64_t age_ms, struct text *out)
{
    if (age_ms >= 10000)
        text_appendf(out, "%" PRId64 " s", age_ms / 1000);
    else if (age_ms >= 1000)
        text_appendf(out, "%" PRId64 ".%" PRId64 " s", age_ms / 1000,
                     age_ms % 1000 / 100);
    else
        text_appendf(out, "%" PRId64 " ms", age_ms);
}

static void append_thread(const struct crash_heap_event *event, struct text *out)
{
    text_appendf(out, "thread %" PRIu32, event->thread);
    if (event->name != NULL)
        text_appendf(out, " '%.15s'", event->name);
}

void crash_heap_append_event(const struct crash_heap_event *event, struct text *out)
{
    text_append_string(out, "by ");
    append_thread(event, out);
    if (event->by != NULL)
        text_appendf(out, " with %.40s", event->by);
    if (event->age_ms == CRASH_HEAP_NO_AGE)
        return;
    text_append_string(out, ", ");
    append_age(event->age_ms, out);
    text_append_string(out, " before the crash");
}

// append_distance reports where the address is: "16 bytes after".
static void append_distance(const struct crash_heap *heap, struct text *out)
{
    uint64_t end = heap->block + heap->size;
    if (heap->address < heap->block) {
        append_bytes(heap->block - heap->address, out);
        text_append_string(out, " before");
    } else if (heap->address == end) {
        text_append_string(out, "right after");
    } else if (heap->address > end) {
        append_bytes(heap->address - end, out);
        text_append_string(out, " after");
    } else if (heap->address == heap->block) {
        text_append_string(out, "at the start of");
    } else {
        append_bytes(heap->address - heap->block, out);
        text_append_string(out, " into");
    }
}

// append_block appends "a block of 48 bytes".
static void append_block(const struct crash_heap *heap, struct text *out)
{
    text_append_string(out, "a block of ");
    append_bytes(heap->size, out);
}

// append_freed reports who freed the block: "freed by thread 7 'io' 2.1 s earlier".
static void append_freed(const struct crash_heap *heap, struct text *out)
{
    if (heap->freed.thread == 0)
        return;
    text_append_string(out, " freed by ");
    append_thread(&heap->freed, out);
    if (heap->freed.age_ms == CRASH_HEAP_NO_AGE)
        return;
    text_append_string(out, " ");
    append_age(heap->freed.age_ms, out);
    text_append_string(out, " earlier");
}

void crash_heap_append(const struct crash_heap *heap, enum crash_kind kind,
                       const char *access, struct text *out)
{
    const char *by = heap->found_by != NULL ? heap->found_by : "free";
    switch (kind) {
    case CRASH_KIND_DOUBLE_FREE:
        text_appendf(out, "Second %.40s of ", by);
        append_block(heap, out);
        text_append_string(out, heap->freed.thread != 0 ? "," : "");
        append_freed(heap, out);
        return;
    case CRASH_KIND_INVALID_FREE:
        text_appendf(out, "Call of %.40s with an address ", by);
        append_distance(heap, out);
        text_append_string(out, " ");
        append_block(heap, out);
        return;
    case CRASH_KIND_MISMATCHED_FREE:
        text_appendf(out, "Call of %.40s for ", by);
        append_block(heap, out);
        if (heap->allocated.by != NULL)
            text_appendf(out, " from %.40s", heap->allocated.by);
        return;
    default:
        break;
    }
    text_append_string(out, heap->found_by != NULL ? "Overwritten memory" : access);
    // The distance is not what was written: "Write of 8 bytes, 16 bytes after".
    if (heap->found_by == NULL && heap->address != heap->block &&
        heap->address != heap->block + heap->size)
        text_append_string(out, ",");
    text_append_string(out, " ");
    append_distance(heap, out);
    text_append_string(out, " ");
    append_block(heap, out);
    if (heap->found_by != NULL) {
        text_appendf(out, ", found when %.40s was called for it", by);
        return;
    }
    text_append_string(out, heap->freed.thread != 0 ? "," : "");
    append_freed(heap, out);
}
