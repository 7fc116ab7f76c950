// SPDX-License-Identifier: Apache-2.0
//
// The recorder's rings, read from the memory of a stopped process.
//
// The handler has said where the recorder's state is (handler/request_page.h); all that
// it leads to is the process's memory, and believed no further than it can be checked.
#pragma once
#include <stdint.h>
#include <sys/types.h>

#include "agent/capture.h"
#include "agent/flight_calls.h"
#include "flight/flight_state.h"

// FLIGHT_RING_BYTES_MAX is how much of one ring is read, the newest part.
enum { FLIGHT_RING_BYTES_MAX = 1 << 20 };

// Two readings of the counter and the clock, between which times are found.
struct flight_clock {
    uint64_t start_tsc;
    uint64_t start_ns;
    uint64_t now_tsc;
    uint64_t now_ns;
};

struct flight_rings {
    struct capture *capture;
    struct flight_state state;
    struct flight_ring *rings;
    size_t count;
    struct flight_clock clock;
    uint8_t *bytes; // of the ring being read
};

// flight_rings_open reads the recorder's state and the list of its rings.
// CH_ERR_NOT_FOUND: the program has no recorder. CH_ERR_FAULT, CH_ERR_MALFORMED,
// CH_ERR_UNSUPPORTED: it is not to be read.
CH_CHECKED enum ch_status flight_rings_open(struct flight_rings *rings,
                                            struct capture *capture);
void flight_rings_close(struct flight_rings *rings);

// flight_rings_has is whether the index'th ring has records of a thread.
bool flight_rings_has(const struct flight_rings *rings, size_t index);

// flight_rings_read adds what the index'th ring holds to calls.
CH_CHECKED enum ch_status flight_rings_read(struct flight_rings *rings, size_t index,
                                            struct flight_calls *calls);

// flight_rings_function is the address of a function by its number; 0: not known.
uint64_t flight_rings_function(const struct flight_rings *rings, uint32_t number);

// flight_clock_ns is when the counter stood at tsc, by CLOCK_MONOTONIC.
int64_t flight_clock_ns(const struct flight_clock *clock, uint64_t tsc);

// flight_clock_frequency is the counter's cycles a second; 0: not known.
uint64_t flight_clock_frequency(const struct flight_clock *clock);
