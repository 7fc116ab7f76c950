// SPDX-License-Identifier: Apache-2.0
//
// Frames of JavaScript in a held process that runs V8: interpreted ones, those of
// baseline and of optimized code with what was inlined into it, and those of functions
// that are built in, read from outside by the metadata that V8 exports (v8_object.h).
//
// v8_open finds V8, v8_collect looks at one frame of a walk, v8_describe names a
// function when it is written. Everything is hostile: an object counts only if its map
// says that it is of the type that is expected, each table and text has a limit, time
// has one for all frames, and nothing recurs.
#pragma once
#include "formats/runtime/v8_positions.h"
#include "languages/interpreted.h"
#include "languages/v8_object.h"

// Limits: of functions inlined into each other, of a table or the bytecodes of a
// function, and of the time for all frames.
enum {
    V8_INLINED_MAX = 32,
    V8_TABLE_MAX = 256 << 10,
    V8_TIME_US = 100000,
    V8_KNOWN_FRAMES = 256,
};

struct v8 {
    struct v8_heap heap;
    const struct target_image *image; // that has V8 in it; NULL: none has
    struct v8_known_frame {
        uint64_t key[3];
        uint32_t group;
    } frames[V8_KNOWN_FRAMES];
    uint64_t deadline_us; // 0: not begun
    const char *problem;  // why not all was read; NULL: nothing was left out
};

// A v8_frame is a native frame of a walk.
struct v8_frame {
    uint64_t fp;   // its frame pointer
    uint64_t pc;   // an address inside of the instruction that it is at
    bool compiled; // its code is in no image
};

struct v8_place {
    struct text function;
    struct text file; // empty: not known
    uint32_t line;    // 0: not known
};

// v8_open finds V8 among the images. CH_ERR_NOT_FOUND: there is none.
// CH_ERR_UNSUPPORTED: of an unknown version.
CH_CHECKED enum ch_status v8_open(struct v8 *v8, const struct memory_reader *reader,
                                  const struct target_images *images);

// v8_collect adds the functions of a frame to table, and gives their group;
// INTERPRETED_NONE: it is none of JavaScript's.
uint32_t v8_collect(struct v8 *v8, const struct v8_frame *frame,
                    struct interpreted *table);

// v8_describe names a function that was collected.
void v8_describe(const struct v8 *v8, const struct interpreted_frame *frame,
                 struct v8_place *out);
void v8_place_deinit(struct v8_place *place);
