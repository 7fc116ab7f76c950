// SPDX-License-Identifier: Apache-2.0
//
// The frames of interpreted languages, and where on the C stacks they belong.
//
// An interpreter's function on the C stack runs one or more frames of the language: a
// run. Its place is an address in that function's part of the stack, where interpreters
// keep a record of the call. So each run finds its native frame without any name being
// known. While they are collected, frames are numbers alone; names are read of those
// that are written.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

// INTERPRETED_NONE is the number of no group.
enum { INTERPRETED_NONE = 0 };

// An interpreted_frame is an object of the language's, and how far it was executed.
struct interpreted_frame {
    uint64_t code;
    int32_t offset; // in bytes; INTERPRETED_NO_OFFSET: not known
};
#define INTERPRETED_NO_OFFSET INT32_MIN

// interpreted_owner is whose frames are in a run: Python's, Java's, those of other code
// of a language's runtime, which have a name alone, or JavaScript's, that V8's own
// functions run or that was compiled. INTERPRETED_CREATOR marks the place where a
// goroutine was created.
enum interpreted_owner {
    INTERPRETED_PYTHON,
    INTERPRETED_JAVA,
    INTERPRETED_RUNTIME,
    INTERPRETED_CREATOR,
    INTERPRETED_JAVASCRIPT,
    INTERPRETED_JAVASCRIPT_CODE,
};

struct interpreted_run {
    enum interpreted_owner owner;
    uint64_t stack;  // an address in the native frame that it belongs to
    uint64_t thread; // the language's own state of the thread
    uint32_t first;  // of its frames, innermost first
    uint32_t count;
    uint32_t gap;     // after so many of them, frames were left out
    uint32_t omitted; // how many; 0: none
};

// An interpreted_group is frames as they are shown in one place; equal ones are one.
struct interpreted_group {
    struct interpreted_run run;
    uint64_t hash;
    uint32_t next; // group of the same bucket
};

enum { INTERPRETED_BUCKETS = 256 };

struct interpreted {
    uint32_t limit; // frames of a run that are kept
    uint32_t top;   // of them, outermost ones
    struct interpreted_frame *frames;
    size_t frame_count;
    size_t frame_capacity;
    struct interpreted_run *runs; // sorted by stack, once sorted
    size_t run_count;
    size_t run_capacity;
    struct interpreted_group *groups; // the first is INTERPRETED_NONE
    size_t group_count;
    size_t group_capacity;
    uint32_t buckets[INTERPRETED_BUCKETS];
};

// interpreted_deinit frees what table owns; a zeroed table is empty.
void interpreted_deinit(struct interpreted *table);

// interpreted_add adds the next frame outward of the run that is being collected.
CH_CHECKED enum ch_status interpreted_add(struct interpreted *table,
                                          struct interpreted_frame frame);

// interpreted_end_run ends it: the frames since the last one are the run. Of more than
// limit frames the middle ones are left out. Without frames there is no run.
CH_CHECKED enum ch_status interpreted_end_run(struct interpreted *table, uint64_t stack,
                                              uint64_t thread);

// interpreted_drop_run forgets the frames since the last run.
void interpreted_drop_run(struct interpreted *table);

// interpreted_sort sorts the runs, once all are known.
void interpreted_sort(struct interpreted *table);

// interpreted_find gives the group of the runs in [low, high) of the stack that are of
// one thread: of *thread, the language's own state of it, which is set if it is 0. The
// stacks of other threads may follow without a gap. INTERPRETED_NONE: there are none.
uint32_t interpreted_find(struct interpreted *table, uint64_t low, uint64_t high,
                          uint64_t *thread);

// interpreted_end_group makes a group of the frames from number first on, which were
// added after all runs were sorted: of a language that is queried for each native
// frame.
uint32_t interpreted_end_group(struct interpreted *table, size_t first,
                               enum interpreted_owner owner);

// interpreted_find_call gives the group of the run number `call` among those whose
// stack is the same, innermost first: of interpreters that note no place, where stack
// stands for the thread.
uint32_t interpreted_find_call(struct interpreted *table, uint64_t stack, size_t call,
                               uint64_t *thread);
