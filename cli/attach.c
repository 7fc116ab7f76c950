// SPDX-License-Identifier: Apache-2.0
//
// Reports a live process: it is stopped for milliseconds, the frames are named after
// that, and nothing is stored.
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/attach.h"
#include "cli/attach_samples.h"
#include "cli/session/command.h"
#include "cli/session/confine.h"
#include "cli/session/session.h"
#include "report/value/report.h"

enum { SAMPLES_MAX = 1000, SAMPLE_MS = 100, SAMPLE_MS_MAX = 60000 };

static const struct option attach_options[] = {
    { .name = "json", .help = "print the report itself" },
    { .name = "samples",
      .value = "N",
      .help = "take that many and print what their stacks have in common" },
    { .name = "every", .value = "MS", .help = "milliseconds between samples (100)" },
    { .name = "unwind", .value = "HOW", .help = "as CRASHHOOK_UNWIND" },
    { .name = "limit", .value = "FRAMES", .help = "as CRASHHOOK_LIMIT" },
    { .name = "top", .value = "FRAMES", .help = "as CRASHHOOK_TOP" },
    { .name = "symbolize", .value = "HOW", .help = "as CRASHHOOK_SYMBOLIZE" },
    { .name = "preset", .value = "PRESET", .help = "as CRASHHOOK_PRESET" },
    { 0 },
};

// why_no_attach says why a process could not be stopped, and what to do about it.
static const char *why_no_attach(int error)
{
    if (error == EPERM)
        return "Operation not permitted (another user's, traced already, or ptrace is "
               "restricted: see crashhook doctor)";
    if (error == ENOENT || error == ESRCH)
        return "No such process";
    return strerror(error);
}

// read_count reads a number of 1 to most.
static bool read_count(const char *text, unsigned long most, unsigned long *out)
{
    char *end = NULL;
    *out = strtoul(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == 0 && *out != 0 && *out <= most;
}

// take_sample adds a report of the process, with names.
static int take_sample(struct attach_samples *samples, const struct session *session,
                       pid_t pid)
{
    struct text CH_CLEANUP(text_deinit) raw = { 0 };
    struct report_error error;
    json_auto_t *report = NULL;
    if (attach_report(pid, &session->settings, getenv("HOME"), &raw, NULL) != CH_OK)
        return command_fail("cannot attach to process %d: %s", pid,
                            why_no_attach(errno));
    if (report_parse(raw.bytes, raw.size, &report, &error) != CH_OK)
        return command_fail("cannot read our own report: %s", error.text);
    session_symbolize(session, report);
    attach_samples_add(samples, report);
    return COMMAND_DONE;
}

static int print_samples(const struct options *options, const struct session *session,
                         pid_t pid)
{
    struct attach_samples CH_CLEANUP(attach_samples_deinit) samples = { 0 };
    const char *every = options_value(options, "every");
    unsigned long count;
    unsigned long pause_ms = SAMPLE_MS;
    if (!read_count(options_value(options, "samples"), SAMPLES_MAX, &count) ||
        (every != NULL && !read_count(every, SAMPLE_MS_MAX, &pause_ms)))
        return command_misused("attach: --samples takes a number up to %d, --every "
                               "milliseconds up to %d",
                               SAMPLES_MAX, SAMPLE_MS_MAX);
    if (attach_samples_init(&samples) != CH_OK)
        return command_fail("out of memory");
    for (unsigned long i = 0; i < count; i++) {
        if (i != 0)
            (void)poll(NULL, 0, (int)pause_ms);
        if (take_sample(&samples, session, pid) != COMMAND_DONE)
            return COMMAND_FAILED;
    }
    attach_samples_print(&samples, options_given(options, "json"));
    return COMMAND_DONE;
}

static int run_attach(const struct options *options)
{
    struct session CH_CLEANUP(session_deinit) session;
    struct text CH_CLEANUP(text_deinit) raw = { 0 };
    struct text CH_CLEANUP(text_deinit) held = { 0 };
    pid_t pid;

    if (!command_parse_pid(options->arguments[0], &pid))
        return command_misused("attach: '%s' is no process id", options->arguments[0]);
    session_init(&session, options);
    // What root reads here was made by others.
    session.confined = geteuid() == 0;
    if (session.confined)
        confine_observer();
    if (options_given(options, "samples"))
        return print_samples(options, &session, pid);
    if (attach_report(pid, &session.settings, getenv("HOME"), &raw, &held) != CH_OK)
        return command_fail("cannot attach to process %d: %s", pid,
                            why_no_attach(errno));
    return session_print_raw(&session, &raw, &held, options_given(options, "json"));
}

const struct command attach_command = {
    .name = "attach",
    .arguments = "PID",
    .summary = "Report a live process, which goes on unharmed",
    .options = attach_options,
    .run = run_attach,
    .arguments_min = 1,
    .arguments_max = 1,
};
