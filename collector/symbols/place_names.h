// SPDX-License-Identifier: Apache-2.0
//
// Names by place. A place is where a frame without a name is: an offset in a build, and
// whether it is a return address. A place is named once for all reports, and its names
// are kept in the store.
//
// Known places are a tree: of each build ID an object that has the frames of each
// place, innermost first: an array, which is empty where no name was found. Users: the
// jobs that name reports, and views, which look nothing up themselves.
#pragma once
#include <jansson.h>
#include <stdbool.h>

enum {
    PLACE_NAMES_MAX = 20000, // most places that are looked at together
    PLACE_NAMES_SIZE = 56,   // of a place as text, including its NUL
};

// place_names_write_key writes the place of a frame that is in an image.
void place_names_write_key(const json_t *frame, char out[PLACE_NAMES_SIZE]);

// place_names_want adds the places of a report's threads that known has not got to
// wanted: of each build ID an object with a frame of the report for each place.
// out_count is increased by how many they are.
void place_names_want(const json_t *report, const json_t *known, json_t *wanted,
                      size_t *out_count);

// place_names_join adds places by build key (store_symbolization.h) to a tree by build
// ID. Those of a project have precedence over everybody's.
void place_names_join(json_t *known, json_t *named);

// place_names_apply puts the names of known places into the frames of a thread, and
// says whether there were any. Threads that share their frames get them together.
bool place_names_apply(const json_t *report, json_t *thread, const json_t *known);
