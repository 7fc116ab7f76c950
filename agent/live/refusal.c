// SPDX-License-Identifier: Apache-2.0
#include "agent/live/refusal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "images/read_file.h"

enum { STATUS_LIMIT_BYTES = 16 << 10, COMMAND_LIMIT_BYTES = 64, SECCOMP_FILTER = 2 };

// status_number gives a number from /proc/PID/status, or 0.
static long status_number(pid_t pid, const char *name)
{
    struct text status = { 0 };
    const char *line = NULL;
    if (read_process_file(pid, "status", STATUS_LIMIT_BYTES, &status) == CH_OK)
        line = strstr(status.bytes, name);
    long number = line != NULL ? strtol(line + strlen(name), NULL, 10) : 0;
    text_deinit(&status);
    return number;
}

static long yama_scope(void)
{
    struct text text = { 0 };
    long scope = 0;
    if (read_file("/proc/sys/kernel/yama/ptrace_scope", COMMAND_LIMIT_BYTES, &text) ==
        CH_OK)
        scope = strtol(text.bytes, NULL, 10);
    text_deinit(&text);
    return scope;
}

pid_t refusal_other_tracer(pid_t pid)
{
    pid_t tracer = (pid_t)status_number(pid, "\nTracerPid:");
    return tracer != getpid() ? tracer : 0; // by now it may be us
}

static void name_tracer(pid_t tracer, char out[static REFUSAL_MAX])
{
    struct text name = { 0 };
    if (read_process_file(tracer, "comm", COMMAND_LIMIT_BYTES, &name) != CH_OK)
        text_clear(&name);
    const char *words = name.size != 0 ? name.bytes : "?";
    snprintf(out, REFUSAL_MAX, "traced already by process %d ('%.*s')", tracer,
             (int)strcspn(words, "\n"), words);
    text_deinit(&name);
}

void refusal_explain(pid_t pid, int error, char out[static REFUSAL_MAX])
{
    pid_t tracer = refusal_other_tracer(pid);
    long scope = yama_scope();
    if (tracer != 0)
        name_tracer(tracer, out);
    else if (status_number(getpid(), "\nSeccomp:") == SECCOMP_FILTER)
        snprintf(out, REFUSAL_MAX, "%s (a seccomp filter is in force)",
                 strerror(error));
    else if (scope != 0)
        snprintf(out, REFUSAL_MAX, "%s (kernel.yama.ptrace_scope is %ld)",
                 strerror(error), scope);
    else
        snprintf(out, REFUSAL_MAX, "%s", strerror(error));
}
