// SPDX-License-Identifier: Apache-2.0
//
// Where a flight record comes from: the rings of our recorder (flight_rings.h), or the
// buffers of XRay's own flight data recorder (flight_scan.h). The report is written
// from either in the same way (flight_report.h).
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/flight_calls.h"
#include "base/status.h"

// Two readings of the counter and the clock, between which times are found.
struct flight_clock {
    uint64_t start_tsc;
    uint64_t start_ns;
    uint64_t now_tsc;
    uint64_t now_ns; // CLOCK_MONOTONIC
};

// A thread that has a record.
struct flight_thread {
    pid_t tid;
    const char *source; // as reports name it; NULL: by its functions
    uint64_t dropped;
    bool wrapped; // older records were overwritten
    bool ended;   // before the crash
};

struct flight_source {
    void *context;
    size_t count; // of threads
    struct flight_clock clock;
    int64_t
        zero_ns; // what times count from where there was no crash, or none knows when
    uint64_t threads_missed;
    // thread says whose the index'th record is; false: it is to be left out.
    bool (*thread)(const void *context, size_t index, struct flight_thread *out);
    // read adds the records to calls, and what it finds damaged to *dropped.
    enum ch_status (*read)(void *context, size_t index, struct flight_calls *calls,
                           uint64_t *dropped);
    // function is the address of a function by its number; 0: not known.
    uint64_t (*function)(const void *context, uint32_t number);
};

// flight_clock_now reads the counter and the clock of this machine into clock.
void flight_clock_now(struct flight_clock *clock);

// flight_clock_ns is when the counter stood at tsc, by CLOCK_MONOTONIC.
int64_t flight_clock_ns(const struct flight_clock *clock, uint64_t tsc);

// flight_clock_frequency is the counter's cycles a second; 0: not known.
uint64_t flight_clock_frequency(const struct flight_clock *clock);

// flight_source_add adds the records of one buffer, in memory, of size bytes. What is
// damaged ends it, and is counted in *dropped.
CH_CHECKED enum ch_status flight_source_add(const struct fdr_header *header,
                                            const void *bytes, size_t size,
                                            struct flight_calls *calls,
                                            uint64_t *dropped);
