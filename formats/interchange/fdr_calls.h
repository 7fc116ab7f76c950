// SPDX-License-Identifier: Apache-2.0
//
// The calls in a trace of function records: each exit is matched with its entry.
//
// Records of threads may come in any order; those of one thread have to be in the order
// of time. An exit ends the innermost open call of its function. Calls that were open
// inside of it end with it: they were left by a jump, an exception or longjmp, or their
// exits were not recorded. An exit of a function that is not open is counted and ends
// nothing. Memory is limited by FDR_CALLS_OPEN_MAX. Time is limited too: searches for
// entries may pass over 256 open calls for each record so far, all together. That is
// enough unless many exits have no entry in a deep recursion.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/key_index.h"
#include "base/status.h"
#include "formats/interchange/fdr.h"

enum {
    FDR_CALLS_OPEN_MAX = 1 << 21, // of all threads together
    FDR_CALLS_THREADS_MAX = 1 << 18,
};

// fdr_call_end is how a call ended.
enum fdr_call_end {
    FDR_CALL_RETURNED,
    FDR_CALL_TAIL, // it jumped to another function
    FDR_CALL_LEFT, // no exit was recorded, and a call further out ended
    FDR_CALL_OPEN, // the trace ends before the call does
};

struct fdr_call {
    uint64_t begin; // cycles
    uint32_t function;
    uint32_t tag; // the user's
};

struct fdr_calls_thread {
    int32_t tid;
    uint32_t tag; // the user's
    uint64_t last_tsc;
    struct fdr_call *open; // outermost first
    size_t open_count;
    size_t open_capacity;
    uint64_t deeper; // calls past the limit, which are not tracked
};

// An fdr_calls_user receives the calls. A call's outer call, if any, precedes it in
// memory: thread->open[0] has none.
struct fdr_calls_user {
    void *context;
    // enter is called when call has become the last of thread->open; it may set tags.
    void (*enter)(void *context, struct fdr_calls_thread *thread,
                  struct fdr_call *call);
    // leave is called before call, the last of thread->open, is removed.
    void (*leave)(void *context, const struct fdr_calls_thread *thread,
                  const struct fdr_call *call, uint64_t end, enum fdr_call_end how);
};

struct fdr_calls {
    struct fdr_calls_user user;
    struct fdr_calls_thread *threads;
    size_t thread_count;
    size_t thread_capacity;
    struct key_index numbers; // of threads, by tid: index + 1
    size_t last;              // the thread of the last record
    size_t open_count;        // of all threads
    uint64_t unmatched;       // exits without an entry
    uint64_t left_out;        // entries and exits past a limit
    uint64_t steps;           // that searches for entries may still take
};

void fdr_calls_init(struct fdr_calls *calls, const struct fdr_calls_user *user);
void fdr_calls_deinit(struct fdr_calls *calls);

// fdr_calls_add processes a record; those that are no function's are ignored.
// CH_ERR_NO_MEMORY.
CH_CHECKED enum ch_status fdr_calls_add(struct fdr_calls *calls,
                                        const struct fdr_record *record);

// fdr_calls_finish ends the calls that are still open, at the last time that their
// thread has a record of.
void fdr_calls_finish(struct fdr_calls *calls);

// fdr_call_end_name gives "returned", "tail", "left" or "open".
const char *fdr_call_end_name(enum fdr_call_end how);
