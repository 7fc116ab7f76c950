// SPDX-License-Identifier: Apache-2.0
//
// Captures on a stack of many segments, as gcc's -fsplit-stack makes them: each goes on
// to the segment before, or ends with a reason.
#include "crashhook/backtrace.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

enum { DEPTH = 400, FRAME_BYTES = 4096, STACK_BYTES = 64 << 10, ROOM = 2 * DEPTH };

static uint64_t addresses[ROOM];
static size_t count;
static enum crashhook_raw_end end;

__attribute__((noinline)) static unsigned descend(unsigned depth)
{
    volatile unsigned char bytes[FRAME_BYTES];
    bytes[depth] = 1;
    if (depth != 0)
        return descend(depth - 1) + bytes[depth];
    struct crashhook_raw_options options = CRASHHOOK_RAW_DEFAULTS;
    options.end = &end;
    count = crashhook_backtrace_capture_raw(addresses, ROOM, &options);
    return bytes[depth];
}

static void *run(void *unused)
{
    return descend(DEPTH) == DEPTH + 1 ? unused : NULL;
}

// capture_in_thread captures in a thread whose own stack is the first segment.
static bool capture_in_thread(void *(*run_in)(void *))
{
    pthread_attr_t attributes;
    pthread_t thread;
    void *result = NULL;
    if (pthread_attr_init(&attributes) != 0 ||
        pthread_attr_setstacksize(&attributes, STACK_BYTES) != 0 ||
        pthread_create(&thread, &attributes, run_in, &count) != 0)
        return false;
    pthread_join(thread, &result);
    pthread_attr_destroy(&attributes);
    return result == &count;
}

static void *run_prepared(void *argument)
{
    return crashhook_backtrace_thread_prepare() == 0 ? run(argument) : NULL;
}

int main(void)
{
    void *(*const ways[])(void *) = { run, run_prepared };
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        count = 0;
        if (!capture_in_thread(ways[i]))
            return 2;
        printf("%zu frames, end %d\n", count, (int)end);
        const size_t of_a_segment = 2;
        if (count < of_a_segment || end == CRASHHOOK_RAW_FULL ||
            (end == CRASHHOOK_RAW_COMPLETE && count < DEPTH))
            return 1;
    }
    return 0;
}
