// SPDX-License-Identifier: Apache-2.0
//
// The cost of a captured frame: crashhook_backtrace_capture against glibc's
// backtrace(), libunwind's local unw_backtrace() and a bare frame-pointer walk. All
// unwinders walk the same stack in turns, so that other load on the machine affects all
// alike; the median of the rounds is printed, in nanoseconds per frame.
#define UNW_LOCAL_ONLY
#include <dlfcn.h>
#include <libunwind.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "crashhook/backtrace.h"

enum { ROUNDS = 101, CAPTURES = 200, FRAMES_MAX = 256 };

// A walk_fn walks the stack once and returns how many frames it saw.
typedef size_t walk_fn(void);

static size_t walk_capture(enum crashhook_unwind_algorithm algorithm)
{
    struct crashhook_capture_options options = CRASHHOOK_CAPTURE_DEFAULTS;
    struct crashhook_backtrace *backtrace;
    struct crashhook_frame frame;
    size_t count = 0;
    options.algorithm = algorithm;
    options.limit = FRAMES_MAX;
    if (crashhook_backtrace_capture(&options, &backtrace) != 0)
        exit(1);
    static size_t frames_once[3];
    if (frames_once[algorithm] == 0) {
        struct crashhook_frames frames = crashhook_backtrace_frames(backtrace);
        while (crashhook_frames_next(&frames, &frame))
            count++;
        frames_once[algorithm] = count;
    }
    crashhook_backtrace_destroy(backtrace);
    return frames_once[algorithm];
}

static size_t walk_auto(void)
{
    return walk_capture(CRASHHOOK_UNWIND_AUTO);
}

static size_t walk_precise(void)
{
    return walk_capture(CRASHHOOK_UNWIND_PRECISE);
}

static size_t walk_fast(void)
{
    return walk_capture(CRASHHOOK_UNWIND_FAST);
}

static size_t walk_raw_by(enum crashhook_unwind_algorithm algorithm)
{
    struct crashhook_raw_options options = CRASHHOOK_RAW_DEFAULTS;
    uint64_t frames[FRAMES_MAX];
    options.algorithm = algorithm;
    return crashhook_backtrace_capture_raw(frames, FRAMES_MAX, &options);
}

static size_t walk_raw(void)
{
    return walk_raw_by(CRASHHOOK_UNWIND_AUTO);
}

static size_t walk_raw_fast(void)
{
    return walk_raw_by(CRASHHOOK_UNWIND_FAST);
}

// libunwind has a backtrace() of its own, so glibc's is looked up in glibc.
static int (*glibc_backtrace)(void **, int);

static size_t walk_glibc(void)
{
    void *frames[FRAMES_MAX];
    return (size_t)glibc_backtrace(frames, FRAMES_MAX);
}

static size_t walk_libunwind(void)
{
    void *frames[FRAMES_MAX];
    return (size_t)unw_backtrace(frames, FRAMES_MAX);
}

static size_t walk_frame_pointers(void)
{
    const uintptr_t *record = __builtin_frame_address(0);
    uintptr_t frames[FRAMES_MAX];
    size_t count = 0;
    while (record != NULL && count < FRAMES_MAX) {
        const uintptr_t *next = (const uintptr_t *)record[0];
        frames[count++] = record[1];
        if (next <= record || next > record + 4096)
            break;
        record = next;
    }
    __asm__ volatile("" : : "r"(frames) : "memory");
    return count;
}

static const struct {
    const char *name;
    walk_fn *walk;
} walkers[] = {
    { "crashhook auto", walk_auto },
    { "crashhook precise", walk_precise },
    { "crashhook fast", walk_fast },
    { "crashhook raw", walk_raw },
    { "crashhook raw fast", walk_raw_fast },
    { "glibc backtrace()", walk_glibc },
    { "libunwind unw_backtrace()", walk_libunwind },
    { "frame pointers alone", walk_frame_pointers },
};

enum { WALKERS = sizeof(walkers) / sizeof(walkers[0]) };

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return a < b ? -1 : a > b;
}

static void measure(void)
{
    static double spent[WALKERS][ROUNDS];
    size_t frames[WALKERS];
    for (size_t w = 0; w < WALKERS; w++)
        frames[w] = walkers[w].walk(); // warm-up: does what is done only once
    for (size_t round = 0; round < ROUNDS; round++) {
        for (size_t w = 0; w < WALKERS; w++) {
            double begin = now_ns();
            for (int i = 0; i < CAPTURES; i++)
                walkers[w].walk();
            spent[w][round] = (now_ns() - begin) / CAPTURES;
        }
    }
    for (size_t w = 0; w < WALKERS; w++) {
        qsort(spent[w], ROUNDS, sizeof(spent[w][0]), by_value);
        double median = spent[w][ROUNDS / 2];
        printf("%-26s %4zu frames %9.0f ns a capture %7.1f ns a frame\n",
               walkers[w].name, frames[w], median, median / (double)frames[w]);
    }
}

__attribute__((noinline)) static void descend(unsigned depth)
{
    if (depth == 0)
        measure();
    else
        descend(depth - 1);
    __asm__ volatile("");
}

int main(int argc, char **argv)
{
    void *found = dlsym(dlopen("libc.so.6", RTLD_NOW), "backtrace");
    memcpy(&glibc_backtrace, &found, sizeof(found));
    if (found == NULL)
        return 1;
    descend(argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 40);
    return 0;
}
