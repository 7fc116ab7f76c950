// SPDX-License-Identifier: Apache-2.0
#include "upload/sentry_envelope.h"

#include <stdio.h>
#include <time.h>

#include "report/report.h"
#include "upload/sentry_event.h"
#include "upload/sentry_sessions.h"

void sentry_envelope_time(int64_t unix_ms, char out[static SENTRY_TIME_SIZE])
{
    char seconds[SENTRY_TIME_SIZE];
    time_t at = (time_t)(unix_ms / 1000);
    struct tm parts = { 0 };
    if (gmtime_r(&at, &parts) == NULL ||
        strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", &parts) == 0)
        seconds[0] = 0;
    (void)snprintf(out, SENTRY_TIME_SIZE, "%.30s.%03dZ", seconds,
                   (int)(unix_ms % 1000));
}

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
    sentry_envelope_time(unix_ms, now);

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
