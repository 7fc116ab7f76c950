// SPDX-License-Identifier: Apache-2.0
//
// What a side of the store of objects implements: object_rows.c (the database),
// object_folder.c and object_s3.c.
// Only object_store.c uses it.
#pragma once
#include <stdatomic.h>

#include "collector/objects/object_store.h"

struct object_side;
struct store;

struct object_driver {
    void (*close)(struct object_side *side);
    enum ch_status (*put)(struct object_side *side, const char *name,
                          const struct object_source *source, char *why);
    enum ch_status (*get)(struct object_side *side, const char *name, FILE *to,
                          char *why);
    enum ch_status (*read)(struct object_side *side, const char *name, uint64_t offset,
                           size_t size, struct text *out, char *why);
    enum ch_status (*remove)(struct object_side *side, const char *name, char *why);
    enum ch_status (*list)(struct object_side *side, const char *folder,
                           object_seen_fn *visit, void *context, char *why);
};

// object_side is what the sides have in common; each begins with it.
struct object_side {
    const struct object_driver *driver;
    atomic_bool given_up;          // nothing waits any more
    _Atomic int64_t rest_until_ms; // by CLOCK_MONOTONIC: it asked to be left alone
};

CH_CHECKED enum ch_status object_rows_open(struct store *store,
                                           struct object_side **out);
CH_CHECKED enum ch_status object_folder_open(const char *path, char *why,
                                             struct object_side **out);
CH_CHECKED enum ch_status object_s3_open(const char *address, char *why,
                                         struct object_side **out);
