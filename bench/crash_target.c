// SPDX-License-Identifier: Apache-2.0
//
// crash_target THREADS DEPTH HEAP_MB [LIBRARY...]: a process of a given size that
// crashes. THREADS wait, each DEPTH calls deep; the main thread goes as deep, writes
// the time to standard output and writes through a null pointer. If the variable
// CRASH_TARGET_WAITS is set, it waits instead; CRASH_TARGET_AFTER_MS: it waits so long
// before. DEPTH -N: the calls go through eight functions in turn, whose frames have
// different sizes, instead of one recursive one.
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/deep_calls.h"

static sem_t arrived;
static volatile long *volatile nowhere;

static void crash(void)
{
    struct timespec now;
    const char *after_ms = getenv("CRASH_TARGET_AFTER_MS");
    if (after_ms != NULL)
        usleep((useconds_t)strtoul(after_ms, NULL, 10) * 1000);
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
    if (write(STDOUT_FILENO, &ns, sizeof(ns)) != (ssize_t)sizeof(ns))
        _exit(1);
    if (getenv("CRASH_TARGET_WAITS") != NULL)
        pause();
    *nowhere = 1;
}

static void wait_for_ever(void)
{
    sem_post(&arrived);
    for (;;)
        pause();
}

static void *run_thread(void *depth)
{
    deep_calls(*(long *)depth, wait_for_ever);
    return NULL;
}

static int start_threads(long count, long *depth)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 * 1024);
    sem_init(&arrived, 0, 0);
    for (long i = 0; i < count; i++) {
        pthread_t thread;
        if (pthread_create(&thread, &attributes, run_thread, depth) != 0)
            return 1;
    }
    for (long i = 0; i < count; i++)
        sem_wait(&arrived);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    deep_calls_init();
    long threads = strtol(argv[1], NULL, 10);
    long depth = strtol(argv[2], NULL, 10);
    size_t heap = strtoul(argv[3], NULL, 10) << 20;

    for (int i = 4; i < argc; i++)
        if (dlopen(argv[i], RTLD_NOW) == NULL)
            return 3;
    char *bytes = malloc(heap + 1);
    if (bytes == NULL)
        return 4;
    memset(bytes, 1, heap + 1);
    if (start_threads(threads - 1, &depth) != 0)
        return 5;
    return (int)deep_calls(depth, crash) + bytes[heap];
}
