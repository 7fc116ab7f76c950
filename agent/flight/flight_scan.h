// SPDX-License-Identifier: Apache-2.0
//
// The buffers of XRay's own flight data recorder, found in the memory of a process that
// uses it. Nothing points to them, and a stripped program has no symbols for them, but
// the records that a buffer begins with, the process's own id among them, hardly ever
// occur elsewhere.
//
// Touched memory is searched with limits on bytes and on time, so this is for programs
// where a flight record was asked for and our recorder is absent. All threads share one
// queue of buffers: those of a quiet thread may have been reused by others.
#pragma once
#include "agent/flight/flight_source.h"
#include "agent/live/capture.h"
#include "agent/live/target_memory.h"

enum {
    FLIGHT_SCAN_BUFFERS = 4096, // buffers listed at most
    FLIGHT_SCAN_BUFFER_BYTES = 1 << 20,
    FLIGHT_SCAN_FUNCTIONS = 1 << 18,
};

// A flight_scan_buffer is one of XRay's buffers.
struct flight_scan_buffer {
    uint64_t address;
    uint64_t size; // bytes written; FLIGHT_SCAN_BUFFER_BYTES: unknown, it ends at its
                   // zeros
    int32_t tid;
    uint64_t tsc; // the first timestamp
    uint64_t ns;  // the wall clock at that moment
};

struct flight_scan {
    struct capture *capture;
    struct flight_scan_buffer *buffers; // sorted by thread and time
    size_t count;
    size_t *threads; // index of each thread's first buffer
    size_t thread_count;
    uint64_t *functions; // addresses of functions 1, 2, ...
    size_t function_count;
    uint8_t *bytes;
    struct touched_pages pages;
    uint64_t deadline_us;
    bool late; // the time limit passed before the search ended
};

// flight_scan_open searches the process's memory, and makes out a source of what it
// finds. CH_ERR_NOT_FOUND: there is nothing.
CH_CHECKED enum ch_status flight_scan_open(struct flight_scan *scan,
                                           struct capture *capture,
                                           struct flight_source *out);
void flight_scan_close(struct flight_scan *scan);
