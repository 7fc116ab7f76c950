// SPDX-License-Identifier: Apache-2.0
//
// The files that a debugger needs to show a report: each image's own if it is here in
// the very build, else its debug file, from here or from a collector, and the sources
// that a collector has of it.
//
// A path in a report comes from a stranger. It is opened as a regular file, compared by
// build ID, and reaches the debugger under a name that is ours. User: debug.c.
#pragma once
#include <jansson.h>

#include "cli/debug/debug_core.h"
#include "cli/session/session.h"

struct debug_images {
    const struct session *session;
    const char *folder;    // into which links and files are put
    const char *collector; // its address; NULL: none is asked
    json_t *found;         // [{"number", "bias", "path"}]
    json_t *notes;         // sentences about what is missing
    struct debug_ranges ranges;
};

// debug_images_init makes the folders; debug_images_find fills the rest in from a
// report in expanded form, which must outlive it.
CH_CHECKED enum ch_status debug_images_init(struct debug_images *images,
                                            const struct session *session,
                                            const char *folder, const char *collector);
CH_CHECKED enum ch_status debug_images_find(struct debug_images *images,
                                            const json_t *report);
void debug_images_deinit(struct debug_images *images);
