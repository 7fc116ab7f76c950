// SPDX-License-Identifier: Apache-2.0
#include "collector/requests/triage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/database/timestamp.h"
#include "collector/requests/api.h"
#include "collector/requests/collector.h"
#include "collector/requests/group_copy.h"

// FOLLOW_MS is short, because it blocks a thread that also serves other connections.
enum { FOLLOW_MS = 500, UNTIL_MOST = 1000000000, SAID_OF_A_NOTE = 120 };

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
    else if (!field_fits(decision->comment, STORE_COMMENT_SIZE))
        http_fail(request, 400, "a comment has less than %d bytes", STORE_COMMENT_SIZE);
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
// moved in the background (jobs.h).
static void follow_merge(struct store *store)
{
    char error[STORE_ERROR_SIZE];
    enum ch_status status = store_move_for(store, FOLLOW_MS, error);
    (void)status;
}

// read_until reads how long a group stays ignored: more reports, more machines, or a
// time to come.
static bool read_until(struct http_request *request, const char *text,
                       struct store_decision *out)
{
    char *unit = NULL;
    int64_t now_ms = timestamp_now();
    int64_t at_ms = 0;
    long long number = strtoll(text, &unit, 10);
    bool counts = number > 0 && number < UNTIL_MOST && *unit == ' ';
    if (counts && (strcmp(unit, " reports") == 0 || strcmp(unit, " report") == 0))
        out->more_reports = number;
    else if (counts &&
             (strcmp(unit, " machines") == 0 || strcmp(unit, " machine") == 0))
        out->more_machines = number;
    else if (timestamp_read_span(text, &at_ms) == CH_OK && at_ms != 0)
        out->until_ms = now_ms + at_ms;
    else if (timestamp_read(text, now_ms, &at_ms) == CH_OK && at_ms > now_ms)
        out->until_ms = at_ms;
    else {
        http_fail(request, 400,
                  "until is not `20 reports`, `5 machines`, a time such as 14d, or a"
                  " day to come such as 2030-12-01");
        return false;
    }
    return true;
}

// read_extras reads the parts of a request that the store takes as numbers, and says
// who makes it.
static bool read_extras(struct http_request *request, struct triage *triage)
{
    struct store_decision *decision = &triage->decision;
    if (request->who.name[0] != 0)
        decision->who = request->who.name;
    if (decision->release != NULL && strcmp(decision->release, "next") == 0)
        decision->release = NULL;
    if (triage->version != NULL) {
        char *end = NULL;
        decision->versioned = true;
        decision->version = strtoll(triage->version, &end, 10);
        if (end == triage->version || *end != 0) {
            http_fail(request, 400, "version is not a number");
            return false;
        }
    }
    return triage->until == NULL || read_until(request, triage->until, decision);
}

// fail_changed refuses a form from a page that is out of date, with what the group is
// now and what the form would have made of it.
static void fail_changed(struct http_request *request, const struct triage *triage)
{
    CH_CLEANUP(group_copy_deinit) struct group_copy copy = { 0 };
    const struct store_decision *sent = &triage->decision;
    const struct store_group *now = &copy.group;
    char notes[2][SAID_OF_A_NOTE];
    if (group_copy_find(collector_of(request)->store, request->who.project, request->id,
                        &copy) != CH_OK) {
        http_fail(request, 409, "somebody else changed this group meanwhile");
        return;
    }
    entry_copy(notes[0], sizeof(notes[0]), now->note);
    entry_copy(notes[1], sizeof(notes[1]), sent->note != NULL ? sent->note : now->note);
    http_fail(
        request, 409,
        "somebody else changed this group meanwhile: it is %s, assigned to \"%s\","
        " with the note \"%s\"; not kept were %s, \"%s\" and \"%s\"",
        now->status, now->assignee, notes[0],
        sent->status != NULL ? sent->status : "no new status",
        sent->assignee != NULL ? sent->assignee : now->assignee, notes[1]);
}

// decide_triage stores the decision.
static bool decide_triage(struct http_request *request, const struct triage *triage)
{
    char error[STORE_ERROR_SIZE];
    enum ch_status status = store_decide(collector_of(request)->store, request->id,
                                         &triage->decision, error);
    if (status == CH_ERR_MALFORMED)
        fail_changed(request, triage);
    return status != CH_ERR_MALFORMED && finish_triage(request, status, "group");
}

// check_project fails the request for a group of another project, as if it did not
// exist.
static bool check_project(struct http_request *request, const struct triage *triage)
{
    const char *const ids[] = { request->id, triage->merge_into, triage->split };
    const char *project = request->who.project;
    for (size_t i = 0; project[0] != 0 && i < sizeof(ids) / sizeof(ids[0]); i++) {
        CH_CLEANUP(group_copy_deinit) struct group_copy copy = { 0 };
        if (ids[i] == NULL || group_copy_find(collector_of(request)->store, project,
                                              ids[i], &copy) == CH_OK)
            continue;
        http_fail(request, 404, "there is no such group");
        return false;
    }
    return true;
}

// note_triage notes in the audit what is about to be done.
static bool note_triage(struct http_request *request, const struct triage *triage)
{
    const struct store_decision *decision = &triage->decision;
    CH_CLEANUP(text_deinit) struct text detail = { 0 };
    const char *what = triage->merge_into != NULL ? "merge"
                       : triage->split != NULL    ? "split"
                                                  : "decision";
    text_append_string(&detail, request->id);
    if (triage->merge_into != NULL)
        text_appendf(&detail, " into %s", triage->merge_into);
    if (triage->split != NULL)
        text_appendf(&detail, " without %s", triage->split);
    if (decision->status != NULL)
        text_appendf(&detail, ", %s", decision->status);
    if (decision->release != NULL)
        text_appendf(&detail, " in %s", decision->release);
    if (decision->assignee != NULL)
        text_appendf(&detail, ", assigned to %s",
                     decision->assignee[0] != 0 ? decision->assignee : "nobody");
    if (decision->note != NULL)
        text_append_string(&detail, ", with a note");
    if (decision->comment != NULL)
        text_append_string(&detail, ", with a comment");
    return api_audit(request, what, text_string(&detail));
}

bool triage_do(struct http_request *request, struct triage *triage,
               char out_id[ENTRY_GROUP_SIZE])
{
    struct store *store = collector_of(request)->store;
    char error[STORE_ERROR_SIZE];
    if (!entry_is_group_id(request->id)) {
        http_fail(request, 404, "there is no such group");
        return false;
    }
    if (!check_project(request, triage))
        return false;
    if (!check_triage(request, triage) || !read_extras(request, triage) ||
        !note_triage(request, triage) || !decide_triage(request, triage))
        return false;
    const char *who = triage->decision.who;
    if (triage->split != NULL &&
        !finish_triage(request, store_split(store, triage->split, who, error),
                       "merged fingerprint"))
        return false;
    if (triage->merge_into != NULL &&
        !finish_triage(request,
                       store_merge(store, request->id, triage->merge_into, who, error),
                       "group"))
        return false;
    if (triage->split != NULL || triage->merge_into != NULL)
        follow_merge(store);
    entry_copy(out_id, ENTRY_GROUP_SIZE,
               triage->merge_into != NULL ? triage->merge_into : request->id);
    return true;
}
