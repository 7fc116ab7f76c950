// SPDX-License-Identifier: Apache-2.0
//
// core_threads COUNT [abort|null|handler]: COUNT threads wait at different depths of
// recursion, then the main thread crashes some calls deep. Cross-built too.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_barrier_t all_there;
static volatile int *nowhere;

static int wait_here(int depth)
{
    if (depth > 0)
        return wait_here(depth - 1) + 1;
    pthread_barrier_wait(&all_there);
    pause();
    return depth;
}

static void *worker(void *depth)
{
    return (void *)(long)wait_here((int)(long)depth);
}

static void crash(const char *how)
{
    if (strcmp(how, "abort") == 0)
        abort();
    *nowhere = 1; // crashes here
}

static int descend(int depth, const char *how)
{
    if (depth > 0)
        return descend(depth - 1, how) + 1;
    crash(how);
    return 0;
}

static void on_signal(int number)
{
    (void)number;
    descend(2, "null");
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
    const char *how = argc > 2 ? argv[2] : "null";
    pthread_barrier_init(&all_there, NULL, (unsigned)count + 1);
    for (long i = 0; i < count; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, worker, (void *)i) != 0)
            return 1;
    }
    pthread_barrier_wait(&all_there);
    if (strcmp(how, "handler") == 0) {
        signal(SIGUSR1, on_signal);
        raise(SIGUSR1);
    }
    printf("%d\n", descend(5, how));
    return 0;
}
