// SPDX-License-Identifier: Apache-2.0
#include "collector/requests/opened_report.h"

#include <stdio.h>

#include "collector/requests/collector.h"
#include "report/json/json_reader.h"

// WEIGHT_MAX is the most that one byte of a text adds to its weight.
enum { WEIGHT_MAX = 3 };

size_t opened_report_weigh(const char *bytes, size_t size)
{
    size_t values = 1;
    for (size_t i = 0; i < size && values <= OPENED_REPORT_VALUES;) {
        char c = bytes[i];
        if (c == '"') {
            i = json_string_end(bytes, size, i);
            continue;
        }
        // An empty object takes as much memory as three plain values.
        values += c == ',' || c == '[' ? 1 : c == '{' ? WEIGHT_MAX : 0;
        i++;
    }
    return values;
}

static enum ch_status decode_json(const struct store_body *body, size_t limit,
                                  struct report_text *out)
{
    if (body->encoding == DECODE_IDENTITY && body->size != 0 && body->size <= limit) {
        out->bytes = body->bytes;
        out->size = body->size;
        return CH_OK;
    }
    enum ch_status status =
        decode_body(body->encoding, body->bytes, body->size, limit, &out->decoded);
    out->bytes = out->decoded.bytes;
    out->size = out->decoded.size;
    return status;
}

static unsigned decode_report_body(const struct store_body *body, bool large,
                                   struct report_text *out,
                                   struct opened_report_error *error)
{
    size_t limit = large ? COLLECTOR_DECODED_MAX : COLLECTOR_LARGE;
    switch (decode_json(body, limit, out)) {
    case CH_OK:
        return 0;
    case CH_ERR_LIMIT:
        if (!large)
            return OPENED_REPORT_LARGE;
        snprintf(error->text, sizeof(error->text),
                 "the report has more than %d bytes once decoded",
                 COLLECTOR_DECODED_MAX);
        return 413;
    case CH_ERR_TRUNCATED:
        snprintf(error->text, sizeof(error->text), "the compressed body ends early");
        return 400;
    case CH_ERR_NO_MEMORY:
        snprintf(error->text, sizeof(error->text), "out of memory");
        return 503;
    default:
        snprintf(error->text, sizeof(error->text), "the compressed body is damaged");
        return 400;
    }
}

static unsigned parse_opened_report(struct opened_report *report,
                                    const struct report_text *json,
                                    struct opened_report_error *error)
{
    // Most reports are too short to be too heavy, and weighing one is a tenth of
    // ingest.
    if (json->size >= OPENED_REPORT_VALUES / WEIGHT_MAX &&
        opened_report_weigh(json->bytes, json->size) > OPENED_REPORT_VALUES) {
        snprintf(error->text, sizeof(error->text),
                 "the report holds too many values, at most %d are taken",
                 OPENED_REPORT_VALUES);
        return 413;
    }
    struct report_error reason;
    enum ch_status status = (report->brief ? report_parse_brief : report_parse)(
        json->bytes, json->size, &report->json, &reason);
    if (status == CH_OK)
        return 0;
    snprintf(error->text, sizeof(error->text), "not a report: %s", reason.text);
    return status == CH_ERR_LIMIT ? 413 : status == CH_ERR_NO_MEMORY ? 503 : 400;
}

static unsigned open_body(struct opened_report *out, const struct store_body *body,
                          pthread_mutex_t *large, struct opened_report_error *error)
{
    struct report_text json = { 0 };
    unsigned refused = decode_report_body(body, large != NULL, &json, error);
    if (refused == 0 && large != NULL && json.size > COLLECTOR_LARGE) {
        pthread_mutex_lock(large);
        out->large = large;
    }
    if (refused == 0)
        refused = parse_opened_report(out, &json, error);
    if (out->brief)
        out->text = json;
    else
        text_deinit(&json.decoded);
    if (refused != 0)
        opened_report_close(out);
    return refused;
}

unsigned opened_report_open(struct opened_report *out, const struct store_body *body,
                            pthread_mutex_t *large, struct opened_report_error *error)
{
    *out = (struct opened_report){ 0 };
    return open_body(out, body, large, error);
}

unsigned opened_report_open_brief(struct opened_report *out,
                                  const struct store_body *body, pthread_mutex_t *large,
                                  struct opened_report_error *error)
{
    *out = (struct opened_report){ .brief = true };
    json_arena_begin(&out->arena);
    return open_body(out, body, large, error);
}

void opened_report_close(struct opened_report *report)
{
    json_arena_drop(&report->arena, report->json);
    report->json = NULL;
    if (report->brief)
        json_arena_end(&report->arena);
    text_deinit(&report->text.decoded);
    if (report->large != NULL)
        pthread_mutex_unlock(report->large);
    report->large = NULL;
}
