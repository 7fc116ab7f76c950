// SPDX-License-Identifier: Apache-2.0
//
// Where the libraries of ours that are in an image keep what reports show, as their
// notes say (handler/place_note.h). A handler that crashed has told; of a live process
// or a core nobody else does.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "handler/place_note.h"

// PLACE_KINDS is how many types of notes there are, and one: they index places.
enum { PLACE_KINDS = PLACE_FLIGHT + 1 };

// An image_place is what one note says, unchecked.
struct image_place {
    uint64_t address; // 0: there is no note
    uint32_t version;
    uint32_t size;
};

// place_note_read looks for our notes among those of a note segment, which begins at
// address in the target, and fills in places that are empty.
void place_note_read(struct cursor notes, uint64_t align, uint64_t address,
                     struct image_place places[PLACE_KINDS]);

// place_note_problem says what is wrong with a place in an image of which start to end
// is loaded, where size bytes are looked for; NULL: nothing.
const char *place_note_problem(const struct image_place *place, uint64_t start,
                               uint64_t end, size_t size);
