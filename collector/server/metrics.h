// SPDX-License-Identifier: Apache-2.0
//
// Counters of what the collector did since its start, in the form that Prometheus
// reads. They only ever grow, and any thread may add to them.
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "collector/query/store_figures.h"
#include "collector/query/store_values.h"

enum { METRICS_STATUSES = 600, METRICS_POOLS = 5, METRICS_BUCKETS = 8 };

// metrics_times counts how many requests took at most so long.
struct metrics_times {
    atomic_uint_least64_t counts[METRICS_BUCKETS];
    atomic_uint_least64_t sum_ms;
};

struct metrics {
    struct metrics_times times[METRICS_POOLS];       // by enum http_pool
    atomic_uint_least64_t answers[METRICS_STATUSES]; // by HTTP status
    atomic_uint_least64_t outcomes[3];               // by enum store_outcome
    atomic_uint_least64_t store_failures;
    atomic_uint_least64_t body_bytes; // of reports, as sent
    atomic_uint_least64_t debug_files;
    atomic_uint_least64_t source_bundles;
    atomic_uint_least64_t named; // reports that symbolization jobs finished
    atomic_uint_least64_t symbolization_failures;
    atomic_uint_least64_t segments; // of bodies that were packed
    atomic_uint_least64_t segment_failures;
    atomic_uint_least64_t backups;
    atomic_uint_least64_t backup_failures;
    atomic_uint_least64_t alerts_sent;
    atomic_uint_least64_t alert_failures; // reports that they gave up
};

// metrics_count adds one to a counter.
void metrics_count(atomic_uint_least64_t *counter);

// metrics_count_answer adds one answer of an HTTP status.
void metrics_count_answer(struct metrics *metrics, unsigned status);

// metrics_observe adds a request that was handled in a pool to its times.
void metrics_observe(struct metrics *metrics, unsigned pool, int64_t took_ms);

// metrics_write_times appends these as histograms.
void metrics_write_times(struct metrics *metrics, struct text *out);

// metrics_queue is what is under way.
struct metrics_queue {
    size_t waiting; // reports to be stored
    size_t waiting_bytes;
    size_t held_bytes; // of bodies and answers
    bool ready;        // the store takes reports
};

// metrics_write_queue and metrics_write_figures append gauges; keep_ms is how long
// reports are kept, 0 for ever.
void metrics_write_queue(const struct metrics_queue *queue, struct text *out);
void metrics_write_figures(const struct store_figures *figures, int64_t now_ms,
                           int64_t keep_ms, struct text *out);

// metrics_write_project is a store_project_fn that appends to a struct text.
void metrics_write_project(void *text, const struct store_project_figures *project);

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
