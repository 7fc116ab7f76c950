// SPDX-License-Identifier: Apache-2.0
//
// What people do to a group, asked for by a form of its page or by the API: decide on
// its status, note and assignee, merge it into another, split from it what was merged.
#pragma once
#include "collector/http.h"
#include "collector/store.h"

struct triage {
    struct store_decision decision;
    const char *merge_into; // an id of a group; NULL: not asked for
    const char *split;      // a fingerprint that was merged into it
};

// triage_do does what is asked of group id, all of it checked first, and fails the
// request where that is wrong or cannot be done. The group to look at next is written
// to out_id.
bool triage_do(struct http_request *request, const struct triage *triage,
               char out_id[ENTRY_GROUP_SIZE]);
