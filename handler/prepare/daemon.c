// SPDX-License-Identifier: Apache-2.0
#include "handler/prepare/daemon.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "handler/crash/crash.h"
#include "handler/machine/file_syscalls.h"
#include "handler/machine/machine.h"
#include "handler/machine/syscalls.h"

// Above the numbers that programs expect to get or to be free.
enum { LEAST_DESCRIPTOR = 512 };

static int move_up(int fd)
{
    int moved = (int)machine_call3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, LEAST_DESCRIPTOR);
    if (moved < 0)
        return fd;
    sys_close(fd);
    return moved;
}

// forget_daemon closes our end only: the earlier agent stays for other processes that
// hold its socket.
static void forget_daemon(void)
{
    struct stat now;
    if (crash_state.daemon_pid > 0 &&
        sys_status(crash_state.daemon_socket, &now) == 0 &&
        now.st_ino == crash_state.daemon_inode)
        sys_close(crash_state.daemon_socket);
    crash_state.daemon_pid = 0;
}

bool daemon_start(int liveness_fd, bool serves)
{
    struct stat now;
    if (serves)
        forget_daemon();
    crash_plan->page->deadline_monotonic_ns =
        sys_clock_ns(CLOCK_MONOTONIC) + crash_plan->timeout_ns;
    int channel = crash_start_daemon();
    if (channel < 0)
        return false;
    // The agent asks for the sender of each message, but one may come before it has.
    const int on = 1;
    int fd = serves ? move_up(channel) : channel;
    machine_call(SYS_setsockopt, fd, SOL_SOCKET, SO_PASSCRED, (long)&on, sizeof(on));
    if (liveness_fd >= 0)
        (void)crash_send_descriptor(fd, liveness_fd);
    if (!serves || !crash_agent_started() || sys_status(fd, &now) != 0) {
        sys_close(fd);
        return false;
    }
    crash_state.daemon_socket = fd;
    crash_state.daemon_inode = now.st_ino;
    crash_state.daemon_pid = crash_plan->page->agent_pid;
    return true;
}
