// SPDX-License-Identifier: Apache-2.0
//
// The thread that packs bodies into segments and removes segments (store_segments.h).
// An object store that fails makes it wait, longer each time, and stops nothing else:
// bodies stay in the database meanwhile.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "collector/server/metrics.h"
#include "collector/store/store.h"

struct body_packer;

struct body_packer_options {
    struct store *store;
    struct metrics *metrics;
    const char *place;    // DIR or s3://...; NULL or `store`: bodies stay in the store
    bool reading;         // the store is only read: nothing is packed
    size_t segment_bytes; // a segment is packed when it is so large,
    int64_t patience_ms;  // or its first body waited so long
    void (*complain)(const char *error);
};

// body_packer_read parses SIZE/TIME, such as 8M/10m (NULL), into options.
CH_CHECKED enum ch_status body_packer_read(const char *text,
                                           struct body_packer_options *options);

// body_packer_create opens the place and starts the thread, or does neither where
// bodies stay in the store: out is NULL then. error gets one line on failure. The place
// is open until body_packer_destroy.
CH_CHECKED enum ch_status body_packer_create(const struct body_packer_options *options,
                                             struct body_packer **out,
                                             char error[STORE_ERROR_SIZE]);
void body_packer_destroy(struct body_packer *packer);
