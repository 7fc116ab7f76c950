// SPDX-License-Identifier: Apache-2.0
//
// Where a body is: in its row, or in a segment that the row refers to. Users: the
// queries that read bodies.
#pragma once
#include <stdbool.h>

#include "base/text.h"
#include "collector/objects/object_store.h"
#include "collector/store/store_internal.h"

enum {
    STORE_BODY_HERE = 0,    // in the database, for good
    STORE_BODY_STAGED = -1, // the same until it is packed; a segment's number is larger
    STORE_BODY_LOOKS = 3,   // at a body that moves meanwhile
};

// store_body_found is the body of a row, which may have to be fetched.
struct store_body_found {
    struct store_body body; // bytes live as long as the row, or what was fetched
    bool away;              // it has to be fetched first
    char name[OBJECT_NAME_SIZE];
    int64_t start;
    size_t length;
    struct text fetched;
    struct text expanded; // of one that was compressed with a prefix
};

// store_body_read reads {BODY_COLUMNS} of sql/parts.sql in a row. What was fetched for
// the same reference before is the body then. One that was compressed with a prefix is
// as it came.
void store_body_read(const struct sql_row *row, struct store_body_found *found);

// store_body_fetch fetches what is away. CH_ERR_NOT_FOUND: its object is gone.
CH_CHECKED enum ch_status store_body_fetch(struct store *store,
                                           struct store_body_found *found);
void store_body_found_deinit(struct store_body_found *found);
