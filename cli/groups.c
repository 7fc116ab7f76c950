// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "cli/render/pen.h"
#include "cli/render/table.h"
#include "cli/session/collector_client.h"
#include "cli/session/command.h"
#include "cli/session/session.h"
#include "report/value/report.h"

enum { ID_SHOWN = 12, NUMBER_SIZE = 24 };

static const struct table_column columns[] = {
    { "GROUP", ID_SHOWN }, { "COUNT", 6 },    { "HOSTS", 5 }, { "LAST", 7 },
    { "STATUS", 9 },       { "PROGRAM", 10 }, { NULL, 0 },
};

// append_search appends the words of the command line as one search. Without any, it is
// for open groups, as on the pages.
static void append_search(const struct options *options, struct text *path)
{
    struct text CH_CLEANUP(text_deinit) search = { 0 };
    for (size_t i = 0; i < options->argument_count; i++) {
        text_append_string(&search, i != 0 ? " " : "");
        text_append_string(&search, options->arguments[i]);
    }
    text_append_string(path, "&q=");
    collector_encode(path, search.size != 0 ? search.bytes : "is:open");
}

static void print_group(const struct table *table, const json_t *group)
{
    char id[65];
    char count[NUMBER_SIZE];
    char machines[NUMBER_SIZE];
    char age[TABLE_AGE_SIZE];
    const char *name = report_string(group, "id");
    const char *program =
        json_string_value(json_array_get(json_object_get(group, "programs"), 0));
    const char *slash = program != NULL ? strrchr(program, '/') : NULL;
    bool cut = table->pen.width != 0;
    (void)snprintf(id, sizeof(id), "%.*s", cut ? ID_SHOWN : 64,
                   name != NULL ? name : "");
    (void)snprintf(count, sizeof(count), "%lld%s",
                   (long long)report_integer(group, "filtered_count", 0),
                   json_is_true(json_object_get(group, "filtered_more")) ? "+" : "");
    (void)snprintf(machines, sizeof(machines), "%lld",
                   (long long)report_integer(group, "machines", 0));
    const char *cells[] = { id,
                            count,
                            machines,
                            cut ? table_age(report_string(group, "last_seen"), age)
                                : report_string(group, "last_seen"),
                            report_string(group, "status"),
                            slash != NULL ? slash + 1 : program };
    table_row(table, cells);
    table_note(table, report_string(group, "title"));
}

static int print_groups(const struct options *options, const struct text *body)
{
    if (options_given(options, "json")) {
        (void)fwrite(body->bytes, 1, body->size, stdout);
        return COMMAND_DONE;
    }
    json_auto_t *answer =
        json_loadb(body->bytes != NULL ? body->bytes : "", body->size, 0, NULL);
    const json_t *groups = json_object_get(answer, "groups");
    if (!json_is_array(groups))
        return command_fail("cannot understand the collector: it sent no groups");
    pager_begin();
    struct table table = table_begin(columns, stdout);
    size_t i;
    json_t *group;
    json_array_foreach(groups, i, group) print_group(&table, group);
    return COMMAND_DONE;
}

static int run_groups(const struct options *options)
{
    struct session CH_CLEANUP(session_deinit) session;
    struct text CH_CLEANUP(text_deinit) base = { 0 };
    struct text CH_CLEANUP(text_deinit) path = { 0 };
    struct text CH_CLEANUP(text_deinit) body = { 0 };
    const char *sort = options_value(options, "sort");
    const char *limit = options_value(options, "limit");
    session_init(&session, options);
    text_append_string(&path, "/api/v1/groups?sort=");
    collector_encode(&path, sort != NULL ? sort : "last_seen");
    text_append_string(&path, "&limit=");
    collector_encode(&path, limit != NULL ? limit : "25");
    append_search(options, &path);
    if (collector_base(&session, options_value(options, "url"), &base) != CH_OK ||
        collector_get(&session, base.bytes, path.bytes, &body) != CH_OK)
        return COMMAND_FAILED;
    return print_groups(options, &body);
}

static const struct option groups_options[] = {
    { "url", "URL", "the collector (else the first in CRASHHOOK_URL)", 0 },
    { "token-file", "FILE", "file with the collector's token", 0 },
    { "sort", "ORDER", "last_seen, first_seen, count or machines", 0 },
    { "limit", "COUNT", "most groups (25)", 0 },
    { "json", NULL, "print the collector's answer", 0 },
    { 0 },
};

const struct command groups_command = {
    .name = "groups",
    .arguments = "[SEARCH...]",
    .summary = "List a collector's groups, the open ones or those of a search",
    .options = groups_options,
    .run = run_groups,
    .arguments_max = SIZE_MAX,
};
