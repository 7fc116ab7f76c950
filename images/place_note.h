// SPDX-License-Identifier: Apache-2.0
//
// Where those of our libraries that are in an image keep what reports show, according
// to their notes (shared/place_note.h). After a crash the handler reports it; for a
// live process or a core, only the notes do.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "shared/place_note.h"

// PLACE_KINDS is one more than the highest note type: the types index places.
enum { PLACE_KINDS = PLACE_HEAP + 1 };

// An image_place is the content of one note, not yet validated.
struct image_place {
    uint64_t address; // 0: there is no note
    uint32_t version;
    uint32_t size;
};

// place_note_read looks for our notes in a note segment that begins at address in the
// target, and fills in places that are empty.
void place_note_read(struct cursor notes, uint64_t align, uint64_t address,
                     struct image_place places[PLACE_KINDS]);

// place_note_problem says what is wrong with a place of size bytes in an image loaded
// from start to end; NULL: nothing.
const char *place_note_problem(const struct image_place *place, uint64_t start,
                               uint64_t end, size_t size);
