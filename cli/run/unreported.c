// SPDX-License-Identifier: Apache-2.0
#include "cli/run/unreported.h"

#include <glob.h>
#include <stdio.h>
#include <sys/wait.h>

#include "cli/session/command.h"
#include "cli/session/program_kind.h"
#include "report/summary/signal_name.h"
#include "shared/signals.h"

// spool_has_report says whether the spool has a report that began at since_ms or later.
static bool spool_has_report(const struct spool *spool, uint64_t since_ms)
{
    struct spool_listing CH_CLEANUP(spool_listing_deinit) listing = { 0 };
    if (spool->folder_fd < 0 || spool_list(spool, &listing) != CH_OK)
        return false;
    for (size_t i = 0; i < listing.count; i++) {
        if (report_id_time_ms(listing.entries[i].id) >= since_ms)
            return true;
    }
    return false;
}

static bool folder_has_report(const char *path, uint64_t since_ms)
{
    struct spool CH_CLEANUP(spool_close) spool = { .folder_fd = -1 };
    return spool_open(path, SPOOL_READ, &spool) == CH_OK &&
           spool_has_report(&spool, since_ms);
}

// find_elsewhere finds a place that has a report and replaces a spool that cannot be
// used.
static bool find_elsewhere(uint64_t since_ms, char path[static PATH_MAX])
{
    glob_t found = { 0 };
    bool any = folder_has_report(SETTINGS_DROP_FOLDER, since_ms);
    (void)snprintf(path, PATH_MAX, "%s", SETTINGS_DROP_FOLDER);
    if (any || glob(SETTINGS_OWN_FOLDER "[0-9]*", GLOB_NOSORT, NULL, &found) != 0)
        return any;
    for (size_t i = 0; i < found.gl_pathc && !any; i++) {
        any = folder_has_report(found.gl_pathv[i], since_ms);
        (void)snprintf(path, PATH_MAX, "%s", found.gl_pathv[i]);
    }
    globfree(&found);
    return any;
}

bool unreported_has_report(const struct session *session, uint64_t since_ms)
{
    return spool_has_report(&session->spool, since_ms);
}

bool unreported_tell(const struct session *session, const char *program, int status,
                     bool loaded, uint64_t since_ms)
{
    char path[PATH_MAX];
    struct program kind;
    int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    const char *name = signal_name(number);
    if (name == NULL || !signal_in(session->settings.signals, number) ||
        unreported_has_report(session, since_ms))
        return false;
    if (find_elsewhere(since_ms, path)) {
        (void)command_fail("'%s' died by %s; the report is in '%s'", program, name,
                           path);
        return false;
    }
    program_look(program, &kind);
    bool loads = kind.kind == PROGRAM_DYNAMIC || kind.kind == PROGRAM_SANITIZED ||
                 kind.kind == PROGRAM_HAS_HANDLER || kind.kind == PROGRAM_UNKNOWN;
    if (loads && loaded)
        (void)command_fail(
            "'%s' died by %s and left no report of its own; see 'crashhook "
            "doctor'",
            program, name);
    else
        (void)command_fail(
            "'%s' died by %s and left no report of its own, since %s; 'crashhook "
            "run --via trace' watches it from outside",
            program, name,
            loads ? "it died before it had installed a handler"
                  : program_kind_words(kind.kind));
    return true;
}

void unreported_tell_exit(const struct session *session, const char *program,
                          int status, uint64_t since_ms)
{
    struct program kind;
    if (!WIFEXITED(status) || WEXITSTATUS(status) == 0 ||
        unreported_has_report(session, since_ms))
        return;
    program_look(program, &kind);
    if (kind.hidden != NULL)
        (void)command_fail(
            "'%s' exited with %d: what %s finds is not reported, because "
            "its runtime is linked in; 'crashhook run --stderr-tail' "
            "reports what it says",
            program, WEXITSTATUS(status), kind.hidden);
}
