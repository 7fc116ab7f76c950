// SPDX-License-Identifier: Apache-2.0
//
// `crashhook show`, and the JSON crash log of Swift 6.2's backtracer
// (SWIFT_BACKTRACE=format=json) that it prints for tools that read those.
// docs/from-swift.md lists what differs.
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/render/markdown.h"
#include "cli/render/pen.h"
#include "cli/render/render.h"
#include "cli/session/artefact.h"
#include "cli/session/collector_client.h"
#include "cli/session/command.h"
#include "cli/session/session.h"
#include "cli/session/session_spool.h"
#include "report/file/swift_symbol.h"
#include "report/value/report.h"

// swift_hex is an address of the report in 16 digits; NULL: it has none.
static json_t *swift_hex(const json_t *object, const char *key)
{
    const char *address = report_string(object, key);
    return address == NULL
               ? NULL
               : json_sprintf("0x%016" PRIx64, (uint64_t)strtoull(address, NULL, 16));
}

// set_copied copies a member under another name, if there is one.
static void set_copied(json_t *to, const char *name, const json_t *from,
                       const char *key)
{
    json_t *value = json_object_get(from, key);
    if (value != NULL)
        (void)json_object_set(to, name, value);
}

// set_true sets members that only exist where they are true.
static void set_true(json_t *to, const char *name, bool value)
{
    if (value)
        (void)json_object_set_new(to, name, json_true());
}

static void add_swift_symbol(json_t *out, const json_t *report, const json_t *frame)
{
    const json_t *image = report_image(report, frame);
    const char *function = report_string(frame, "function");
    const char *raw_name = report_string(frame, "raw_name");
    int64_t offset = report_integer(frame, "function_offset", 0);
    if (function == NULL)
        return;
    set_true(out, "inlined", report_flag(frame, "inline"));
    set_true(out, "thunk", raw_name != NULL && swift_symbol_is_thunk(raw_name));
    set_true(out, "system", report_frame_is_system(report, frame));
    (void)json_object_set_new(out, "symbol",
                              json_string(raw_name != NULL ? raw_name : function));
    (void)json_object_set_new(out, "offset", json_integer(offset));
    (void)json_object_set_new(out, "description",
                              offset == 0
                                  ? json_string(function)
                                  : json_sprintf("%s + %" PRId64, function, offset));
    set_copied(out, "image", image, "name");
    if (report_string(frame, "file") != NULL)
        (void)json_object_set_new(
            out, "sourceLocation",
            json_pack("{s:s, s:I, s:I}", "file", report_string(frame, "file"), "line",
                      (json_int_t)report_integer(frame, "line", 0), "column",
                      (json_int_t)report_integer(frame, "column", 0)));
}

static json_t *swift_frame(const json_t *report, const json_t *frame)
{
    static const char *const kinds[][2] = { { "pc", "programCounter" },
                                            { "ra", "returnAddress" },
                                            { "async", "asyncResumePoint" } };
    const char *kind = report_string(frame, "kind");
    if (kind != NULL && strcmp(kind, "omit") == 0)
        return json_pack("{s:s, s:I}", "kind", "omittedFrames", "count",
                         (json_int_t)report_integer(frame, "count", 0));
    for (size_t i = 0; kind != NULL && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kind, kinds[i][0]) != 0)
            continue;
        json_t *out = json_pack("{s:s, s:o*}", "kind", kinds[i][1], "address",
                                swift_hex(frame, "address"));
        add_swift_symbol(out, report, frame);
        return out;
    }
    return json_pack("{s:s}", "kind", "truncated");
}

static json_t *swift_registers(const json_t *thread)
{
    const char *name;
    json_t *value;
    json_t *registers = json_object_get(thread, "registers");
    json_t *out = json_object_size(registers) != 0 ? json_object() : NULL;
    json_object_foreach(registers, name, value)(void)
        json_object_set_new(out, name, swift_hex(registers, name));
    return out;
}

static json_t *swift_thread(const json_t *report, const json_t *thread)
{
    const json_t *frames = report_frames(thread);
    json_t *list = json_array();
    json_t *out = json_object();
    set_copied(out, "name", thread, "name");
    set_true(out, "crashed", thread == report_crashed_thread(report));
    json_t *registers = swift_registers(thread);
    if (registers != NULL)
        (void)json_object_set_new(out, "registers", registers);
    for (size_t i = 0; i < json_array_size(frames); i++)
        (void)json_array_append_new(list,
                                    swift_frame(report, json_array_get(frames, i)));
    (void)json_object_set_new(out, "frames", list);
    return out;
}

static void add_swift_threads(json_t *out, const json_t *report, bool crashed_only)
{
    const json_t *threads = json_object_get(report, "threads");
    const json_t *crashed = report_crashed_thread(report);
    json_t *list = json_array();
    size_t omitted = 0;
    for (size_t i = 0; i < json_array_size(threads); i++) {
        const json_t *thread = json_array_get(threads, i);
        if (crashed_only && thread != crashed)
            omitted++;
        else
            (void)json_array_append_new(list, swift_thread(report, thread));
    }
    (void)json_object_set_new(out, "threads", list);
    if (omitted != 0)
        (void)json_object_set_new(out, "omittedThreads",
                                  json_integer((json_int_t)omitted));
}

static void add_swift_images(json_t *out, const json_t *report)
{
    const json_t *images = json_object_get(report, "images");
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(images); i++) {
        const json_t *image = json_array_get(images, i);
        json_t *one = json_object();
        set_copied(one, "name", image, "name");
        set_copied(one, "buildId", image, "build_id");
        set_copied(one, "path", image, "path");
        (void)json_object_set_new(one, "baseAddress", swift_hex(image, "base"));
        (void)json_object_set_new(one, "endOfText", swift_hex(image, "end_of_text"));
        (void)json_array_append_new(list, one);
    }
    (void)json_object_set_new(out, "images", list);
}

// backtrace_seconds is how long it took to make the report.
static double backtrace_seconds(const json_t *report)
{
    const char *stage;
    json_t *value;
    json_int_t us = 0;
    const json_t *agent = json_object_get(report, "agent");
    json_object_foreach(json_object_get(agent, "timings_us"), stage, value) us +=
        json_integer_value(value);
    return (double)us / 1e6;
}

static json_t *swift_crash_log(const json_t *report, bool crashed_only)
{
    const json_t *crash = json_object_get(report, "crash");
    const char *arch = report_string(json_object_get(report, "host"), "arch");
    const char *os = report_string(json_object_get(report, "host"), "os");
    const char *summary = report_string(crash, "summary");
    const char *name = report_string(crash, "name");
    if (summary == NULL)
        summary = name != NULL ? name : "no crash";
    json_t *address = swift_hex(crash, "address");
    json_t *out = json_object();
    set_copied(out, "timestamp", report, "time");
    (void)json_object_set_new(out, "kind", json_string("crashReport"));
    (void)json_object_set_new(out, "description", json_string(summary));
    (void)json_object_set_new(out, "faultAddress",
                              address != NULL ? address
                                              : json_string("0x0000000000000000"));
    (void)json_object_set_new(out, "platform",
                              os != NULL ? json_sprintf("Linux (%s)", os)
                                         : json_string("Linux"));
    (void)json_object_set_new(out, "architecture",
                              json_string(arch != NULL ? arch : "unknown"));
    add_swift_threads(out, report, crashed_only);
    add_swift_images(out, report);
    (void)json_object_set_new(out, "backtraceTime",
                              json_real(backtrace_seconds(report)));
    return out;
}

// swift_json_write appends report in one line. crashed_only: other threads are counted,
// and left out. CH_ERR_NO_MEMORY.
static enum ch_status swift_json_write(const json_t *report, bool crashed_only,
                                       struct text *out)
{
    json_t *log = swift_crash_log(report, crashed_only);
    char *line = json_dumps(log, JSON_COMPACT);
    json_decref(log);
    if (line == NULL)
        return CH_ERR_NO_MEMORY;
    text_appendf(out, "%s\n", line);
    free(line);
    return text_ok(out) ? CH_OK : CH_ERR_NO_MEMORY;
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
    struct text CH_CLEANUP(text_deinit) json = { 0 };
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
        return command_print_text(report_print_expanded(report, &json), &json);
    if (strcmp(format, "swift-json") == 0)
        return command_print_text(swift_json_write(report, crashed, &json), &json);
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
