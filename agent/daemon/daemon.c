// SPDX-License-Identifier: Apache-2.0
#include "agent/daemon/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/daemon/daemon_keep.h"
#include "agent/daemon/warm.h"
#include "agent/live/request.h"
#include "agent/raw/finish.h"
#include "base/system/file.h"
#include "shared/request_page.h"

// DAEMON_NONE is receive_channel's answer where no process that could crash is left;
// DAEMON_AGAIN: nothing has come.
enum { DAEMON_NONE = -1, DAEMON_AGAIN = -2 };

// channel_of is the descriptor in a message that has one, and one only. The kernel
// reports its sender.
static int channel_of(struct msghdr *message)
{
    struct ucred caller = { 0 };
    int channel = -1;
    for (struct cmsghdr *head = CMSG_FIRSTHDR(message); head != NULL;
         head = CMSG_NXTHDR(message, head)) {
        if (head->cmsg_level != SOL_SOCKET)
            continue;
        if (head->cmsg_type == SCM_CREDENTIALS)
            memcpy(&caller, CMSG_DATA(head), sizeof(caller));
        size_t bytes = head->cmsg_type == SCM_RIGHTS ? head->cmsg_len - CMSG_LEN(0) : 0;
        for (size_t at = 0; at + sizeof(int) <= bytes; at += sizeof(int)) {
            file_close(&channel);
            memcpy(&channel, CMSG_DATA(head) + at, sizeof(channel));
        }
    }
    request_expect(&caller);
    return channel;
}

// receive_channel receives the next crash.
static int receive_channel(int socket)
{
    char byte;
    struct iovec piece = { &byte, 1 };
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int))];
    } control;
    for (;;) {
        struct msghdr message = { .msg_iov = &piece,
                                  .msg_iovlen = 1,
                                  .msg_control = &control,
                                  .msg_controllen = sizeof(control) };
        ssize_t count = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0 && errno == EAGAIN)
            return DAEMON_AGAIN;
        if (count <= 0)
            return DAEMON_NONE;
        int channel = channel_of(&message);
        if (channel >= 0)
            return channel;
    }
}

// take_daemon_request moves the request's channel to the descriptor that the rest of
// the agent expects.
static void take_daemon_request(int channel, int wanted)
{
    sigset_t none;
    (void)signal(SIGCHLD, SIG_DFL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (channel == wanted)
        return;
    (void)dup2(channel, wanted);
    (void)close(channel);
}

static pid_t socket_maker(int socket)
{
    struct ucred maker = { 0 };
    socklen_t size = sizeof(maker);
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &maker, &size) == 0 ? maker.pid
                                                                           : 0;
}

// serve_crash forks the process that reports a crash, and is true in that.
static bool serve_crash(struct daemon_keep *keep, int socket, int received, int channel)
{
    daemon_keep_detach(keep);
    pid_t pid = fork();
    if (pid == 0) {
        daemon_keep_deinit(keep);
        (void)close(socket);
        take_daemon_request(received, channel);
        return true;
    }
    (void)close(received); // after a failed fork, closing notifies the handler
    return false;
}

// daemon_serves_itself: others must not have to wait for long, and a program must not
// be left without its supervisor.
bool daemon_serves_itself(const struct settings *settings)
{
    return settings->kills == KILLS_NO && settings->starts != SETTING_YES &&
           (settings->hold == HOLD_AUTO || settings->hold == HOLD_CAPTURE);
}

enum daemon_wants daemon_serve(int socket, int channel, const struct settings *settings,
                               struct trace_report *out, int *out_again)
{
    static struct daemon_keep keep = { .pidfd = -1,
                                       .live = { .fd = -1, .copier = -1 } };
    const int on = 1;
    (void)setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
    (void)setsid();                 // the handler leaves that to us
    (void)signal(SIGCHLD, SIG_IGN); // so that the kernel reaps the children
    *out_again = -1;
    int moved = socket == channel ? fcntl(socket, F_DUPFD_CLOEXEC, channel + 1) : -1;
    if (moved >= 0) {
        // The number stays taken until a crash's channel has it.
        (void)dup3(moved, channel, O_CLOEXEC);
        socket = moved;
    }
    struct pollfd crashes = { .fd = socket, .events = POLLIN };
    bool itself = socket != channel && daemon_serves_itself(settings);
    if (settings->kills == KILLS_SEIZE) // others begin when the record comes
        daemon_keep_begin(&keep, socket, settings);
    if (itself)
        warm_begin(socket_maker(socket), settings);
    while (crashes.fd >= 0 || keep.pid != 0) {
        daemon_keep_wait(&keep, &crashes);
        int received = crashes.revents != 0 ? receive_channel(socket) : DAEMON_AGAIN;
        if (received >= 0 && daemon_keep_take(&keep, socket, settings, received))
            continue;
        if (received >= 0 && itself) {
            take_daemon_request(received, channel);
            *out_again = socket;
            return DAEMON_CRASH;
        }
        if (received >= 0 && serve_crash(&keep, socket, received, channel))
            return DAEMON_CRASH;
        if (received == DAEMON_NONE) {
            // A process that executed a program may have another agent.
            daemon_keep_detach(&keep);
            crashes.fd = -1;
        }
        if (daemon_keep_look(&keep, crashes.fd < 0, out) == DAEMON_REPORTS)
            return DAEMON_KILL;
    }
    exit(0);
}

// raise_again removes a limit that applied to one report.
static void raise_again(int resource)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(resource, &limit);
}

void daemon_again(int socket)
{
    raise_again(RLIMIT_AS);
    raise_again(RLIMIT_CPU);
    (void)dup2(socket, REQUEST_CHANNEL_FD);
    execl("/proc/self/exe", "crashhook-agent", "--daemon", (char *)NULL);
    // The next crash finds nobody at the socket, and starts an agent.
    _exit(EXIT_FAILURE);
}
