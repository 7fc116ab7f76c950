// SPDX-License-Identifier: Apache-2.0
#include "upload/bodies/sentry_envelope.h"

#include "report/value/report.h"
#include "upload/bodies/sentry_event.h"
#include "upload/bodies/sentry_sessions.h"

enum ch_status sentry_envelope_write(const json_t *report, const char *json,
                                     size_t size, int64_t unix_ms, struct text *out)
{
    char event_id[SENTRY_EVENT_ID_SIZE];
    char now[SENTRY_TIME_SIZE];
    struct text CH_CLEANUP(text_deinit) event = { 0 };
    const char *id = report_string(report, "id");
    enum ch_status status = sentry_event_write(report, &event);
    if (status != CH_OK)
        return status;
    sentry_event_id(id != NULL ? id : "", event_id);
    sentry_event_time(unix_ms, now);

    text_appendf(out,
                 "{\"event_id\":\"%s\",\"sent_at\":\"%s\",\"sdk\":{\"name\":"
                 "\"crashhook\",\"version\":\"" CRASHHOOK_VERSION "\"}}\n",
                 event_id, now);
    text_appendf(out,
                 "{\"type\":\"event\",\"length\":%zu,\"content_type\":"
                 "\"application/json\"}\n",
                 event.size);
    text_append(out, event.bytes, event.size);
    text_append_string(out, "\n");
    sentry_sessions_write_crash(report, out);
    if (json != NULL) {
        text_appendf(out,
                     "{\"type\":\"attachment\",\"length\":%zu,\"filename\":"
                     "\"report.json\",\"content_type\":\"application/json\","
                     "\"attachment_type\":\"event.attachment\"}\n",
                     size);
        text_append(out, json, size);
        text_append_string(out, "\n");
    }
    return text_ok(out) ? CH_OK : CH_ERR_NO_MEMORY;
}
