// SPDX-License-Identifier: Apache-2.0
//
// The handler that was there before ours, asked in crash context (see crash.c) and
// before anything else is done: a runtime such as a JVM or .NET turns its own faults
// into null checks, and those are no crashes. It is called once, with the siginfo and
// context that the kernel gave and the mask that the kernel would have set.
//
// What it did tells what the signal was. It left by longjmp: we never hear of it. It
// changed a register, or the memory is accessible now: the program goes on. It took
// itself out of the way: it has given up, so this is a crash, and what it has put in
// place decides how the process ends. It changed nothing: the same fault would come for
// ever, so this is a crash and ends as one.
#include "handler/crash.h"

#include <linux/errno.h>
#include <sys/mman.h>

#include "handler/machine.h"
#include "handler/syscalls.h"

#include "handler/poison.h"

enum { POPULATE_READ = 22, POPULATE_WRITE = 23 }; // Linux 5.14; not in older headers

// accessible: the access that context failed at would succeed now.
static bool accessible(const siginfo_t *info, const ucontext_t *context)
{
    uintptr_t page = (uintptr_t)info->si_addr & ~(uintptr_t)(crash_plan->page_size - 1);
    int access = machine_fault_wrote(context) ? POPULATE_WRITE : POPULATE_READ;
    return sys_madvise(page, crash_plan->page_size, access) == 0;
}

static void call(const struct crash_previous *previous, int signal, siginfo_t *info,
                 ucontext_t *context)
{
    uint64_t interrupted = *(const uint64_t *)&context->uc_sigmask;
    bool nests = (previous->flags & SA_NODEFER) != 0;
    uint64_t own = nests ? 0 : UINT64_C(1) << (signal - 1);

    uint64_t ours = sys_sigmask(interrupted | previous->mask | own);
    if ((previous->flags & SA_SIGINFO) != 0)
        ((void (*)(int, siginfo_t *, void *))previous->handler)(signal, info, context);
    else
        ((void (*)(int))previous->handler)(signal);
    // It may have raised the signal again, which is not to arrive before the report.
    sys_sigmask(ours | own);
}

static bool action_is_ours(int signal)
{
    struct sys_action now = { 0 };
    sys_sigaction(signal, NULL, &now);
    return now.handler == (uintptr_t)crash_handle;
}

// same: the handler has left every register as it was.
static bool same(const uint64_t *before, const uint64_t *after)
{
    for (int i = 0; i < REQUEST_REGISTERS; i++) {
        if (before[i] != after[i])
            return false;
    }
    return true;
}

static enum crash_verdict call_and_judge(const struct crash_previous *previous,
                                         int signal, siginfo_t *info, void *context)
{
    uint64_t before[REQUEST_REGISTERS] = { 0 };
    uint64_t after[REQUEST_REGISTERS] = { 0 };

    machine_registers(context, before);
    call(previous, signal, info, context);
    machine_registers(context, after);
    if (!same(before, after))
        return CRASH_NONE;
    // abort() has more to do when a handler returns, whatever the handler was.
    if (!action_is_ours(signal) || signal == SIGABRT)
        return CRASH_GOES_ON;
    if (info->si_code <= 0 || signal == SIGTRAP || signal == SIGSYS)
        return CRASH_NONE;
    bool memory = signal == SIGSEGV || signal == SIGBUS;
    return memory && accessible(info, context) ? CRASH_NONE : CRASH_DIES;
}

// is_gone: the handler was in a library that has been closed. Kernels before 5.14
// cannot tell.
static bool is_gone(uintptr_t handler)
{
    uintptr_t page = handler & ~(uintptr_t)(crash_plan->page_size - 1);
    return sys_madvise(page, crash_plan->page_size, POPULATE_READ) == -ENOMEM;
}

enum crash_verdict crash_ask_previous(int signal, siginfo_t *info, void *context)
{
    const struct crash_previous *previous = &crash_plan->previous[signal];

    if (previous->handler == (uintptr_t)SIG_DFL)
        return CRASH_DIES;
    if (previous->handler != (uintptr_t)SIG_IGN && is_gone(previous->handler))
        return CRASH_DIES;
    if (previous->handler != (uintptr_t)SIG_IGN)
        return call_and_judge(previous, signal, info, context);
    // A fault cannot be ignored, and abort() does not care; a signal that was sent is.
    if (info->si_code > 0)
        return CRASH_DIES;
    bool aborts = signal == SIGABRT && info->si_pid == sys_getpid();
    return aborts ? CRASH_GOES_ON : CRASH_NONE;
}
