// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/render/pen.h"
#include "cli/render/render_frames.h"
#include "cli/render/table.h"
#include "cli/session/collect.h"
#include "cli/session/command.h"
#include "cli/session/crash_records.h"
#include "cli/session/session.h"
#include "cli/session/session_spool.h"
#include "report/spool/spool_state.h"
#include "report/value/report.h"

// read_listed_report reads one report; a failure is one line on stderr, and the listing
// goes on.
static json_t *read_listed_report(const struct session *session, const char *id)
{
    struct report_error error = { "" };
    json_t *report = NULL;
    int fd = -1;
    enum ch_status status = spool_read(&session->spool, id, &fd);
    if (status == CH_ERR_NOT_FOUND)
        return NULL; // deleted since it was listed
    if (status != CH_OK) {
        (void)command_fail("cannot read report %s: %s", id, spool_why(status));
        return NULL;
    }
    status = report_read(fd, &report, &error);
    (void)close(fd);
    if (status == CH_OK && strcmp(report_string(report, "id"), id) != 0) {
        (void)snprintf(error.text, sizeof(error.text), "its id is another one");
        json_decref(report);
        status = CH_ERR_MALFORMED;
    }
    if (status != CH_OK)
        (void)command_fail("cannot read report %s: %s", id, error.text);
    return status == CH_OK ? report : NULL;
}

static json_t *targets_json(const struct spool_state *state)
{
    json_t *targets = json_array();
    for (size_t i = 0; i < state->count; i++) {
        const struct spool_target *target = &state->targets[i];
        json_array_append_new(
            targets, json_pack("{s:s, s:s, s:I, s:s*}", "url", target->url, "state",
                               spool_state_name(target->state), "attempts",
                               (json_int_t)target->attempts, "error", target->error));
    }
    return targets;
}

// append_listed_function appends the function that the report's first line names.
static void append_listed_function(const json_t *report, struct text *out)
{
    const json_t *frame = render_frames_place(report, report_crashed_thread(report));
    if (frame != NULL)
        render_frames_append_name(report, frame, NAME_SHORT, out);
}

// entry_json is the report's row, which the JSON and the text form share.
static json_t *entry_json(const json_t *report, const struct spool_state *state)
{
    const json_t *process = json_object_get(report, "process");
    const json_t *crash = json_object_get(report, "crash");
    struct text CH_CLEANUP(text_deinit) function = { 0 };
    const char *group = report_string(report, "fingerprint2");
    append_listed_function(report, &function);
    return json_pack(
        "{s:s, s:s, s:s?, s:O?, s:s?, s:O*, s:s?, s:s?, s:I, s:s*, s:o}", "id",
        report_string(report, "id"), "time", report_string(report, "time"),
        "executable", report_string(process, "executable"), "signal",
        json_object_get(crash, "signal"), "signal_name", report_string(crash, "name"),
        "exit_status", json_object_get(json_object_get(crash, "death"), "exit_status"),
        "function", function.size != 0 && text_ok(&function) ? function.bytes : NULL,
        "summary", report_string(crash, "summary"), "revision",
        (json_int_t)report_integer(report, "revision", 0), "group",
        group != NULL ? group : report_string(report, "fingerprint"), "targets",
        targets_json(state));
}

enum { LISTED_END_SIZE = 32 };

static const struct table_column columns[] = {
    { "REPORT", 13 }, { "AGE", 6 },     { "SIGNAL", 7 }, { "PROGRAM", 10 },
    { "SENT", 7 },    { "CRASHED", 7 }, { NULL, 0 },
};

// listed_end is how the program ended: the signal or, where its runtime ended it by an
// exit, the status.
static const char *listed_end(const json_t *entry, char text[static LISTED_END_SIZE])
{
    const json_t *status = json_object_get(entry, "exit_status");
    const char *name = report_string(entry, "signal_name");
    if (status == NULL)
        return name != NULL && name[strcspn(name, "\033\n\r")] == 0 ? name : "-";
    (void)snprintf(text, LISTED_END_SIZE, "exit %" JSON_INTEGER_FORMAT,
                   json_integer_value(status));
    return text;
}

// listed_state is the state of the target that is furthest from having the report.
static const char *listed_state(const json_t *entry)
{
    const json_t *targets = json_object_get(entry, "targets");
    size_t i;
    json_t *target;
    json_array_foreach(targets, i, target)
    {
        const char *state = report_string(target, "state");
        if (state == NULL || strcmp(state, "sent") != 0)
            return state;
    }
    return json_array_size(targets) != 0 ? "sent" : "no";
}

// print_listed_plain prints a report on one line, for scripts: nothing is cut.
static void print_listed_plain(const struct pen *pen, const json_t *entry)
{
    const json_t *targets = json_object_get(entry, "targets");
    char end[LISTED_END_SIZE];
    const char *function = report_string(entry, "function");
    pen_text(pen, report_string(entry, "id"));
    pen_plain(pen, "  ");
    pen_text(pen, report_string(entry, "time"));
    pen_plain(pen, "  %-8.12s ", listed_end(entry, end));
    pen_text(pen, report_string(entry, "executable"));
    for (size_t i = 0; i < json_array_size(targets); i++) {
        const json_t *target = json_array_get(targets, i);
        pen_plain(pen, "  ");
        pen_text(pen, report_string(target, "state"));
        pen_plain(pen, " ");
        pen_text(pen, report_string(target, "url"));
    }
    if (json_array_size(targets) == 0)
        pen_plain(pen, "  not sent");
    if (function != NULL)
        pen_plain(pen, "  in %s", function); // it is escaped
    pen_plain(pen, "\n");
}

// is_same_termination returns true if the two reports are of one program that died in
// one way.
static bool is_same_termination(const json_t *a, const json_t *b)
{
    const char *key = report_string(a, "group");
    return key != NULL &&
           json_equal(json_object_get(a, "group"), json_object_get(b, "group")) &&
           json_equal(json_object_get(a, "executable"),
                      json_object_get(b, "executable"));
}

// list_note_report writes the summary, and of a program that dies in this way again and
// again how often and since when.
static void list_note_report(const struct table *table, const json_t *entry,
                             size_t count, const json_t *first)
{
    char age[TABLE_AGE_SIZE];
    struct text CH_CLEANUP(text_deinit) note = { 0 };
    const char *summary = report_string(entry, "summary");
    if (count > 1)
        text_appendf(&note, "%zu times, since %s: ", count,
                     table_age(report_string(first, "time"), age));
    text_append_string(&note, summary != NULL ? summary : "");
    table_note(table, note.bytes);
}

// print_listed_row prints the last of count reports of one termination as two lines of
// a table.
static void print_listed_row(const struct table *table, const json_t *entry,
                             size_t count, const json_t *first)
{
    char id[14];
    char age[TABLE_AGE_SIZE];
    char end[LISTED_END_SIZE];
    const char *program = report_string(entry, "executable");
    const char *slash = program != NULL ? strrchr(program, '/') : NULL;
    (void)snprintf(id, sizeof(id), "%s", report_string(entry, "id"));
    const char *cells[] = { id,
                            table_age(report_string(entry, "time"), age),
                            listed_end(entry, end),
                            slash != NULL ? slash + 1 : program,
                            listed_state(entry),
                            report_string(entry, "function") };
    table_row(table, cells);
    list_note_report(table, entry, count, first);
}

static void print_listed(const json_t *rows)
{
    pager_begin();
    struct table table = table_begin(columns, stdout);
    size_t first = 0;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *entry = json_array_get(rows, i);
        if (table.pen.width == 0) {
            print_listed_plain(&table.pen, entry);
        } else if (!is_same_termination(entry, json_array_get(rows, i + 1))) {
            print_listed_row(&table, entry, i + 1 - first, json_array_get(rows, first));
            first = i + 1;
        }
    }
}

// is_program returns true if a path is that program, or ends with it.
static bool is_program(const char *path, const char *program)
{
    if (path == NULL)
        return false;
    size_t length = strlen(path);
    size_t wanted = strlen(program);
    return length >= wanted && strcmp(path + length - wanted, program) == 0 &&
           (length == wanted || path[length - wanted - 1] == '/');
}

// is_signal_name returns true if a name is that signal, which may lack its SIG.
static bool is_signal_name(const char *name, const char *wanted)
{
    if (name == NULL || strcasecmp(name, wanted) == 0)
        return name != NULL;
    return strncmp(name, "SIG", 3) == 0 && strcasecmp(name + 3, wanted) == 0;
}

// is_listed returns true if a row is one that the options ask for.
static bool is_listed(const struct options *options, const json_t *entry)
{
    const char *program = options_value(options, "program");
    const char *function = options_value(options, "function");
    const char *signal_name = options_value(options, "signal");
    const char *named = report_string(entry, "signal_name");
    const char *called = report_string(entry, "function");
    if (program != NULL && !is_program(report_string(entry, "executable"), program))
        return false;
    if (function != NULL && (called == NULL || strstr(called, function) == NULL))
        return false;
    if (signal_name != NULL && !is_signal_name(named, signal_name))
        return false;
    return !options_given(options, "unsent") ||
           strcmp(listed_state(entry), "sent") != 0;
}

// add_listed_report appends the row of one report; false: it could not be read.
static bool add_listed_report(const struct session *session, const char *id,
                              const struct options *options, json_t *rows)
{
    struct spool_state CH_CLEANUP(spool_state_deinit) state = { 0 };
    json_auto_t *report = read_listed_report(session, id);
    if (report == NULL)
        return false;
    if (spool_state_read(&session->spool, id, &state) != CH_OK)
        (void)command_fail("cannot understand the upload state of report %s", id);
    json_t *entry = entry_json(report, &state);
    if (!is_listed(options, entry)) {
        json_decref(entry);
        return true;
    }
    if (options_given(options, "latest"))
        json_array_clear(rows); // they are in the order of their time
    return json_array_append_new(rows, entry) == 0;
}

// count_listed notes in each row how many of all died in this way.
static void count_listed(json_t *rows)
{
    size_t i;
    json_t *row;
    json_auto_t *counts = json_object();
    for (int pass = 0; pass < 2; pass++) {
        json_array_foreach(rows, i, row)
        {
            const char *group = report_string(row, "group");
            const char *program = report_string(row, "executable");
            struct text CH_CLEANUP(text_deinit) key = { 0 };
            text_appendf(&key, "%s %s", group != NULL ? group : "",
                         program != NULL ? program : "");
            if (group == NULL || !text_ok(&key))
                continue;
            int64_t count = report_integer(counts, key.bytes, 0);
            json_t *object = pass == 0 ? counts : row;
            (void)json_object_set_new(object, pass == 0 ? key.bytes : "times",
                                      json_integer(pass == 0 ? count + 1 : count));
        }
    }
}

static int run_list(const struct options *options)
{
    struct session CH_CLEANUP(session_deinit) session = { .spool.folder_fd = -1 };
    struct spool_listing CH_CLEANUP(spool_listing_deinit) listing = { 0 };
    json_auto_t *rows = json_array();
    bool complete = true;
    session_init(&session, options);
    enum ch_status status = session_spool_open(&session, SPOOL_READ);
    if (status == CH_OK) {
        crash_records_take(&session);
        collect_take(&session);
        status = spool_list(&session.spool, &listing);
    } else if (status != CH_END || options_given(options, "spool")) {
        return COMMAND_FAILED;
    } else {
        status = CH_OK; // nothing has crashed yet
    }
    if (status != CH_OK)
        return command_fail("cannot list spool '%s': %s", session.spool_path,
                            spool_why(status));

    for (size_t i = 0; i < listing.count; i++)
        complete &= add_listed_report(&session, listing.entries[i].id, options, rows);
    if (options_given(options, "json")) {
        count_listed(rows);
        (void)json_dumpf(rows, stdout, JSON_COMPACT);
        (void)putchar('\n');
    }
    if (!options_given(options, "json") && json_array_size(rows) != 0)
        print_listed(rows);
    return complete ? COMMAND_DONE : COMMAND_FAILED;
}

static const struct option list_options[] = {
    { "latest", NULL, "the newest report alone", 0 },
    { "program", "NAME", "reports of this program, by name or path", 0 },
    { "function", "PART", "crashed in a function whose name contains this", 0 },
    { "signal", "NAME", "by this signal: SEGV", 0 },
    { "unsent", NULL, "not yet sent everywhere", 0 },
    { "spool", "DIR", "the spool (as CRASHHOOK_SPOOL)", 0 },
    { "json", NULL, "print one JSON array", 0 },
    { 0 },
};

const struct command list_command = {
    .name = "list",
    .summary = "List the reports in the spool and where they have been sent",
    .options = list_options,
    .run = run_list,
};
