// SPDX-License-Identifier: Apache-2.0
//
// A backtrace_limit keeps the frames of a walk that a report shows: at most `limit`
// entries, of which `top` come from the outer end, as Swift's Backtrace defines them.
//
// The limit counts the marker that stands for omitted frames. The walk is streamed
// through it, so that a stack of a million frames needs room for limit frames alone.
// With top 0 it says when enough was seen (backtrace_limit_add returns false).
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/settings.h"
#include "unwind/unwind_types.h"

struct backtrace_limit {
    uint32_t limit;
    uint32_t top; // at most limit - 1
    struct unwind_frame *frames;
    size_t capacity;
    size_t kept;   // places of frames in use
    size_t total;  // frames seen
    size_t oldest; // place in frames of the first of the last top ones
    bool failed;   // no memory; what was kept so far is right
};

// What backtrace_limit_entry gives at an index.
enum backtrace_entry_kind { BACKTRACE_FRAME, BACKTRACE_OMITTED, BACKTRACE_TRUNCATED };

struct backtrace_entry {
    enum backtrace_entry_kind kind;
    struct unwind_frame frame; // BACKTRACE_FRAME
    uint64_t omitted;          // BACKTRACE_OMITTED
};

// backtrace_limit_init sets the limits; limit is at least 1, SETTING_NO_LIMIT: none.
void backtrace_limit_init(struct backtrace_limit *b, uint32_t limit, uint32_t top);
void backtrace_limit_deinit(struct backtrace_limit *b);

// backtrace_limit_set changes the limits and forgets the frames.
void backtrace_limit_set(struct backtrace_limit *b, uint32_t limit, uint32_t top);

// backtrace_limit_add takes the next frame outward. False: no more are wanted.
bool backtrace_limit_add(struct backtrace_limit *b, const struct unwind_frame *frame);

// backtrace_limit_count is the number of entries to show.
size_t backtrace_limit_count(const struct backtrace_limit *b);

// backtrace_limit_entry is entry index, below backtrace_limit_count.
struct backtrace_entry backtrace_limit_entry(const struct backtrace_limit *b,
                                             size_t index);
