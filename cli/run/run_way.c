// SPDX-License-Identifier: Apache-2.0
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/trace/trace.h"
#include "cli/run/run_program.h"
#include "cli/session/installed.h"

// gains_nothing_from_exec returns true if exec can take nothing from a traced program:
// root in a container, say, has CAP_SETUID and every capability that any program there
// can get, so that it has what a file gives, traced or not.
static bool gains_nothing_from_exec(void)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };
    if (syscall(SYS_capget, &header, data) != 0)
        return false;
    for (unsigned i = 0; i < 64 && prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++) {
        if (prctl(PR_CAPBSET_READ, i, 0, 0, 0) == 1 &&
            (data[CAP_TO_INDEX(i)].permitted & CAP_TO_MASK(i)) == 0)
            return false;
    }
    return (data[CAP_TO_INDEX(CAP_SETUID)].effective & CAP_TO_MASK(CAP_SETUID)) != 0;
}

enum run_way run_way_of(const struct program *program)
{
    char library[PATH_MAX];
    switch (program->kind) {
    case PROGRAM_DYNAMIC:
    case PROGRAM_UNKNOWN:
        return installed_library(library) ? RUN_WAY_PRELOAD : RUN_WAY_TRACE;
    case PROGRAM_SANITIZED:
    case PROGRAM_HAS_HANDLER:
        return RUN_WAY_PRELOAD;
    case PROGRAM_PRIVILEGED:
        return trace_keeps_privileges() || gains_nothing_from_exec()
                   ? RUN_WAY_TRACE
                   : RUN_WAY_UNWATCHED;
    default:
        return RUN_WAY_TRACE;
    }
}
