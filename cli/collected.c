// SPDX-License-Identifier: Apache-2.0
//
// Lists of a collector: its groups, reports and releases, and the builds whose names
// are missing. Each command makes the path of one request, and prints a row for each
// element of the list in the answer, or the answer itself.
#include <stdio.h>
#include <string.h>

#include "cli/render/pen.h"
#include "cli/render/table.h"
#include "cli/session/collector_client.h"
#include "cli/session/command.h"
#include "cli/session/session.h"
#include "report/value/report.h"

enum { ID_SHOWN = 12, NUMBER_SIZE = 24 };

// listing is a list of the API.
struct listing {
    const char *key; // the member of the answer that is the list
    const struct table_column *columns;
    void (*print)(const struct table *table, const json_t *row);
};

static const struct table_column group_columns[] = {
    { "GROUP", ID_SHOWN }, { "COUNT", 6 },    { "HOSTS", 5 }, { "LAST", 7 },
    { "STATUS", 9 },       { "PROGRAM", 10 }, { NULL, 0 },
};

static const struct table_column report_columns[] = {
    { "REPORT", 36 },  { "TIME", 7 },  { "GROUP", ID_SHOWN },
    { "RELEASE", 10 }, { "HOST", 10 }, { NULL, 0 },
};

static const struct table_column release_columns[] = {
    { "RELEASE", 14 }, { "REPORTS", 7 }, { "14 DAYS", 7 },  { "FIRST", 7 },
    { "LAST", 7 },     { "", 7 },        { "PROGRAM", 10 }, { NULL, 0 },
};

static const struct table_column missing_columns[] = {
    { "BUILD ID", 40 }, { "REPORTS", 7 }, { "LAST", 7 }, { "PROGRAM", 10 }, { NULL, 0 },
};

// append_words appends the arguments as one text, with spaces between them.
static void append_words(const struct options *options, const char *none,
                         struct text *path)
{
    struct text CH_CLEANUP(text_deinit) words = { 0 };
    for (size_t i = 0; i < options->argument_count; i++) {
        text_append_string(&words, i != 0 ? " " : "");
        text_append_string(&words, options->arguments[i]);
    }
    collector_encode(path, words.size != 0 ? words.bytes : none);
}

// list_age is the time in a row, and how long ago that was in a terminal.
static const char *list_age(const struct table *table, const json_t *row,
                            const char *key, char out[TABLE_AGE_SIZE])
{
    const char *time = report_string(row, key);
    return table->pen.width != 0 ? table_age(time, out) : time;
}

// write_count writes a number of a row.
static const char *write_count(const json_t *row, const char *key,
                               char out[NUMBER_SIZE])
{
    (void)snprintf(out, NUMBER_SIZE, "%lld", (long long)report_integer(row, key, 0));
    return out;
}

// write_id writes an id, shortened in a terminal.
static const char *write_id(const struct table *table, const json_t *row,
                            const char *key, char out[65])
{
    const char *id = report_string(row, key);
    (void)snprintf(out, 65, "%.*s", table->pen.width != 0 ? ID_SHOWN : 64,
                   id != NULL ? id : "");
    return out;
}

static const char *file_name(const char *path)
{
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    return slash != NULL ? slash + 1 : path;
}

static void print_group(const struct table *table, const json_t *group)
{
    char id[65];
    char count[NUMBER_SIZE];
    char machines[NUMBER_SIZE];
    char age[TABLE_AGE_SIZE];
    (void)snprintf(count, sizeof(count), "%lld%s",
                   (long long)report_integer(group, "filtered_count", 0),
                   json_is_true(json_object_get(group, "filtered_more")) ? "+" : "");
    const char *cells[] = { write_id(table, group, "id", id),
                            count,
                            write_count(group, "machines", machines),
                            list_age(table, group, "last_seen", age),
                            report_string(group, "status"),
                            file_name(json_string_value(json_array_get(
                                json_object_get(group, "programs"), 0))) };
    table_row(table, cells);
    table_note(table, report_string(group, "title"));
}

static void print_report(const struct table *table, const json_t *report)
{
    char group[65];
    char age[TABLE_AGE_SIZE];
    const char *cells[] = { report_string(report, "id"),
                            list_age(table, report, "time", age),
                            write_id(table, report, "group", group),
                            report_string(report, "release"),
                            report_string(report, "hostname") };
    table_row(table, cells);
    table_note(table, report_string(report, "summary"));
}

static void print_release(const struct table *table, const json_t *release)
{
    char reports[NUMBER_SIZE];
    char recent[NUMBER_SIZE];
    char first[TABLE_AGE_SIZE];
    char last[TABLE_AGE_SIZE];
    bool current = json_is_true(json_object_get(release, "current"));
    const char *cells[] = { report_string(release, "release"),
                            write_count(release, "reports", reports),
                            write_count(release, "recent", recent),
                            list_age(table, release, "first_seen", first),
                            list_age(table, release, "last_seen", last),
                            current ? "current" : "",
                            report_string(release, "program") };
    table_row(table, cells);
}

static void print_missing(const struct table *table, const json_t *missing)
{
    char reports[NUMBER_SIZE];
    char age[TABLE_AGE_SIZE];
    const char *cells[] = { report_string(missing, "build_id"),
                            write_count(missing, "reports", reports),
                            list_age(table, missing, "last_seen", age),
                            file_name(report_string(missing, "program")) };
    table_row(table, cells);
}

static int print_collected_rows(const struct options *options,
                                const struct listing *listing, const struct text *body)
{
    if (options_given(options, "json")) {
        (void)fwrite(body->bytes, 1, body->size, stdout);
        return COMMAND_DONE;
    }
    json_auto_t *answer =
        json_loadb(body->bytes != NULL ? body->bytes : "", body->size, 0, NULL);
    const json_t *rows = json_object_get(answer, listing->key);
    if (!json_is_array(rows))
        return command_fail("cannot understand the collector: it sent no %s",
                            listing->key);
    pager_begin();
    struct table table = table_begin(listing->columns, stdout);
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row) listing->print(&table, row);
    return COMMAND_DONE;
}

// print_collected_list requests path and prints the list in the answer.
static int print_collected_list(const struct options *options, const struct text *path,
                                const struct listing *listing)
{
    struct session CH_CLEANUP(session_deinit) session = { .spool.folder_fd = -1 };
    struct text CH_CLEANUP(text_deinit) base = { 0 };
    struct text CH_CLEANUP(text_deinit) body = { 0 };
    session_init(&session, options);
    if (collector_base(&session, options_value(options, "url"), &base) != CH_OK ||
        collector_get(&session, base.bytes, path->bytes, &body) != CH_OK)
        return COMMAND_FAILED;
    return print_collected_rows(options, listing, &body);
}

// append_option appends an option's value, or another one if it was not given.
static void append_option(const struct options *options, const char *name,
                          const char *otherwise, struct text *path)
{
    const char *value = options_value(options, name);
    collector_encode(path, value != NULL ? value : otherwise);
}

static int run_groups(const struct options *options)
{
    struct text CH_CLEANUP(text_deinit) path = { 0 };
    text_append_string(&path, "/api/v1/groups?sort=");
    append_option(options, "sort", "last_seen", &path);
    text_append_string(&path, "&limit=");
    append_option(options, "limit", "25", &path);
    text_append_string(&path, "&q=");
    append_words(options, "is:open", &path); // as on the pages
    return print_collected_list(
        options, &path, &(struct listing){ "groups", group_columns, print_group });
}

static int run_reports(const struct options *options)
{
    struct text CH_CLEANUP(text_deinit) path = { 0 };
    text_append_string(&path, "/api/v1/reports?limit=");
    append_option(options, "limit", "25", &path);
    if (options_value(options, "group") != NULL)
        text_append_string(&path, "&group=");
    append_option(options, "group", "", &path);
    text_append_string(&path, "&q=");
    append_words(options, "", &path);
    return print_collected_list(
        options, &path, &(struct listing){ "reports", report_columns, print_report });
}

static int run_releases(const struct options *options)
{
    struct text CH_CLEANUP(text_deinit) path = { 0 };
    text_append_string(&path, "/api/v1/releases?program=");
    if (options->argument_count != 0)
        collector_encode(&path, file_name(options->arguments[0]));
    text_append_string(&path, "&environment=");
    append_option(options, "environment", "", &path);
    return print_collected_list(
        options, &path,
        &(struct listing){ "releases", release_columns, print_release });
}

static int run_symbols_missing(const struct options *options)
{
    struct text CH_CLEANUP(text_deinit) path = { 0 };
    text_append_string(&path, "/api/v1/symbols");
    return print_collected_list(
        options, &path, &(struct listing){ "missing", missing_columns, print_missing });
}

#define LIST_OPTIONS                                                                   \
    { "url", "URL", "the collector (the first one in CRASHHOOK_URL)", 0 },             \
        { "token-file", "FILE", "file with the collector's token", 0 },                \
    {                                                                                  \
        "json", NULL, "print the collector's answer", 0                                \
    }

static const struct option groups_options[] = {
    LIST_OPTIONS,
    { "sort", "ORDER", "last_seen, first_seen, count or machines", 0 },
    { "limit", "COUNT", "most groups (25)", 0 },
    { 0 },
};

static const struct option reports_options[] = {
    LIST_OPTIONS,
    { "group", "GROUP", "reports of this group alone", 0 },
    { "limit", "COUNT", "most reports (25)", 0 },
    { 0 },
};

static const struct option releases_options[] = {
    LIST_OPTIONS,
    { "environment", "NAME", "reports of this environment alone", 0 },
    { 0 },
};

static const struct option missing_options[] = { LIST_OPTIONS, { 0 } };

const struct command groups_command = {
    .name = "groups",
    .arguments = "[SEARCH...]",
    .summary = "List a collector's groups, the open ones or those of a search",
    .options = groups_options,
    .run = run_groups,
    .arguments_max = SIZE_MAX,
};

const struct command reports_command = {
    .name = "reports",
    .arguments = "[SEARCH...]",
    .summary = "List a collector's reports, the newest or those of a search",
    .options = reports_options,
    .run = run_reports,
    .arguments_max = SIZE_MAX,
};

const struct command releases_command = {
    .name = "releases",
    .arguments = "[PROGRAM]",
    .summary = "List the releases of a collector's programs",
    .options = releases_options,
    .run = run_releases,
    .arguments_max = 1,
};

const struct command symbols_missing_command = {
    .name = "symbols missing",
    .summary = "List the builds whose names a collector's reports lack",
    .options = missing_options,
    .run = run_symbols_missing,
};
