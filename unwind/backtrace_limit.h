// SPDX-License-Identifier: Apache-2.0
//
// A backtrace_limit keeps those frames of a walk that a report shows: at most `limit`
// entries, of which `top` are the outermost ones, as Swift's Backtrace defines both.
//
// The marker that stands for omitted frames counts as an entry. Frames are added one by
// one during the walk, so a stack of a million frames takes memory for only limit
// frames. With top 0 the walk can stop early: backtrace_limit_add then returns false.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/settings/settings.h"
#include "unwind/unwind_types.h"

struct backtrace_limit {
    uint32_t limit;
    uint32_t top; // at most limit - 1
    struct unwind_frame *frames;
    size_t capacity;
    size_t kept;   // entries of frames in use
    size_t total;  // frames seen
    size_t oldest; // with top: index of the oldest of the outermost frames (a ring)
    bool failed;   // out of memory; the frames kept so far are right
};

// backtrace_entry_kind is what backtrace_limit_entry found at an index.
enum backtrace_entry_kind { BACKTRACE_FRAME, BACKTRACE_OMITTED, BACKTRACE_TRUNCATED };

struct backtrace_entry {
    enum backtrace_entry_kind kind;
    struct unwind_frame frame; // BACKTRACE_FRAME
    uint64_t omitted;          // BACKTRACE_OMITTED
};

// backtrace_limit_init sets the limits. limit is at least 1, or SETTING_NO_LIMIT.
void backtrace_limit_init(struct backtrace_limit *b, uint32_t limit, uint32_t top);
void backtrace_limit_deinit(struct backtrace_limit *b);

// backtrace_limit_set changes the limits and forgets the frames.
void backtrace_limit_set(struct backtrace_limit *b, uint32_t limit, uint32_t top);

// backtrace_limit_add adds the next frame outward. False: no more are wanted.
bool backtrace_limit_add(struct backtrace_limit *b, const struct unwind_frame *frame);

// backtrace_limit_add_many adds the next count frames outward.
bool backtrace_limit_add_many(struct backtrace_limit *b,
                              const struct unwind_frame *frames, size_t count);

// backtrace_limit_count is the number of entries to show.
size_t backtrace_limit_count(const struct backtrace_limit *b);

// backtrace_limit_entry gives the entry at index, which is below backtrace_limit_count.
struct backtrace_entry backtrace_limit_entry(const struct backtrace_limit *b,
                                             size_t index);
