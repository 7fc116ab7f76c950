// SPDX-License-Identifier: Apache-2.0
//
// Who is signed in, the time zone of pages, and, for administrators, tokens and who did
// what.
#include <stdio.h>
#include <string.h>

#include "collector/database/timestamp.h"
#include "collector/pages/html.h"
#include "collector/pages/page.h"
#include "collector/pages/pages.h"
#include "collector/query/store_people.h"
#include "collector/requests/api.h"
#include "collector/requests/collector.h"
#include "collector/requests/made_tokens.h"
#include "collector/server/form.h"
#include "collector/server/time_zone.h"

enum { ID_SHOWN = 16 };

struct access_list {
    struct text *out;
    struct http_request *request;
    int64_t now_ms;
    size_t count;
    const char *wanted;          // the session to end: how its id begins
    char found[SHA256_HEX_SIZE]; // its id
};

// is_own_session returns true if a session may be shown to the caller, and ended by
// them: it is their own, or they administrate its project.
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

// write_audit writes who did what, as far as a text is in it.
static enum ch_status write_audit(struct http_request *request)
{
    struct text *out = &request->answer.body;
    struct access_list list = { .out = out, .now_ms = timestamp_now() };
    const char *text = http_parameter_value(request, "q");
    text = text != NULL ? text : "";
    html_write(out,
               "<section class=\"card\" id=\"audit\"><h2>Who did what</h2><form"
               " class=\"filters\" action=\"/access#audit\"><label><span>Name, project,"
               " action or detail contains</span><input name=\"q\" value=\"%s\""
               " autocomplete=\"off\"></label><button>Find</button></form>",
               text);
    enum ch_status status =
        store_list_audit(collector_of(request)->store, request->who.project, text,
                         write_audit_entry, &list);
    if (list.count != 0)
        html_write(out, "</ol>");
    html_write(out, "<p class=\"about\">");
    if (list.count == STORE_AUDIT_MOST)
        html_write(out, "These are the last %d.", STORE_AUDIT_MOST);
    else if (list.count == 0)
        html_write(out,
                   text[0] != 0 ? "Nothing of that is noted." : "Nothing is noted.");
    html_write(out, "</p></section>\n");
    return status;
}

static void write_made_token(void *context, const struct store_token *token)
{
    struct access_list *list = context;
    struct text *out = list->out;
    char id[MADE_TOKEN_ID_SIZE];
    char scopes[64];
    char day[TIMESTAMP_DAY_SIZE];
    entry_copy(id, sizeof(id), token->sum);
    access_write_scopes(token->scopes, scopes, sizeof(scopes));
    timestamp_write_day(token->expires_ms / TIMESTAMP_DAY_MS, day);
    if (list->count++ == 0)
        html_write(out, "<ol class=\"entries\">\n");
    html_write(out, "<li><b>%s</b><span>%s</span>", token->name, scopes);
    if (token->project[0] != 0)
        html_write(out, "<span>project %s</span>", token->project);
    page_write_age(out, "made ", token->created_ms, list->now_ms);
    html_write(out, "<span>by %s</span>", token->who);
    if (token->expires_ms == 0)
        html_write(out, "<span>never expires</span>");
    else
        html_write(out, "<span>%s %s</span>",
                   token->expires_ms <= list->now_ms ? "expired" : "expires", day);
    html_write(out,
               "<form method=\"post\" action=\"/access\"><button class=\"quiet\""
               " name=\"revoke\" value=\"%s\" aria-label=\"Revoke %s\">Revoke</button>"
               "</form></li>\n",
               id, token->name);
}

// write_tokens writes the tokens that people made, and the form that makes one; made is
// a token that was made just now, or NULL.
static enum ch_status write_tokens(struct http_request *request, const char *made)
{
    static const char *const scopes[] = { "send", "read", "triage", "symbols",
                                          "admin" };
    struct text *out = &request->answer.body;
    struct access_list list = { .out = out,
                                .request = request,
                                .now_ms = timestamp_now() };
    html_write(out, "<section class=\"card\" id=\"tokens\"><h2>Tokens</h2>");
    if (made != NULL)
        html_write(
            out,
            "<p role=\"status\">This is the new token. It is not shown again:</p>"
            "<pre class=\"command\" tabindex=\"0\">%s</pre>",
            made);
    enum ch_status status = made_tokens_list(request, write_made_token, &list);
    html_write(out, list.count != 0 ? "</ol>"
                                    : "<p>There are none but those of the token file."
                                      "</p>");
    html_write(out, "<form class=\"filters many\" method=\"post\" action=\"/access\">"
                    "<label><span>Name</span><input name=\"name\" required"
                    " maxlength=\"63\" autocomplete=\"off\"></label>");
    if (request->who.project[0] == 0)
        html_write(out, "<label><span>Project</span><input name=\"project\""
                        " placeholder=\"all\" autocomplete=\"off\"></label>");
    html_write(out, "<label><span>Expires</span><input name=\"expires\""
                    " placeholder=\"never, 90d, 2030-12-01\" autocomplete=\"off\">"
                    "</label><fieldset class=\"choices\"><legend>May</legend>");
    for (size_t i = 0; i < sizeof(scopes) / sizeof(scopes[0]); i++)
        html_write(out,
                   "<label><input type=\"checkbox\" name=\"scope\" value=\"%s\"> %s"
                   "</label>",
                   scopes[i], scopes[i]);
    html_write(out, "</fieldset><button>Make a token</button></form></section>\n");
    return status;
}

static void write_zone_form(struct text *out)
{
    html_write(out,
               "<section class=\"card\" id=\"zone\"><h2>Times</h2><form"
               " class=\"filters\" method=\"post\" action=\"/zone\"><label><span>Time"
               " zone of these pages, in this browser</span><input name=\"zone\""
               " value=\"%s\" placeholder=\"Europe/Berlin\" autocomplete=\"off\""
               " spellcheck=\"false\"></label><button>Use</button></form>"
               "<p class=\"about\">Empty: that of the collector. Days of searches and"
               " charts, and times in the API, are in UTC.</p></section>\n",
               page_zone_name());
}

void page_post_zone(struct http_request *request)
{
    enum { YEAR_S = 365 * 86400 };
    struct form form;
    const char *name =
        form_read(&request->body, &form) == CH_OK ? form_value(&form, "zone") : NULL;
    if (name == NULL) {
        http_fail(request, 400, "this is not the form of this page");
        return;
    }
    if (name[0] != 0 && strcmp(name, "UTC") != 0 && time_zone_find(name) == NULL) {
        http_fail(request, 400, "there is no time zone `%.60s` here", name);
        return;
    }
    text_appendf(&request->answer.cookie,
                 PAGE_ZONE_COOKIE "=%s; Path=/; Max-Age=%d; HttpOnly; SameSite=Lax%s",
                 name, name[0] != 0 ? YEAR_S : 0, request->secure ? "; Secure" : "");
    http_see_other(request, "/access");
}

static void show_access(struct http_request *request, const char *made)
{
    struct store *store = collector_of(request)->store;
    struct text *out = &request->answer.body;
    struct access_list sessions = { out, request, timestamp_now(), 0, NULL, "" };
    page_begin(out, "Access", "Access");
    html_write(out, "<h1>Access</h1><section class=\"card\"><h2>Sessions</h2>");
    enum ch_status status = store_list_logins(store, write_session, &sessions);
    html_write(out, sessions.count != 0 ? "</ol></section>"
                                        : "<p>Nobody is signed in.</p></section>");
    if (status == CH_OK && (request->who.scopes & ACCESS_ADMIN) != 0) {
        if (access_needed(collector_of(request)->access))
            status = write_tokens(request, made);
        if (status == CH_OK)
            status = write_audit(request);
    }
    write_zone_form(out);
    page_finish(request, status, "session");
}

void page_access(struct http_request *request)
{
    show_access(request, NULL);
}

// make_token makes the token that the form asks for; false: it failed the request.
static bool make_token(struct http_request *request, const struct form *form,
                       char out[MADE_TOKEN_SIZE])
{
    char scopes[64] = "";
    for (size_t i = 0; i < form->count; i++) {
        size_t length = strlen(scopes);
        if (strcmp(form->fields[i].name, "scope") == 0)
            (void)snprintf(scopes + length, sizeof(scopes) - length, "%s%s",
                           length != 0 ? "," : "", form->fields[i].value);
    }
    const struct made_token asked = { .name = form_value(form, "name"),
                                      .scopes = scopes,
                                      .project = form_value(form, "project"),
                                      .expires = form_value(form, "expires") };
    return made_token_make(request, &asked, out);
}

// change_tokens makes or revokes a token, if the form is about one; false: it is not.
static bool change_tokens(struct http_request *request, const struct form *form)
{
    const char *revoke = form_value(form, "revoke");
    char token[MADE_TOKEN_SIZE];
    if (revoke == NULL && form_value(form, "name") == NULL)
        return false;
    if ((request->who.scopes & ACCESS_ADMIN) == 0)
        http_fail(request, 403, "this token lacks the scope admin");
    else if (revoke == NULL && make_token(request, form, token))
        show_access(request, token);
    else if (revoke != NULL && made_token_revoke(request, revoke))
        http_see_other(request, "/access");
    return true;
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
    if (form_read(&request->body, &form) == CH_OK) {
        if (change_tokens(request, &form))
            return;
        list.wanted = form_value(&form, "end");
    }
    if (list.wanted == NULL || strlen(list.wanted) != ID_SHOWN) {
        http_fail(request, 400, "this is not the form of this page");
        return;
    }
    enum ch_status status = store_list_logins(store, find_session_to_end, &list);
    if (status == CH_OK && list.found[0] == 0)
        status = CH_ERR_NOT_FOUND;
    if (status == CH_OK && !api_audit(request, "session ended", list.wanted))
        return;
    if (status == CH_OK)
        status = store_login_end(store, list.found, error);
    if (status != CH_OK) {
        api_fail_store(request, status, "session");
        return;
    }
    http_see_other(request, "/access");
}
