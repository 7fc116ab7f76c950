// SPDX-License-Identifier: Apache-2.0
//
// What people do with a group, by a form of its page or by the API: change its status,
// note and assignee, merge it into another group, split off what was merged.
#pragma once
#include "collector/server/http.h"
#include "collector/store/store.h"

struct triage {
    struct store_decision decision;
    const char *until;   // `20 reports`, `5 machines`, `14d` or a day; NULL: for ever
    const char *version; // of the group that was decided on; NULL: any
    const char *merge_into; // id of a group; NULL: not requested
    const char *split;      // a fingerprint that was merged into it
};

// triage_do checks all that is requested for group id and then does it; it fails the
// request if something is wrong or cannot be done. out_id is the group to show next.
bool triage_do(struct http_request *request, struct triage *triage,
               char out_id[ENTRY_GROUP_SIZE]);
