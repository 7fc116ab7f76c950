// SPDX-License-Identifier: Apache-2.0
//
// stack_target THREADS DEPTH: THREADS wait, each DEPTH calls deep, and so does the main
// thread, which writes a byte once all have arrived. DEPTH -N: the calls go through
// eight functions in turn instead of one recursive function.
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench/deep_calls.h"

static sem_t arrived;
static volatile int finished; // never set

static void wait_for_ever(void)
{
    sem_post(&arrived);
    while (!finished)
        pause();
}

static void *run_thread(void *depth)
{
    return (void *)deep_calls(*(long *)depth, wait_for_ever);
}

int main(int argc, char **argv)
{
    static long depth;
    if (argc != 3)
        return 2;
    long count = strtol(argv[1], NULL, 10);
    depth = strtol(argv[2], NULL, 10);
    deep_calls_init();

    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 * 1024);
    sem_init(&arrived, 0, 0);
    for (long i = 0; i < count; i++) {
        pthread_t thread;
        if (pthread_create(&thread, &attributes, run_thread, &depth) != 0)
            return 1;
    }
    for (long i = 0; i < count; i++)
        sem_wait(&arrived);
    if (write(STDOUT_FILENO, "x", 1) != 1)
        return 1;
    run_thread(&depth);
}
