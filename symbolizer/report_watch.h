// SPDX-License-Identifier: Apache-2.0
//
// How the guarded form watches the work: the child says which image it is at, the
// parent says which images are not to be touched any more.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/status.h"
#include "symbolizer/symbolizer.h"

struct report_watch {
    volatile uint32_t *image_at_work; // an index of images; shared with the parent
    const bool *refused;              // by index of images
};

// report_watch_symbolize is symbolizer_report under watch, which may be NULL.
CH_CHECKED enum ch_status
report_watch_symbolize(json_t *report, const struct symbolizer_options *options,
                       const struct report_watch *watch);
