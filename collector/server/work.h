// SPDX-License-Identifier: Apache-2.0
//
// A pool of work: a queue, and the threads that empty it in the order of arrival. What
// takes long is queued in a pool of its own, so that it only delays its like.
#pragma once
#include "base/status.h"

struct work;

// work_item is a member of whatever is to be done.
struct work_item {
    struct work_item *next;
};

// work_run_fn does an item, on one of the pool's threads.
typedef void work_run_fn(struct work_item *item);

enum { WORK_THREADS_MAX = 8 };

struct work_options {
    unsigned threads; // 1 to WORK_THREADS_MAX
    int niceness;     // of these threads
    work_run_fn *run;
};

// work_create starts a pool's threads.
CH_CHECKED enum ch_status work_create(const struct work_options *options,
                                      struct work **out);

// work_destroy does what is queued, ends the threads and frees the pool.
void work_destroy(struct work *work);

// work_end is the first half of work_destroy: after it nothing is queued, and work_add
// refuses.
void work_end(struct work *work);

// work_add queues an item, which stays the caller's. CH_END: the pool has ended.
CH_CHECKED enum ch_status work_add(struct work *work, struct work_item *item);
