// SPDX-License-Identifier: Apache-2.0
//
// A naming batch is a number of stored reports that are named together: what happens in
// the child process of a naming job. A place of a build that nobody named yet is looked
// up once (place_names.h); the parent keeps its names.
#pragma once
#include <jansson.h>

#include "base/text.h"
#include "collector/store/store_naming.h"

enum {
    NAMING_BATCH = 256,            // most reports
    NAMING_BATCH_BYTES = 4 << 20,  // most bytes of them, decoded, but for a single one
    NAMING_PLACES_BYTES = 8 << 20, // most bytes of places
};

// naming_item is a report of a batch, with its body as it was received.
struct naming_item {
    char project[ENTRY_PROJECT_SIZE];
    int64_t report;
    int64_t turn;
    int64_t tries;
    int64_t received_ms;
    enum decode_encoding encoding;
    struct text body;
    size_t decoded; // bytes of the body; COLLECTOR_LARGE + 1: more
};

// naming_batch is reports of one project; symbols is the folder of debug files, known
// the places of their builds that were named before, by build ID.
struct naming_batch {
    const struct naming_item *items;
    size_t count;
    const char *project;
    const char *symbols;
    json_t *known;
};

// naming_head begins what the child writes. The places that it named follow, a JSON
// object as in place_names.h but with the build key of the debug file that was used in
// the place of the build ID, then the answers.
struct naming_head {
    size_t places_size;
};

// naming_answer is what is known of a report afterwards: of the item with that index.
struct naming_answer {
    uint32_t index;
    struct entry entry;
};

// naming_batch_run names the reports of a struct naming_batch and writes a head, and an
// answer for each that could be read; it is a guarded_child_fn.
enum ch_status naming_batch_run(void *batch, int to_parent);
