// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "agent/trace/trace.h"
#include "cli/run/run_program.h"
#include "cli/session/command.h"

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

bool run_has_apart_children(void)
{
    static const char link[] = "/proc/self/ns/pid_for_children";
    char ours[64];
    char theirs[64];
    struct stat status;
    ssize_t size = readlink("/proc/self/ns/pid", ours, sizeof(ours));
    if (size <= 0)
        return false;
    // A namespace without a process is not named yet.
    if (readlink(link, theirs, sizeof(theirs)) <= 0)
        return lstat(link, &status) == 0;
    return memcmp(ours, theirs, (size_t)size) != 0;
}

// Variables by which systemd names the process that sockets, or a watchdog, are for.
static const char *const process_variables[] = { "LISTEN_PID", "WATCHDOG_PID" };
enum { PROCESS_VARIABLES = sizeof(process_variables) / sizeof(process_variables[0]) };

static bool names_process(const char *variable, pid_t pid)
{
    const char *value = getenv(variable);
    return value != NULL && strtol(value, NULL, 10) == pid;
}

void run_rename(pid_t from)
{
    char number[16];
    (void)snprintf(number, sizeof(number), "%d", getpid());
    for (size_t i = 0; i < PROCESS_VARIABLES; i++) {
        if (names_process(process_variables[i], from))
            (void)setenv(process_variables[i], number, 1);
    }
}

// speaks_for_service returns true if systemd started this process and hears what it
// says of the service, by default from it alone.
static bool speaks_for_service(void)
{
    return getenv("NOTIFY_SOCKET") != NULL &&
           (names_process("SYSTEMD_EXEC_PID", getpid()) || getppid() == 1);
}

// has_alarm returns true if a timer runs that is to signal the program.
static bool has_alarm(void)
{
    struct itimerval timer = { .it_value = { 0 } };
    bool runs = false;
    for (int which = ITIMER_REAL; which <= ITIMER_PROF; which++)
        runs = runs || (getitimer(which, &timer) == 0 &&
                        (timer.it_value.tv_sec != 0 || timer.it_value.tv_usec != 0));
    return runs;
}

bool run_is_bound(void)
{
    const int policy = sched_getscheduler(0);
    int parent_ends = 0;
    bool named = false;
    (void)prctl(PR_GET_PDEATHSIG, &parent_ends);
    for (size_t i = 0; i < PROCESS_VARIABLES; i++)
        named = named || names_process(process_variables[i], getpid());
    // With the first process of a namespace all others end, and so would the report of
    // a program that takes its place.
    bool ends = parent_ends != 0 && getpid() != 1;
    return named || speaks_for_service() || ends || has_alarm() ||
           (policy >= 0 && (policy & SCHED_RESET_ON_FORK) != 0) ||
           run_has_apart_children();
}

int run_failed(const char *command, int error)
{
    (void)command_fail("cannot run '%s': %s", command, strerror(error));
    return error == ENOENT ? RUN_NO_COMMAND : RUN_NO_PERMISSION;
}

int run_unwatched(const char **arguments)
{
    (void)execvp(arguments[0], (char **)(uintptr_t)arguments);
    return run_failed(arguments[0], errno);
}
