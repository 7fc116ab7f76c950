// SPDX-License-Identifier: Apache-2.0
//
// Retention removes reports that are to be kept no longer, and moves those of large
// groups that were merged or split, in the background: small steps with a pause after
// each, so that uploads and readers hardly notice. Several collectors over one database
// may all do it. Used by main.
#pragma once
#include "collector/store.h"

struct retention;

// A retention_complain_fn hears one line about a step that failed; the next is tried a
// minute later.
typedef void retention_complain_fn(const char *error);

// retention_create starts the thread; store must outlive it.
CH_CHECKED enum ch_status retention_create(struct store *store,
                                           const struct store_retention *limits,
                                           retention_complain_fn *complain,
                                           struct retention **out);

// retention_destroy ends the thread, after the step it is in; NULL is fine.
void retention_destroy(struct retention *retention);
