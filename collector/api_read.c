// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "collector/database/timestamp.h"
#include "collector/pages/page_sections.h"
#include "collector/query/store_values.h"
#include "collector/query/tickets.h"
#include "collector/requests/api.h"
#include "collector/requests/collector.h"
#include "collector/requests/filter.h"
#include "collector/requests/group_copy.h"
#include "collector/requests/group_facts.h"
#include "collector/requests/viewed_report.h"
#include "collector/store/store_segments.h"
#include "collector/store/store_symbolization.h"

enum { LIST_LIMIT = 50, FACET_LIMIT = 20, READY_AFTER_S = 2, CSV_ROWS = 10000 };

static json_t *report_json(const struct store_report *report)
{
    return json_pack(
        "{s:s, s:s, s:I, s:o, s:o, s:I, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "id",
        report->id, "group", report->group, "revision", (json_int_t)report->revision,
        "time", api_timestamp_json(report->time_ms), "received",
        api_timestamp_json(report->received_ms), "signal", (json_int_t)report->signal,
        "signal_name", report->signal_name, "title", report->title, "summary",
        report->summary, "release", report->release, "environment", report->environment,
        "executable", report->executable, "hostname", report->hostname);
}

static void append_report(void *context, const struct store_report *report)
{
    json_array_append_new(context, report_json(report));
}

static void set_text(json_t *json, const char *key, const char *text)
{
    json_object_set_new(json, key, json_string(text));
}

static void set_number(json_t *json, const char *key, int64_t number)
{
    json_object_set_new(json, key, json_integer(number));
}

static json_t *group_json(const struct store_group *group)
{
    json_t *releases = json_array();
    json_t *programs = json_array();
    for (size_t i = 0; i < group->release_count; i++)
        json_array_append_new(releases, json_string(group->releases[i]));
    for (size_t i = 0; i < group->program_count; i++)
        json_array_append_new(programs, json_string(group->programs[i]));
    json_t *json = json_object();
    set_text(json, "id", group->id);
    set_text(json, "title", group->title);
    set_number(json, "signal", group->signal);
    set_number(json, "count", group->count);
    set_number(json, "kept", group->kept);
    set_number(json, "held_back", group->held_back);
    json_object_set_new(json, "first_seen", api_timestamp_json(group->first_seen_ms));
    json_object_set_new(json, "last_seen", api_timestamp_json(group->last_seen_ms));
    json_object_set_new(json, "releases", releases);
    set_text(json, "status", group->status);
    set_text(json, "status_release", group->status_release);
    set_text(json, "note", group->note);
    set_text(json, "assignee", group->assignee);
    set_number(json, "machines", group->machines);
    set_number(json, "users", group->users);
    json_object_set_new(json, "programs", programs);
    set_text(json, "program", group->program);
    set_text(json, "first_release", group->first_release);
    set_number(json, "filtered_count", group->filtered_count);
    set_number(json, "filtered_machines", group->filtered_machines);
    set_number(json, "filtered_users", group->filtered_users);
    json_object_set_new(json, "filtered_more", json_boolean(group->filtered_more));
    set_text(json, "status_rule", group->resolved_in_it ? "in" : "after");
    set_text(json, "resolved_in", group->resolved_in);
    set_number(json, "version", group->version);
    set_text(json, "project", group->project);
    return json;
}

static void append_group(void *context, const struct store_group *group)
{
    json_array_append_new(context, group_json(group));
}

// csv_rows is a list as CSV, or as lines of JSON, while it is written.
struct csv_rows {
    struct text *out;
    size_t count;
};

static void write_group_csv(void *context, const struct store_group *group)
{
    struct csv_rows *rows = context;
    struct text *out = rows->out;
    char first[TIMESTAMP_SIZE];
    char last[TIMESTAMP_SIZE];
    timestamp_write(group->first_seen_ms, first);
    timestamp_write(group->last_seen_ms, last);
    rows->count++;
    const char *newest = group->release_count != 0 ? group->releases[0] : "";
    const char *const texts[] = { group->id,
                                  group->title,
                                  group->summary,
                                  group->status,
                                  group->assignee,
                                  group->program,
                                  group->project,
                                  group->first_release,
                                  newest,
                                  first,
                                  last };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        csv_append(out, texts[i], false);
    csv_append_number(out, group->count, false);
    csv_append_number(out, group->machines, false);
    csv_append_number(out, group->filtered_count, false);
    csv_append_number(out, group->filtered_machines, false);
    csv_append_number(out, group->users, false);
    csv_append_number(out, group->filtered_users, true);
}

static void write_report_csv(void *context, const struct store_report *report)
{
    struct csv_rows *rows = context;
    struct text *out = rows->out;
    char time[TIMESTAMP_SIZE];
    char received[TIMESTAMP_SIZE];
    timestamp_write(report->time_ms, time);
    timestamp_write(report->received_ms, received);
    rows->count++;
    const char *const texts[] = { report->id,
                                  report->group,
                                  time,
                                  received,
                                  report->title,
                                  report->summary,
                                  report->signal_name,
                                  report->release,
                                  report->environment,
                                  report->executable };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        csv_append(out, texts[i], false);
    csv_append(out, report->hostname, true);
}

static void write_group_json(void *context, const struct store_group *group)
{
    struct csv_rows *rows = context;
    rows->count++;
    csv_append_line(rows->out, group_json(group));
}

static void write_report_json(void *context, const struct store_report *report)
{
    struct csv_rows *rows = context;
    rows->count++;
    csv_append_line(rows->out, report_json(report));
}

// link_next links the rest of a list as CSV, which has no place for a cursor (RFC
// 8288).
static void link_next(struct http_request *request, const struct filter *filter,
                      const char *cursor)
{
    struct text CH_CLEANUP(text_deinit) query = { 0 };
    struct text *out = &request->answer.next;
    filter_write_query(request, filter, &query);
    text_appendf(out, "<%s?form=csv&cursor=", request->path);
    filter_encode(out, cursor);
    if (query.size != 0 && text_ok(&query))
        text_appendf(out, "&%s", query.bytes);
    text_append_string(out, ">; rel=\"next\"");
    if (!text_ok(out) || !text_ok(&query))
        text_deinit(out);
}

// answer_rows answers with up to CSV_ROWS, or `limit`, groups or reports of a filter,
// page by page, from its cursor on. What is left is in the last of lines of JSON, and
// in a header of CSV.
static void answer_rows(struct http_request *request, struct filter *filter,
                        enum list_form form, bool groups)
{
    struct store *store = collector_of(request)->store;
    struct csv_rows rows = { .out = &request->answer.body };
    char cursor[STORE_CURSOR_SIZE];
    char next[STORE_CURSOR_SIZE] = "";
    enum ch_status status = CH_OK;
    store_group_fn *write_group = form == LIST_CSV ? write_group_csv : write_group_json;
    store_report_fn *write_report =
        form == LIST_CSV ? write_report_csv : write_report_json;
    if (form == LIST_CSV)
        text_append_string(
            rows.out, groups ? "id,title,summary,status,assignee,program,project,"
                               "first_release,last_release,first_seen,last_seen,"
                               "reports,machines,filtered_reports,filtered_machines,"
                               "users,filtered_users"
                               "\r\n"
                             : "id,group,time,received,title,summary,signal,release,"
                               "environment,executable,host\r\n");
    size_t most = CSV_ROWS;
    if (http_parameter_value(request, "limit") != NULL)
        most = filter->store.limit;
    else
        filter->store.limit = STORE_PAGE_MAX;
    do {
        status =
            groups
                ? store_list_groups(store, &filter->store, write_group, &rows, next)
                : store_list_reports(store, &filter->store, write_report, &rows, next);
        memcpy(cursor, next, sizeof(cursor));
        filter->store.cursor = cursor;
    } while (status == CH_OK && next[0] != 0 && rows.count < most);
    if (form == LIST_LINES && next[0] != 0)
        csv_append_line(rows.out, json_pack("{s:s}", "next", next));
    if (form == LIST_CSV && next[0] != 0)
        link_next(request, filter, next);
    const char *name = groups ? "groups.csv" : "reports.csv";
    if (status != CH_OK)
        api_fail_store(request, status, groups ? "group" : "report");
    else if (collector_of(request)->reading || api_audit(request, "export", name))
        csv_answer(request, form, name);
}

// answer_list answers with rows and the cursor of the page after them.
static void answer_list(struct http_request *request, enum ch_status status,
                        const char *what, json_t *rows, const char *next)
{
    char key[16];
    bool more = status == CH_OK && next[0] != 0;
    (void)snprintf(key, sizeof(key), "%ss", what);
    api_answer_store(request, status, what,
                     json_pack("{s:o, s:s?}", key, rows, "next", more ? next : NULL));
}

void api_list_reports(struct http_request *request)
{
    struct filter filter;
    char next[STORE_CURSOR_SIZE];
    enum list_form form;
    if (!filter_read_with(request, LIST_LIMIT, "form", &filter) ||
        !csv_read_form(request, &form))
        return;
    if (form != LIST_JSON) {
        answer_rows(request, &filter, form, false);
        return;
    }
    json_t *rows = json_array();
    enum ch_status status = store_list_reports(
        collector_of(request)->store, &filter.store, append_report, rows, next);
    answer_list(request, status, "report", rows, next);
}

void api_list_groups(struct http_request *request)
{
    struct filter filter;
    char next[STORE_CURSOR_SIZE];
    enum list_form form;
    if (!filter_read_with(request, LIST_LIMIT, "form", &filter) ||
        !csv_read_form(request, &form))
        return;
    if (form != LIST_JSON) {
        answer_rows(request, &filter, form, true);
        return;
    }
    json_t *rows = json_array();
    enum ch_status status = store_list_groups(collector_of(request)->store,
                                              &filter.store, append_group, rows, next);
    answer_list(request, status, "group", rows, next);
}

static json_t *trend_json(const struct store_group *group)
{
    json_t *trend = json_array();
    for (size_t i = 0; i < STORE_TREND_DAYS; i++) {
        char day[TIMESTAMP_DAY_SIZE];
        timestamp_write_day(group->trend_day - STORE_TREND_DAYS + 1 + (int64_t)i, day);
        json_array_append_new(trend, json_pack("{s:s, s:I}", "day", day, "count",
                                               (json_int_t)group->trend[i]));
    }
    return trend;
}

static void append_merged(void *context, const struct store_merged *merged)
{
    json_array_append_new(context, json_string(merged->fingerprint));
}

// similar_json lists the groups whose stacks are nearest.
static json_t *similar_json(struct store *store, const struct store_group *group)
{
    struct similar_group near[SIMILAR_GROUPS];
    size_t count = 0;
    json_t *list = json_array();
    if (similar_groups_find(store, group, near, &count) != CH_OK)
        return list;
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:i, s:I}", "id", near[i].id,
                                              "title", near[i].title, "percent",
                                              near[i].percent, "count",
                                              (json_int_t)near[i].count));
    return list;
}

// common_json is what the reports of a group have in common.
static json_t *common_json(struct store *store, const struct store_group *group)
{
    struct group_facts facts;
    json_t *list = json_array();
    if (group_facts_read(store, group, &facts) != CH_OK)
        return list;
    for (size_t i = 0; i < facts.count; i++) {
        const struct group_fact *fact = &facts.list[i];
        double lift = group_fact_lift(fact, group);
        json_array_append_new(
            list,
            json_pack("{s:s, s:s, s:I, s:I, s:f, s:o}", "key", fact->kind->key, "value",
                      fact->value, "count", (json_int_t)fact->count, "of",
                      (json_int_t)group->count, "elsewhere", fact->elsewhere, "lift",
                      lift > 0 ? json_real(lift) : json_null()));
    }
    return list;
}

static void append_facet(void *context, const struct store_value *value)
{
    json_array_append_new(context, json_pack("{s:s, s:I}", "value", value->value,
                                             "count", (json_int_t)value->count));
}

// facets_json is what the reports of a group carry, counted, by the keys of searches.
static json_t *facets_json(struct store *store, const char *id)
{
    size_t count;
    const struct group_fact_kind *kinds = group_fact_kinds(&count);
    json_t *facets = json_object();
    for (size_t i = 0; i < count; i++) {
        json_t *values = json_array();
        struct store_values asked = { .kind = (int)kinds[i].facet,
                                      .limit = FACET_LIMIT };
        if (store_list_values(store, id, &asked, append_facet, values) == CH_OK)
            json_object_set(facets, kinds[i].key, values);
        json_decref(values);
    }
    return facets;
}

static void append_past(void *context, const struct store_past *past)
{
    json_array_append_new(context,
                          json_pack("{s:s, s:s, s:s, s:I, s:o}", "kind", past->kind,
                                    "who", past->other, "detail", past->detail, "count",
                                    (json_int_t)past->count, "time",
                                    api_timestamp_json(past->time_ms)));
}

static void append_ticket(void *context, const struct ticket *ticket)
{
    json_array_append_new(context,
                          json_pack("{s:s, s:s, s:s, s:o}", "url", ticket->url, "title",
                                    ticket->title, "state", ticket->state, "changed",
                                    api_timestamp_json(ticket->changed_ms)));
}

static json_t *tickets_json(struct store *store, const char *id)
{
    json_t *list = json_array();
    enum ch_status status = tickets_list(store, id, append_ticket, list);
    (void)status; // a group without its issues is better than none
    return list;
}

static json_t *history_json(struct store *store, const char *id)
{
    json_t *list = json_array();
    enum ch_status status = store_list_history(store, id, append_past, list);
    (void)status; // a group without its history is better than none
    return list;
}

void api_get_group(struct http_request *request)
{
    CH_CLEANUP(group_copy_deinit) struct group_copy copy = { 0 };
    struct store *store = collector_of(request)->store;
    const struct store_group *group = &copy.group;
    if (!filter_knows(request, NULL))
        return;
    json_t *merged = json_array();
    enum ch_status status =
        group_copy_find(store, request->who.project, request->id, &copy);
    if (status == CH_OK)
        status = store_list_merged(store, group->id, append_merged, merged);
    if (status != CH_OK) {
        json_decref(merged);
        api_fail_store(request, status, "group");
        return;
    }
    json_t *json = group_json(group);
    json_object_set_new(json, "trend", trend_json(group));
    json_object_set_new(json, "summary", json_string(group->summary));
    json_object_set_new(json, "merged", merged);
    json_object_set_new(json, "common", common_json(store, group));
    json_object_set_new(json, "near", similar_json(store, group));
    json_object_set_new(json, "history", history_json(store, group->id));
    json_object_set_new(json, "tickets", tickets_json(store, group->id));
    json_object_set_new(json, "facets", facets_json(store, group->id));
    api_answer_json(request, 200, json);
}

static void answer_text(struct http_request *request)
{
    struct viewed_report viewed;
    if (!viewed_report_open(request, request->id, &viewed))
        return;
    page_text_write(&request->answer.body, &viewed, request->id);
    viewed_report_close(&viewed);
    request->answer.status = 200;
    request->answer.content_type = "text/plain; charset=utf-8";
}

static void answer_sent(struct http_request *request)
{
    struct http_answer *answer = &request->answer;
    if (!viewed_report_sent(request, request->id, &answer->body))
        return;
    answer->status = 200;
    answer->content_type = "application/json";
}

// answer_expanded answers with every frame in its place, including names that were
// found after the report was sent. It is the default form.
static void answer_expanded(struct http_request *request)
{
    struct http_answer *answer = &request->answer;
    struct viewed_report viewed;
    if (!viewed_report_open(request, request->id, &viewed))
        return;
    const char *names = viewed_report_names(&viewed);
    if (names != NULL)
        (void)json_object_set_new(viewed.opened.json, "names", json_string(names));
    enum ch_status status = report_print_expanded(viewed.opened.json, &answer->body);
    viewed_report_close(&viewed);
    if (status != CH_OK) {
        text_deinit(&answer->body);
        http_fail(request, status == CH_ERR_LIMIT ? 413 : 503,
                  status == CH_ERR_LIMIT ? "the report is too large in this form"
                                         : "out of memory");
        return;
    }
    answer->status = 200;
    answer->content_type = "application/json";
}

void api_get_report(struct http_request *request)
{
    const char *form = http_parameter_value(request, "form");
    if (!filter_knows(request, "form"))
        return;
    if (form != NULL && strcmp(form, "sent") == 0)
        answer_sent(request);
    else if (form != NULL && strcmp(form, "text") == 0)
        answer_text(request);
    else if (form != NULL && form[0] != 0 && strcmp(form, "expanded") != 0)
        http_fail(request, 400, "form is not `sent`, `text` or `expanded`");
    else
        answer_expanded(request);
    // Nobody gets a report that is not noted, except from a standby.
    if (request->answer.status == 200 && !collector_of(request)->reading)
        (void)api_audit(request, "export", request->id);
}

void api_health(struct http_request *request)
{
    api_answer_json(request, 200, json_pack("{s:s}", "status", "ok"));
}

void api_ready(struct http_request *request)
{
    if (ingest_ready(collector_of(request)->ingest)) {
        api_answer_json(request, 200, json_pack("{s:s}", "status", "ok"));
        return;
    }
    http_later(request, 503, READY_AFTER_S, "the store takes no reports now");
}

// write_gauges appends what is under way, and what can be read of the store.
static void write_gauges(struct collector *collector, struct text *out)
{
    struct store_figures figures;
    struct metrics_queue queue = { .held_bytes = load_held(&collector->load),
                                   .ready = ingest_ready(collector->ingest) };
    ingest_waiting(collector->ingest, &queue.waiting, &queue.waiting_bytes);
    metrics_write_times(&collector->metrics, out);
    metrics_write_queue(&queue, out);
    if (store_figures_of(collector->store, &figures) != CH_OK)
        return;
    metrics_write_figures(&figures, timestamp_now(), collector->keep_ms, out);
    enum ch_status status =
        store_list_project_figures(collector->store, metrics_write_project, out);
    (void)status; // what could be read is better than nothing
}

void api_metrics(struct http_request *request)
{
    struct collector *collector = collector_of(request);
    struct store_totals totals;
    if (request->who.project[0] != 0) {
        http_fail(request, 403, "the counters are of all projects");
        return;
    }
    enum ch_status status = store_count(collector->store, "", &totals);
    request->answer.status = 200;
    request->answer.content_type = "text/plain; version=0.0.4; charset=utf-8";
    metrics_write(&collector->metrics, status == CH_OK ? &totals : NULL,
                  &request->answer.body);
    write_gauges(collector, &request->answer.body);
    struct store_backlog backlog;
    if (store_backlog_of(collector->store, &backlog) == CH_OK)
        metrics_write_backlog(&backlog, timestamp_now(), &request->answer.body);
    struct store_staged staged;
    if (collector->packs && store_staged_of(collector->store, &staged) == CH_OK)
        metrics_write_staged(&staged, timestamp_now(), &request->answer.body);
}
