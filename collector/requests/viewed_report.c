// SPDX-License-Identifier: Apache-2.0
#include "collector/requests/viewed_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/requests/api.h"
#include "collector/store/store_symbolization.h"
#include "collector/symbols/place_names.h"
#include "collector/symbols/symbol_store.h"
#include "report/grouping/report_in_app.h"

// BESIDE_A_GROUP is the largest body that is opened to show a group.
// BUILDS_NAMED is how many builds of a report get names.
enum { BESIDE_A_GROUP = 256 << 10, BUILDS_NAMED = 256 };

// copied is what store_find_report returns, copied so that its connection is free
// again.
struct copied {
    struct text bytes;
    enum decode_encoding encoding;
    struct viewed_report *report;
    char project[ENTRY_PROJECT_SIZE];
};

static void copied_deinit(struct copied *copied)
{
    text_deinit(&copied->bytes);
}

static void copy_viewed_report(void *context, const struct store_report *report,
                               const struct store_body *body)
{
    struct copied *copied = context;
    copied->encoding = body->encoding;
    entry_copy(copied->project, sizeof(copied->project), report->project);
    text_append(&copied->bytes, body->bytes, body->size);
    if (copied->report == NULL)
        return;
    entry_copy(copied->report->group, sizeof(copied->report->group), report->group);
    entry_copy(copied->report->title, sizeof(copied->report->title), report->title);
    entry_copy(copied->report->project, sizeof(copied->report->project),
               report->project);
    copied->report->received_ms = report->received_ms;
}

// find_viewed copies report id out of the store, or answers with the reason why it
// cannot.
static bool find_viewed(struct http_request *request, const char *id,
                        struct copied *copied)
{
    enum ch_status status =
        store_find_report(collector_of(request)->store, id, copy_viewed_report, copied);
    if (status == CH_OK && !collector_shows(request, copied->project))
        status = CH_ERR_NOT_FOUND;
    if (status == CH_OK && text_ok(&copied->bytes))
        return true;
    api_fail_store(request, status == CH_ERR_NOT_FOUND ? status : CH_ERR_IO, "report");
    return false;
}

static void take_place(void *context, const struct store_place *place)
{
    bool own = store_build_of(place->build) != place->build;
    json_t *frames = own || json_object_get(context, place->place) == NULL
                         ? json_loads(place->frames, 0, NULL)
                         : NULL;
    if (frames != NULL)
        (void)json_object_set_new(context, place->place, frames);
}

// viewed_find_places finds the names of the places that are wanted of a build: those of
// the project's own debug file have precedence over everybody's.
static json_t *viewed_find_places(struct store *store, const struct store_place_of *of,
                                  const json_t *wanted)
{
    json_t *found = json_object();
    json_t *list = json_array();
    const char *place;
    json_t *frame;
    json_object_foreach((json_t *)(uintptr_t)wanted, place, frame)
    {
        (void)json_array_append_new(list, json_string(place));
    }
    char *dumped = json_dumps(list, JSON_COMPACT);
    // Names that cannot be read are missing from a view; the view is shown.
    enum ch_status status =
        dumped != NULL ? store_list_places(store, of, dumped, take_place, found)
                       : CH_ERR_NO_MEMORY;
    (void)status;
    free(dumped);
    json_decref(list);
    return found;
}

// ask_for_names has the jobs name what nobody looked up yet, and says so in the view.
static void ask_for_names(struct collector *collector, struct viewed_report *out)
{
    enum store_names names = STORE_NAMES_DONE;
    char error[STORE_ERROR_SIZE];
    const char *id = report_string(out->opened.json, "id");
    if (id != NULL && store_name_later(collector->store, id, &names, error) == CH_OK)
        out->names = names;
}

// viewed_add_names gives nameless frames the names that jobs found out. Names from the
// sender are kept: it had files that are not here.
static void viewed_add_names(struct collector *collector, struct viewed_report *out)
{
    json_t *report = out->opened.json;
    json_t *wanted = json_object();
    json_t *known = json_object();
    bool unknown = false;
    size_t count = 0;
    const char *build;
    json_t *places;
    place_names_want(report, NULL, wanted, &count);
    json_object_foreach(wanted, build, places)
    {
        if (json_object_size(known) == BUILDS_NAMED)
            break;
        const struct store_place_of of = { out->project, build };
        json_t *found = viewed_find_places(collector->store, &of, places);
        unknown = unknown || (json_object_size(found) < json_object_size(places) &&
                              symbol_store_has(collector->symbols, out->project,
                                               SYMBOL_DEBUG_FILE, build));
        (void)json_object_set_new(known, build, found);
    }
    const json_t *threads = json_object_get(report, "threads");
    for (size_t i = 0; count != 0 && i < json_array_size(threads); i++)
        out->renamed = place_names_apply(report, json_array_get(threads, i), known) ||
                       out->renamed;
    json_decref(wanted);
    json_decref(known);
    if (unknown)
        ask_for_names(collector, out);
    report_in_app_mark(report);
}

// open_copied opens what was copied, and gives the status of the refusal, or 0.
static unsigned open_copied(struct http_request *request, const struct copied *copied,
                            struct opened_report_error *reason)
{
    struct viewed_report *out = copied->report;
    const struct store_body body = { .bytes = copied->bytes.bytes,
                                     .size = copied->bytes.size,
                                     .encoding = copied->encoding };
    unsigned refused =
        opened_report_open(&out->opened, &body, collector_large(request), reason);
    if (refused == OPENED_REPORT_LARGE)
        http_move_large(request);
    if (refused == 0)
        viewed_add_names(collector_of(request), out);
    return refused;
}

bool viewed_report_open(struct http_request *request, const char *id,
                        struct viewed_report *out)
{
    struct collector *collector = collector_of(request);
    *out = (struct viewed_report){ .symbols = collector->symbols,
                                   .templates = collector->templates };
    CH_CLEANUP(copied_deinit) struct copied copied = { .report = out };
    if (!find_viewed(request, id, &copied))
        return false;

    struct opened_report_error reason;
    unsigned refused = open_copied(request, &copied, &reason);
    if (refused != 0 && refused != OPENED_REPORT_LARGE)
        http_fail(request, refused, "%s", reason.text);
    return refused == 0;
}

static void take_report_id(void *context, const struct store_report *report)
{
    entry_copy(context, REPORT_ID_SIZE, report->id);
}

bool viewed_report_open_newest(struct http_request *request, const char *group,
                               char out_id[REPORT_ID_SIZE], struct viewed_report *out)
{
    struct collector *collector = collector_of(request);
    struct store_filter filter = { .group = group, .limit = 1 };
    char next[STORE_CURSOR_SIZE];
    *out = (struct viewed_report){ .symbols = collector->symbols,
                                   .templates = collector->templates };
    CH_CLEANUP(copied_deinit) struct copied copied = { .report = out };
    out_id[0] = 0;
    if (store_list_reports(collector->store, &filter, take_report_id, out_id, next) !=
            CH_OK ||
        out_id[0] == 0 ||
        store_find_report(collector->store, out_id, copy_viewed_report, &copied) !=
            CH_OK ||
        !text_ok(&copied.bytes) || copied.bytes.size > BESIDE_A_GROUP)
        return false;
    struct opened_report_error reason;
    return open_copied(request, &copied, &reason) == 0;
}

const char *viewed_report_names(const struct viewed_report *report)
{
    static const char *const words[] = { [STORE_NAMES_DONE] = NULL,
                                         [STORE_NAMES_PENDING] = "pending",
                                         [STORE_NAMES_FAILED] = "failed" };
    return words[report->names];
}

void viewed_report_close(struct viewed_report *report)
{
    opened_report_close(&report->opened);
}

bool viewed_report_sent(struct http_request *request, const char *id, struct text *out)
{
    CH_CLEANUP(copied_deinit) struct copied copied = { 0 };
    if (!find_viewed(request, id, &copied))
        return false;
    size_t limit = request->large ? COLLECTOR_DECODED_MAX : COLLECTOR_LARGE;
    enum ch_status status =
        decode_body(copied.encoding, copied.bytes.bytes, copied.bytes.size, limit, out);
    if (status == CH_OK)
        return true;
    if (status == CH_ERR_LIMIT && !request->large)
        http_move_large(request);
    else
        http_fail(request, 503, "the stored report cannot be decoded");
    return false;
}
