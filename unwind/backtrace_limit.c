// SPDX-License-Identifier: Apache-2.0
#include "unwind/backtrace_limit.h"

#include <stdlib.h>

#include "base/array.h"

// frames has `limit` entries. The first limit - top hold the innermost frames in order;
// the last top are a ring of the newest frames.

void backtrace_limit_init(struct backtrace_limit *b, uint32_t limit, uint32_t top)
{
    *b = (struct backtrace_limit){ .capacity = 0 };
    backtrace_limit_set(b, limit, top);
}

void backtrace_limit_deinit(struct backtrace_limit *b)
{
    free(b->frames);
    *b = (struct backtrace_limit){ 0 };
}

void backtrace_limit_set(struct backtrace_limit *b, uint32_t limit, uint32_t top)
{
    b->limit = limit;
    b->top = limit != SETTING_NO_LIMIT && top > limit - 1 ? limit - 1 : top;
    b->kept = 0;
    b->total = 0;
    b->oldest = b->limit - b->top;
    b->failed = false;
}

// backtrace_reserve makes room for one more frame.
static bool backtrace_reserve(struct backtrace_limit *b)
{
    bool fits = array_reserve(&b->frames, &b->capacity, b->kept, sizeof(b->frames[0]));
    b->failed |= !fits;
    return fits;
}

bool backtrace_limit_add(struct backtrace_limit *b, const struct unwind_frame *frame)
{
    bool full = b->limit != SETTING_NO_LIMIT && b->kept == b->limit;
    if (full && b->top == 0) {
        b->total++;
        return false;
    }
    if (!full && !backtrace_reserve(b))
        return false;
    // Once the array is full, the newest frame replaces the oldest one of the ring.
    size_t index = full ? b->oldest : b->kept++;
    if (full)
        b->oldest = index + 1 < b->limit ? index + 1 : b->limit - b->top;
    // Copied member by member: the frame was just written that way, and a wider load
    // would stall on store forwarding.
    b->frames[index].address = frame->address;
    b->frames[index].kind = frame->kind;
    b->frames[index].trust = frame->trust;
    b->total++;
    return true;
}

bool backtrace_limit_add_many(struct backtrace_limit *b,
                              const struct unwind_frame *frames, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        // Of many frames, the ring would keep only the last ones.
        if (b->top != 0 && b->kept == b->limit && count - i > b->top) {
            b->total += count - i - b->top;
            i = count - b->top;
        }
        if (!backtrace_limit_add(b, &frames[i]))
            return false;
    }
    return true;
}

size_t backtrace_limit_count(const struct backtrace_limit *b)
{
    return b->kept;
}

struct backtrace_entry backtrace_limit_entry(const struct backtrace_limit *b,
                                             size_t index)
{
    if (b->total <= b->kept)
        return (struct backtrace_entry){ .kind = BACKTRACE_FRAME,
                                         .frame = b->frames[index] };

    size_t inner = b->limit - 1 - b->top;
    if (index == inner && b->top == 0)
        return (struct backtrace_entry){ .kind = BACKTRACE_TRUNCATED };
    if (index == inner)
        return (struct backtrace_entry){ .kind = BACKTRACE_OMITTED,
                                         .omitted = b->total - (b->limit - 1) };
    if (index > inner) {
        size_t ring = b->limit - b->top;
        index = ring + (b->oldest - ring + (index - inner - 1)) % b->top;
    }
    return (struct backtrace_entry){ .kind = BACKTRACE_FRAME,
                                     .frame = b->frames[index] };
}
