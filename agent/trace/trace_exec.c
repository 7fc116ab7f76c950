// SPDX-License-Identifier: Apache-2.0
//
// Messages about a traced program: that a crash is not reported, and what exec takes
// from it. The kernel starts a program that would gain privileges without them, unless
// the tracer has CAP_SYS_PTRACE (ptrace(2)).
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <syslog.h>
#include <unistd.h>

#include "agent/trace/trace_state.h"
#include "images/read_file.h"
#include "report/summary/signal_name.h"

enum { STATUS_LIMIT_BYTES = 16 << 10 };

bool trace_keeps_privileges(void)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };
    return syscall(SYS_capget, &header, data) == 0 &&
           (data[CAP_TO_INDEX(CAP_SYS_PTRACE)].effective &
            CAP_TO_MASK(CAP_SYS_PTRACE)) != 0;
}

int trace_standard_file(pid_t pid, int number)
{
    int process = (int)syscall(SYS_pidfd_open, pid, 0);
    if (process < 0)
        return -1;
    int fd = (int)syscall(SYS_pidfd_getfd, process, number, 0);
    close(process);
    return fd;
}

void trace_say(pid_t pid, const struct stat *original, const char *format, ...)
{
    struct stat now;
    va_list arguments;
    int fd = trace_standard_file(pid, STDERR_FILENO);
    if (fd < 0)
        return;
    if (original->st_ino != 0 && fstat(fd, &now) == 0 &&
        now.st_dev == original->st_dev && now.st_ino == original->st_ino) {
        va_start(arguments, format);
        (void)vdprintf(fd, format, arguments);
        va_end(arguments);
    }
    close(fd);
}

void trace_unreported(const struct trace_report *report, const char *why)
{
    const struct agent_request *request = &report->request;
    const char *signal = signal_name(request->crash.info.si_signo);
    struct text path = { 0 };
    const char *name = "program";
    if (read_process_link(request->pid, "exe", &path) == CH_OK &&
        strrchr(path.bytes, '/') != NULL)
        name = strrchr(path.bytes, '/') + 1;
    trace_say(request->pid, &report->standard_error,
              "crashhook: %s: %s is not reported: %s", name, signal, why);
    syslog(LOG_USER | LOG_ERR, "crashhook: %s: %s is not reported: %s", name, signal,
           why);
    text_deinit(&path);
}

// effective_id is the second number of a line of /proc/PID/status, UINT64_MAX if there
// is no such line.
static uint64_t effective_id(const char *status, const char *line)
{
    char *end = NULL;
    const char *at = strstr(status, line);
    if (at == NULL)
        return UINT64_MAX;
    (void)strtoull(at + strlen(line), &end, 10); // the real one
    return strtoull(end, NULL, 10);
}

// exec_lost_privileges returns true if the file of the program that tid has become
// gives an identity that tid does not have, or capabilities. A tracee with CAP_SETUID
// gets the identity even so, and root had the capabilities before.
static bool exec_lost_privileges(pid_t tid, const char *path)
{
    struct stat file;
    struct text status = { 0 };
    bool lost = false;
    if (stat(path, &file) == 0 &&
        read_process_file(tid, "status", STATUS_LIMIT_BYTES, &status) == CH_OK) {
        uint64_t user = effective_id(status.bytes, "\nUid:");
        uint64_t group = effective_id(status.bytes, "\nGid:");
        bool setgid = (file.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP);
        lost = ((file.st_mode & S_ISUID) != 0 && user != file.st_uid) ||
               (setgid && group != file.st_gid) ||
               (user != 0 && getxattr(path, "security.capability", NULL, 0) > 0);
    }
    text_deinit(&status);
    return lost;
}

void trace_exec_stop(struct trace *trace, pid_t tid)
{
    char path[32];
    struct text name = { 0 };
    if (trace->keeps_privileges || trace->told)
        return;
    snprintf(path, sizeof(path), "/proc/%d/exe", tid);
    if (!exec_lost_privileges(tid, path))
        return;
    if (read_process_link(tid, "exe", &name) == CH_OK) {
        trace->told = true;
        trace_say(tid, &trace->standard_error,
                  "crashhook: '%s' runs without the privileges that its file gives, "
                  "because it is traced; `crashhook run --via preload` leaves them\n",
                  name.bytes);
    }
    text_deinit(&name);
}
