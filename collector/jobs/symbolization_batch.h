// SPDX-License-Identifier: Apache-2.0
//
// A symbolization batch is a number of stored reports that are named together: what
// happens in the child process of a symbolization job. A place of a build that nobody
// named yet is looked up once (place_names.h); the parent keeps its names.
#pragma once
#include <jansson.h>

#include "base/text.h"
#include "collector/store/store_symbolization.h"

enum {
    SYMBOLIZATION_BATCH = 256, // most reports
    SYMBOLIZATION_BATCH_BYTES =
        4 << 20, // most bytes of them, decoded, but for a single one
    SYMBOLIZATION_PLACES_BYTES = 8 << 20, // most bytes of places
};

// symbolization_item is a report of a batch, with its body as it was received.
struct symbolization_item {
    char project[ENTRY_PROJECT_SIZE];
    int64_t report;
    int64_t turn;
    int64_t tries;
    int64_t received_ms;
    enum decode_encoding encoding;
    struct text body;
    size_t decoded; // bytes of the body; COLLECTOR_LARGE + 1: more
};

// symbolization_batch is reports of one project; symbols is the folder of debug files,
// known the places of their builds that were named before, by build ID.
struct symbolization_batch {
    const struct symbolization_item *items;
    size_t count;
    const char *project;
    const char *symbols;
    json_t *known;
};

// symbolization_head begins what the child writes. The places that it named follow, a
// JSON object as in place_names.h but with the build key of the debug file that was
// used in the place of the build ID, then the answers.
struct symbolization_head {
    size_t places_size;
};

// symbolization_answer is what is known of a report afterwards: of the item with that
// index.
struct symbolization_answer {
    uint32_t index;
    struct entry entry;
};

// symbolization_batch_run names the reports of a struct symbolization_batch and writes
// a head, and an answer for each that could be read; it is a guarded_child_fn.
enum ch_status symbolization_batch_run(void *batch, int to_parent);
