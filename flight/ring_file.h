// SPDX-License-Identifier: Apache-2.0
//
// The rings in the program's liveness record (handler/prepare/liveness_record.h), so
// that a program that is killed leaves its last calls: where the handler has made a
// record, the recorder's memory is a part of it.
//
// Every page is allocated before it is used for the first time, so that a lack of
// memory is an error here and no signal at a later call.
//
// Users: ring.c, functions.c, start.c.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/flight_state.h"

#pragma GCC visibility push(hidden)

// ring_file_begin maps room for rings whose blocks have block_bytes each, and returns
// the rings. NULL: the program has no liveness record with room for them. state is that
// of the recorder, which must stay.
struct flight_ring *ring_file_begin(const struct flight_state *state,
                                    size_t block_bytes);

// ring_file_admits makes a ring ready to be written to; false: there is no room for it.
// It admits every ring that is not in the file.
bool ring_file_admits(const struct flight_ring *ring);

// ring_file_blocks gives the blocks of a ring in the file. NULL: it has none there.
void *ring_file_blocks(const struct flight_ring *ring);

// ring_file_tell copies the recorder's state to the file.
void ring_file_tell(void);

// ring_file_note_function copies a function's slot of the table to the file.
void ring_file_note_function(uint32_t slot, uint64_t value);

// ring_file_note_image copies an image to the file.
void ring_file_note_image(uint64_t index, const struct flight_image *image);

// ring_file_leave gives a forked child memory of its own, with what the rings in use
// have and the blocks of own, which may be NULL. false: there is none; nothing may be
// recorded any more.
bool ring_file_leave(const struct flight_ring *own);

#pragma GCC visibility pop
