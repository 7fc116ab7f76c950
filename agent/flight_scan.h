// SPDX-License-Identifier: Apache-2.0
//
// The buffers of XRay's own flight data recorder, found in the memory of a process that
// uses it: nothing tells where they are, and a stripped program has no symbols for
// them, but what a buffer begins with, the process's own id included, is hardly ever
// anything else.
//
// Memory that was touched is searched with a limit on bytes and on time, so this is for
// programs where a flight record was asked for and our recorder is not. The buffers are
// one queue for all threads: those of threads that were quiet may have been used again
// by others.
#pragma once
#include "agent/capture.h"
#include "agent/flight_source.h"
#include "agent/live/touched_pages.h"

enum {
    FLIGHT_SCAN_BUFFERS = 4096, // that are listed
    FLIGHT_SCAN_BUFFER_BYTES = 1 << 20,
    FLIGHT_SCAN_FUNCTIONS = 1 << 18,
};

// A buffer of XRay's.
struct flight_scan_buffer {
    uint64_t address;
    uint64_t size; // that was written; FLIGHT_SCAN_BUFFER_BYTES: up to its zeros
    int32_t tid;
    uint64_t tsc; // its first
    uint64_t ns;  // and its wall clock
};

struct flight_scan {
    struct capture *capture;
    struct flight_scan_buffer *buffers; // by thread and time
    size_t count;
    size_t *threads; // the first buffer of each
    size_t thread_count;
    uint64_t *functions; // addresses, of numbers 1, 2, ...
    size_t function_count;
    uint8_t *bytes;
    struct touched_pages pages;
    uint64_t deadline_us;
    bool late; // the time was over before the search was
};

// flight_scan_open searches the process's memory, and makes out a source of what it
// finds. CH_ERR_NOT_FOUND: there is nothing.
CH_CHECKED enum ch_status flight_scan_open(struct flight_scan *scan,
                                           struct capture *capture,
                                           struct flight_source *out);
void flight_scan_close(struct flight_scan *scan);
