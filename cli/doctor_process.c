// SPDX-License-Identifier: Apache-2.0
//
// A process by its number: what would stop a report of one that lives, and why there is
// none of one that has died.
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/images/read_file.h"
#include "cli/crash_records.h"
#include "cli/doctor.h"
#include "cli/kernel_log.h"
#include "report/report.h"

enum { PROC_FILE_BYTES = 8 << 20, LOG_BYTES = 16 << 20 };

static bool process_file(pid_t pid, const char *name, struct text *out)
{
    return read_process_file(pid, name, PROC_FILE_BYTES, out) == CH_OK &&
           out->bytes != NULL;
}

// status_number is the number after key in a process's status, in that base.
static uint64_t status_number(const struct text *status, const char *key, int base)
{
    const char *at = status->bytes != NULL ? strstr(status->bytes, key) : NULL;
    return at != NULL ? strtoull(at + strlen(key), NULL, base) : 0;
}

// process_variable is a variable in an environment of NUL-ended strings; NULL: not set.
static const char *process_variable(const struct text *environment, const char *name)
{
    size_t length = strlen(name);
    const char *end = environment->bytes + environment->size;
    for (const char *at = environment->bytes; at != NULL && at < end;
         at += strlen(at) + 1) {
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return at + length + 1;
    }
    return NULL;
}

static bool holds_the_handler(const struct text *maps)
{
    return maps->bytes != NULL && strstr(maps->bytes, "/libcrashhook.so") != NULL;
}

// note_live_settings notes what the process was started with; false: it reports
// nothing by that.
static bool note_live_settings(const struct text *environment,
                               struct doctor_finding *out)
{
    const char *enable = process_variable(environment, "CRASHHOOK_ENABLE");
    const char *spool = process_variable(environment, "CRASHHOOK_SPOOL");
    const char *url = process_variable(environment, "CRASHHOOK_URL");
    text_appendf(&out->line, "; its reports go to %s%s%s",
                 spool != NULL ? spool : "the spool of its user",
                 url != NULL ? " and to " : "", url != NULL ? url : "");
    if (enable == NULL || strcmp(enable, "no") != 0)
        return true;
    text_append_string(&out->line, "; CRASHHOOK_ENABLE=no: it reports nothing");
    return false;
}

static void note_live_limits(const struct text *status, struct doctor_finding *out)
{
    if (status_number(status, "\nSeccomp:", 10) == 2)
        text_append_string(&out->line,
                           "; it has a seccomp filter, and what that denies "
                           "is not in its report");
    if (status_number(status, "\nTracerPid:", 10) != 0)
        text_appendf(&out->line, "; process %" PRIu64 " traces it",
                     status_number(status, "\nTracerPid:", 10));
}

static enum doctor_verdict note_live(pid_t pid, struct doctor_finding *out)
{
    struct text CH_CLEANUP(text_deinit) status = { 0 };
    struct text CH_CLEANUP(text_deinit) maps = { 0 };
    struct text CH_CLEANUP(text_deinit) environment = { 0 };
    struct text CH_CLEANUP(text_deinit) path = { 0 };
    if (!process_file(pid, "maps", &maps) || !process_file(pid, "status", &status)) {
        text_appendf(&out->line, "process %d cannot be looked at: %s", pid,
                     errno != 0 ? strerror(errno) : "it has no memory");
        return DOCTOR_NOTE;
    }
    if (read_process_link(pid, "exe", &path) != CH_OK)
        text_append_string(&path, "?");
    text_appendf(&out->line, "process %d, '%s', %s", pid, path.bytes,
                 holds_the_handler(&maps) ? "holds the handler" : "");
    bool catches = (status_number(&status, "\nSigCgt:", 16) >> (SIGSEGV - 1) & 1) != 0;
    if (!holds_the_handler(&maps)) {
        text_appendf(
            &out->line,
            "does not hold the shared handler%s: start it by `crashhook run`, or "
            "look at it now by `crashhook attach %d`",
            catches ? ", but has a handler of SIGSEGV, linked or its own" : "", pid);
        return DOCTOR_TROUBLE;
    }
    (void)process_file(pid, "environ", &environment);
    bool enabled = note_live_settings(&environment, out);
    note_live_limits(&status, out);
    if (enabled && !catches)
        text_append_string(&out->line, "; it does not catch SIGSEGV now");
    return enabled && catches ? DOCTOR_FINE : DOCTOR_TROUBLE;
}

// find_report_of writes the id of the newest report of a process.
static bool find_report_of(struct session *session, pid_t pid, char id[REPORT_ID_SIZE])
{
    struct spool_listing listing = { 0 };
    bool found = false;
    if (spool_open(session->spool_path, SPOOL_READ, &session->spool) != CH_OK)
        return false;
    crash_records_take(session);
    if (spool_list(&session->spool, &listing) != CH_OK)
        listing.count = 0;
    for (size_t i = listing.count; i > 0 && !found; i--) {
        struct report_error error;
        json_t *report = NULL;
        int fd = -1;
        if (spool_read(&session->spool, listing.entries[i - 1].id, &fd) != CH_OK)
            continue;
        if (report_read(fd, &report, &error) == CH_OK)
            found = report_integer(json_object_get(report, "process"), "pid", 0) == pid;
        (void)close(fd);
        json_decref(report);
        if (found)
            memcpy(id, listing.entries[i - 1].id, REPORT_ID_SIZE);
    }
    spool_listing_deinit(&listing);
    spool_close(&session->spool);
    session->spool.folder_fd = -1;
    return found;
}

// note_agent_log notes the last line of the agent's log that names the process.
static void note_agent_log(const struct session *session, pid_t pid,
                           struct doctor_finding *out)
{
    struct text CH_CLEANUP(text_deinit) log = { 0 };
    struct text CH_CLEANUP(text_deinit) word = { 0 };
    const char *last = NULL;
    const char *path = session->settings.log;
    if (path == NULL || path[0] != '/') {
        text_append_string(&out->line,
                           "; the agent keeps no log: set CRASHHOOK_LOG=FILE for it");
        return;
    }
    text_appendf(&word, " %d", pid);
    if (read_file(path, LOG_BYTES, &log) == CH_OK && log.bytes != NULL) {
        for (const char *at = log.bytes; (at = strstr(at, word.bytes)) != NULL; at++)
            last = at;
    }
    if (last == NULL) {
        text_appendf(&out->line, "; the agent's log %s does not name it", path);
        return;
    }
    while (last > log.bytes && last[-1] != '\n')
        last--;
    text_appendf(&out->line, "; the agent's log says: %.*s", (int)strcspn(last, "\n"),
                 last);
}

static void note_kernel_words(const struct doctor *doctor, pid_t pid,
                              struct doctor_finding *out)
{
    struct text CH_CLEANUP(text_deinit) message = { 0 };
    bool memory = false;
    errno = 0;
    if (kernel_log_find(doctor->kernel_log, pid, &message, &memory)) {
        text_appendf(&out->line, "; the kernel says: %s: %s", message.bytes,
                     memory ? "nothing in a process that is killed can report it, but "
                              "`crashhook run` does"
                            : "it crashed without the handler, or the handler could "
                              "start no agent and write nothing");
        if (!memory)
            text_append_string(&out->fix,
                               "crashhook-core-pattern install "
                               "# programs without the handler are reported by it\n");
        return;
    }
    if (errno != 0)
        text_appendf(&out->line, "; the kernel's log cannot be read: %s",
                     strerror(errno));
    else
        text_append_string(
            &out->line, "; the kernel logged no fault of it: it exited, or died of a "
                        "signal that is not logged, such as an abort's or a kill's");
}

static enum doctor_verdict note_dead(struct doctor *doctor, pid_t pid,
                                     struct doctor_finding *out)
{
    struct session *session = doctor->session;
    char id[REPORT_ID_SIZE];
    if (find_report_of(session, pid, id)) {
        text_appendf(&out->line, "process %d was reported: crashhook show %s", pid, id);
        return DOCTOR_FINE;
    }
    text_appendf(&out->line, "process %d is gone, and %s has no report of it", pid,
                 session->spool_path);
    note_kernel_words(doctor, pid, out);
    note_agent_log(session, pid, out);
    return DOCTOR_TROUBLE;
}

enum doctor_verdict doctor_process(struct doctor *doctor, struct doctor_finding *out)
{
    char *end = NULL;
    long pid = strtol(doctor->pid, &end, 10);
    if (*doctor->pid == 0 || *end != 0 || pid <= 0 || pid > INT32_MAX) {
        text_appendf(&out->line, "'%s' is no process's number", doctor->pid);
        return DOCTOR_TROUBLE;
    }
    if (kill((pid_t)pid, 0) == 0 || errno == EPERM)
        return note_live((pid_t)pid, out);
    return note_dead(doctor, (pid_t)pid, out);
}
