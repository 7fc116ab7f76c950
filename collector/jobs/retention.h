// SPDX-License-Identifier: Apache-2.0
//
// Retention removes reports that are past what is to be kept, and moves the reports of
// large groups that were merged or split. It runs in the background, in small steps
// with a pause after each, so that uploads and readers are hardly affected. Several
// collectors over one database may all run it. Used by main.
#pragma once
#include "collector/server/access.h"
#include "collector/store/store.h"

struct retention;

// retention_complain_fn is called with one line about a step that failed; the next step
// is tried a minute later.
typedef void retention_complain_fn(const char *error);

// retention_create starts the thread; store and access, which says what projects keep,
// must outlive it.
CH_CHECKED enum ch_status retention_create(struct store *store,
                                           const struct store_retention *limits,
                                           struct access *access,
                                           retention_complain_fn *complain,
                                           struct retention **out);

// retention_destroy ends the thread after its current step; NULL is allowed.
void retention_destroy(struct retention *retention);
