// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/attach.h"
#include "agent/read_file.h"
#include "cli/installed.h"
#include "upload/probe.h"
#include "upload/target.h"

enum { LOW_SPACE_BYTES = 64 << 20, SMALL_LIMIT_BYTES = 16 << 10 };

// await gives the exit code of a child, or 128 and the signal that ended it.
static int await(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// start_target forks a process that lets anybody trace it and waits for its end.
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

// trace_sibling is errno of an attempt to report target from a process that is no
// ancestor of it, which is what the agent is to a crashed program.
static int trace_sibling(const struct session *session, pid_t target)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct text report = { 0 };
        enum ch_status status =
            attach_report(target, &session->settings, NULL, &report, NULL);
        _exit(status == CH_OK ? 0 : errno != 0 ? errno : EIO);
    }
    return pid > 0 ? await(pid) : errno;
}

static void append_yama(struct text *line)
{
    struct text scope = { 0 };
    if (read_file("/proc/sys/kernel/yama/ptrace_scope", SMALL_LIMIT_BYTES, &scope) ==
        CH_OK)
        text_appendf(line, " (kernel.yama.ptrace_scope is %.1s)", scope.bytes);
    text_deinit(&scope);
}

enum doctor_verdict doctor_ptrace(struct session *session, struct text *line)
{
    pid_t target = start_target();
    int error = target > 0 ? trace_sibling(session, target) : errno;
    if (target > 0) {
        kill(target, SIGKILL);
        await(target);
    }
    if (error == 0) {
        text_append_string(line, "a crashed process can be stopped and read");
        append_yama(line);
        return DOCTOR_FINE;
    }
    text_appendf(line, "a crashed process cannot be stopped: %s",
                 error > 0 ? strerror(error) : "the attempt was killed");
    append_yama(line);
    text_append_string(line, "; allow ptrace (CAP_SYS_PTRACE, or "
                             "kernel.yama.ptrace_scope below 3)");
    return DOCTOR_TROUBLE;
}

// status_value is the number behind key in /proc/self/status, or 0.
static long status_value(const char *key)
{
    struct text status = { 0 };
    const char *at = NULL;
    if (read_file("/proc/self/status", SMALL_LIMIT_BYTES, &status) == CH_OK)
        at = strstr(status.bytes, key);
    long value = at != NULL ? strtol(at + strlen(key), NULL, 10) : 0;
    text_deinit(&status);
    return value;
}

enum doctor_verdict doctor_confinement(struct session *session, struct text *line)
{
    (void)session;
    bool filtered = status_value("\nSeccomp:") == 2;
    bool bounded = status_value("\nNoNewPrivs:") == 1;
    if (!filtered && !bounded) {
        text_append_string(line, "no seccomp filter, no no_new_privs");
        return DOCTOR_FINE;
    }
    text_appendf(line, "%s%s%s: what the other lines say holds in here",
                 filtered ? "a seccomp filter" : "", filtered && bounded ? " and " : "",
                 bounded ? "no_new_privs" : "");
    return DOCTOR_NOTE;
}

enum doctor_verdict doctor_library(struct session *session, struct text *line)
{
    char path[PATH_MAX];
    (void)session;
    if (!installed_library(path)) {
        text_append_string(line,
                           "the library of the handler is not beside this program; "
                           "install it again");
        return DOCTOR_TROUBLE;
    }
    text_append_string(line, path);
    return DOCTOR_FINE;
}

enum doctor_verdict doctor_agent(struct session *session, struct text *line)
{
    char path[PATH_MAX];
    const char *agent = session->settings.agent;
    if (agent == NULL && installed_agent(path))
        agent = path;
    if (agent == NULL) {
        text_append_string(line, "crashhook-agent is not where it should be; install "
                                 "it again or set CRASHHOOK_AGENT");
        return DOCTOR_TROUBLE;
    }
    // Without a channel to a crashed process it has nothing to do, and says so by 1.
    pid_t pid = fork();
    if (pid == 0) {
        close(3);
        unsetenv("CRASHHOOK_LOG");
        execl(agent, "crashhook-agent", (char *)NULL);
        _exit(127);
    }
    int code = pid > 0 ? await(pid) : -1;
    text_append_string(line, agent);
    if (code == 1)
        return DOCTOR_FINE;
    text_append_string(line, " cannot be run; set CRASHHOOK_AGENT to one that can");
    return DOCTOR_TROUBLE;
}

enum doctor_verdict doctor_spool(struct session *session, struct text *line)
{
    struct statvfs room;
    char id[REPORT_ID_SIZE];
    int fd;
    enum ch_status status =
        settings_spool_path(&session->settings, session_getenv, NULL,
                            session->spool_path, sizeof(session->spool_path));
    if (status != CH_OK) {
        text_append_string(line, "no spool: set CRASHHOOK_SPOOL or HOME");
        return DOCTOR_TROUBLE;
    }
    report_id_make((uint64_t)time(NULL) * 1000, id);
    status = spool_open(session->spool_path, SPOOL_CREATE, &session->spool);
    if (status == CH_OK)
        status = spool_create(&session->spool, id, &fd);
    text_append_string(line, session->spool_path);
    if (status != CH_OK) {
        text_appendf(line,
                     " cannot be written to: %s; set CRASHHOOK_SPOOL to a folder "
                     "that can",
                     spool_why(status));
        return DOCTOR_TROUBLE;
    }
    spool_discard(&session->spool, id);
    close(fd);
    if (fstatvfs(session->spool.folder_fd, &room) != 0)
        return DOCTOR_FINE;
    uint64_t left = (uint64_t)room.f_bavail * room.f_frsize;
    text_appendf(line, ", %llu MiB free", (unsigned long long)(left >> 20));
    return left < LOW_SPACE_BYTES ? DOCTOR_NOTE : DOCTOR_FINE;
}

static void note_refused(void *context, const char *shown)
{
    text_appendf(context, "'%s' is no target; ", shown);
}

enum doctor_verdict doctor_targets(struct session *session, struct text *line)
{
    struct target_list targets;
    bool reachable = true;
    if (session->settings.url == NULL) {
        text_append_string(line, "CRASHHOOK_URL is not set: reports stay in the spool");
        return DOCTOR_NOTE;
    }
    if (target_list_parse(session->settings.url, note_refused, line, &targets) != CH_OK)
        return DOCTOR_TROUBLE;
    bool refused = line->size != 0;
    for (size_t i = 0; i < targets.count; i++) {
        char why[256];
        bool answers = probe_target(&targets.targets[i], why, sizeof(why)) == CH_OK;
        text_appendf(line, "%s%s %s", i != 0 ? "; " : "", targets.targets[i].shown,
                     why);
        reachable = reachable && answers;
    }
    target_list_deinit(&targets);
    // What cannot be sent waits in the spool, so nothing is lost yet.
    return refused || !reachable ? DOCTOR_TROUBLE : DOCTOR_FINE;
}

enum doctor_verdict doctor_core(struct session *session, struct text *line)
{
    struct text pattern = { 0 };
    (void)session;
    if (read_file("/proc/sys/kernel/core_pattern", SMALL_LIMIT_BYTES, &pattern) ==
        CH_OK)
        text_appendf(line,
                     "kernel.core_pattern is '%.*s'; crashhook leaves them as "
                     "they are",
                     (int)strcspn(pattern.bytes, "\n"), pattern.bytes);
    text_deinit(&pattern);
    return DOCTOR_FINE;
}

// run_test_crash runs `crashhook run -- crashhook doctor test-crash` with a spool of
// its own and gives its exit code.
static int run_test_crash(const char *self, const char *spool)
{
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        unsetenv("CRASHHOOK_URL");
        execl(self, "crashhook", "run", "--enable", "yes", "--signals", "SEGV",
              "--spool", spool, "--symbolize", "fast", "--", self, "doctor",
              "test-crash", (char *)NULL);
        _exit(127);
    }
    return pid > 0 ? await(pid) : -1;
}

// count_and_remove empties the spool folder and gives how many reports it held.
static size_t count_and_remove(const char *folder)
{
    struct spool spool;
    struct spool_listing listing = { 0 };
    if (spool_open(folder, SPOOL_WRITE, &spool) != CH_OK)
        return 0;
    enum ch_status status = spool_list(&spool, &listing);
    size_t count = status == CH_OK ? listing.count : 0;
    for (size_t i = 0; i < count; i++)
        (void)!spool_remove(&spool, listing.entries[i].id);
    spool_listing_deinit(&listing);
    spool_close(&spool);
    return count;
}

enum doctor_verdict doctor_crash(struct session *session, struct text *line)
{
    enum { DIED_BY_SEGV = 128 + SIGSEGV };
    char folder[] = "/tmp/crashhook-doctor.XXXXXX";
    char self[PATH_MAX];
    struct timespec begin;
    struct timespec end;
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    (void)session;
    if (length <= 0 || mkdtemp(folder) == NULL) {
        text_appendf(line, "cannot be tried: %s", strerror(errno));
        return DOCTOR_TROUBLE;
    }
    self[length] = 0;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    int code = run_test_crash(self, folder);
    clock_gettime(CLOCK_MONOTONIC, &end);
    size_t reports = count_and_remove(folder);
    rmdir(folder);
    if (code != DIED_BY_SEGV || reports != 1) {
        text_appendf(line,
                     "a program that crashed ended with %d and left %zu reports "
                     "(expected: %d and 1)",
                     code, reports, DIED_BY_SEGV);
        return DOCTOR_TROUBLE;
    }
    long ms =
        (end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000;
    text_appendf(line, "a program crashed and was reported within %ld ms", ms);
    return DOCTOR_FINE;
}
