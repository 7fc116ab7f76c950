// SPDX-License-Identifier: Apache-2.0
//
// A tally is what reports add to the figures of their groups: crashes per day, and how
// often each value occurred (facets, schema/sqlite.sql).
//
// Most reports of a batch belong to few groups and are alike, so they are counted here
// first, and each figure is written once per batch. Figures are written in one order,
// so that two writers cannot deadlock. Used by store_add.c.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "collector/database/sql.h"
#include "collector/entry/entry.h"

struct store_figure;

// store_tally counts the reports of a batch; all zeros is an empty one.
struct store_tally {
    struct store_figure *figures;
    size_t count;
    size_t capacity;
    bool failed; // out of memory
};

void store_tally_deinit(struct store_tally *tally);

// store_tally_clear resets the counts.
void store_tally_clear(struct store_tally *tally);

// store_tally_add counts a report in a group; its entry must live until
// store_tally_queue.
void store_tally_add(struct store_tally *tally, int64_t group,
                     const struct entry *entry);

// store_tally_queue queues the statements that write all figures.
CH_CHECKED enum ch_status store_tally_queue(struct store_tally *tally, struct sql *sql);
