// SPDX-License-Identifier: Apache-2.0
#include "collector/objects/fetch_gate.h"

#include <time.h>

#include "base/clock.h"

void fetch_gate_init(struct fetch_gate *gate, int patience_ms)
{
    pthread_condattr_t attributes;
    *gate = (struct fetch_gate){ .patience_ms = patience_ms };
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&gate->left, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&gate->lock, NULL);
}

void fetch_gate_deinit(struct fetch_gate *gate)
{
    pthread_cond_destroy(&gate->left);
    pthread_mutex_destroy(&gate->lock);
}

bool fetch_gate_enter(struct fetch_gate *gate)
{
    int result = 0;
    pthread_mutex_lock(&gate->lock);
    // The newest of those inside may have entered while this one waited.
    while (gate->inside == FETCH_GATE_WIDTH && result == 0) {
        int64_t until_ms = gate->newest_ms + gate->patience_ms;
        const struct timespec until = { .tv_sec = until_ms / 1000,
                                        .tv_nsec = until_ms % 1000 * 1000000 };
        result = pthread_cond_timedwait(&gate->left, &gate->lock, &until);
    }
    bool entered = gate->inside < FETCH_GATE_WIDTH;
    if (entered) {
        gate->inside++;
        gate->newest_ms = (int64_t)clock_now_ms(CLOCK_MONOTONIC);
    }
    pthread_mutex_unlock(&gate->lock);
    return entered;
}

void fetch_gate_leave(struct fetch_gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->inside--;
    pthread_cond_signal(&gate->left);
    pthread_mutex_unlock(&gate->lock);
}
