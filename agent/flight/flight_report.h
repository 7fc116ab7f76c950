// SPDX-License-Identifier: Apache-2.0
//
// The member `flight` of the raw report: the last calls of each thread before the
// crash. Functions are written as addresses; the free phase adds the names, using the
// list of all addresses that is written with them (symbolizer/flight_names.h).
#pragma once
#include <stdint.h>
#include <sys/types.h>

#include "agent/flight/flight_source.h"
#include "agent/live/capture.h"
#include "report/json/json_writer.h"
#include "shared/flight_state.h"

// flight_report_write writes the member, or nothing where the program records nothing.
// A record that cannot be read becomes a problem of the capture. first_image is the
// index in the report of the first image that flight_images_write has written.
void flight_report_write(struct json_writer *w, struct capture *capture,
                         size_t first_image);

// flight_images_write writes libraries that the program has unloaded and whose
// functions may be in the record, into the array of the report's images.
void flight_images_write(struct json_writer *w, struct capture *capture);

// The recorder's rings, read from the memory of a stopped process or a core.
//
// The handler gives the place of the recorder's state (shared/request_page.h), or else
// the recorder's own note does (shared/place_note.h). Everything it points to is the
// process's memory and is validated before use.

// FLIGHT_RING_BYTES_MAX is how much of one ring is read; the newest part counts.
enum { FLIGHT_RING_BYTES_MAX = 1 << 20 };

struct flight_rings {
    struct capture *capture;
    struct flight_state state;
    struct flight_ring *rings;
    size_t count;
    uint8_t *bytes;                            // of the ring being read
    struct flight_image images[FLIGHT_IMAGES]; // of functions
    size_t image_count;
    const struct flight_image *unloaded[FLIGHT_IMAGES]; // those that are not loaded now
    size_t unloaded_count;
};

// flight_rings_open reads the recorder's state and the list of its rings, and makes out
// a source of them. CH_ERR_NOT_FOUND: the program has no recorder. CH_ERR_FAULT,
// CH_ERR_MALFORMED, CH_ERR_UNSUPPORTED: its state cannot be used.
CH_CHECKED enum ch_status flight_rings_open(struct flight_rings *rings,
                                            struct capture *capture,
                                            struct flight_source *out);
void flight_rings_close(struct flight_rings *rings);
