// SPDX-License-Identifier: Apache-2.0
#include "agent/daemon.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/finish.h"

// receive_channel waits for the next crash. -1: no process that could crash is left.
static int receive_channel(int socket)
{
    char byte;
    struct iovec piece = { &byte, 1 };
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    for (;;) {
        struct msghdr message = { .msg_iov = &piece,
                                  .msg_iovlen = 1,
                                  .msg_control = &control,
                                  .msg_controllen = sizeof(control) };
        ssize_t count = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return -1;
        const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        if (head == NULL || head->cmsg_level != SOL_SOCKET ||
            head->cmsg_type != SCM_RIGHTS || head->cmsg_len != CMSG_LEN(sizeof(int)))
            continue;
        int channel;
        memcpy(&channel, CMSG_DATA(head), sizeof(channel));
        return channel;
    }
}

// take_daemon_request moves the request's channel to the descriptor that the rest of
// the agent expects.
static void take_daemon_request(int socket, int channel, int wanted)
{
    (void)signal(SIGCHLD, SIG_DFL);
    if (socket != wanted)
        (void)close(socket);
    (void)dup2(channel, wanted);
    (void)close(channel);
}

// daemon_await_death waits until the process that made the socket is dead, which may
// have closed its end before.
static void daemon_await_death(int socket)
{
    enum { DEATH_MS = 5000 };
    struct ucred maker = { 0 };
    socklen_t size = sizeof(maker);
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &maker, &size) != 0)
        return;
    struct pollfd death = { .fd = (int)syscall(SYS_pidfd_open, maker.pid, 0),
                            .events = POLLIN };
    if (death.fd >= 0)
        (void)poll(&death, 1, DEATH_MS);
}

// daemon_end makes a report of the program if it was killed.
static void daemon_end(int socket, const struct settings *settings)
{
    if (settings->kills != KILLS_NO) {
        daemon_await_death(socket);
        finish_sweep(settings->url != NULL ? "upload" : "list");
    }
    exit(0);
}

void daemon_serve(int socket, int channel, const struct settings *settings)
{
    int received;
    (void)signal(SIGCHLD, SIG_IGN); // so that the kernel reaps the children
    while ((received = receive_channel(socket)) >= 0) {
        pid_t pid = fork();
        if (pid == 0) {
            take_daemon_request(socket, received, channel);
            return;
        }
        (void)close(received); // after a failed fork, closing tells the handler so
    }
    daemon_end(socket, settings);
}
