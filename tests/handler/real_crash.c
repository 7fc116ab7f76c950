// SPDX-License-Identifier: Apache-2.0
#include "handler/real_crash.h"

#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// One run at a time: what belongs to the running one.
static struct {
    pid_t pid;
    int output;
    double started;
} now;

static double clock_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

// forget_variables: variables of the run of the tests, such as CRASHHOOK_FULL, are not
// for the program.
static void forget_variables(void)
{
    static const char prefix[] = "CRASHHOOK_";
    size_t i = 0;
    while (environ[i] != NULL) {
        char name[128];
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(environ[i], "="), environ[i]);
        if (strncmp(name, prefix, sizeof(prefix) - 1) != 0 || unsetenv(name) != 0)
            i++;
    }
}

static void set_variables(const struct real_crash *run)
{
    char spool[128];
    char agent[128];
    char library[128];
    snprintf(spool, sizeof(spool), "%s/spool", run->folder);
    snprintf(agent, sizeof(agent), "%s/probe-agent", run->folder);
    snprintf(library, sizeof(library), "%s/library.so", run->folder);
    // Two variables that the agent is given and that mean nothing to the program.
    forget_variables();
    setenv("XDG_CACHE_HOME", run->folder, 1);
    setenv("CRASHHOOK_SPOOL", spool, 1);
    setenv("NO_COLOR", run->agent_way != NULL ? run->agent_way : "answer", 1);
    setenv("CRASHHOOK_AGENT", run->agent != NULL ? run->agent : agent, 1);
    if (!run->dlopens && !run->bare)
        setenv("LD_PRELOAD", library, 1);
    for (size_t i = 0; i < 8 && run->variables[i] != NULL; i++)
        putenv((char *)(uintptr_t)run->variables[i]);
}

static void become_program(const struct real_crash *run, int output)
{
    char errors[128];
    const rlim_t core = run->core_allowed ? RLIM_INFINITY : 0;
    const char *program = run->program != NULL ? run->program : VICTIM;

    snprintf(errors, sizeof(errors), "%s/errors", run->folder);
    setrlimit(RLIMIT_CORE, &(struct rlimit){ core, RLIM_INFINITY });
    dup2(output, STDOUT_FILENO);
    close(output);
    dup2(open(errors, O_WRONLY | O_CREAT | O_CLOEXEC, 0600), STDERR_FILENO);
    if (chdir(run->folder) != 0)
        _exit(90);
    if (run->no_standard_files) {
        close(0);
        close(1);
        close(2);
    }
    set_variables(run);
    execl(program, program, run->way, run->dlopens ? LIBRARY : NULL, NULL);
    _exit(91);
}

// start_as_first makes the program PID 1 of a namespace; the child made here only
// passes its status on.
static void start_as_first(const struct real_crash *run, int output)
{
    int status = 0;
    if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0)
        _exit(77);
    pid_t pid = fork();
    if (pid == 0) {
        if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
            mount("proc", "/proc", "proc", 0, NULL) != 0)
            _exit(77);
        become_program(run, output);
    }
    close(output);
    waitpid(pid, &status, 0);
    if (WIFEXITED(status))
        _exit(WEXITSTATUS(status));
    signal(WTERMSIG(status), SIG_DFL);
    kill(getpid(), WTERMSIG(status));
    pause();
}

static bool copy_agent(const char *path)
{
    struct stat status;
    int from = open(PROBE_AGENT, O_RDONLY | O_CLOEXEC);
    int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
    bool copied = from >= 0 && to >= 0 && fstat(from, &status) == 0 &&
                  sendfile(to, from, NULL, (size_t)status.st_size) == status.st_size;
    close(from);
    close(to);
    return copied;
}

// The build may lie where a program that has become another user cannot enter, so the
// agent is copied to the folder. LD_PRELOAD takes no path with a space, so the library
// is reached through a link.
void real_crash_prepare(struct real_crash *run)
{
    char agent[128];
    char library[128];
    snprintf(run->folder, sizeof(run->folder), "/tmp/crashhook-test-XXXXXX");
    if (mkdtemp(run->folder) == NULL || chmod(run->folder, 01777) != 0)
        fail("cannot make a folder");
    snprintf(agent, sizeof(agent), "%s/probe-agent", run->folder);
    snprintf(library, sizeof(library), "%s/library.so", run->folder);
    if (!copy_agent(agent) || symlink(LIBRARY, library) != 0)
        fail("cannot copy the agent");
}

void real_crash_start(struct real_crash *run)
{
    int ends[2];
    if (run->folder[0] == 0)
        real_crash_prepare(run);
    if (pipe2(ends, O_CLOEXEC) != 0)
        fail("cannot make a pipe");
    now.started = clock_ms();
    now.pid = fork();
    if (now.pid == 0) {
        if (run->first_of_namespace)
            start_as_first(run, ends[1]);
        become_program(run, ends[1]);
    }
    close(ends[1]);
    now.output = ends[0];
}

int real_crash_pid(const struct real_crash *run)
{
    (void)run;
    return now.pid;
}

static bool read_some(struct real_crash *run)
{
    size_t used = strlen(run->output);
    ssize_t got = read(now.output, run->output + used, sizeof(run->output) - 1 - used);
    return got > 0;
}

void real_crash_read(struct real_crash *run)
{
    while (strchr(run->output, '\n') == NULL && read_some(run))
        ;
}

static void read_file(const struct real_crash *run, const char *name, char *to,
                      size_t size)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", run->folder, name);
    int fd = open(path, O_RDONLY);
    ssize_t got = fd < 0 ? 0 : read(fd, to, size - 1);
    to[got > 0 ? got : 0] = 0;
    if (fd >= 0)
        close(fd);
}

static bool core_exists(const struct real_crash *run)
{
    char pattern[128];
    glob_t found;
    snprintf(pattern, sizeof(pattern), "%s/core*", run->folder);
    bool exists = glob(pattern, 0, NULL, &found) == 0;
    globfree(&found);
    return exists;
}

void real_crash_finish(struct real_crash *run)
{
    struct rusage usage;
    if (wait4(now.pid, &run->status, 0, &usage) != now.pid)
        fail("cannot wait for the program");
    run->ms = clock_ms() - now.started;
    while (read_some(run))
        ;
    run->output_ms = clock_ms() - now.started;
    close(now.output);
    read_file(run, "errors", run->errors, sizeof(run->errors));
    read_file(run, "record", run->records, sizeof(run->records));
    for (const char *at = run->records; (at = strchr(at, '\n')) != NULL; at++)
        run->record_count++;
    run->core_found = core_exists(run);
}

void real_crash(struct real_crash *run)
{
    real_crash_start(run);
    real_crash_finish(run);
}

static int remove_entry(const char *path, const struct stat *status, int kind,
                        struct FTW *walk)
{
    (void)status;
    (void)kind;
    (void)walk;
    return remove(path);
}

void real_crash_end(struct real_crash *run)
{
    nftw(run->folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

bool real_crash_says(const struct real_crash *run, const char *pair)
{
    char wanted[256];
    char first[sizeof(run->records) + 2];
    size_t length = strcspn(run->records, "\n");
    snprintf(wanted, sizeof(wanted), " %s ", pair);
    snprintf(first, sizeof(first), " %.*s ", (int)length, run->records);
    return strstr(first, wanted) != NULL;
}
