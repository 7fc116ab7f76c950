// SPDX-License-Identifier: Apache-2.0
//
// The source of a flight record: the rings of our recorder (flight_report.h), or the
// buffers of XRay's own flight data recorder (flight_scan). The report is written in
// the same way from either (flight_report.h).
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/live/capture.h"
#include "agent/live/target_memory.h"
#include "base/status.h"
#include "formats/interchange/fdr.h"

// The calls of one thread, reconstructed from the records of its ring: the last events,
// how deep each was nested, and which calls were still open at the end.
//
// A ring overwrites its oldest records, so an exit may come without its entry, and
// depths are counted from the shallowest call seen. An exit of a function that is open
// further out also closes the calls made from it: longjmp or an exception left those.
// All of it is input from a crashed process.

enum {
    FLIGHT_OPEN_MAX = 65536, // open calls that are tracked one by one
};

struct flight_event {
    enum fdr_action action;
    uint32_t function; // its number in the ring
    uint64_t tsc;
    int64_t level; // depth relative to the first record; flight_calls_depth corrects it
    uint16_t cpu;
    bool has_argument;
    uint64_t argument;
};

struct flight_calls {
    struct flight_event *events; // ring of the last events, kept of them
    size_t kept;
    uint64_t count;            // of all events seen
    struct flight_event *open; // the entries of open calls, outermost first
    size_t open_count;
    size_t open_capacity;
    uint64_t deeper;    // open calls past FLIGHT_OPEN_MAX
    int64_t shallowest; // level: 0 or less
    uint16_t cpu;
};

// flight_calls_init prepares to keep the last kept events.
CH_CHECKED enum ch_status flight_calls_init(struct flight_calls *calls, size_t kept);
void flight_calls_deinit(struct flight_calls *calls);

// flight_calls_clear resets it for the next thread.
void flight_calls_clear(struct flight_calls *calls);

// flight_calls_add processes the thread's next record; records that concern no call are
// ignored. CH_ERR_NO_MEMORY.
CH_CHECKED enum ch_status flight_calls_add(struct flight_calls *calls,
                                           const struct fdr_record *record);

// flight_calls_listed is how many events are kept; flight_calls_event is the one at
// index, oldest first.
size_t flight_calls_listed(const struct flight_calls *calls);
const struct flight_event *flight_calls_event(const struct flight_calls *calls,
                                              size_t index);

// flight_calls_depth is how many known calls event was nested in.
uint64_t flight_calls_depth(const struct flight_calls *calls,
                            const struct flight_event *event);

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

// The buffers of XRay's own flight data recorder, found in the memory of a process that
// uses it. Nothing points to them, and a stripped program has no symbols for them, but
// the records that a buffer begins with, the process's own id among them, hardly ever
// occur elsewhere.
//
// Touched memory is searched with limits on bytes and on time, so this is for programs
// where a flight record was asked for and our recorder is absent. All threads share one
// queue of buffers: those of a quiet thread may have been reused by others.

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
