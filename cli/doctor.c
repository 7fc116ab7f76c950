// SPDX-License-Identifier: Apache-2.0
//
// Checks this machine and prints what would stop a report.
#include "cli/doctor.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "cli/command.h"
#include "cli/pen.h"
#include "cli/render.h"

static const struct {
    const char *name;
    doctor_check_fn *check;
} checks[] = {
    { "ptrace", doctor_ptrace },   { "confinement", doctor_confinement },
    { "library", doctor_library }, { "agent", doctor_agent },
    { "spool", doctor_spool },     { "targets", doctor_targets },
    { "core dumps", doctor_core }, { "test crash", doctor_crash },
};

static void print_finding(const struct pen *pen, const char *name,
                          enum doctor_verdict verdict, const char *line)
{
    static const char *const words[] = { "ok", "note", "TROUBLE" };
    static const enum pen_colour colours[] = { PEN_NAME, PEN_PLAIN, PEN_ALARM };
    pen_set(pen, colours[verdict]);
    pen_plain(pen, "%-8s", words[verdict]);
    pen_set(pen, PEN_PLAIN);
    pen_plain(pen, "%-12s ", name);
    pen_text(pen, line);
    pen_plain(pen, "\n");
    fflush(pen->to);
}

// print_settings lists the variables that are set, as they were understood or not.
static void print_settings(const struct pen *pen)
{
    size_t count;
    bool any = false;
    const struct settings_variable *variables = settings_variables(&count);
    for (size_t i = 0; i < count; i++) {
        const char *value = getenv(variables[i].name);
        bool secret = strcmp(variables[i].name, "CRASHHOOK_TOKEN") == 0;
        if (value == NULL || *value == 0)
            continue;
        if (!any)
            pen_plain(pen, "\nvariables that are set:\n");
        any = true;
        pen_plain(pen, "  %s=", variables[i].name);
        pen_text(pen, secret ? "***" : value);
        pen_plain(pen, "\n");
    }
}

// crash_now is what the test crash runs: it dies by a null pointer and leaves no core.
static int crash_now(void)
{
    struct rlimit none = { 0, 0 };
    setrlimit(RLIMIT_CORE, &none);
    raise(SIGSEGV);
    return COMMAND_FAILED;
}

static int run_doctor(const struct options *options)
{
    struct session CH_CLEANUP(session_deinit) session;
    struct render_style style = render_style_for(stdout, PRESET_AUTO);
    struct pen pen = { .to = stdout, .colour = style.colour };
    size_t troubles = 0;

    if (options->argument_count == 1 &&
        strcmp(options->arguments[0], "test-crash") == 0)
        return crash_now();
    if (options->argument_count != 0)
        return command_misused("doctor: it takes no arguments");
    session_init(&session, options);
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        struct text CH_CLEANUP(text_deinit) line = { 0 };
        enum doctor_verdict verdict = checks[i].check(&session, &line);
        print_finding(&pen, checks[i].name, verdict, line.size != 0 ? line.bytes : "");
        troubles += verdict == DOCTOR_TROUBLE;
    }
    print_settings(&pen);
    if (troubles != 0)
        return command_fail("doctor: %zu of these would stop a report", troubles);
    return COMMAND_DONE;
}

static const struct option doctor_options[] = {
    { "spool", "DIR", "the spool to check", 0 },
    { "url", "URL", "the targets to check", 0 },
    { 0 },
};

const struct command doctor_command = {
    .name = "doctor",
    .summary = "Check what would stop a report on this machine",
    .options = doctor_options,
    .run = run_doctor,
    .arguments_max = 1,
};
