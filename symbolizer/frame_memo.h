// SPDX-License-Identifier: Apache-2.0
//
// What was worked out for a frame of a report, by the frame itself: threads that wait
// in one place have the same frames, as one value of the tree (report_read_shared).
//
// It forgets: a place holds one frame, and the next that falls there takes it over.
#pragma once
#include <stdint.h>

#include <jansson.h>

enum { FRAME_MEMO_SIZE = 256 };

struct frame_memo {
    struct frame_memo_place {
        const json_t *frame; // borrowed, and alive as long as the memo
        json_t *made;        // owned; NULL: nothing yet
    } places[FRAME_MEMO_SIZE];
};

// frame_memo_of is where what is made of frame belongs, and is where it was made
// before.
static inline json_t **frame_memo_of(struct frame_memo *memo, const json_t *frame)
{
    uint64_t hash = (uint64_t)(uintptr_t)frame * 0x9e3779b97f4a7c15;
    struct frame_memo_place *place = &memo->places[(hash >> 32) % FRAME_MEMO_SIZE];
    if (place->frame != frame) {
        json_decref(place->made);
        *place = (struct frame_memo_place){ .frame = frame };
    }
    return &place->made;
}

static inline void frame_memo_deinit(struct frame_memo *memo)
{
    for (int i = 0; i < FRAME_MEMO_SIZE; i++)
        json_decref(memo->places[i].made);
}
