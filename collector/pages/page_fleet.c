// SPDX-License-Identifier: Apache-2.0
//
// Pages about the whole fleet: machines that crash, and debug files that are missing or
// here.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/database/timestamp.h"
#include "collector/pages/html.h"
#include "collector/pages/page.h"
#include "collector/pages/pages.h"
#include "collector/query/store_fleet.h"
#include "collector/requests/api.h"
#include "collector/requests/collector.h"
#include "collector/requests/filter.h"
#include "collector/store/store_symbolization.h"

enum { MACHINES_SHOWN = 100, MISSING_SHOWN = 50, FILES_SHOWN = 50, DAYS = 7 };

// fleet_table is a table while its rows are written.
struct fleet_table {
    struct text *out;
    const struct http_request *request;
    int64_t now_ms;
    int64_t days;
    int64_t counted;
    size_t rows;
};

// read_days reads the parameter of the page; false: it failed the request.
static bool read_days(struct http_request *request, int64_t *out)
{
    const char *value = http_parameter_value(request, "days");
    *out = DAYS;
    if (!filter_knows(request, "days"))
        return false;
    if (value == NULL || value[0] == 0)
        return true;
    char *end = NULL;
    *out = strtoll(value, &end, 10);
    if (isdigit((unsigned char)value[0]) && *end == 0 && *out > 0 && *out <= 365)
        return true;
    http_fail(request, 400, "days is not a number from 1 to 365");
    return false;
}

static void write_machine(void *context, const struct store_machine *machine)
{
    struct fleet_table *table = context;
    struct text *out = table->out;
    struct text CH_CLEANUP(text_deinit) query = { 0 };
    char since[24];
    if (table->rows++ == 0)
        html_write(out, "<div class=\"scroll\"><table class=\"counts\"><thead><tr>"
                        "<th>machine</th><th>last seen</th><th>groups</th>"
                        "<th>reports</th></tr></thead><tbody>");
    table->counted = machine->counted;
    (void)snprintf(since, sizeof(since), "%lldd", (long long)table->days);
    search_write_term(&query, "host", machine->host);
    text_append_string(&query, " ");
    search_write_term(&query, "since", since);
    html_write(out, "<tr><td>");
    if (machine->host[0] != 0) {
        html_write(out, "<a href=\"/groups?q=is:any+");
        filter_encode(out, text_string(&query));
        html_write(out, "\">%.*s</a>", PAGE_SHORT, machine->host);
    } else {
        html_write(out, "without a name");
    }
    html_write(out, "</td><td>");
    page_write_age(out, "", machine->last_seen_ms, table->now_ms);
    html_write(out, "</td><td>%'lld</td><td>%'lld</td></tr>\n",
               (long long)machine->groups, (long long)machine->reports);
}

static void write_days_links(struct text *out, int64_t days)
{
    static const int choices[] = { 1, 7, 30, 90 };
    html_write(out, "<nav class=\"orders\" aria-label=\"Time\"><span>The last</span>");
    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
        const char *unit = choices[i] == 1 ? "day" : "days";
        if (choices[i] == days)
            html_write(out, "<b>%d %s</b>", choices[i], unit);
        else
            html_write(out, "<a href=\"/machines?days=%d\">%d %s</a>", choices[i],
                       choices[i], unit);
    }
    html_write(out, "</nav>\n");
}

void page_machines(struct http_request *request)
{
    struct text CH_CLEANUP(text_deinit) rows = { 0 };
    struct text *out = &request->answer.body;
    struct fleet_table table = { .out = &rows,
                                 .request = request,
                                 .now_ms = timestamp_now() };
    if (!read_days(request, &table.days))
        return;
    enum ch_status status =
        store_list_machines(collector_of(request)->store, request->who.project,
                            table.now_ms - table.days * TIMESTAMP_DAY_MS,
                            MACHINES_SHOWN, write_machine, &table);
    page_begin(out, "Machines", "Machines");
    html_write(out, "<h1>Machines</h1><p class=\"lead\">Machines that crashed, those"
                    " with most reports first.</p>");
    write_days_links(out, table.days);
    html_write(out, "<section class=\"card\">");
    text_append(out, rows.bytes, rows.size);
    html_write(out, table.rows != 0 ? "</tbody></table></div>"
                                    : "<p class=\"cut\">None crashed.</p>");
    if (table.rows == MACHINES_SHOWN)
        html_write(out, "<p class=\"cut\">The first %d.</p>", MACHINES_SHOWN);
    if (table.counted >= STORE_MACHINES_COUNTED)
        html_write(out,
                   "<p class=\"cut\">Counted are the newest %d reports of these"
                   " days.</p>",
                   STORE_MACHINES_COUNTED);
    html_write(out, "</section>\n");
    page_finish(request, status, "machine");
}

static void append_machine(void *context, const struct store_machine *machine)
{
    json_array_append_new(context,
                          json_pack("{s:s, s:I, s:I, s:o}", "host", machine->host,
                                    "reports", (json_int_t)machine->reports, "groups",
                                    (json_int_t)machine->groups, "last_seen",
                                    api_timestamp_json(machine->last_seen_ms)));
}

void api_list_machines(struct http_request *request)
{
    int64_t days = 0;
    if (!read_days(request, &days))
        return;
    json_t *rows = json_array();
    enum ch_status status =
        store_list_machines(collector_of(request)->store, request->who.project,
                            timestamp_now() - days * TIMESTAMP_DAY_MS, MACHINES_SHOWN,
                            append_machine, rows);
    api_answer_store(request, status, "machine", json_pack("{s:o}", "machines", rows));
}

static void write_missing_build(void *context, const struct store_missing *missing)
{
    struct fleet_table *table = context;
    struct text *out = table->out;
    if (table->rows++ == 0)
        html_write(out, "<div class=\"scroll\"><table class=\"counts\"><thead><tr>"
                        "<th>build ID</th><th>program</th><th>last seen</th><th>a"
                        " report</th><th>reports</th></tr></thead><tbody>");
    html_write(out, "<tr><td>");
    page_begin_link(out, "", "build", missing->build);
    html_write(out, "<code>%.*s</code></a></td><td>%.*s</td><td>", 64, missing->build,
               PAGE_SHORT, missing->program);
    page_write_age(out, "", missing->last_seen_ms, table->now_ms);
    html_write(out,
               "</td><td><a href=\"/reports/%s#missing\">which image</a></td><td>%'lld"
               "</td></tr>\n",
               missing->example, (long long)missing->reports);
}

// write_bytes writes a size in the largest unit of which there is one.
static void write_bytes(struct text *out, int64_t bytes)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    size_t unit = 0;
    int64_t rest = 0;
    while (bytes >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        rest = bytes % 1024 * 10 / 1024;
        bytes /= 1024;
        unit++;
    }
    html_write(out, "%lld", (long long)bytes);
    if (unit != 0 && bytes < 10)
        html_write(out, ".%lld", (long long)rest);
    html_write(out, " %s", units[unit]);
}

static void write_symbol_file(void *context, const struct store_symbol_file *file)
{
    struct fleet_table *table = context;
    struct text *out = table->out;
    const char *build = store_build_of(file->key);
    if (table->rows++ == 0)
        html_write(out, "<div class=\"scroll\"><table class=\"counts\"><thead><tr>"
                        "<th>build ID</th><th>project</th><th>release</th><th>used</th>"
                        "<th>size</th></tr></thead><tbody>");
    html_write(out, "<tr><td><code>%.*s</code></td><td>%.*s</td><td>%.*s</td><td>", 72,
               build, PAGE_SHORT, file->project, PAGE_SHORT, file->release);
    page_write_age(out, "", file->used_ms, table->now_ms);
    html_write(out, "</td><td>");
    write_bytes(out, file->size);
    html_write(out, "</td></tr>\n");
}

static enum ch_status write_missing_builds(struct fleet_table *table)
{
    struct text *out = table->out;
    const struct http_request *request = table->request;
    table->rows = 0;
    html_write(out, "<section class=\"card\" id=\"missing\"><h2>Missing</h2><p"
                    " class=\"about\">Builds whose debug file would name frames of the"
                    " newest reports.</p>");
    enum ch_status status =
        store_list_missing(collector_of(request)->store, request->who.project,
                           MISSING_SHOWN, write_missing_build, table);
    if (table->rows == 0) {
        html_write(out, "<p class=\"cut\">No names are missing.</p></section>\n");
        return status;
    }
    html_write(out,
               "</tbody></table></div><p class=\"cut\">Send the program with its debug"
               " information, or the debug file of that build ID. The reports that"
               " lack its names get them then:</p><pre class=\"command\">crashhook"
               " symbols upload --url %s://%.*s FILE</pre></section>\n",
               request->secure ? "https" : "http", PAGE_SHORT,
               request->host != NULL ? request->host : "THIS-ADDRESS");
    return status;
}

static enum ch_status write_symbol_files(struct fleet_table *table)
{
    struct text *out = table->out;
    struct store *store = collector_of(table->request)->store;
    const char *project = table->request->who.project;
    struct store_symbols_total total;
    enum ch_status status = store_symbols_total(store, project, &total);
    table->rows = 0;
    html_write(out,
               "<section class=\"card\" id=\"files\"><h2>Debug files and sources"
               "</h2><p class=\"about\">%'lld %s, ",
               (long long)total.files, total.files == 1 ? "file" : "files");
    write_bytes(out, total.size);
    if (total.kept != total.size) {
        html_write(out, ", stored in ");
        write_bytes(out, total.kept);
    }
    html_write(out, "</p>");
    if (status == CH_OK)
        status = store_list_latest_symbols(store, project, FILES_SHOWN,
                                           write_symbol_file, table);
    if (table->rows != 0)
        html_write(out, "</tbody></table></div>");
    if (total.files > FILES_SHOWN)
        html_write(out, "<p class=\"cut\">The %d used last.</p>", FILES_SHOWN);
    html_write(out, "</section>\n");
    return status;
}

void page_symbols(struct http_request *request)
{
    struct text *out = &request->answer.body;
    struct fleet_table table = { .out = out,
                                 .request = request,
                                 .now_ms = timestamp_now() };
    if (!filter_knows(request, NULL))
        return;
    page_begin(out, "Symbols", "Symbols");
    html_write(out, "<h1>Symbols</h1>");
    enum ch_status status = write_missing_builds(&table);
    if (status == CH_OK)
        status = write_symbol_files(&table);
    page_finish(request, status, "debug file");
}

static void append_missing(void *context, const struct store_missing *missing)
{
    json_array_append_new(
        context, json_pack("{s:s, s:s, s:s, s:I, s:o}", "build_id", missing->build,
                           "program", missing->program, "report", missing->example,
                           "reports", (json_int_t)missing->reports, "last_seen",
                           api_timestamp_json(missing->last_seen_ms)));
}

void api_list_missing(struct http_request *request)
{
    if (!filter_knows(request, NULL))
        return;
    struct store *store = collector_of(request)->store;
    struct store_symbols_total total;
    json_t *rows = json_array();
    enum ch_status status = store_symbols_total(store, request->who.project, &total);
    if (status == CH_OK)
        status = store_list_missing(store, request->who.project, MISSING_SHOWN,
                                    append_missing, rows);
    api_answer_store(request, status, "debug file",
                     json_pack("{s:o, s:I, s:I, s:I}", "missing", rows, "files",
                               (json_int_t)total.files, "bytes", (json_int_t)total.size,
                               "stored_bytes", (json_int_t)total.kept));
}
