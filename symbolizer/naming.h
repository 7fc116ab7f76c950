// SPDX-License-Identifier: Apache-2.0
//
// A naming is the work on one report in three steps: list every place of its frames,
// look the places up, write the names into the frames. Only the second step reads debug
// files, so only it needs a guarded child, and its result is a name for each place and
// nothing else of the report.
//
// The report is not changed before the last step.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/status.h"
#include "symbolizer/cache/symbol_cache.h"
#include "symbolizer/report_frames.h"
#include "symbolizer/symbolizer.h"

// A naming_lookup is one place and, after its lookup, the names there.
struct naming_lookup {
    struct report_place place;
    bool after_call; // place is one before the frames' address
    json_t *names;   // NULL: not looked up yet
};

// A naming_backtrace is a backtrace of the report, which threads may share, with its
// frames.
struct naming_backtrace {
    json_t *backtrace; // borrowed
    json_t *frames;
};

// A naming_frame is one frame of the report, which backtraces may share.
struct naming_frame {
    json_t *frame; // borrowed
    json_t *bare;  // the frame without old names; NULL: an inlined call
    json_t *named; // the frames that replace it; NULL: not made yet
};

// A naming_watch tells a guarding process which image is being read, and excludes
// images.
struct naming_watch {
    volatile uint32_t *image_at_work; // an index of images, or REPORT_NO_IMAGE
    const bool *refused;              // by index of images
};

struct naming {
    const struct symbolizer_options *options;
    const struct naming_watch *watch;
    struct report_images images;
    struct naming_backtrace *backtraces; // by address in memory, each once
    size_t backtrace_count;
    size_t backtrace_capacity;
    struct naming_frame *frames; // by address in memory, each once
    size_t frame_count;
    size_t frame_capacity;
    struct naming_lookup *lookups; // by image and offset, each once
    size_t lookup_count;
    size_t lookup_capacity;
    struct symbol_cache cache; // open while places are looked up in it
};

// naming_init lists the places of report, which must outlive naming. naming has to be
// deinited whatever is returned. CH_ERR_MALFORMED: not a report.
CH_CHECKED enum ch_status naming_init(struct naming *naming, json_t *report,
                                      const struct symbolizer_options *options);

// naming_deinit frees what naming holds.
void naming_deinit(struct naming *naming);

// naming_recall names the places of each image of which the memo of the options has
// all. True if it has every image. The options may have no memo, for this and
// naming_keep.
bool naming_recall(struct naming *naming);

// naming_keep adds the names of all places to the memo.
void naming_keep(const struct naming *naming);

// naming_look_up looks up all places that have no names yet. watch may be NULL.
CH_CHECKED enum ch_status naming_look_up(struct naming *naming,
                                         const struct naming_watch *watch);

// naming_write_caches writes the missing symbol caches of images that have places.
void naming_write_caches(struct naming *naming);

// naming_write adds the names to report and sets its revision to 1.
CH_CHECKED enum ch_status naming_write(struct naming *naming, json_t *report);
