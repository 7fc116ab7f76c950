// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/attach.h"
#include "cli/session/aside.h"
#include "cli/session/command.h"
#include "handler/crash/crash_trust.h"
#include "images/read_file.h"

enum {
    LOW_SPACE_BYTES = 64 << 20,
    LEAST_BYTES = 256 << 10, // of a report, and of the memory that outlives a program
    SMALL_LIMIT_BYTES = 16 << 10,
};

int doctor_await(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// start_target forks a process that allows everybody to trace it and waits to be
// killed.
static pid_t start_target(void)
{
    int ready[2];
    char byte;
    if (pipe(ready) != 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
        (void)!write(ready[1], "r", 1);
        for (;;)
            pause();
    }
    close(ready[1]);
    bool started = pid > 0 && read(ready[0], &byte, 1) == 1;
    close(ready[0]);
    return started ? pid : -1;
}

// trace_sibling is the errno of an attempt to report target from a process that is not
// its ancestor, as the agent is not an ancestor of a crashed program.
static int trace_sibling(const struct session *session, pid_t target)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct text report = { 0 };
        enum ch_status status =
            attach_report(target, &session->settings, NULL, &report, NULL);
        _exit(status == CH_OK ? 0 : errno != 0 ? errno : EIO);
    }
    return pid > 0 ? doctor_await(pid) : errno;
}

static void append_yama(struct text *line)
{
    struct text scope = { 0 };
    if (read_file("/proc/sys/kernel/yama/ptrace_scope", SMALL_LIMIT_BYTES, &scope) ==
        CH_OK)
        text_appendf(line, " (kernel.yama.ptrace_scope is %.1s)", scope.bytes);
    text_deinit(&scope);
}

enum doctor_verdict doctor_ptrace(struct doctor *doctor, struct doctor_finding *out)
{
    struct session *session = doctor->session;
    if (access("/proc/self/stat", F_OK) != 0) {
        text_append_string(
            &out->line, "/proc is not mounted: a crashed process cannot be read, and "
                        "`crashhook run` does not see how a program was killed; "
                        "mount it");
        text_append_string(&out->fix, "mount -t proc proc /proc\n");
        return DOCTOR_TROUBLE;
    }
    pid_t target = start_target();
    int error = target > 0 ? trace_sibling(session, target) : errno;
    if (target > 0) {
        kill(target, SIGKILL);
        doctor_await(target);
    }
    if (error == 0) {
        text_append_string(&out->line, "a crashed process can be stopped and read");
        append_yama(&out->line);
        return DOCTOR_FINE;
    }
    text_appendf(&out->line, "a crashed process cannot be stopped: %s",
                 error > 0 ? strerror(error) : "the attempt was killed");
    append_yama(&out->line);
    text_append_string(&out->line, "; allow ptrace (CAP_SYS_PTRACE, or "
                                   "kernel.yama.ptrace_scope below 3)");
    if (access("/proc/sys/kernel/yama/ptrace_scope", F_OK) == 0)
        text_append_string(&out->fix, "sysctl -w kernel.yama.ptrace_scope=1\n");
    return DOCTOR_TROUBLE;
}

// own_status_value is the number after key in /proc/self/status, or 0.
static long own_status_value(const char *key)
{
    struct text status = { 0 };
    const char *at = NULL;
    if (read_file("/proc/self/status", SMALL_LIMIT_BYTES, &status) == CH_OK)
        at = strstr(status.bytes, key);
    long value = at != NULL ? strtol(at + strlen(key), NULL, 10) : 0;
    text_deinit(&status);
    return value;
}

enum doctor_verdict doctor_confinement(struct doctor *doctor,
                                       struct doctor_finding *out)
{
    (void)doctor;
    bool filtered = own_status_value("\nSeccomp:") == 2;
    bool bounded = own_status_value("\nNoNewPrivs:") == 1;
    if (!filtered && !bounded) {
        text_append_string(&out->line, "no seccomp filter, no no_new_privs");
        return DOCTOR_FINE;
    }
    text_appendf(&out->line, "%s%s%s: what the other lines say holds in here",
                 filtered ? "a seccomp filter" : "", filtered && bounded ? " and " : "",
                 bounded ? "no_new_privs" : "");
    return DOCTOR_NOTE;
}

enum doctor_verdict doctor_library(struct doctor *doctor, struct doctor_finding *out)
{
    char path[PATH_MAX];
    char heap[PATH_MAX];
    if (!installed_library(path)) {
        text_append_string(&out->line,
                           "the library of the handler is not beside this program; "
                           "install it again");
        return DOCTOR_TROUBLE;
    }
    text_append_string(&out->line, path);
    (void)snprintf(heap, sizeof(heap), "%.*s/" CRASHHOOK_HEAP_SONAME,
                   (int)(strrchr(path, '/') - path), path);
    if (doctor->session->settings.heap == HEAP_NO || access(heap, R_OK) == 0)
        return DOCTOR_FINE;
    text_clear(&out->line);
    text_appendf(&out->line, "CRASHHOOK_HEAP has no effect: cannot read '%s': %s", heap,
                 strerror(errno));
    return DOCTOR_NOTE;
}

// note_kills reports what else stops where there is no agent.
static void note_kills(const struct settings *settings, struct text *line)
{
    if (settings->kills != KILLS_NO)
        text_append_string(line,
                           "; without an agent CRASHHOOK_KILLS reports the kills of "
                           "programs under `crashhook run` only");
}

// doctor_agent_runs starts the agent without a channel to a crashed process: then it
// has nothing to do, and exits with 1.
bool doctor_agent_runs(const char *agent)
{
    pid_t pid = fork();
    if (pid == 0) {
        close(3);
        unsetenv("CRASHHOOK_LOG");
        execl(agent, "crashhook-agent", (char *)NULL);
        _exit(127);
    }
    return pid > 0 && doctor_await(pid) == 1;
}

enum doctor_verdict doctor_agent(struct doctor *doctor, struct doctor_finding *out)
{
    struct session *session = doctor->session;
    char path[PATH_MAX];
    const char *agent = session->settings.agent;
    if (agent == NULL && installed_agent(path))
        agent = path;
    if (agent == NULL) {
        text_append_string(&out->line,
                           "crashhook-agent is not where it should be; install "
                           "it again or set CRASHHOOK_AGENT");
        note_kills(&session->settings, &out->line);
        return DOCTOR_TROUBLE;
    }
    text_append_string(&out->line, agent);
    bool trusted = crash_trusts(agent);
    if (trusted && doctor_agent_runs(agent))
        return DOCTOR_FINE;
    if (!trusted)
        text_append_string(&out->line, ": users other than root and this one can "
                                       "change it or a folder above it, so it");
    text_append_string(&out->line,
                       " cannot be run; set CRASHHOOK_AGENT to one that can");
    note_kills(&session->settings, &out->line);
    text_append_string(
        &out->fix, session->settings.agent != NULL ? "unset CRASHHOOK_AGENT\n" : "");
    return DOCTOR_TROUBLE;
}

// spool_answers returns true if a process that opens the spool comes back from there.
static bool spool_answers(const char *path)
{
    enum { ANSWER_MS = 5000 };
    static struct liveness none = { .fd = -1, .copier = -1 };
    struct spool spool;
    struct aside probe;
    char id[REPORT_ID_SIZE];
    int fd;
    if (aside_begin(&probe, &none)) {
        report_id_make((uint64_t)time(NULL) * 1000, id);
        if (spool_open(path, SPOOL_CREATE, &spool) == CH_OK &&
            spool_create(&spool, id, &fd) == CH_OK)
            spool_discard(&spool, id);
        _exit(0);
    }
    bool answers = aside_await(&probe, ANSWER_MS);
    aside_leave(&probe);
    return answers;
}

// note_room returns what is left on the spool's disk, and for how large a file.
static enum doctor_verdict note_room(const struct spool *spool, struct text *line)
{
    struct statvfs room;
    struct rlimit limit;
    uint64_t left = UINT64_MAX;
    enum doctor_verdict verdict = DOCTOR_FINE;
    if (fstatvfs(spool->folder_fd, &room) == 0) {
        left = (uint64_t)room.f_bavail * room.f_frsize;
        text_appendf(line, ", %llu MiB free", (unsigned long long)(left >> 20));
    }
    if (left < LOW_SPACE_BYTES)
        verdict = DOCTOR_NOTE;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_max < LEAST_BYTES) {
        text_appendf(line,
                     "; ulimit -f allows files of %llu KiB: larger reports are not "
                     "written, and programs that are killed leave no breadcrumbs",
                     (unsigned long long)(limit.rlim_max >> 10));
        return DOCTOR_TROUBLE;
    }
    if (left >= LEAST_BYTES)
        return verdict;
    text_append_string(line, ": a report may not fit; remove files, or set "
                             "CRASHHOOK_SPOOL to another disk");
    return DOCTOR_TROUBLE;
}

// lacks_room is true if the disk, which may have room, refuses it to this user.
static bool lacks_room(int fd)
{
    struct rlimit limit = { .rlim_cur = 0 };
    (void)getrlimit(RLIMIT_FSIZE, &limit); // past which SIGXFSZ would be raised
    return limit.rlim_cur >= LEAST_BYTES && fallocate(fd, 0, 0, LEAST_BYTES) != 0 &&
           (errno == EDQUOT || errno == ENOSPC);
}

enum doctor_verdict doctor_spool(struct doctor *doctor, struct doctor_finding *out)
{
    struct session *session = doctor->session;
    char id[REPORT_ID_SIZE];
    int fd;
    enum ch_status status =
        settings_spool_path(&session->settings, session_getenv, NULL,
                            session->spool_path, sizeof(session->spool_path));
    if (status != CH_OK) {
        text_append_string(&out->line, "no spool: set CRASHHOOK_SPOOL or HOME");
        return DOCTOR_TROUBLE;
    }
    if (!spool_answers(session->spool_path)) {
        text_appendf(&out->line,
                     "%s does not answer: its disk hangs; set CRASHHOOK_SPOOL to "
                     "another one",
                     session->spool_path);
        return DOCTOR_TROUBLE;
    }
    report_id_make((uint64_t)time(NULL) * 1000, id);
    status = spool_open(session->spool_path, SPOOL_CREATE, &session->spool);
    if (status == CH_OK)
        status = spool_create(&session->spool, id, &fd);
    text_append_string(&out->line, session->spool_path);
    if (status != CH_OK) {
        text_appendf(&out->line,
                     " cannot be written to: %s; set CRASHHOOK_SPOOL to a folder "
                     "that can",
                     spool_why(status));
        text_appendf(&out->fix, "install -d -m 700 -o %u -g %u ", geteuid(), getegid());
        shell_word_quote(session->spool_path, &out->fix);
        text_append_string(&out->fix, "\n");
        return DOCTOR_TROUBLE;
    }
    bool refused = lacks_room(fd);
    bool quota = refused && errno == EDQUOT;
    spool_discard(&session->spool, id);
    close(fd);
    enum doctor_verdict verdict = note_room(&session->spool, &out->line);
    if (!refused || verdict == DOCTOR_TROUBLE)
        return verdict;
    text_appendf(&out->line,
                 ": %s refuses the %d KiB of a report; set CRASHHOOK_SPOOL to another "
                 "disk",
                 quota ? "a quota" : "the disk", LEAST_BYTES >> 10);
    return DOCTOR_TROUBLE;
}

// core_reader copies the program that a core_pattern pipes cores to; false: there is
// none.
static bool core_reader(const char *pattern, char out[static PATH_MAX])
{
    if (pattern[0] != '|')
        return false;
    pattern += 1 + strspn(pattern + 1, " ");
    snprintf(out, PATH_MAX, "%.*s", (int)strcspn(pattern, " \n"), pattern);
    return out[0] != 0;
}

enum doctor_verdict doctor_core(struct doctor *doctor, struct doctor_finding *out)
{
    struct text CH_CLEANUP(text_deinit) pattern = { 0 };
    char reader[PATH_MAX];
    (void)doctor;
    if (read_file("/proc/sys/kernel/core_pattern", SMALL_LIMIT_BYTES, &pattern) !=
        CH_OK) {
        text_append_string(&out->line, "kernel.core_pattern cannot be read");
        return DOCTOR_NOTE;
    }
    text_appendf(&out->line, "kernel.core_pattern is '%.*s'",
                 (int)strcspn(pattern.bytes, "\n"), pattern.bytes);
    bool piped = core_reader(pattern.bytes, reader);
    if (piped && access(reader, X_OK) != 0) {
        text_append_string(&out->line, ", a program that is not there: cores are lost");
        text_append_string(&out->fix, "sysctl -w kernel.core_pattern=core\n");
        return DOCTOR_NOTE;
    }
    bool ours = piped && strstr(pattern.bytes, "crashhook core") != NULL;
    text_append_string(&out->line,
                       ours ? ": programs without the handler are reported, too"
                            : "; crashhook leaves them as they are");
    return DOCTOR_FINE;
}
