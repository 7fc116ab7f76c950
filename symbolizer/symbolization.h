// SPDX-License-Identifier: Apache-2.0
//
// A symbolization is the work on one report in three steps: list every place of its
// frames, look the places up, write the names into the frames. Only the second step
// reads debug files, so only it needs a guarded child, and its result is a name for
// each place and nothing else of the report.
//
// The report is not changed before the last step.
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "symbolizer/cache/symbol_cache.h"
#include "symbolizer/report_frames.h"
#include "symbolizer/search/debug_search.h"
#include "symbolizer/search/report_images.h"
#include "symbolizer/symbolizer.h"

// A symbolization_lookup is one place and, after its lookup, the names there.
struct symbolization_lookup {
    struct report_place place;
    bool after_call; // place is one before the frames' address
    json_t *names;   // NULL: not looked up yet
};

// A symbolization_backtrace is a backtrace of the report, which threads may share, with
// its frames.
struct symbolization_backtrace {
    json_t *backtrace; // borrowed
    json_t *frames;
};

// A symbolization_frame is one frame of the report, which backtraces may share.
struct symbolization_frame {
    json_t *frame; // borrowed
    json_t *bare;  // the frame without old names; NULL: an inlined call
    json_t *named; // the frames that replace it; NULL: not made yet
};

// A symbolization_watch tells a guarding process which image is being read, and
// excludes images.
struct symbolization_watch {
    volatile uint32_t *image_at_work; // an index of images, or REPORT_NO_IMAGE
    const bool *refused;              // by index of images
};

struct symbolization {
    const struct symbolizer_options *options;
    const struct symbolization_watch *watch;
    struct report_images images;
    struct symbolization_backtrace *backtraces; // by address in memory, each once
    size_t backtrace_count;
    size_t backtrace_capacity;
    struct symbolization_frame *frames; // by address in memory, each once
    size_t frame_count;
    size_t frame_capacity;
    struct symbolization_lookup *lookups; // by image and offset, each once
    size_t lookup_count;
    size_t lookup_capacity;
    struct symbol_cache cache; // open while places are looked up in it
};

// symbolization_init lists the places of report, which must outlive symbolization.
// symbolization has to be deinited whatever is returned. CH_ERR_MALFORMED: not a
// report.
CH_CHECKED enum ch_status symbolization_init(struct symbolization *symbolization,
                                             json_t *report,
                                             const struct symbolizer_options *options);

// symbolization_deinit frees what symbolization holds.
void symbolization_deinit(struct symbolization *symbolization);

// symbolization_recall names the places of each image of which the memo of the options
// has all. True if it has every image. The options may have no memo, for this and
// symbolization_keep.
bool symbolization_recall(struct symbolization *symbolization);

// symbolization_keep adds the names of all places to the memo.
void symbolization_keep(const struct symbolization *symbolization);

// symbolization_look_up looks up all places that have no names yet. watch may be NULL.
CH_CHECKED enum ch_status
symbolization_look_up(struct symbolization *symbolization,
                      const struct symbolization_watch *watch);

// symbolization_write_caches writes the missing symbol caches of images that have
// places.
void symbolization_write_caches(struct symbolization *symbolization);

// symbolization_write adds the names to report and sets its revision to 1.
CH_CHECKED enum ch_status symbolization_write(struct symbolization *symbolization,
                                              json_t *report);

// The package that an image's file was built for, as its package note says: a JSON
// object in an ELF note of owner "FDO" that Fedora puts in all files, and others in
// some (`ld --package-metadata`, https://systemd.io/ELF_PACKAGE_METADATA). What is a
// program's own depends on it (report/grouping/in_app.h).

// image_package_read gives what the note of the file at path says of type, name,
// version, architecture, os and osVersion, as an object of strings. NULL: there is no
// note with a name, or the file is of another build.
json_t *image_package_read(const char *path, const struct build_id *id);

// A symbolization_memo keeps the names of places from one report to the next: the
// reports that wait in a spool are mostly of the same places of the same builds.
//
// An image is known by its build ID and its path, so images without a build ID are not
// remembered. What is installed later changes nothing for a place that is remembered: a
// memo is for one pass over a spool. Users: symbolization, `crashhook upload`.

struct symbolization_memo {
    json_t *images;
    size_t place_count;
    size_t file_readers; // reports for which debug files had to be read
};

void symbolization_memo_deinit(struct symbolization_memo *memo);
