// SPDX-License-Identifier: Apache-2.0
//
// Makes a program traced without being its parent. The tracer starts before the
// program, as a grandchild in a session of its own, and traces this process, which then
// becomes the program. So the program itself is the child of the process that started
// us: there is nothing between the two for its status, its signals and the terminal.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/live/permitted.h"
#include "cli/run/run_program.h"
#include "cli/session/command.h"

enum { CHANNEL_FD = 3 }; // REQUEST_CHANNEL_FD

// become_tracer makes the agent trace process pid. It keeps standard error, to
// recognize it later, and no other descriptor.
static void become_tracer(const char *agent, int channel, pid_t pid, char **kept)
{
    char number[16];
    const char *arguments[] = { "crashhook-agent", "--trace", number, NULL };
    int null = open("/dev/null", O_RDWR);
    (void)snprintf(number, sizeof(number), "%d", pid);
    (void)setsid();
    for (int fd = 0; fd < STDERR_FILENO; fd++)
        (void)dup2(null, fd);
    if (channel == CHANNEL_FD)
        (void)fcntl(channel, F_SETFD, 0);
    else
        (void)dup2(channel, CHANNEL_FD);
    (void)syscall(SYS_close_range, CHANNEL_FD + 1, ~0u, 0);
    (void)execve(agent, (char **)(uintptr_t)arguments, kept);
}

// start_tracer makes the tracer, a child of a child. The child in between has no exit
// signal, so that none is pending when the program starts, and is reaped here.
static bool start_tracer(const char *agent, int channel, char **kept)
{
    pid_t self = getpid();
    pid_t child = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, 0);
    if (child == 0) {
        if (fork() == 0)
            become_tracer(agent, channel, self, kept);
        _exit(0);
    }
    while (child > 0 && waitpid(child, NULL, __WALL) < 0 && errno == EINTR)
        continue;
    return child > 0;
}

static bool receive_tracer(int channel, int *out)
{
    ssize_t size;
    do
        size = read(channel, out, sizeof(*out));
    while (size < 0 && errno == EINTR);
    return size == (ssize_t)sizeof(*out);
}

// attach_tracer returns 0 if this process is traced, otherwise the errno of the
// failure.
static int attach_tracer(const char *agent, char **kept)
{
    int channel[2];
    int tracer = 0;
    int error = ECHILD;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) != 0)
        return errno;
    bool started = start_tracer(agent, channel[1], kept);
    (void)close(channel[1]);
    if (started && receive_tracer(channel[0], &tracer)) {
        (void)prctl(PR_SET_PTRACER, tracer, 0, 0, 0); // EINVAL without Yama
        (void)send(channel[0], "", 1, MSG_NOSIGNAL);
        if (!receive_tracer(channel[0], &error))
            error = ECHILD;
    }
    (void)close(channel[0]);
    return error;
}

int run_traced(const char *agent, const char **arguments, char **kept)
{
    char why[REFUSAL_MAX] = "the tracer did not start";
    int error = attach_tracer(agent, kept);
    if (error != 0) {
        if (error != ECHILD)
            refusal_explain(getpid(), error, why);
        (void)unsetenv(SETTINGS_TRACED);
        (void)command_fail("cannot trace '%s': %s; it runs without being watched",
                           arguments[0], why);
    }
    return run_unwatched(arguments);
}
