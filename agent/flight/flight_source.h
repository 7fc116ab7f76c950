// SPDX-License-Identifier: Apache-2.0
//
// The source of a flight record: the rings of our recorder (flight_rings.h), or the
// buffers of XRay's own flight data recorder (flight_scan.h). The report is written in
// the same way from either (flight_report.h).
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/flight/flight_calls.h"
#include "base/status.h"

// A flight_clock is two readings of the cycle counter and the clock, from which other
// times are extrapolated.
struct flight_clock {
    uint64_t start_tsc;
    uint64_t start_ns;
    uint64_t now_tsc;
    uint64_t now_ns; // CLOCK_MONOTONIC
};

// A flight_thread is a thread that has a record.
struct flight_thread {
    pid_t tid;
    const char *source; // the name in reports; NULL: derived from the functions'
                        // numbers
    uint64_t dropped;
    bool wrapped; // older records were overwritten
    bool ended;   // it exited before the crash
};

struct flight_source {
    void *context;
    size_t count; // of threads
    struct flight_clock clock;
    int64_t zero_ns; // what times are relative to when the crash's time is not known
    uint64_t threads_missed;
    // thread describes the thread whose record is at index; false: leave it out.
    bool (*thread)(const void *context, size_t index, struct flight_thread *out);
    // read adds the records to calls, and counts damaged buffers in *dropped.
    enum ch_status (*read)(void *context, size_t index, struct flight_calls *calls,
                           uint64_t *dropped);
    // function is the address of the function with that number; 0: not known.
    uint64_t (*function)(const void *context, uint32_t number);
};

// flight_clock_now reads this machine's counter and clock into clock.
void flight_clock_now(struct flight_clock *clock);

// flight_clock_ns converts a counter value to CLOCK_MONOTONIC.
int64_t flight_clock_ns(const struct flight_clock *clock, uint64_t tsc);

// flight_clock_frequency is the counter's cycles per second; 0: not known.
uint64_t flight_clock_frequency(const struct flight_clock *clock);

// flight_source_add adds the records of one buffer of size bytes. Damage ends the
// buffer and is counted in *dropped.
CH_CHECKED enum ch_status flight_source_add(const struct fdr_header *header,
                                            const void *bytes, size_t size,
                                            struct flight_calls *calls,
                                            uint64_t *dropped);
