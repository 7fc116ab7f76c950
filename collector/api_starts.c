// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "collector/database/timestamp.h"
#include "collector/requests/api.h"
#include "collector/requests/collector.h"
#include "collector/requests/filter.h"
#include "collector/store/store_starts.h"
#include "report/file/report_id.h"
#include "report/file/report_tree.h"

enum { TEXT_MAX = 127, DAY_MS = 86400000 };

static const int64_t count_max = INT64_C(1) << 40;

static bool is_text(const char *text)
{
    return text != NULL && strlen(text) <= TEXT_MAX;
}

static bool is_count(int64_t count)
{
    return count >= 0 && count <= count_max;
}

// read_batch fills out from the body's object; false: it is not one.
static bool read_batch(const json_t *object, struct store_start_batch *out)
{
    const int64_t today = timestamp_now() / DAY_MS;
    *out = (struct store_start_batch){
        .id = report_string(object, "id"),
        .release = report_string(object, "release"),
        .host = report_string(object, "host"),
        .day = report_integer(object, "day", -1),
        .starts = report_integer(object, "starts", -1),
        .ends = report_integer(object, "ends", -1),
    };
    return out->id != NULL && report_id_ok(out->id) && is_text(out->release) &&
           is_text(out->host) && out->day > 0 && out->day <= today + 1 &&
           is_count(out->starts) && is_count(out->ends);
}

void api_post_starts(struct http_request *request)
{
    const struct collector *collector = collector_of(request);
    char error[STORE_ERROR_SIZE];
    struct store_start_batch batch;
    bool is_new = false;
    json_auto_t *object = api_body_json(request);
    if (!read_batch(object, &batch)) {
        http_fail(request, 400,
                  "the body is no object with id, release, host, day, starts and ends");
        return;
    }
    batch.project = request->who.project;
    enum ch_status status = store_add_starts(collector->store, &batch, &is_new, error);
    if (status == CH_OK)
        api_answer_json(request, is_new ? 201 : 200,
                        json_pack("{s:s}", "id", batch.id));
    else
        api_fail_store(request, status, "batch");
}

static void append_start(void *context, const struct store_start_row *row)
{
    int64_t known = row->ends + row->crashes;
    int64_t unknown = row->starts > known ? row->starts - known : 0;
    int64_t crashes = row->crashes < row->starts ? row->crashes : row->starts;
    json_t *object = json_pack(
        "{s:s, s:s, s:I, s:I, s:I, s:I}", "release", row->release, "host", row->host,
        "starts", (json_int_t)row->starts, "ends", (json_int_t)row->ends, "crashes",
        (json_int_t)row->crashes, "unknown", (json_int_t)unknown);
    if (row->starts > 0)
        (void)json_object_set_new(
            object, "crash_free",
            json_real((double)(row->starts - crashes) / (double)row->starts));
    json_array_append_new(context, object);
}

void api_list_starts(struct http_request *request)
{
    const struct collector *collector = collector_of(request);
    const char *release = http_parameter_value(request, "release");
    if (!filter_knows(request, "release"))
        return;
    json_t *rows = json_array();
    enum ch_status status = store_list_starts(
        collector->store, request->who.project,
        release != NULL && release[0] != 0 ? release : NULL, append_start, rows);
    api_answer_store(request, status, "start", json_pack("{s:o}", "starts", rows));
}
