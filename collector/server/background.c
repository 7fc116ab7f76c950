// SPDX-License-Identifier: Apache-2.0
#include "collector/server/background.h"

#include <time.h>

void background_init(struct background *background)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&background->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&background->lock, NULL);
    background->stopping = false;
    background->started = 0;
}

static void background_stop(struct background *background)
{
    pthread_mutex_lock(&background->lock);
    background->stopping = true;
    pthread_cond_broadcast(&background->changed);
    pthread_mutex_unlock(&background->lock);
    for (unsigned i = 0; i < background->started; i++)
        pthread_join(background->threads[i], NULL);
}

void background_deinit(struct background *background)
{
    background_stop(background);
    pthread_cond_destroy(&background->changed);
    pthread_mutex_destroy(&background->lock);
}

enum ch_status background_start(struct background *background, void *(*main)(void *),
                                void *context)
{
    if (background->started == BACKGROUND_THREADS_MAX ||
        pthread_create(&background->threads[background->started], NULL, main,
                       context) != 0)
        return CH_ERR_IO;
    background->started++;
    return CH_OK;
}

bool background_pause(struct background *background, int ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    until.tv_sec += ms / 1000 + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&background->lock);
    int result = 0;
    while (ms != 0 && !background->stopping && result == 0)
        result =
            pthread_cond_timedwait(&background->changed, &background->lock, &until);
    bool go_on = !background->stopping;
    pthread_mutex_unlock(&background->lock);
    return go_on;
}

int background_retry_ms(int *wait_ms, int first_ms, int most_ms)
{
    *wait_ms = *wait_ms == 0 ? first_ms : 2 * *wait_ms;
    if (*wait_ms > most_ms)
        *wait_ms = most_ms;
    return *wait_ms;
}
