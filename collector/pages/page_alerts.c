// SPDX-License-Identifier: Apache-2.0
//
// Who is told of crashes, what waits for them, and what they were told of.
#include <stdio.h>

#include "collector/database/moment.h"
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

static void write_receiver(struct text *out, const struct receiver *receiver,
                           const struct store_alert_state *state)
{
    struct text CH_CLEANUP(text_deinit) name = { 0 };
    receiver_write_name(receiver, &name);
    html_write(out, "<li><b>%s</b><span>%s%s%s%s%s</span>",
               text_ok(&name) ? name.bytes : "",
               (receiver->kinds & RECEIVER_NEW) != 0 ? "new " : "",
               (receiver->kinds & RECEIVER_REGRESSED) != 0 ? "regressed " : "",
               (receiver->kinds & RECEIVER_RISING) != 0 ? "rising " : "",
               receiver->rule, receiver->digest_minute >= 0 ? " digest" : "");
    if (state->waiting != 0)
        html_write(out, "<span>%lld waiting</span>", (long long)state->waiting);
    html_write(out,
               "<form method=\"post\" action=\"/alerts\"><button class=\"quiet\""
               " name=\"test\" value=\"%s\">Send a test</button></form>",
               receiver->id);
    if (state->error[0] != 0)
        html_write(out, "<p class=\"cut\">%.*s</p>", PAGE_SHORT, state->error);
    html_write(out, "</li>\n");
}

void page_alerts(struct http_request *request)
{
    const struct collector *collector = collector_of(request);
    const struct receivers *receivers = collector->receivers;
    struct text *out = &request->answer.body;
    enum ch_status status = CH_OK;
    page_begin(out, "Alerts", "Alerts");
    html_write(out, "<h1>Alerts</h1><section class=\"card\"><h2>Receivers</h2>");
    if (receivers->count == 0)
        html_write(out,
                   "<p>Nobody is told of crashes: start the collector with"
                   " <code>--webhook-file</code> or <code>--mail-file</code>.</p>");
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
    html_write(out, "</section><section class=\"card\"><h2>What happened</h2>");
    struct alert_list list = { out, moment_now(), 0 };
    if (status == CH_OK)
        status = store_list_alerts(collector->store, request->who.project, ALERTS_SHOWN,
                                   write_alert_row, &list);
    html_write(out,
               list.count != 0 ? "</ol></section>" : "<p>Nothing yet.</p></section>");
    page_end(out);
    if (status != CH_OK) {
        api_fail_store(request, status, "alert");
        return;
    }
    request->answer.status = 200;
    request->answer.content_type = "text/html; charset=utf-8";
}

void page_post_alerts(struct http_request *request)
{
    const struct collector *collector = collector_of(request);
    char error[STORE_ERROR_SIZE];
    struct form form;
    if (form_read(&request->body, &form) != CH_OK ||
        form_value(&form, "test") == NULL) {
        http_fail(request, 400, "this is not the form of this page");
        return;
    }
    enum ch_status status =
        alerts_test(collector->store, collector->receivers, request->who.project,
                    form_value(&form, "test"), error);
    if (status != CH_OK) {
        api_fail_store(request, status, "receiver");
        return;
    }
    (void)snprintf(request->answer.location, sizeof(request->answer.location),
                   "/alerts");
    request->answer.status = 303;
    request->answer.content_type = "text/html; charset=utf-8";
}
