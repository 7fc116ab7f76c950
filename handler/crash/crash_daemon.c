// SPDX-License-Identifier: Apache-2.0
//
// Asking the agent that was started at install (CRASHHOOK_MODE=daemon), in crash
// context (see crash.c). It is sent one end of a channel for this crash alone, so that
// the program's children, which share the socket to it, do not receive each other's
// answers.
#include "handler/crash/crash.h"

#include <sys/prctl.h>
#include <sys/stat.h>

#include "handler/crash/crash_valgrind.h"
#include "handler/machine/file_syscalls.h"
#include "handler/machine/machine.h"
#include "handler/machine/syscalls.h"

#include "handler/machine/poison.h"

// daemon_is_there returns true if the descriptor is still our socket: the program may
// have closed it and reused its number.
static bool daemon_is_there(void)
{
    struct stat now = { 0 };
    return crash_state.daemon_pid > 0 &&
           sys_status(crash_state.daemon_socket, &now) == 0 &&
           now.st_ino == crash_state.daemon_inode;
}

long crash_send_descriptor(int socket, int fd)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(fd))];
    } control = { .head = { .cmsg_len = CMSG_LEN(sizeof(fd)),
                            .cmsg_level = SOL_SOCKET,
                            .cmsg_type = SCM_RIGHTS } };
    *(int *)(void *)CMSG_DATA(&control.head) = fd;
    char byte = 'C';
    struct iovec piece = { &byte, 1 };
    const struct msghdr message = { .msg_iov = &piece,
                                    .msg_iovlen = 1,
                                    .msg_control = &control,
                                    .msg_controllen = sizeof(control) };
    return machine_call3(SYS_sendmsg, socket, (long)&message,
                         MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool crash_ask_daemon(struct crash_agent *out)
{
    int ends[2] = { -1, -1 };

    if (!daemon_is_there() || crash_make_channel(ends) != 0)
        return false;
    bool sent = crash_send_descriptor(crash_state.daemon_socket, ends[1]) > 0;
    sys_close(ends[1]);
    if (!sent) {
        sys_close(ends[0]);
        return false;
    }
    crash_plan->page->agent_pid = crash_state.daemon_pid;
    *out = (struct crash_agent){
        .channel = ends[0], .pidfd = -1, .tracer = crash_state.daemon_pid, .stays = true
    };
    return true;
}

static int started_channel;

// start_daemon is a machine_child_fn. It returns 1 if it leaves a started_channel.
static int start_daemon(void *unused)
{
    (void)unused;
    struct crash_agent agent;
    bool started = crash_start_agent(&agent, crash_plan->daemon_argv);
    crash_helper_end();
    if (started)
        started_channel = agent.channel;
    return started;
}

int crash_start_daemon(void)
{
    return crash_run_natively(start_daemon) ? started_channel : -1;
}

// crash_may_start is false for a program that had its agent started beforehand and now
// has a seccomp filter, which might kill it for starting another.
bool crash_may_start(void)
{
    return crash_state.daemon_pid == 0 || sys_prctl(PR_GET_SECCOMP, 0) == 0;
}
