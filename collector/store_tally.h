// SPDX-License-Identifier: Apache-2.0
//
// A tally is what reports add to the figures of their groups: crashes a day, and how
// often each value came (facets, store_schema.h).
//
// The reports of a batch are mostly of few groups and alike, so they are counted here
// first, and each figure is written once a batch. Figures go out in one order, so that
// no two writers wait for each other in a circle. Used by store_add.c.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "collector/entry.h"
#include "collector/sql.h"

struct store_figure;

// A store_tally is empty when it is all zero.
struct store_tally {
    struct store_figure *figures;
    size_t count;
    size_t capacity;
    bool failed; // memory was short
};

void store_tally_deinit(struct store_tally *tally);

// store_tally_clear forgets what was counted.
void store_tally_clear(struct store_tally *tally);

// store_tally_add counts a report in a group; its entry must live until
// store_tally_queue.
void store_tally_add(struct store_tally *tally, int64_t group,
                     const struct entry *entry);

// store_tally_queue queues the statements that write all figures.
CH_CHECKED enum ch_status store_tally_queue(struct store_tally *tally, struct sql *sql);
