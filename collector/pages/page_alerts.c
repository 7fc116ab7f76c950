// SPDX-License-Identifier: Apache-2.0
//
// Notifications: their receivers, what waits for them, and what they got.
#include <stdio.h>

#include "collector/database/timestamp.h"
#include "collector/jobs/alerts.h"
#include "collector/pages/html.h"
#include "collector/pages/page.h"
#include "collector/pages/pages.h"
#include "collector/requests/api.h"
#include "collector/requests/collector.h"
#include "collector/server/form.h"
#include "collector/store/store_alerts.h"

enum { ALERTS_SHOWN = 50 };

struct alert_list {
    struct text *out;
    int64_t now_ms;
    size_t count;
};

static void write_alert_row(void *context, const struct store_alert *alert)
{
    struct alert_list *list = context;
    if (list->count++ == 0)
        html_write(list->out, "<ol class=\"crumbs\">");
    html_write(list->out, "<li>");
    page_write_age(list->out, "", alert->time_ms, list->now_ms);
    html_write(list->out, "<span>%s ", alert->kind);
    if (alert->group[0] != 0)
        html_write(list->out, "<a href=\"/groups/%s\">%.*s</a>", alert->group,
                   PAGE_SHORT, alert->title);
    html_write(list->out, "</span></li>\n");
}

static void write_condition(struct text *out, const char *key, const char *value)
{
    if (value != NULL)
        html_write(out, " %s=%.*s", key, PAGE_SHORT, value);
}

// write_settings reports what a receiver is notified of; secrets and keys are not
// shown.
static void write_settings(struct text *out, const struct receiver *receiver)
{
    html_write(out, "<span>%s%s%s%s%s",
               (receiver->kinds & RECEIVER_NEW) != 0 ? "new " : "",
               (receiver->kinds & RECEIVER_REGRESSED) != 0 ? "regressed " : "",
               (receiver->kinds & RECEIVER_RISING) != 0 ? "rising " : "",
               receiver->rule, receiver->digest_minute >= 0 ? " digest" : "");
    write_condition(out, "project", receiver->project);
    write_condition(out, "program", receiver->program);
    write_condition(out, "environment", receiver->environment);
    write_condition(out, "kind", receiver->crash_kind);
    if (receiver->in_app)
        html_write(out, " in_app=yes");
    if (receiver->machines != 0)
        html_write(out, " machines=%lld", (long long)receiver->machines);
    html_write(out, "</span>");
}

static void write_receiver(struct text *out, const struct receiver *receiver,
                           const struct store_alert_state *state)
{
    struct text CH_CLEANUP(text_deinit) name = { 0 };
    receiver_write_name(receiver, &name);
    html_write(out, "<li><b>%s</b>", text_string(&name));
    write_settings(out, receiver);
    if (state->waiting != 0)
        html_write(out, "<span>%lld waiting</span>", (long long)state->waiting);
    html_write(out,
               "<form method=\"post\" action=\"/alerts\"><button class=\"quiet\""
               " name=\"test\" value=\"%s\">Send a test</button>",
               receiver->id);
    if (receiver->kept)
        html_write(out,
                   "<button class=\"quiet\" name=\"remove\" value=\"%s\">Remove"
                   "</button>",
                   receiver->id);
    html_write(out, "</form>");
    if (!receiver->kept)
        html_write(out, "<span>from a file</span>");
    if (state->error[0] != 0)
        html_write(out, "<p class=\"cut\">%.*s</p>", PAGE_SHORT, state->error);
    html_write(out, "</li>\n");
}

// settings are the fields of the form that become settings of a line.
static const struct {
    const char *key;
    const char *label;
    const char *example;
} settings[] = {
    { "on", "Events", "new,regressed,rising" },
    { "program", "Program", "any" },
    { "environment", "Environment", "any" },
    { "project", "Project", "any" },
    { "kind", "Kind of crash", "any" },
    { "machines", "Machines, at least", "1" },
    { "count", "Reports in a time", "100/1h" },
    { "window", "One message per", "1m" },
    { "limit", "Messages, at most", "30/1h" },
    { "secret", "Secret", "" },
    { "key", "Routing key", "of PagerDuty" },
};
enum { SETTING_COUNT = sizeof(settings) / sizeof(settings[0]) };

static void write_new_receiver(struct text *out)
{
    html_write(out,
               "<section class=\"card\"><h2>Add a receiver</h2>"
               "<form class=\"filters many\" method=\"post\" action=\"/alerts\">"
               "<label><span>URL or mail address</span><input name=\"target\" required"
               " autocomplete=\"off\"></label><label><span>Format</span>"
               "<select name=\"format\"><option value=\"\">JSON, or mail</option>"
               "<option value=\"slack\">Slack, Mattermost</option>"
               "<option value=\"discord\">Discord</option>"
               "<option value=\"pagerduty\">PagerDuty</option>"
               "<option value=\"alertmanager\">Alertmanager</option></select></label>");
    for (size_t i = 0; i < SETTING_COUNT; i++)
        html_write(out,
                   "<label><span>%s</span><input name=\"%s\" placeholder=\"%s\""
                   " autocomplete=\"off\"></label>",
                   settings[i].label, settings[i].key, settings[i].example);
    html_write(out,
               "<label><span>Crashes in</span><select name=\"in_app\">"
               "<option value=\"\">any code</option>"
               "<option value=\"yes\">the program's own code</option></select></label>"
               "<button>Add</button></form><p class=\"about\">It is notified of what"
               " happens from now on.</p></section>\n");
}

void page_alerts(struct http_request *request)
{
    struct collector *collector = collector_of(request);
    struct receivers *receivers = receivers_take(&collector->receivers);
    struct text *out = &request->answer.body;
    enum ch_status status = CH_OK;
    page_begin(out, "Alerts", "Alerts");
    html_write(out, "<h1>Alerts</h1><section class=\"card\"><h2>Receivers</h2>");
    if (receivers->count == 0)
        html_write(out, "<p>Nobody is notified of crashes.</p>");
    else
        html_write(out, "<ol class=\"entries\">\n");
    for (size_t i = 0; i < receivers->count && status == CH_OK; i++) {
        struct store_alert_state state;
        const char *project = receivers->list[i].project;
        if (!collector_shows(request, project != NULL ? project : ""))
            continue;
        status = store_alert_state_of(collector->store, receivers->list[i].id, &state);
        if (status == CH_OK)
            write_receiver(out, &receivers->list[i], &state);
    }
    if (receivers->count != 0)
        html_write(out, "</ol>");
    receivers_release(&collector->receivers, receivers);
    html_write(out, "</section>");
    if ((request->who.scopes & ACCESS_ADMIN) != 0 && !collector_of(request)->reading)
        write_new_receiver(out);
    html_write(out, "<section class=\"card\"><h2>What happened</h2>");
    struct alert_list list = { out, timestamp_now(), 0 };
    if (status == CH_OK)
        status = store_list_alerts(collector->store, request->who.project, ALERTS_SHOWN,
                                   write_alert_row, &list);
    html_write(out,
               list.count != 0 ? "</ol></section>" : "<p>Nothing yet.</p></section>");
    page_finish(request, status, "alert");
}

// write_receiver_line writes the line of a receiver from the fields of the form.
static void write_receiver_line(const struct form *form, struct text *out)
{
    static const char *const chosen[] = { "format", "in_app" };
    text_append_string(out, form_value(form, "target"));
    for (size_t i = 0; i < SETTING_COUNT + 2; i++) {
        const char *key =
            i < SETTING_COUNT ? settings[i].key : chosen[i - SETTING_COUNT];
        const char *value = form_value(form, key);
        if (value != NULL && value[0] != 0)
            text_appendf(out, " %s=%s", key, value);
    }
}

static bool add_receiver(struct http_request *request, const struct form *form)
{
    struct text CH_CLEANUP(text_deinit) line = { 0 };
    char id[RECEIVER_ID_SIZE];
    char why[STORE_ERROR_SIZE];
    write_receiver_line(form, &line);
    if (!api_audit(request, "receiver", "added"))
        return false;
    enum ch_status status =
        alerts_add_receiver(&collector_of(request)->receivers, request->who.project,
                            text_string(&line), id, why);
    if (status == CH_ERR_MALFORMED)
        http_fail(request, 400, "%s", why);
    else if (status != CH_OK)
        api_fail_store(request, status, "receiver");
    return status == CH_OK;
}

static bool remove_receiver(struct http_request *request, const char *id)
{
    char error[STORE_ERROR_SIZE];
    if (!api_audit(request, "receiver removed", id))
        return false;
    enum ch_status status = alerts_remove_receiver(&collector_of(request)->receivers,
                                                   request->who.project, id, error);
    if (status != CH_OK)
        api_fail_store(request, status, "receiver of the store");
    return status == CH_OK;
}

static bool test_receiver(struct http_request *request, const char *id)
{
    struct collector *collector = collector_of(request);
    char error[STORE_ERROR_SIZE];
    enum ch_status status = alerts_test(collector->store, &collector->receivers,
                                        request->who.project, id, error);
    if (status != CH_OK)
        api_fail_store(request, status, "receiver");
    return status == CH_OK;
}

void page_post_alerts(struct http_request *request)
{
    struct form form;
    bool done = false;
    if (form_read(&request->body, &form) != CH_OK) {
        http_fail(request, 400, "this is not the form of this page");
        return;
    }
    if (form_value(&form, "test") != NULL)
        done = test_receiver(request, form_value(&form, "test"));
    else if (form_value(&form, "remove") != NULL)
        done = remove_receiver(request, form_value(&form, "remove"));
    else if (form_value(&form, "target") != NULL)
        done = add_receiver(request, &form);
    else
        http_fail(request, 400, "this is not the form of this page");
    if (done)
        http_see_other(request, "/alerts");
}
