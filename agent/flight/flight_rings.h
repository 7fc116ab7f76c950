// SPDX-License-Identifier: Apache-2.0
//
// The recorder's rings, read from the memory of a stopped process or a core.
//
// The handler gives the place of the recorder's state (shared/request_page.h), or else
// the recorder's own note does (place_note.h). Everything it points to is the process's
// memory and is validated before use.
#pragma once
#include <stdint.h>
#include <sys/types.h>

#include "agent/flight/flight_source.h"
#include "agent/live/capture.h"
#include "shared/flight_state.h"

// FLIGHT_RING_BYTES_MAX is how much of one ring is read; the newest part counts.
enum { FLIGHT_RING_BYTES_MAX = 1 << 20 };

struct flight_rings {
    struct capture *capture;
    struct flight_state state;
    struct flight_ring *rings;
    size_t count;
    uint8_t *bytes; // of the ring being read
};

// flight_rings_open reads the recorder's state and the list of its rings, and makes out
// a source of them. CH_ERR_NOT_FOUND: the program has no recorder. CH_ERR_FAULT,
// CH_ERR_MALFORMED, CH_ERR_UNSUPPORTED: its state cannot be used.
CH_CHECKED enum ch_status flight_rings_open(struct flight_rings *rings,
                                            struct capture *capture,
                                            struct flight_source *out);
void flight_rings_close(struct flight_rings *rings);
