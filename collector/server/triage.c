// SPDX-License-Identifier: Apache-2.0
#include "collector/server/triage.h"

#include <string.h>

#include "collector/server/api.h"
#include "collector/server/collector.h"

// FOLLOW_MS is short, because it blocks a thread that also serves other connections.
enum { FOLLOW_MS = 500 };

static bool is_status(const char *status)
{
    return strcmp(status, "open") == 0 || strcmp(status, "resolved") == 0 ||
           strcmp(status, "ignored") == 0;
}

static bool field_fits(const char *value, size_t size)
{
    return value == NULL || strlen(value) < size;
}

// check_triage fails the request for what is invalid for any group.
static bool check_triage(struct http_request *request, const struct triage *triage)
{
    const struct store_decision *decision = &triage->decision;
    if (decision->status != NULL && !is_status(decision->status))
        http_fail(request, 400, "status is not open, resolved or ignored");
    else if (!field_fits(decision->note, STORE_NOTE_SIZE) ||
             !field_fits(decision->assignee, STORE_ASSIGNEE_SIZE) ||
             !field_fits(decision->release, sizeof(((struct entry *)NULL)->release)))
        http_fail(request, 400,
                  "a note has less than %d bytes, an assignee less than %d, a release"
                  " less than %zu",
                  STORE_NOTE_SIZE, STORE_ASSIGNEE_SIZE,
                  sizeof(((struct entry *)NULL)->release));
    else if (triage->merge_into != NULL && !entry_is_group_id(triage->merge_into))
        http_fail(request, 400, "merge_into is not the id of a group");
    else if (triage->split != NULL && !entry_is_group_id(triage->split))
        http_fail(request, 400, "split is not a fingerprint");
    else
        return true;
    return false;
}

// finish_triage fails the request if the store did not do it.
static bool finish_triage(struct http_request *request, enum ch_status status,
                          const char *missing)
{
    if (status == CH_OK)
        return true;
    if (status == CH_ERR_NOT_FOUND)
        http_fail(request, 404, "there is no such %s", missing);
    else if (status == CH_ERR_MALFORMED)
        http_fail(request, 400, "a group cannot be merged into itself");
    else if (status == CH_ERR_LIMIT)
        http_fail(request, 503, "a large group is being moved, try again later");
    else
        http_fail(request, 503, "the store could not keep this, try again later");
    return false;
}

// follow_merge waits a short time for a merge or split to complete; what is left is
// moved in the background (retention.h).
static void follow_merge(struct store *store)
{
    char error[STORE_ERROR_SIZE];
    enum ch_status status = store_move_for(store, FOLLOW_MS, error);
    (void)status;
}

bool triage_do(struct http_request *request, const struct triage *triage,
               char out_id[ENTRY_GROUP_SIZE])
{
    struct store *store = collector_of(request)->store;
    char error[STORE_ERROR_SIZE];
    if (!entry_is_group_id(request->id)) {
        http_fail(request, 404, "there is no such group");
        return false;
    }
    if (!check_triage(request, triage) ||
        !finish_triage(request,
                       store_decide(store, request->id, &triage->decision, error),
                       "group"))
        return false;
    if (triage->split != NULL &&
        !finish_triage(request, store_split(store, triage->split, error),
                       "merged fingerprint"))
        return false;
    if (triage->merge_into != NULL &&
        !finish_triage(request,
                       store_merge(store, request->id, triage->merge_into, error),
                       "group"))
        return false;
    if (triage->split != NULL || triage->merge_into != NULL)
        follow_merge(store);
    entry_copy(out_id, ENTRY_GROUP_SIZE,
               triage->merge_into != NULL ? triage->merge_into : request->id);
    return true;
}
