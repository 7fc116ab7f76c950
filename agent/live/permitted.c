// SPDX-License-Identifier: Apache-2.0
#include "agent/live/permitted.h"

#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/system/rights.h"
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

enum { NOT_ASKED, ALLOWED, FORBIDDEN };
enum { CALLS = PERMITTED_RIGHTS + 1, STACK_BYTES = 16 << 10 };

static bool filter_is_expected;

// A trial is the calls that a child makes, and whether it survived them.
struct trial {
    enum permitted_call first;
    enum permitted_call last;
    bool survived;
};

// make_calls makes each call with arguments by which it has no effect.
static int make_calls(void *argument)
{
    struct trial *trial = argument;
    if (trial->first == PERMITTED_PTRACE)
        (void)ptrace(PTRACE_SEIZE, 0, NULL, NULL);
    if (trial->last == PERMITTED_READV)
        (void)process_vm_readv(1, NULL, 0, NULL, 0, 0);
    if (trial->last == PERMITTED_RIGHTS)
        rights_try();
    trial->survived = true;
    return 0;
}

// child_survives has a child make the calls. It is made with clone, which made this
// process, so the filter is known to allow that. The child shares our memory and we are
// suspended until it ends: no wait call is needed, and no parent is notified.
static bool child_survives(enum permitted_call first, enum permitted_call last)
{
    static _Alignas(16) char stack[STACK_BYTES];
    struct trial trial = { .first = first, .last = last };
    return clone(make_calls, stack + sizeof(stack), CLONE_VM | CLONE_VFORK, &trial) >
               0 &&
           trial.survived;
}

void permitted_expect_filter(void)
{
    filter_is_expected = true;
}

bool permitted_all(void)
{
    return !filter_is_expected;
}

bool permitted(enum permitted_call call)
{
    static char known[CALLS];
    if (!filter_is_expected)
        return true;
    if (known[call] != NOT_ASKED)
        return known[call] == ALLOWED;
    const bool rights = call == PERMITTED_RIGHTS;
    const enum permitted_call first = rights ? PERMITTED_RIGHTS : PERMITTED_PTRACE;
    const enum permitted_call last = rights ? PERMITTED_RIGHTS : PERMITTED_READV;
    bool all = child_survives(first, last);
    for (enum permitted_call each = first; each <= last; each++)
        known[each] = all || child_survives(each, each) ? ALLOWED : FORBIDDEN;
    return known[call] == ALLOWED;
}
