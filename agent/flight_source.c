// SPDX-License-Identifier: Apache-2.0
#include "agent/flight_source.h"

#include <time.h>

static uint64_t read_cycle_counter(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#endif
}

void flight_clock_now(struct flight_clock *clock)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    clock->now_tsc = read_cycle_counter();
    clock->now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int64_t flight_clock_ns(const struct flight_clock *clock, uint64_t tsc)
{
    uint64_t ticks = clock->now_tsc - clock->start_tsc;
    __int128 back = (int64_t)(tsc - clock->now_tsc);
    __int128 span = (int64_t)(clock->now_ns - clock->start_ns);
    if (ticks == 0 || (int64_t)ticks < 0)
        return (int64_t)clock->now_ns;
    return (int64_t)((__int128)clock->now_ns + back * span / (int64_t)ticks);
}

uint64_t flight_clock_frequency(const struct flight_clock *clock)
{
    uint64_t ns = clock->now_ns - clock->start_ns;
    unsigned __int128 ticks = clock->now_tsc - clock->start_tsc;
    return ns != 0 ? (uint64_t)(ticks * 1000000000u / ns) : 0;
}

enum ch_status flight_source_add(const struct fdr_header *header, const void *bytes,
                                 size_t size, struct flight_calls *calls,
                                 uint64_t *dropped)
{
    struct fdr_reader reader;
    struct fdr_record record;
    enum ch_status status;
    fdr_reader_init_buffer(&reader, header, bytes, size);
    while ((status = fdr_next_record(&reader, &record)) == CH_OK) {
        status = flight_calls_add(calls, &record);
        if (status != CH_OK)
            return status;
    }
    *dropped += status != CH_END;
    return CH_OK;
}
