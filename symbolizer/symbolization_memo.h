// SPDX-License-Identifier: Apache-2.0
//
// A symbolization_memo keeps the names of places from one report to the next: the
// reports that wait in a spool are mostly of the same places of the same builds.
//
// An image is known by its build ID and its path, so images without a build ID are not
// remembered. What is installed later changes nothing for a place that is remembered: a
// memo is for one pass over a spool. Users: symbolization, `crashhook upload`.
#pragma once
#include <stddef.h>

#include <jansson.h>

#include "symbolizer/search/report_images.h"

struct symbolization_memo {
    json_t *images;
    size_t place_count;
    size_t file_readers; // reports for which debug files had to be read
};

void symbolization_memo_deinit(struct symbolization_memo *memo);

// symbolization_memo_image is what memo has of an image, {places: {key: names},
// package: P}, which is made if there is nothing yet; image NULL stands for what is in
// no image. NULL: the image is not remembered, memory is short, or memo is NULL.
json_t *symbolization_memo_image(struct symbolization_memo *memo,
                                 const struct report_image *image);

// symbolization_memo_count counts places that were added. A memo that has too many
// starts anew.
void symbolization_memo_count(struct symbolization_memo *memo, size_t places);
