// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/render/markdown.h"
#include "cli/render/pen.h"
#include "cli/render/render.h"
#include "cli/render/swift_json.h"
#include "cli/session/artefact.h"
#include "cli/session/collector_client.h"
#include "cli/session/command.h"
#include "cli/session/session.h"
#include "cli/session/session_spool.h"
#include "report/value/report.h"

// print_expanded prints the report with every frame in its place.
static int print_expanded(const json_t *report)
{
    struct text CH_CLEANUP(text_deinit) json = { 0 };
    return command_print_text(report_print_expanded(report, &json), &json);
}

static int print_swift_json(const json_t *report, bool crashed)
{
    struct text CH_CLEANUP(text_deinit) json = { 0 };
    return command_print_text(swift_json_write(report, crashed, &json), &json);
}

// print_as_sent prints what a collector would get, byte for byte.
static int print_as_sent(const struct session *session, json_t *report)
{
    struct text CH_CLEANUP(text_deinit) json = { 0 };
    if (report_integer(report, "revision", 0) == 0)
        session_symbolize(session, report); // as it would be before it is sent
    return command_print_text(report_print(report, &json), &json);
}

// read_shown reads the report that the argument names, or the newest one.
static enum ch_status read_shown(struct session *session, const struct options *options,
                                 json_t **out)
{
    const char *argument = options->argument_count != 0 ? options->arguments[0] : NULL;
    if (argument != NULL && collector_is_url(argument))
        return collector_report(session, argument, out);
    return session_spool_report(session, argument, out);
}

// is_being_worked_on returns true if another process holds the lock of a report of the
// spool: it is about to add names.
static bool is_being_worked_on(const struct session *session, const char *id)
{
    int fd = -1;
    enum ch_status status = spool_lock(&session->spool, id, &fd);
    if (status == CH_OK)
        (void)close(fd);
    return status == CH_ERR_IO && errno == EWOULDBLOCK;
}

// await_names waits until a report of the spool has names: without them, a user whose
// program has just crashed would see addresses. The report is read again after each
// look at its lock, because the one that was read may have been replaced. As JSON a
// report that nobody works on is shown as it is.
static void await_names(struct session *session, bool as_json, json_t **report)
{
    enum { TURNS = 600, TURN_US = 50000 };
    char id[REPORT_ID_SIZE];
    const char *said = json_string_value(json_object_get(*report, "id"));
    if (session->spool.folder_fd < 0 || said == NULL || !report_id_ok(said))
        return;
    memcpy(id, said, sizeof(id));
    for (int i = 0; i < TURNS && report_integer(*report, "revision", 0) == 0; i++) {
        json_t *again = NULL;
        bool busy = is_being_worked_on(session, id);
        if (session_spool_report(session, id, &again) != CH_OK)
            return;
        json_decref(*report);
        *report = again;
        if (!busy && as_json)
            return;
        if (!busy)
            break;
        (void)usleep(TURN_US);
    }
    // After a wait in vain, show the names that can be found now.
    if (report_integer(*report, "revision", 0) == 0)
        session_symbolize(session, *report);
}

// print_shown prints the report as people read it.
static int print_shown(const json_t *report, const struct session *session,
                       bool crashed)
{
    pager_begin();
    struct render_style style = render_style_set(stdout, &session->settings);
    style.crashed_only = crashed;
    style.sources = session->artefact;
    render_report(report, &style, stdout);
    return COMMAND_DONE;
}

static int run_show(const struct options *options)
{
    struct session CH_CLEANUP(session_deinit) session = { .spool.folder_fd = -1 };
    json_auto_t *report = NULL;
    const char *threads = options_value(options, "threads");
    const char *format = options_value(options, "format");
    // Only the option counts: settings say which threads a crash here would report.
    bool crashed = threads != NULL && strcmp(threads, "crashed") == 0;
    if (options_given(options, "latest") && options->argument_count != 0)
        return command_misused("show: --latest takes no report");
    if (format == NULL)
        format = options_given(options, "json") ? "json" : "text";
    if (strcmp(format, "text") != 0 && strcmp(format, "json") != 0 &&
        strcmp(format, "markdown") != 0 && strcmp(format, "swift-json") != 0)
        return command_misused(
            "show: --format '%s': text, json, markdown or swift-json", format);
    if (options->argument_count > 1 && !is_artefact_at(options->arguments[0]))
        return command_misused("show: '%s' is no artefact with reports",
                               options->arguments[0]);
    session_init(&session, options);
    session.artefact_id = options->argument_count > 1 ? options->arguments[1] : NULL;
    if (read_shown(&session, options, &report) != CH_OK)
        return COMMAND_FAILED;
    if (session.held_image_count != 0 && report_integer(report, "revision", 0) == 0)
        session_symbolize(&session, report);
    await_names(&session, strcmp(format, "json") == 0, &report);

    if (options_given(options, "as-sent"))
        return print_as_sent(&session, report);
    if (strcmp(format, "json") == 0)
        return print_expanded(report);
    if (strcmp(format, "swift-json") == 0)
        return print_swift_json(report, crashed);
    if (strcmp(format, "text") == 0)
        return print_shown(report, &session, crashed);
    markdown_write(report, crashed, stdout);
    return COMMAND_DONE;
}

static const struct option show_options[] = {
    { "latest", NULL, "the newest report of the spool, as without an argument", 0 },
    { "threads", "all|crashed", "which threads (all)", 0 },
    { "preset", "NAME", "friendly, medium or full (as CRASHHOOK_PRESET)", 0 },
    { "format", "text|json|markdown|swift-json",
      "for a terminal (text), scripts, a ticket, or readers of Swift's crash logs", 0 },
    { "json", NULL, "JSON with every frame in its place: --format json", 0 },
    { "as-sent", NULL, "the JSON that a collector gets, masked as it is sent", 0 },
    { "spool", "DIR", "where to look an id up", 0 },
    { "token-file", "FILE", "file with the token of the URL's collector", 0 },
    { 0 },
};

const struct command show_command = {
    .name = "show",
    .arguments = "[REPORT|ID|URL|ARTEFACT [ID]]",
    .summary = "Show a report for reading: the newest one, or one of a collector",
    .options = show_options,
    .run = run_show,
    .arguments_max = 2,
};
