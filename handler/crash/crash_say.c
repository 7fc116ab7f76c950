// SPDX-License-Identifier: Apache-2.0
//
// One line for a crash without a report, in crash context (see crash.c): on standard
// error and in the system's log, with the program, the signal, the reason and what can
// be done. The reason is the agent's where it ran, otherwise one of these. A crash
// whose record will be found needs no line.
#include "handler/crash/crash.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/un.h>

#include "handler/crash/crash_trust.h"
#include "handler/machine/file_syscalls.h"
#include "handler/machine/machine.h"
#include "handler/machine/syscalls.h"

#include "handler/machine/poison.h"

// The line on standard error begins after this, which is for the system's log: LOG_USER
// | LOG_ERR.
#define PRIORITY "<11>"

enum {
    PRIORITY_SIZE = sizeof(PRIORITY) - 1,
    PLACE_SIZE = offsetof(struct sockaddr_un, sun_path) + sizeof("/dev/log")
};

// say_text appends text at to, at most as much as the agent's reason may have.
static char *say_text(char *to, const char *text)
{
    for (size_t i = 0; i < REQUEST_WHY_MAX && text[i] != 0; i++)
        *to++ = text[i];
    return to;
}

// say_program appends the name of the executable, which is the same in all threads,
// unlike the command name. A chroot may have no /proc.
static char *say_program(char *to)
{
    char path[1024];
    long end = sys_readlink("/proc/thread-self/exe", path, sizeof(path) - 1);
    long start = end;
    if (end <= 0)
        return say_text(to, crash_state.helper.thread_name);
    path[end] = 0;
    while (start > 0 && path[start - 1] != '/')
        start--;
    return say_text(to, path + start);
}

// say_signal appends the signal's name, or its number.
static char *say_signal(char *to, int signal)
{
    to = say_text(to, "SIG");
    if (signal_in(SIGNALS_CRASH, signal))
        return say_text(to, signal_words[signal]);
    *to++ = (char)('0' + signal / 10);
    *to++ = (char)('0' + signal % 10);
    return to;
}

static char *say_no_agent(char *to)
{
    if (crash_distrusted == NULL)
        return say_text(to, "no agent starts");
    to = say_text(to, "users other than root and its own can change the agent '");
    return say_text(say_text(to, crash_distrusted), "'");
}

static char *say_record(char *to, const char *folder)
{
    to = say_no_agent(say_text(to, " yet: "));
    to = say_text(to, "; its record is in '");
    to = say_text(to, folder);
    return say_text(to, "' as it sees that; set CRASHHOOK_AGENT or, in a chroot, "
                        "CRASHHOOK_MODE=daemon\n");
}

static char *say_reason(char *to, enum record_reason reason)
{
    to = say_text(to, ": ");
    if (crash_state.why[0] != 0)
        return say_text(to, crash_state.why);
    if (reason == RECORD_AGENT_LATE)
        to = say_text(to, "the agent is late");
    else if (reason == RECORD_AGENT_GONE)
        to = say_text(to, "the agent ended");
    else
        to = say_no_agent(to);
    return say_text(to, " and no spool takes a record; see 'crashhook doctor'\n");
}

// is_for_lines returns true if descriptor 2 is what it was at install, or can only be
// for messages. A daemon may have a data file there by now.
static bool is_for_lines(void)
{
    struct stat now = { 0 };
    struct pollfd room = { .fd = 2, .events = POLLOUT };
    if (sys_status(2, &now) != 0)
        return false;
    // This file may be on the very disk that hangs the helper.
    if (S_ISREG(now.st_mode) && crash_state.helper.state != CRASH_HELPER_GONE)
        return false;
    bool same =
        now.st_dev == crash_plan->error_device && now.st_ino == crash_plan->error_inode;
    bool appended = S_ISREG(now.st_mode) && (sys_file_flags(2) & O_APPEND) != 0;
    if (!same && !appended && !S_ISCHR(now.st_mode) && !S_ISFIFO(now.st_mode))
        return false;
    // The reader may have stopped; the program must not wait for it.
    return sys_poll(&room, 1, 0) == 1 && (room.revents & POLLOUT) != 0;
}

// say_to_log sends the line to the log daemon or, where there is none, to the kernel's
// log.
static void say_to_log(char *line, size_t size)
{
    struct sockaddr_un place;
    place.sun_family = AF_UNIX;
    *say_text(place.sun_path, "/dev/log") = 0;
    int fd = sys_log_socket();
    bool said = fd >= 0 && sys_send_to(fd, line, size, &place, PLACE_SIZE) > 0;
    if (fd >= 0)
        sys_close(fd);
    fd = said ? -1 : sys_open("/dev/kmsg", O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return;
    sys_write(fd, line, size);
    sys_close(fd);
}

void crash_say_unreported(enum record_reason reason, const char *folder)
{
    char *line = crash_plan->scratch;
    char *to = say_text(line, PRIORITY "crashhook: ");
    to = say_program(to);
    to = say_text(to, ": ");
    to = say_signal(to, crash_state.signal);
    to = say_text(to, " is not reported");
    to = folder != NULL ? say_record(to, folder) : say_reason(to, reason);
    size_t size = (size_t)(to - line);
    if (is_for_lines())
        sys_write(2, line + PRIORITY_SIZE, size - PRIORITY_SIZE);
    // A seccomp filter that has not seen these calls before might answer them with a
    // signal.
    if (sys_prctl(PR_GET_SECCOMP, 0) == 0)
        say_to_log(line, size);
}
