// SPDX-License-Identifier: Apache-2.0
#include "collector/server/work.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>

struct work {
    struct work_options options;
    pthread_t threads[WORK_THREADS_MAX];
    unsigned started;
    pthread_mutex_t lock; // guards everything below
    pthread_cond_t changed;
    struct work_item *first;
    struct work_item **end;
    bool ending;
};

// take_work waits for an item; NULL: the pool ends, and its queue is empty.
static struct work_item *take_work(struct work *work)
{
    pthread_mutex_lock(&work->lock);
    while (work->first == NULL && !work->ending)
        pthread_cond_wait(&work->changed, &work->lock);
    struct work_item *item = work->first;
    if (item != NULL)
        work->first = item->next;
    if (work->first == NULL)
        work->end = &work->first;
    pthread_mutex_unlock(&work->lock);
    return item;
}

static void *work_main(void *context)
{
    struct work *work = context;
    struct work_item *item;
    if (work->options.niceness != 0) // of a thread, in Linux
        (void)setpriority(PRIO_PROCESS, 0, work->options.niceness);
    while ((item = take_work(work)) != NULL)
        work->options.run(item);
    return NULL;
}

enum ch_status work_create(const struct work_options *options, struct work **out)
{
    struct work *work = calloc(1, sizeof(*work));
    if (work == NULL)
        return CH_ERR_NO_MEMORY;
    work->options = *options;
    work->end = &work->first;
    pthread_mutex_init(&work->lock, NULL);
    pthread_cond_init(&work->changed, NULL);
    while (work->started < options->threads && work->started < WORK_THREADS_MAX) {
        if (pthread_create(&work->threads[work->started], NULL, work_main, work) != 0) {
            work_destroy(work);
            return CH_ERR_IO;
        }
        work->started++;
    }
    *out = work;
    return CH_OK;
}

void work_destroy(struct work *work)
{
    if (work == NULL)
        return;
    work_end(work);
    pthread_cond_destroy(&work->changed);
    pthread_mutex_destroy(&work->lock);
    free(work);
}

void work_end(struct work *work)
{
    pthread_mutex_lock(&work->lock);
    work->ending = true;
    pthread_cond_broadcast(&work->changed);
    pthread_mutex_unlock(&work->lock);
    for (unsigned i = 0; i < work->started; i++)
        pthread_join(work->threads[i], NULL);
    work->started = 0;
}

enum ch_status work_add(struct work *work, struct work_item *item)
{
    item->next = NULL;
    pthread_mutex_lock(&work->lock);
    bool ending = work->ending;
    if (!ending) {
        *work->end = item;
        work->end = &item->next;
        pthread_cond_signal(&work->changed);
    }
    pthread_mutex_unlock(&work->lock);
    return ending ? CH_END : CH_OK;
}
