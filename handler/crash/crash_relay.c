// SPDX-License-Identifier: Apache-2.0
//
// Signals that are passed on to the program's handler unjudged, in crash context (see
// crash.c). The kernel has our handler for them, so that theirs runs on its own stack
// (crash_stack.c) and that the sender of SIGTERM is known. No system call is made
// before the handler runs: a SIGSYS may be the program's answer to any call.
#include "handler/crash/crash.h"

#include "handler/crash/crash_filter.h"
#include "handler/machine/machine.h"
#include "handler/machine/machine_context.h"
#include "handler/machine/syscalls.h"
#include "shared/context_page.h"

#include "handler/machine/poison.h"

uint32_t crash_refused_calls;

_Static_assert(offsetof(struct context_liveness, ended) == 0, "the state points to it");

// crash_realtime_ns makes no system call where libc finds the vDSO; Valgrind hides it.
uint64_t crash_realtime_ns(void)
{
    struct timespec now = { 0 };
    if (crash_may_call(CRASH_CALLS_CLOCK))
        (void)crash_state.clock(CLOCK_REALTIME_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// note_end notes in the program's liveness record which process sent SIGTERM, and when.
// A child has the handler of its parent, but no liveness record.
static void note_end(const siginfo_t *info)
{
    struct context_liveness *liveness =
        (struct context_liveness *)(void *)crash_state.ended;
    if (liveness == NULL)
        return;
    liveness->told_by = info->si_pid != 0 ? info->si_pid : LIVENESS_ASKED_OUTSIDE;
    liveness->told_realtime_ns = crash_realtime_ns();
    liveness->told_signal = SIGTERM;
}

// is_dispatched returns true if the program has the system call answered by its
// handler.
static bool is_dispatched(int signal, const siginfo_t *info)
{
    enum { BY_USER = 2 }; // the kernel's SYS_USER_DISPATCH
    return signal == SIGSYS && info->si_code == BY_USER;
}

// is_own_call returns true if SIGSYS is about a system call of ours.
static bool is_own_call(const siginfo_t *info)
{
    return info->si_call_addr == machine_call_end ||
           info->si_call_addr == machine_clone_end;
}

// crash_fault_without_room: a dispatcher would get every system call of ours, also the
// return from this handler.
void crash_fault_without_room(const ucontext_t *context)
{
    // More than the red zone, below which the kernel would begin at the stack's top.
    const uintptr_t too_little = 512;
    machine_fault_at((uintptr_t)context->uc_stack.ss_sp + too_little);
}

bool crash_is_strict(void)
{
    uint64_t thread = __atomic_load_n(&crash_state.strict_thread, __ATOMIC_RELAXED);
    // Where the thread cannot be identified without a call, all are treated alike.
    return thread != 0 &&
           (thread == CRASH_STRICT_ALL || !crash_state.reads_thread_word ||
            thread == machine_thread_word(true));
}

// relay_strictly ends the process if the program has no handler for the signal. False:
// it has one.
static bool relay_strictly(siginfo_t *info, void *context, struct crash_asked *asked)
{
    if (crash_action_calls(&asked->action))
        return false;
    if (info->si_code > 0 || asked->action.handler == (uintptr_t)SIG_DFL)
        crash_die_without_calls(info, context);
    asked->action.handler = 0;
    return true;
}

bool crash_relay(int signal, siginfo_t *info, void *context, struct crash_asked *asked)
{
    bool dispatched = is_dispatched(signal, info);
    bool strict = crash_is_strict();
    if (signal_in(crash_plan->signals, signal) && !dispatched && !strict)
        return false;
    crash_action_read(signal, &asked->action);
    if (strict && relay_strictly(info, context, asked))
        return true;
    if (dispatched && (!crash_action_calls(&asked->action) || is_own_call(info)))
        crash_fault_without_room(context);
    asked->signal = signal;
    asked->info = info;
    asked->context = context;
    // The note is for the handler's mask: the handler may well end the process.
    asked->note = dispatched ? crash_fault_open(asked) : NULL;
    if (asked->note != NULL)
        asked->note->is_fault = false;
    asked->relayed = true;
    if (signal == SIGTERM && !strict)
        note_end(info);
    if (!crash_stack_leave(asked))
        machine_fault(SIGSEGV); // as the kernel does where the frame does not fit
    return true;
}

bool crash_relay_end(struct crash_asked *asked)
{
    if (asked->relayed && is_dispatched(asked->signal, asked->info))
        (void)crash_fault_close(asked);
    return asked->relayed;
}

bool crash_relay_call(int signal, siginfo_t *info, void *context)
{
    struct crash_action action;
    if (signal_in(crash_plan->signals, signal))
        return false;
    crash_action_read(signal, &action);
    ((void (*)(int, siginfo_t *, void *))(uintptr_t)action.handler)(signal, info,
                                                                    context);
    return true;
}
