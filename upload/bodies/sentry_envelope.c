// SPDX-License-Identifier: Apache-2.0
#include "upload/bodies/sentry_envelope.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/value/report.h"
#include "upload/bodies/sentry_event.h"

enum { SESSION_DIGITS = 16, SESSION_ID_SIZE = 37, DAY_MS = 86400000 };

// append_item appends an item of an envelope, and takes its payload. false: there was
// no memory for it.
static bool append_item(struct text *out, const char *type, json_t *payload)
{
    char *json = payload != NULL ? json_dumps(payload, JSON_COMPACT) : NULL;
    if (json != NULL)
        text_appendf(out,
                     "{\"type\":\"%s\",\"length\":%zu,\"content_type\":"
                     "\"application/json\"}\n%s\n",
                     type, strlen(json), json);
    bool made = json != NULL;
    free(json);
    json_decref(payload);
    return made;
}

enum ch_status sentry_sessions_write(const struct sentry_sessions *sessions,
                                     int64_t unix_ms, struct text *out)
{
    char when[SENTRY_TIME_SIZE];
    json_t *aggregates = json_array();
    for (int hour = 0; hour < SENTRY_SESSION_HOURS; hour++) {
        if (sessions->starts[hour] == 0)
            continue;
        sentry_event_time(sessions->day * DAY_MS + hour * (int64_t)3600000, when);
        // What has crashed is taken off by the report's update. `exited` alone says no
        // more than that there was a session.
        (void)json_array_append_new(aggregates,
                                    json_pack("{s:s, s:I}", "started", when, "exited",
                                              (json_int_t)sessions->starts[hour]));
    }
    sentry_event_time(unix_ms, when);
    text_appendf(out,
                 "{\"sent_at\":\"%s\",\"sdk\":{\"name\":\"crashhook\",\"version\":"
                 "\"" CRASHHOOK_VERSION "\"}}\n",
                 when);
    bool made = append_item(out, "sessions",
                            json_pack("{s:o, s:{s:s}}", "aggregates", aggregates,
                                      "attrs", "release", sessions->release));
    return made && text_ok(out) ? CH_OK : CH_ERR_NO_MEMORY;
}

// sentry_sessions_write_crash appends the item of an envelope that says that the
// session of a report crashed: nothing, if the report has no session or no release.
static void sentry_sessions_write_crash(const json_t *report, struct text *out)
{
    char id[SESSION_ID_SIZE];
    const char *session = report_string(report, "session");
    const char *release = report_string(report, "release");
    const char *time = report_string(report, "time");
    const char *started = report_string(json_object_get(report, "process"), "started");
    if (session == NULL || strlen(session) != SESSION_DIGITS || release == NULL ||
        release[0] == 0 || time == NULL)
        return;
    (void)snprintf(id, sizeof(id), "%.8s-%.4s-%.4s-%.4s-%.4s%.8s", session, session + 8,
                   session + 12, session, session + 4, session + 8);
    // The event matters more: without memory for both it goes alone.
    (void)append_item(out, "session",
                      json_pack("{s:s, s:b, s:s, s:s, s:s, s:i, s:{s:s}}", "sid", id,
                                "init", 0, "started", started != NULL ? started : time,
                                "timestamp", time, "status", "crashed", "errors", 1,
                                "attrs", "release", release));
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
