// SPDX-License-Identifier: Apache-2.0
//
// Lanes do several pieces of work at once, each in a thread of its own, and hand them
// back in the order in which they were begun.
//
// There is one lane at first, which is the calling thread. Once LANES_FROM pieces in a
// row have gone well, each more that does adds a lane, and one that does not leaves
// one: a server in trouble is not asked by several, and a few pieces need no thread and
// are done in order. Users: queue.
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

enum { LANES_MAX = 8, LANES_FROM = 8 };

typedef void lane_work_fn(void *context);

struct lane {
    lane_work_fn *work;
    void *context;
    pthread_t thread;
    bool threaded; // false: it is done
};

struct lanes {
    struct lane busy[LANES_MAX]; // a ring
    size_t first;
    size_t count;
    size_t well; // how many pieces in a row have gone well
};

// lanes_begin begins work, which must be told from other work under way. One lane at
// least must be free. With one open lane it returns when the work is done.
void lanes_begin(struct lanes *lanes, lane_work_fn *work, void *context);

// lanes_open is how many may be busy.
size_t lanes_open(const struct lanes *lanes);

// lanes_free says whether work can begin.
bool lanes_free(const struct lanes *lanes);

// lanes_end waits for the oldest work and gives its context. NULL: there is none.
void *lanes_end(struct lanes *lanes);

// lanes_judge says how a piece of work went.
void lanes_judge(struct lanes *lanes, bool well);
