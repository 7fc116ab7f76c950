// SPDX-License-Identifier: Apache-2.0
//
// The processor time of a bench program, and the order of its batches.
//
// Of a program's batches the one in the middle of that order is said: the time is that
// of the whole process, and others use the machine too.
#pragma once
#include <time.h>

static inline double bench_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline int bench_compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}
