// SPDX-License-Identifier: Apache-2.0
//
// Who is signed in, and, for administrators, who did what.
#include <stdio.h>
#include <string.h>

#include "collector/database/timestamp.h"
#include "collector/pages/html.h"
#include "collector/pages/page.h"
#include "collector/pages/pages.h"
#include "collector/query/store_people.h"
#include "collector/requests/api.h"
#include "collector/requests/collector.h"
#include "collector/server/form.h"

enum { ID_SHOWN = 16 };

struct access_list {
    struct text *out;
    struct http_request *request;
    int64_t now_ms;
    size_t count;
    const char *wanted;          // the session to end: how its id begins
    char found[SHA256_HEX_SIZE]; // its id
};

// is_own_session says whether a session may be shown to the caller, and ended by them:
// it is their own, or they administrate its project.
static bool is_own_session(const struct http_request *request,
                           const struct store_login *login)
{
    struct access_grant grant;
    if (strcmp(login->token, request->who.sum) == 0)
        return true;
    if ((request->who.scopes & ACCESS_ADMIN) == 0)
        return false;
    return request->who.project[0] == 0 ||
           (access_find_sum(collector_of(request)->access, login->token, &grant) &&
            strcmp(grant.project, request->who.project) == 0);
}

static void write_session(void *context, const struct store_login *login)
{
    struct access_list *list = context;
    struct text *out = list->out;
    char id[ID_SHOWN + 1];
    entry_copy(id, sizeof(id), login->id);
    if (!is_own_session(list->request, login))
        return;
    if (list->count++ == 0)
        html_write(out, "<ol class=\"entries\">\n");
    html_write(out, "<li><b>%s</b><span>from %s</span>", login->name, login->address);
    page_write_age(out, "signed in ", login->created_ms, list->now_ms);
    page_write_age(out, "used ", login->seen_ms, list->now_ms);
    html_write(out,
               "<form method=\"post\" action=\"/access\"><button class=\"quiet\""
               " name=\"end\" value=\"%s\">End this session</button></form></li>\n",
               id);
}

static void write_audit_entry(void *context, const struct store_audit_entry *entry)
{
    struct access_list *list = context;
    if (list->count++ == 0)
        html_write(list->out, "<ol class=\"crumbs\">");
    html_write(list->out, "<li>");
    page_write_age(list->out, "", entry->time_ms, list->now_ms);
    html_write(list->out, "<span>%s: %s %.*s</span></li>\n", entry->who, entry->what,
               PAGE_SHORT, entry->detail);
}

void page_access(struct http_request *request)
{
    struct store *store = collector_of(request)->store;
    struct text *out = &request->answer.body;
    struct access_list sessions = { out, request, timestamp_now(), 0, NULL, "" };
    struct access_list deeds = sessions;
    page_begin(out, "Access", "Access");
    html_write(out, "<h1>Access</h1><section class=\"card\"><h2>Sessions</h2>");
    enum ch_status status = store_list_logins(store, write_session, &sessions);
    html_write(out, sessions.count != 0 ? "</ol></section>"
                                        : "<p>Nobody is signed in.</p></section>");
    if (status == CH_OK && (request->who.scopes & ACCESS_ADMIN) != 0) {
        html_write(out, "<section class=\"card\"><h2>Who did what</h2>");
        status =
            store_list_audit(store, request->who.project, write_audit_entry, &deeds);
        html_write(out, deeds.count != 0 ? "</ol></section>"
                                         : "<p>Nothing is noted.</p></section>");
    }
    page_end(out);
    if (status != CH_OK) {
        api_fail_store(request, status, "session");
        return;
    }
    request->answer.status = 200;
    request->answer.content_type = "text/html; charset=utf-8";
}

static void find_session_to_end(void *context, const struct store_login *login)
{
    struct access_list *list = context;
    if (strncmp(login->id, list->wanted, ID_SHOWN) == 0 &&
        is_own_session(list->request, login))
        entry_copy(list->found, sizeof(list->found), login->id);
}

void page_post_access(struct http_request *request)
{
    struct store *store = collector_of(request)->store;
    struct form form;
    char error[STORE_ERROR_SIZE];
    struct access_list list = { .request = request };
    if (form_read(&request->body, &form) == CH_OK)
        list.wanted = form_value(&form, "end");
    if (list.wanted == NULL || strlen(list.wanted) != ID_SHOWN) {
        http_fail(request, 400, "this is not the form of this page");
        return;
    }
    enum ch_status status = store_list_logins(store, find_session_to_end, &list);
    if (status == CH_OK && list.found[0] == 0)
        status = CH_ERR_NOT_FOUND;
    if (status == CH_OK)
        status = store_login_end(store, list.found, error);
    if (status != CH_OK) {
        api_fail_store(request, status, "session");
        return;
    }
    (void)snprintf(request->answer.location, sizeof(request->answer.location),
                   "/access");
    request->answer.status = 303;
    request->answer.content_type = "text/html; charset=utf-8";
}
