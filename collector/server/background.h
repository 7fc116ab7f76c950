// SPDX-License-Identifier: Apache-2.0
//
// Threads in the background: how they begin, what they sleep by, and how they are
// ended. Users: retention, alerts, symbolization, and the threads that pack bodies,
// keep debug files and make backups.
#pragma once
#include <pthread.h>
#include <stdbool.h>

#include "base/status.h"

enum { BACKGROUND_THREADS_MAX = 16 };

struct background {
    pthread_mutex_t lock; // guards stopping
    pthread_cond_t changed;
    bool stopping;
    pthread_t threads[BACKGROUND_THREADS_MAX];
    unsigned started;
};

void background_init(struct background *background);

// background_deinit ends all threads and waits until they have ended.
void background_deinit(struct background *background);

// background_start starts one more thread. CH_ERR_IO: there can be none.
CH_CHECKED enum ch_status background_start(struct background *background,
                                           void *(*main)(void *), void *context);

// background_pause waits, not at all for 0 ms; false: the thread is to end.
bool background_pause(struct background *background, int ms);

// background_retry_ms is how long to wait after one more failure: at first first_ms,
// then twice as long as before, at most most_ms. *wait_ms is the wait before, 0 after
// success.
int background_retry_ms(int *wait_ms, int first_ms, int most_ms);
