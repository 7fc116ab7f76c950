// SPDX-License-Identifier: Apache-2.0
//
// The clock of the records: the processor's own counter, which takes a few nanoseconds
// where the kernel's clock takes tens. Its rate is constant and it is synchronized
// between processors on every machine that the recorder is meant for.
#pragma once
#include <stdint.h>
#include <time.h>

static inline uint64_t counter_read(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#endif
}

static inline uint64_t counter_clock_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now); // the vDSO's: no system call, no lock
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
