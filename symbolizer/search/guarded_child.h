// SPDX-License-Identifier: Apache-2.0
//
// Work on untrusted debug files, in a child process with limits on memory and time: a
// file that crashes it does no other harm. The child returns its result as bytes, which
// are not trusted either.
#pragma once
#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

#include "base/status.h"
#include "base/text.h"

// A guarded_child_fn works in the child and writes its result to_parent.
typedef enum ch_status guarded_child_fn(void *context, int to_parent);

// guarded_child_now_ms is the clock of deadlines.
int64_t guarded_child_now_ms(void);

// A guarded_child is a child at work.
struct guarded_child {
    pid_t pid;
    int from;        // its result
    uint32_t *ended; // shared with it: 0 until work returned, then 1 + its status
};

// guarded_child_start starts work in a child, which ends with the calling thread, and
// guarded_child_finish, which must be called for it, takes its result. They are the
// halves of guarded_child_run.
CH_CHECKED enum ch_status guarded_child_start(guarded_child_fn *work, void *context,
                                              int64_t deadline_ms,
                                              struct guarded_child *out);
CH_CHECKED enum ch_status guarded_child_finish(struct guarded_child *child,
                                               int64_t deadline_ms,
                                               struct text *result);

// guarded_child_start_beside starts it on another processor, if there is one: the
// caller has something to do meanwhile.
CH_CHECKED enum ch_status guarded_child_start_beside(guarded_child_fn *work,
                                                     void *context, int64_t deadline_ms,
                                                     struct guarded_child *out);

// guarded_child_run runs work until deadline_ms and appends its result to result,
// within result's limit. CH_ERR_FAULT: the child crashed. CH_ERR_LIMIT: it did not
// finish in time. Otherwise work's own status.
CH_CHECKED enum ch_status guarded_child_run(guarded_child_fn *work, void *context,
                                            int64_t deadline_ms, struct text *result);

// guarded_child_reap waits for the ends of children of the calling thread whose results
// were taken: their memory is released meanwhile. Without it, a few are not waited
// for.
void guarded_child_reap(void);

// guarded_child_answer writes value to_parent (tree_bytes.h), in large pieces.
CH_CHECKED enum ch_status guarded_child_answer(const json_t *value, int to_parent);

// guarded_child_read parses such an answer; NULL: it is invalid.
json_t *guarded_child_read(const struct text *answer);

// guarded_child_enter sets the calling process's limits: address space, seconds of
// processor time, no core file, no crash handler of ours.
void guarded_child_enter(int64_t cpu_seconds);
