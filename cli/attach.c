// SPDX-License-Identifier: Apache-2.0
//
// Reports a live process: it is stopped for milliseconds, the frames are named after
// that, and nothing is stored.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/attach.h"
#include "cli/command.h"
#include "cli/session.h"

static const struct option attach_options[] = {
    { .name = "json", .help = "print the report itself" },
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

static int run_attach(const struct options *options)
{
    struct session CH_CLEANUP(session_deinit) session;
    struct text CH_CLEANUP(text_deinit) raw = { 0 };
    struct text CH_CLEANUP(text_deinit) held = { 0 };
    pid_t pid;

    if (!command_parse_pid(options->arguments[0], &pid))
        return command_misused("attach: '%s' is no process id", options->arguments[0]);
    session_init(&session, options);
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
