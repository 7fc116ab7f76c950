// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/collect.h"
#include "cli/command.h"
#include "cli/crash_records.h"
#include "cli/pen.h"
#include "cli/session.h"
#include "cli/session_spool.h"
#include "report/report.h"
#include "report/spool_state.h"

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

// entry_json is the report's row, which the JSON and the text form share.
static json_t *entry_json(const json_t *report, const struct spool_state *state)
{
    const json_t *process = json_object_get(report, "process");
    const json_t *crash = json_object_get(report, "crash");
    return json_pack("{s:s, s:s, s:s?, s:O?, s:s?, s:s?, s:I, s:o}", "id",
                     report_string(report, "id"), "time", report_string(report, "time"),
                     "executable", report_string(process, "executable"), "signal",
                     json_object_get(crash, "signal"), "signal_name",
                     report_string(crash, "name"), "summary",
                     report_string(crash, "summary"), "revision",
                     (json_int_t)report_integer(report, "revision", 0), "targets",
                     targets_json(state));
}

static void print_listed_report(const json_t *entry)
{
    const struct pen pen = { .to = stdout };
    const json_t *targets = json_object_get(entry, "targets");
    const char *name = report_string(entry, "signal_name");
    pen_text(&pen, report_string(entry, "id"));
    pen_plain(&pen, "  ");
    pen_text(&pen, report_string(entry, "time"));
    pen_plain(&pen, "  %-8.12s ",
              name != NULL && name[strcspn(name, "\033\n\r")] == 0 ? name : "-");
    pen_text(&pen, report_string(entry, "executable"));
    for (size_t i = 0; i < json_array_size(targets); i++) {
        const json_t *target = json_array_get(targets, i);
        pen_plain(&pen, "  ");
        pen_text(&pen, report_string(target, "state"));
        pen_plain(&pen, " ");
        pen_text(&pen, report_string(target, "url"));
    }
    if (json_array_size(targets) == 0)
        pen_plain(&pen, "  not sent");
    pen_plain(&pen, "\n");
}

// add_listed_report appends the row of one report; false: it could not be read.
static bool add_listed_report(const struct session *session, const char *id,
                              json_t *rows)
{
    struct spool_state CH_CLEANUP(spool_state_deinit) state = { 0 };
    json_auto_t *report = read_listed_report(session, id);
    if (report == NULL)
        return false;
    if (spool_state_read(&session->spool, id, &state) != CH_OK)
        (void)command_fail("cannot understand the upload state of report %s", id);
    return json_array_append_new(rows, entry_json(report, &state)) == 0;
}

static int run_list(const struct options *options)
{
    struct session CH_CLEANUP(session_deinit) session;
    struct spool_listing CH_CLEANUP(spool_listing_deinit) listing = { 0 };
    json_auto_t *rows = json_array();
    bool complete = true;
    session_init(&session, options);
    if (session_spool_open(&session, SPOOL_READ) != CH_OK)
        return COMMAND_FAILED;
    crash_records_take(&session);
    collect_take(&session);
    enum ch_status status = spool_list(&session.spool, &listing);
    if (status != CH_OK)
        return command_fail("cannot list spool '%s': %s", session.spool_path,
                            spool_why(status));

    for (size_t i = 0; i < listing.count; i++)
        complete &= add_listed_report(&session, listing.entries[i].id, rows);
    if (options_given(options, "json")) {
        (void)json_dumpf(rows, stdout, JSON_COMPACT);
        (void)putchar('\n');
    }
    for (size_t i = 0; i < json_array_size(rows) && !options_given(options, "json");
         i++)
        print_listed_report(json_array_get(rows, i));
    return complete ? COMMAND_DONE : COMMAND_FAILED;
}

static const struct option list_options[] = {
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
