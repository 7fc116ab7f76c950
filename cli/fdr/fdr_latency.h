// SPDX-License-Identifier: Apache-2.0
//
// Durations grouped by a key: count, sum, least, greatest, and percentiles.
//
// Each different duration of a key is stored once, with its count, so percentiles are
// exact and memory does not depend on the number of calls. Past LATENCY_VALUES_MAX
// different durations, they are rounded down to their upper bits, as many as fit. The
// percentiles are then exact after all durations were added a second time, in any
// order, between latencies_refine and latencies_finish.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/key_index.h"
#include "base/status.h"

enum { LATENCY_VALUES_MAX = 1 << 19, LATENCY_KEYS_MAX = 1 << 18 };

struct latency_row {
    uint64_t key;
    uint64_t count;
    uint64_t sum;
    uint64_t min;
    uint64_t median;
    uint64_t p90;
    uint64_t p99;
    uint64_t max;
    uint64_t before[3]; // durations below median, p90 and p99 as rounded
};

struct latency_value {
    uint64_t value;
    uint32_t row;
    uint32_t count;
};

struct latencies {
    struct latency_row *rows;
    size_t row_count;
    size_t row_capacity;
    struct key_index numbers;     // of rows, by key: index + 1
    struct latency_value *values; // hash table; count 0: free
    size_t value_count;
    size_t value_places;
    unsigned kept_bits;  // of each duration in values; 0: there was none yet
    unsigned exact_bits; // of the percentiles; 64 if they are exact
    bool refining;
    uint64_t left_out; // durations of keys past LATENCY_KEYS_MAX
};

void latencies_deinit(struct latencies *latencies);

// latencies_add adds a duration; latencies starts as zeros.
CH_CHECKED enum ch_status latencies_add(struct latencies *latencies, uint64_t key,
                                        uint64_t value);

// latencies_add_total adds count durations of which only the sum is known. The row's
// min stays UINT64_MAX.
CH_CHECKED enum ch_status latencies_add_total(struct latencies *latencies, uint64_t key,
                                              uint64_t count, uint64_t sum);

// latencies_finish computes the percentiles, as llvm-xray does: the value at the index
// that is the rounded-down fraction of the count.
void latencies_finish(struct latencies *latencies);

// latencies_refine prepares for the second pass, after latencies_finish. false: the
// percentiles are exact already.
bool latencies_refine(struct latencies *latencies);
