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

typedef long call_fn(long depth, void (*at_bottom)(void));
static call_fn *volatile next[8];

// FUNCTION defines functions with different frame sizes and saved registers.
#define FUNCTION(name, index, words)                                                   \
    __attribute__((noinline)) static long name(long depth, void (*at_bottom)(void))    \
    {                                                                                  \
        volatile long kept[words];                                                     \
        kept[0] = depth;                                                               \
        long below = next[((index) + 1) % 8](depth - 1, at_bottom);                    \
        return below * kept[0] + depth + (long)next[depth & 7];                        \
    }
FUNCTION(one, 0, 1)
FUNCTION(two, 1, 3)
FUNCTION(three, 2, 9)
FUNCTION(four, 3, 2)
FUNCTION(five, 4, 17)
FUNCTION(six, 5, 5)
FUNCTION(seven, 6, 40)

static long eight(long depth, void (*at_bottom)(void))
{
    return depth <= 0 ? descend(1, at_bottom) : one(depth, at_bottom) + 1;
}

static long go_down(long depth, void (*at_bottom)(void))
{
    return depth < 0 ? eight(-depth - 2, at_bottom) : descend(depth, at_bottom);
}

static void *run_thread(void *depth)
{
    go_down(*(long *)depth, wait_for_ever);
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
    static call_fn *const functions[] = {
        one, two, three, four, five, six, seven, eight
    };
    for (int i = 0; i < 8; i++)
        next[i] = functions[i];
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
    return (int)go_down(depth, crash) + bytes[heap];
}
