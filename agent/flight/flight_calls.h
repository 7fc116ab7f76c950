// SPDX-License-Identifier: Apache-2.0
//
// The calls of one thread, reconstructed from the records of its ring: the last events,
// how deep each was nested, and which calls were still open at the end.
//
// A ring overwrites its oldest records, so an exit may come without its entry, and
// depths are counted from the shallowest call seen. An exit of a function that is open
// further out also closes the calls made from it: longjmp or an exception left those.
// All of it is input from a crashed process.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "formats/interchange/fdr.h"

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
