// SPDX-License-Identifier: Apache-2.0
#include "collector/database/timestamp.h"
#include "collector/jobs/alerts.h"
#include "collector/requests/api.h"
#include "collector/requests/collector.h"
#include "collector/store/store_alerts.h"

enum { ALERTS_LISTED = 50 };

static void append_alert(void *context, const struct store_alert *alert)
{
    char time[TIMESTAMP_SIZE];
    timestamp_write(alert->time_ms, time);
    json_array_append_new(context, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "id",
                                             alert->id, "kind", alert->kind, "group",
                                             alert->group, "title", alert->title,
                                             "report", alert->report, "time", time));
}

static enum ch_status append_receiver(struct store *store,
                                      const struct receiver *receiver, json_t *rows)
{
    struct text CH_CLEANUP(text_deinit) name = { 0 };
    struct store_alert_state state;
    enum ch_status status = store_alert_state_of(store, receiver->id, &state);
    receiver_write_name(receiver, &name);
    if (status == CH_OK && text_ok(&name))
        json_array_append_new(
            rows, json_pack("{s:s, s:s, s:b, s:I, s:s}", "id", receiver->id, "name",
                            name.bytes, "kept", receiver->kept, "waiting",
                            (json_int_t)state.waiting, "error", state.error));
    return status;
}

void api_list_alerts(struct http_request *request)
{
    struct collector *collector = collector_of(request);
    json_t *rows = json_array();
    json_t *receivers = json_array();
    struct receivers *current = receivers_take(&collector->receivers);
    enum ch_status status = store_list_alerts(collector->store, request->who.project,
                                              ALERTS_LISTED, append_alert, rows);
    for (size_t i = 0; i < current->count && status == CH_OK; i++) {
        const struct receiver *receiver = &current->list[i];
        if (collector_shows(request,
                            receiver->project != NULL ? receiver->project : ""))
            status = append_receiver(collector->store, receiver, receivers);
    }
    receivers_release(&collector->receivers, current);
    api_answer_store(request, status, "alert",
                     json_pack("{s:o, s:o}", "alerts", rows, "receivers", receivers));
}

void api_test_alert(struct http_request *request)
{
    struct collector *collector = collector_of(request);
    char error[STORE_ERROR_SIZE];
    enum ch_status status = alerts_test(collector->store, &collector->receivers,
                                        request->who.project, request->id, error);
    if (status == CH_OK)
        api_answer_json(request, 202, json_pack("{s:s}", "receiver", request->id));
    else
        api_fail_store(request, status, "receiver");
}

void api_post_receiver(struct http_request *request)
{
    char id[RECEIVER_ID_SIZE];
    char why[STORE_ERROR_SIZE];
    json_auto_t *object = api_body_json(request);
    const char *line = json_string_value(json_object_get(object, "line"));
    if (line == NULL || json_object_size(object) != 1) {
        http_fail(request, 400, "the body is no object with line");
        return;
    }
    if (!api_audit(request, "receiver", "added"))
        return;
    enum ch_status status = alerts_add_receiver(&collector_of(request)->receivers,
                                                request->who.project, line, id, why);
    if (status == CH_OK)
        api_answer_json(request, 201, json_pack("{s:s}", "id", id));
    else if (status == CH_ERR_MALFORMED)
        http_fail(request, 400, "%s", why);
    else
        api_fail_store(request, status, "receiver");
}

void api_remove_receiver(struct http_request *request)
{
    char error[STORE_ERROR_SIZE];
    if (!api_audit(request, "receiver removed", request->id))
        return;
    enum ch_status status = alerts_remove_receiver(
        &collector_of(request)->receivers, request->who.project, request->id, error);
    if (status == CH_OK)
        api_answer_json(request, 200, json_pack("{s:s}", "removed", request->id));
    else
        api_fail_store(request, status, "receiver of the store");
}
