// SPDX-License-Identifier: Apache-2.0
//
// Waiting for the end of a process that need not be our child, by pidfd_open(2): where
// a kernel before Linux 5.3 or a filter does not have that, no end is seen.
#pragma once
#include <poll.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

// process_await_end waits at most so many milliseconds until a process has ended,
// though nobody may have waited for it yet. False: not in time, or it cannot be
// watched, because it has exited.
static inline bool process_await_end(pid_t pid, int most_ms)
{
    struct pollfd end = { .fd = (int)syscall(SYS_pidfd_open, pid, 0),
                          .events = POLLIN };
    if (end.fd < 0)
        return false;
    bool ended = poll(&end, 1, most_ms) == 1;
    (void)close(end.fd);
    return ended;
}
