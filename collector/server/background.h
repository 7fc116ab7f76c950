// SPDX-License-Identifier: Apache-2.0
//
// What a thread in the background sleeps by and is stopped by. Users: retention, alerts
// and naming.
#pragma once
#include <pthread.h>
#include <stdbool.h>

struct background {
    pthread_mutex_t lock; // guards stopping
    pthread_cond_t changed;
    bool stopping;
};

void background_init(struct background *background);
void background_deinit(struct background *background);

// background_pause waits, not at all for 0 ms; false: the thread is to end.
bool background_pause(struct background *background, int ms);

// background_stop has the threads that wait, or will, end.
void background_stop(struct background *background);
