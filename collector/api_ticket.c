// SPDX-License-Identifier: Apache-2.0
//
// POST /api/v1/tickets receives the events of GitHub, Forgejo and Gitea about issues.
//
// An event has no token: the HMAC-SHA256 of its body, under the secret of a line of
// --ticket-file, says who sent it. The issue is about the group whose address is in its
// text, or that of a report, as --issue-url puts it there. Closing and reopening it
// decides about the group, as that line says. What is signed has the time of the
// change, so that an event that is sent again, or comes after a later one, is refused.
// Anybody may open an issue of a public repository, and close it: such a change is
// noted and decides nothing. The file is read for each event: there are few.
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/hex.h"
#include "collector/database/timestamp.h"
#include "collector/query/tickets.h"
#include "collector/requests/api.h"
#include "collector/requests/collector.h"
#include "collector/requests/group_copy.h"
#include "collector/requests/triage.h"
#include "collector/server/setting_line.h"
#include "report/file/digest.h"
#include "report/value/report.h"

enum {
    TICKET_FILE_BYTES = 64 << 10,
    TICKET_WHO = 32,
    TICKET_AHEAD_MS = 10 * 60 * 1000, // by which a tracker's clock may be ahead
    GROUP_DIGITS = 8
};

static const char nothing[] = "none";

// tracker is a line of the file.
struct tracker {
    const char *secret;
    const char *project;  // empty: issues may be about groups of any
    const char *closed;   // status of the group of an issue that is closed, or `none`
    const char *reopened; // the same of one that is opened again
};

// event is what the collector needs of one.
struct event {
    const char *action;
    const char *login; // who changed the issue
    const char *text;  // of the issue; NULL: it has none
    bool may_decide;
    struct ticket ticket;
};

static bool is_status_or_none(const char *value)
{
    return strcmp(value, nothing) == 0 || strcmp(value, "open") == 0 ||
           strcmp(value, "resolved") == 0 || strcmp(value, "ignored") == 0;
}

// read_tracker reads a line, in place, and returns what is wrong with it, or NULL. A
// line without a tracker leaves out without a secret.
static const char *read_tracker(char *text, struct tracker *out)
{
    struct setting_line line;
    *out = (struct tracker){ .project = "", .closed = "resolved", .reopened = "open" };
    enum ch_status status = setting_line_read(text, &line);
    if (status == CH_ERR_NOT_FOUND)
        return NULL;
    if (status != CH_OK || strncmp(line.word, "secret=", 7) != 0 || line.word[7] == 0)
        return "the line is not secret=SECRET and key=value, separated by blanks";
    for (size_t i = 0; i < line.count; i++) {
        const char *key = line.pairs[i].key;
        const char *value = line.pairs[i].value;
        if (strcmp(key, "project") == 0)
            out->project = value;
        else if (strcmp(key, "closed") == 0)
            out->closed = value;
        else if (strcmp(key, "reopened") == 0)
            out->reopened = value;
        else
            return "there is no such setting";
    }
    if (!is_status_or_none(out->closed) || !is_status_or_none(out->reopened))
        return "closed= and reopened= take open, resolved, ignored or none";
    if (out->project[0] != 0 && !access_is_name(out->project, ENTRY_PROJECT_SIZE))
        return "project= takes the name of a project";
    out->secret = line.word + 7;
    return NULL;
}

// is_signed returns true if a body was signed with a secret. It takes as long for every
// signature.
static bool is_signed(const struct text *body, const char *secret,
                      const char *signature)
{
    uint8_t sum[SHA256_SIZE];
    uint8_t sent[SHA256_SIZE];
    size_t size = 0;
    unsigned differs = 0;
    if (strncmp(signature, "sha256=", 7) != 0 ||
        hex_decode(signature + 7, strlen(signature + 7), sent, sizeof(sent), &size) !=
            CH_OK ||
        size != sizeof(sent))
        return false;
    sha256_hmac(secret, text_string(body), body->size, sum);
    for (size_t i = 0; i < sizeof(sum); i++)
        differs |= sum[i] ^ sent[i];
    return differs == 0;
}

// visit_trackers reads the file, text, and finds the tracker that signed the request,
// or, for NULL, only checks the lines. CH_ERR_MALFORMED: why says what is wrong with
// one. CH_ERR_NOT_FOUND: no line has the secret.
static enum ch_status visit_trackers(struct text *text, struct http_request *request,
                                     struct tracker *out, char *why, size_t size)
{
    const char *signature =
        request != NULL ? http_header_value(request, "X-Hub-Signature-256") : NULL;
    int number = 0;
    for (char *at = text->bytes; at != NULL;) {
        char *end = strchr(at, '\n');
        if (end != NULL)
            *end = 0;
        number++;
        const char *wrong = read_tracker(at, out);
        if (wrong != NULL) {
            (void)snprintf(why, size, "line %d: %s", number, wrong);
            return CH_ERR_MALFORMED;
        }
        if (signature != NULL && out->secret != NULL &&
            is_signed(&request->body, out->secret, signature))
            return CH_OK;
        at = end != NULL ? end + 1 : NULL;
    }
    return CH_ERR_NOT_FOUND;
}

const char *api_ticket_check(const char *path, char *why, size_t size)
{
    struct text CH_CLEANUP(text_deinit) text = { 0 };
    struct tracker tracker;
    if (setting_file_read(path, TICKET_FILE_BYTES, &text) != CH_OK) {
        (void)snprintf(why, size, "cannot read '%.200s'", path);
        return why;
    }
    char line[200];
    if (visit_trackers(&text, NULL, &tracker, line, sizeof(line)) != CH_ERR_MALFORMED)
        return NULL;
    (void)snprintf(why, size, "'%.200s', %s", path, line);
    return why;
}

// find_id_after copies the id that follows path in a text and has that alphabet.
static bool find_id_after(const char *text, const char *path, const char *alphabet,
                          char out[ENTRY_GROUP_SIZE])
{
    for (const char *at = text; (at = strstr(at, path)) != NULL;) {
        at += strlen(path);
        size_t length = strspn(at, alphabet);
        if (length < GROUP_DIGITS || length >= ENTRY_GROUP_SIZE)
            continue;
        memcpy(out, at, length);
        out[length] = 0;
        return true;
    }
    return false;
}

static void take_group(void *context, const struct store_report *report,
                       const struct store_body *body)
{
    (void)body;
    entry_copy(context, ENTRY_GROUP_SIZE, report->group);
}

// find_group_of_issue finds the group whose address is in a text, or the address of a
// report of it. CH_ERR_NOT_FOUND: there is no such address, or no such report.
static enum ch_status find_group_of_issue(struct store *store, const char *text,
                                          char out[ENTRY_GROUP_SIZE])
{
    char report[ENTRY_GROUP_SIZE];
    if (find_id_after(text, "/groups/", "0123456789abcdef", out))
        return CH_OK;
    if (!find_id_after(text, "/reports/", "0123456789abcdef-", report))
        return CH_ERR_NOT_FOUND;
    return store_find_report(store, report, take_group, out);
}

// may_decide returns true if whoever changed an issue has a right in its repository:
// the author is known to have one, or somebody other than the author changed it.
// Forgejo and Gitea send no association.
static bool may_decide(const json_t *issue, const char *login)
{
    static const char *const members[] = { "OWNER", "MEMBER", "COLLABORATOR" };
    const char *association = report_string(issue, "author_association");
    const char *author = report_string(json_object_get(issue, "user"), "login");
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        if (association != NULL && strcmp(association, members[i]) == 0)
            return true;
    }
    return author != NULL && strcmp(author, login) != 0;
}

// read_issue_event reads the body of an event about an issue. It returns false after it
// has answered.
static bool read_issue_event(struct http_request *request, const json_t *json,
                             struct event *out)
{
    const json_t *issue = json_object_get(json, "issue");
    const char *changed = report_string(issue, "updated_at");
    const char *title = report_string(issue, "title");
    out->action = report_string(json, "action");
    out->login = report_string(json_object_get(json, "sender"), "login");
    out->ticket.url = report_string(issue, "html_url");
    out->ticket.state = report_string(issue, "state");
    if (out->ticket.state == NULL) // GitHub leaves it out of events such as `pinned`
        out->ticket.state =
            report_string(issue, "closed_at") != NULL ? "closed" : "open";
    out->ticket.title = title != NULL ? title : "";
    out->text = report_string(issue, "body");
    if (out->action == NULL || out->login == NULL || out->ticket.url == NULL ||
        changed == NULL || strlen(out->ticket.url) >= TICKET_URL ||
        (strncmp(out->ticket.url, "https://", 8) != 0 &&
         strncmp(out->ticket.url, "http://", 7) != 0) ||
        timestamp_read(changed, 0, &out->ticket.changed_ms) != CH_OK)
        http_fail(request, 400, "the body is no event about an issue");
    else if (out->ticket.changed_ms > timestamp_now() + TICKET_AHEAD_MS)
        http_fail(request, 400, "updated_at is in the future");
    else {
        // The issue of such an event is as it was before.
        if (strcmp(out->action, "deleted") == 0 ||
            strcmp(out->action, "transferred") == 0)
            out->ticket.state = out->action;
        out->may_decide = may_decide(issue, out->login);
        return true;
    }
    return false;
}

// decide does what the tracker's line says of an action. It returns false after it has
// failed the request. out_why: NULL, or why it decided nothing.
static bool decide(struct http_request *request, const struct tracker *tracker,
                   const struct event *event, const char **out_why)
{
    char comment[TICKET_URL + 32];
    char id[ENTRY_GROUP_SIZE];
    const char *status = strcmp(event->action, "closed") == 0     ? tracker->closed
                         : strcmp(event->action, "reopened") == 0 ? tracker->reopened
                                                                  : nothing;
    *out_why = NULL;
    if (strcmp(status, nothing) == 0)
        return true;
    if (!event->may_decide) {
        *out_why = "the author of an issue decides only as a member of its repository";
        return true;
    }
    (void)snprintf(comment, sizeof(comment), "%s: %s", event->action,
                   event->ticket.url);
    struct triage triage = { .decision = { .status = status, .comment = comment } };
    return triage_do(request, &triage, id);
}

// take_event decides, and keeps the issue; a group of another project does not exist.
static void take_event(struct http_request *request, const struct tracker *tracker,
                       struct event *event)
{
    struct store *store = collector_of(request)->store;
    char error[STORE_ERROR_SIZE];
    char title[TICKET_TITLE];
    const char *why = NULL;
    struct access_grant *who = &request->who;
    *who = (struct access_grant){ .named = true };
    entry_copy(who->project, sizeof(who->project), tracker->project);
    (void)snprintf(who->name, sizeof(who->name), "ticket:%.*s", TICKET_WHO,
                   event->login);
    entry_copy(title, sizeof(title), event->ticket.title);
    event->ticket.title = title;
    event->ticket.project = tracker->project;
    enum ch_status status = ticket_is_newer(store, &event->ticket);
    if (status == CH_END) {
        http_fail(request, 409,
                  "this event, or a later one of the issue, was received");
        return;
    }
    CH_CLEANUP(group_copy_deinit) struct group_copy copy = { 0 };
    if (status == CH_OK)
        status = group_copy_find(store, who->project, request->id, &copy);
    if (status != CH_OK) {
        api_fail_store(request, status, "group");
        return;
    }
    event->ticket.group = copy.group.id;
    entry_copy(request->id, sizeof(request->id), copy.group.id);
    if (!decide(request, tracker, event, &why))
        return;
    if (ticket_note(store, &event->ticket, error) == CH_OK)
        api_answer_json(
            request, 200,
            json_pack("{s:s, s:s*}", "group", copy.group.id, "ignored", why));
    else
        http_fail(request, 503, "the store could not keep this, send it again");
}

void api_post_ticket(struct http_request *request)
{
    // Two events of an issue have an order.
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    const char *path = collector_of(request)->ticket_file;
    struct text CH_CLEANUP(text_deinit) text = { 0 };
    struct tracker tracker;
    struct event event = { 0 };
    char sum[SHA256_HEX_SIZE];
    char why[200];
    if (path == NULL) {
        http_fail(request, 404, "this collector receives no events of issues");
        return;
    }
    if (setting_file_read(path, TICKET_FILE_BYTES, &text) != CH_OK) {
        http_later(request, 503, 0, "the secrets could not be read");
        return;
    }
    if (visit_trackers(&text, request, &tracker, why, sizeof(why)) != CH_OK) {
        http_fail(request, 401,
                  "the event is not signed with a secret of this collector");
        return;
    }
    const char *kind = http_header_value(request, "X-GitHub-Event");
    if (kind == NULL)
        kind = http_header_value(request, "X-Gitea-Event");
    if (kind == NULL || strcmp(kind, "issues") != 0) {
        api_answer_json(request, 200,
                        json_pack("{s:s}", "ignored", "it is no event of `issues`"));
        return;
    }
    json_auto_t *json =
        json_loadb(request->body.bytes != NULL ? request->body.bytes : "",
                   request->body.size, 0, NULL);
    if (!read_issue_event(request, json, &event))
        return;
    char group[ENTRY_GROUP_SIZE];
    enum ch_status status = CH_ERR_NOT_FOUND;
    if (event.text != NULL)
        status = find_group_of_issue(collector_of(request)->store, event.text, group);
    if (status == CH_ERR_NOT_FOUND) {
        api_answer_json(request, 200,
                        json_pack("{s:s}", "ignored",
                                  "the issue names no group and no report here"));
        return;
    }
    if (status != CH_OK) {
        api_fail_store(request, status, "report");
        return;
    }
    entry_copy(request->id, sizeof(request->id), group);
    sha256_hex(request->body.bytes, request->body.size, sum);
    event.ticket.sum = sum;
    pthread_mutex_lock(&one);
    take_event(request, &tracker, &event);
    pthread_mutex_unlock(&one);
}
