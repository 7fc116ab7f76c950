// SPDX-License-Identifier: Apache-2.0
#include "collector/database/moment.h"
#include "collector/jobs/alerts.h"
#include "collector/requests/api.h"
#include "collector/requests/collector.h"
#include "collector/store/store_alerts.h"

enum { ALERTS_LISTED = 50 };

static void append_alert(void *context, const struct store_alert *alert)
{
    char time[MOMENT_SIZE];
    moment_write(alert->time_ms, time);
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
        json_array_append_new(rows, json_pack("{s:s, s:s, s:I, s:s}", "id",
                                              receiver->id, "name", name.bytes,
                                              "waiting", (json_int_t)state.waiting,
                                              "error", state.error));
    return status;
}

void api_list_alerts(struct http_request *request)
{
    const struct collector *collector = collector_of(request);
    json_t *rows = json_array();
    json_t *receivers = json_array();
    enum ch_status status = store_list_alerts(collector->store, request->who.project,
                                              ALERTS_LISTED, append_alert, rows);
    for (size_t i = 0; i < collector->receivers->count && status == CH_OK; i++) {
        const struct receiver *receiver = &collector->receivers->list[i];
        if (collector_shows(request,
                            receiver->project != NULL ? receiver->project : ""))
            status = append_receiver(collector->store, receiver, receivers);
    }
    if (status == CH_OK) {
        api_answer_json(
            request, 200,
            json_pack("{s:o, s:o}", "alerts", rows, "receivers", receivers));
        return;
    }
    json_decref(rows);
    json_decref(receivers);
    api_fail_store(request, status, "alert");
}

void api_test_alert(struct http_request *request)
{
    const struct collector *collector = collector_of(request);
    char error[STORE_ERROR_SIZE];
    enum ch_status status = alerts_test(collector->store, collector->receivers,
                                        request->who.project, request->id, error);
    if (status == CH_OK)
        api_answer_json(request, 202, json_pack("{s:s}", "receiver", request->id));
    else
        api_fail_store(request, status, "receiver");
}
