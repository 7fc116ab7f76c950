// SPDX-License-Identifier: Apache-2.0
#include "agent/flight/flight_source.h"

#include "shared/counter.h"

void flight_clock_now(struct flight_clock *clock)
{
    clock->now_tsc = counter_read();
    clock->now_ns = counter_clock_ns();
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
