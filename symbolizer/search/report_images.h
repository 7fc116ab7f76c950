// SPDX-License-Identifier: Apache-2.0
//
// The images of a report, as far as symbolization needs them. A report lists them in
// `images`; if it has only `image_map`, the Compact Image Map that accompanies a
// backtrace, the list is made from that.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/status.h"
#include "symbolizer/search/debug_search.h"

// REPORT_IMAGES_MAX bounds the images of one report.
enum { REPORT_IMAGES_MAX = 1 << 16 };

// REPORT_NO_IMAGE is the index for an address that is in no image.
#define REPORT_NO_IMAGE UINT32_MAX

struct report_image {
    const char *path; // from the report; "" if it has none
    struct build_id id;
    uint64_t base;
    uint64_t end_of_text;
};

struct report_images {
    struct report_image *items;
    size_t count;
    json_t *listed; // what the report's `images` should be; NULL: unchanged
};

// report_images_read reads the images of report, which must outlive them. Of a damaged
// map, the images before the damage are read.
CH_CHECKED enum ch_status report_images_read(struct report_images *out,
                                             const json_t *report);

// report_images_deinit frees what images hold; zeroed ones are empty.
void report_images_deinit(struct report_images *images);

// report_images_at gives the index of the image whose code contains address.
uint32_t report_images_at(const struct report_images *images, uint64_t address);

// report_address_read reads a number in the form of a report's addresses, and returns
// whether value is one.
bool report_address_read(const json_t *value, uint64_t *out);
