// SPDX-License-Identifier: Apache-2.0
//
// crash_target THREADS DEPTH HEAP_MB [LIBRARY...]: a process of a given size that
// crashes. THREADS wait, each DEPTH calls deep; the main thread goes as deep, writes
// the time to standard output and writes through a null pointer. If the variable
// CRASH_TARGET_WAITS is set, it waits instead.
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static sem_t arrived;
static volatile long *volatile nowhere;

static void crash(void)
{
    struct timespec now;
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

// descend calls itself depth times and then at_bottom. Using the result prevents tail
// calls, which would drop frames.
__attribute__((noinline)) static long descend(long depth, void (*at_bottom)(void))
{
    if (depth <= 1) {
        at_bottom();
        return 0;
    }
    return descend(depth - 1, at_bottom) + 1;
}

static void *run_thread(void *depth)
{
    descend(*(long *)depth, wait_for_ever);
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
    return (int)descend(depth, crash) + bytes[heap];
}
