// SPDX-License-Identifier: Apache-2.0
//
// The channel to the agent, made in crash context (see crash.c), even in a full
// descriptor table: under a higher limit, otherwise in place of the last descriptors,
// in a table of this thread's own if others share it.
#include "handler/crash/crash.h"

#include <sched.h>

#include "handler/machine/machine.h"
#include "handler/machine/syscalls.h"

#include "handler/machine/poison.h"

void crash_close_from(unsigned first)
{
    struct rlimit limit = { 1024, 1024 };
    if (sys_close_range(first, ~0u) == 0)
        return;
    // Before Linux 5.9 there is no close_range: each is closed by its own call.
    sys_limit(RLIMIT_NOFILE, NULL, &limit);
    for (unsigned fd = first; fd < limit.rlim_cur && fd < 1u << 20; fd++)
        sys_close((int)fd);
}

long crash_make_channel(int *out_ends)
{
    enum { ROOM = 4 };
    struct rlimit old = { 0, 0 };
    long result = sys_socketpair(out_ends);
    if (result == 0 || sys_limit(RLIMIT_NOFILE, NULL, &old) != 0)
        return result;

    struct rlimit wider = { old.rlim_cur + ROOM, old.rlim_max };
    if (wider.rlim_cur <= old.rlim_max && sys_limit(RLIMIT_NOFILE, &wider, NULL) == 0)
        result = sys_socketpair(out_ends);
    if (result == 0 || old.rlim_cur < 2 * ROOM)
        return result;
    sys_unshare(CLONE_FILES);
    crash_close_from((unsigned)old.rlim_cur - ROOM);
    return sys_socketpair(out_ends);
}
