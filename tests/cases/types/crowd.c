// SPDX-License-Identifier: Apache-2.0
//
// 150 threads wait thirty calls deep, and the first one crashes as deep: more frames
// than a report shows variables of. Each call passes one less than it was passed.
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

enum { THREADS = 150, DEPTH = 30 };

static sem_t arrived;
static volatile long *volatile nowhere;

static void wait_here(void)
{
    sem_post(&arrived);
    for (;;)
        pause();
}

static void crash_here(void)
{
    *nowhere = 1;
}

__attribute__((noinline)) static long descend(long depth, void (*at_bottom)(void))
{
    if (depth == 1) {
        at_bottom();
        return 0;
    }
    return descend(depth - 1, at_bottom) + 1;
}

static void *run_thread(void *context)
{
    descend(DEPTH, wait_here);
    return context;
}

int main(void)
{
    pthread_t thread;
    sem_init(&arrived, 0, 0);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread, NULL, run_thread, NULL) != 0)
            return 1;
    for (int i = 0; i < THREADS; i++)
        sem_wait(&arrived);
    return (int)descend(DEPTH, crash_here);
}
