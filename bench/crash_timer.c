// SPDX-License-Identifier: Apache-2.0
//
// crash_timer SPOOL COMMAND...: runs COMMAND, which writes the time to its standard
// output and crashes, and prints what became of it on one line of JSON: microseconds
// from that time until the process was gone, until a report was in SPOOL, and until the
// report was last rewritten; and the size of the report. A SPOOL of `-` expects none.
//
// It is the subreaper of its descendants, so the agent becomes its child when the
// program has died.
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct result {
    int64_t crash_ns;
    int64_t gone_ns;
    int64_t raw_ns;
    int64_t done_ns;
    int64_t report_bytes;
    char name[256]; // of the report
    int status;
};

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static pid_t start(char **command, int *out_pipe)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        execvp(command[0], command);
        _exit(127);
    }
    close(ends[1]);
    *out_pipe = ends[0];
    return pid;
}

// note_report notes the time alone: what takes longer would delay the reaping.
static void note_report(const char *name, struct result *result)
{
    size_t length = strlen(name);
    if (length <= 5 || length >= sizeof(result->name) ||
        strcmp(name + length - 5, ".json") != 0)
        return;
    result->done_ns = now_ns();
    if (result->raw_ns == 0)
        result->raw_ns = result->done_ns;
    memcpy(result->name, name, length + 1);
}

// note_events notes when reports appeared.
static void note_events(int watch, struct result *result)
{
    static _Alignas(struct inotify_event) char buffer[8192];
    ssize_t length = read(watch, buffer, sizeof(buffer));

    for (ssize_t at = 0; at < length;) {
        const struct inotify_event *event = (const void *)(buffer + at);
        note_report(event->name, result);
        at += (ssize_t)(sizeof(*event) + event->len);
    }
}

static void measure_report(const char *spool, struct result *result)
{
    char path[4096];
    struct stat seen;
    snprintf(path, sizeof(path), "%s/%s", spool, result->name);
    if (result->name[0] != 0 && stat(path, &seen) == 0)
        result->report_bytes = seen.st_size;
}

// reap reaps the processes that have ended; false: none is left.
static bool reap(pid_t program, struct result *result)
{
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG);
        if (pid <= 0)
            return pid == 0;
        if (pid == program) {
            result->gone_ns = now_ns();
            result->status = status;
        }
    }
}

static void on_child(int number)
{
    (void)number;
}

// follow waits until every process has ended.
static void follow(pid_t program, int watch, struct result *result)
{
    struct pollfd events = { .fd = watch, .events = POLLIN };
    sigset_t none;

    sigemptyset(&none);
    while (reap(program, result)) {
        if (ppoll(&events, 1, NULL, &none) > 0)
            note_events(watch, result);
    }
    if (poll(&events, 1, 0) > 0)
        note_events(watch, result);
}

static double since_crash_us(const struct result *result, int64_t ns)
{
    return ns == 0 ? -1 : (double)(ns - result->crash_ns) / 1000;
}

static void print(const struct result *r)
{
    printf("{\"signal\": %d, \"gone_us\": %.1f, \"raw_us\": %.1f, \"done_us\": %.1f, "
           "\"report_bytes\": %ld}\n",
           WIFSIGNALED(r->status) ? WTERMSIG(r->status) : 0,
           since_crash_us(r, r->gone_ns), since_crash_us(r, r->raw_ns),
           since_crash_us(r, r->done_ns), (long)r->report_bytes);
}

int main(int argc, char **argv)
{
    struct result result = { 0 };
    struct sigaction action = { .sa_handler = on_child };
    sigset_t blocked;
    int output;

    if (argc < 3)
        return 2;
    sigaction(SIGCHLD, &action, NULL);
    int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (strcmp(argv[1], "-") != 0 &&
        inotify_add_watch(watch, argv[1], IN_MOVED_TO | IN_CREATE) < 0)
        return 3;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    note_events(watch, &result); // there are none, but the next call is not the first

    pid_t program = start(&argv[2], &output);
    // From here on SIGCHLD is delivered only inside ppoll; reap checks before it waits.
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    if (program < 0 || read(output, &result.crash_ns, 8) != 8)
        return 4;
    follow(program, watch, &result);
    measure_report(argv[1], &result);
    print(&result);
    return 0;
}
