// SPDX-License-Identifier: Apache-2.0
//
// Counters of what the collector did since its start, in the form that Prometheus
// reads. They only ever grow, and any thread may add to them.
#pragma once
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "collector/store/store_values.h"

enum { METRICS_STATUSES = 600 };

struct metrics {
    atomic_uint_least64_t answers[METRICS_STATUSES]; // by HTTP status
    atomic_uint_least64_t outcomes[3];               // by enum store_outcome
    atomic_uint_least64_t store_failures;
    atomic_uint_least64_t body_bytes; // of reports, as sent
    atomic_uint_least64_t debug_files;
    atomic_uint_least64_t source_bundles;
    atomic_uint_least64_t named; // reports that naming jobs finished
    atomic_uint_least64_t naming_failures;
    atomic_uint_least64_t segments; // of bodies that were packed
    atomic_uint_least64_t segment_failures;
    atomic_uint_least64_t alerts_sent;
    atomic_uint_least64_t alert_failures; // reports that they gave up
};

// metrics_count adds one to a counter.
void metrics_count(atomic_uint_least64_t *counter);

// metrics_count_answer adds one answer of an HTTP status.
void metrics_count_answer(struct metrics *metrics, unsigned status);

struct store_backlog;
struct store_staged;

// metrics_write_backlog appends how much waits to be named, and for how long.
void metrics_write_backlog(const struct store_backlog *backlog, int64_t now_ms,
                           struct text *out);

// metrics_write_staged appends how many bodies wait to be packed, and how many segments
// there are.
void metrics_write_staged(const struct store_staged *staged, int64_t now_ms,
                          struct text *out);

// metrics_write appends all counters and the store's totals in Prometheus' text format;
// totals NULL: the store could not be read.
void metrics_write(struct metrics *metrics, const struct store_totals *totals,
                   struct text *out);
