// SPDX-License-Identifier: Apache-2.0
//
// The signals that a handler of the program has blocked, in crash context (see
// crash.c). If a thread faults while the fault's signal is blocked, the kernel ends the
// process at once: no handler runs, and the fault that the program's own handler was
// called for is lost. So the kernel is set not to block the faults, SIGABRT included
// where abort leaves it blocked, while a handler of the program runs; they are held
// instead. A held signal that the kernel raises ends the process as it would have, once
// the first fault is reported. One that was sent is blocked then, and sent again: it
// arrives when the handler returns.
//
// What is held is in the thread's note (crash_first_fault.c). It ends with the
// handler's return, and where the thread's mask has been set since, by siglongjmp for
// instance. To see that, the note remembers which other signals the kernel has blocked
// for the handler: if they no longer are, the mask has been set. A signal that programs
// rarely use is added to them, so that there is one.
#include "handler/crash/crash.h"

#include "handler/machine/machine.h"
#include "handler/machine/machine_context.h"
#include "handler/machine/syscalls.h"

#include "handler/machine/poison.h"

uint64_t crash_holds;

static const uint64_t WITNESS = UINT64_C(1) << 63; // SIGRTMAX

static uint64_t mask_of_context(const void *context)
{
    return *(const uint64_t *)&((const ucontext_t *)context)->uc_sigmask;
}

uint64_t crash_mask_to_hold(int signal, const struct crash_action *theirs)
{
    uint64_t own = (theirs->flags & SA_NODEFER) != 0 ? 0 : UINT64_C(1) << (signal - 1);
    bool unseen = (theirs->flags & CRASH_ACTION_UNSEEN) != 0;
    // Go's runtime does not abort: it unblocks SIGABRT by a direct system call, which
    // is not observed, and raises it.
    uint64_t raises = crash_is_in_runtime(theirs->handler) ? 1u << (SIGABRT - 1) : 0;
    return unseen ? 0 : (theirs->mask | own) & crash_holds & ~raises;
}

uint64_t crash_mask_of_kernel(int signal, const struct crash_action *theirs)
{
    uint64_t held = crash_mask_to_hold(signal, theirs);
    return held != 0 ? (theirs->mask & ~held) | WITNESS : theirs->mask;
}

// mask_holds returns true if the signals that the note holds are still held for code
// with this mask, at this depth of the stack.
static bool mask_holds(const struct fault_note *note, uint64_t mask, uintptr_t depth)
{
    return note->witness != 0 ? (mask & note->witness) == note->witness
                              : crash_fault_stands(note, depth);
}

uint64_t crash_mask_begin(struct fault_note *note, const struct crash_asked *asked)
{
    uint64_t before = mask_of_context(asked->context);
    if (!mask_holds(note, before, machine_context_stack(asked->context))) {
        note->held = 0;
        note->witness = crash_mask_of_kernel(asked->signal, &asked->action) & ~before;
        note->added = note->witness & ~asked->action.mask;
    }
    uint64_t held = note->held;
    note->held |= crash_mask_to_hold(asked->signal, &asked->action) & ~before;
    return held;
}

static bool is_held(int signal, const void *context)
{
    const struct fault_note *note = crash_fault_note();
    return note != NULL && (note->held >> (signal - 1) & 1) != 0 &&
           mask_holds(note, mask_of_context(context), machine_context_stack(context));
}

enum crash_verdict crash_mask_judge(int signal, const siginfo_t *info, void *context)
{
    uint64_t *mask = (uint64_t *)&((ucontext_t *)context)->uc_sigmask;
    if (!is_held(signal, context))
        return CRASH_ASKS;
    bool sent = info->si_code <= 0;
    if (sent)
        *mask |= UINT64_C(1) << (signal - 1);
    // Signals that were sent before stay blocked.
    sys_sigmask(~(crash_plan->signals >> 1) | *mask);
    if (!sent)
        return CRASH_DIES;
    if (info->si_code == SI_TKILL)
        (void)sys_queue_signal(signal, info);
    else
        (void)machine_call3(SYS_rt_sigqueueinfo, sys_getpid(), signal, (long)info);
    // abort will end the process by itself, and not be seen.
    bool aborts = signal == SIGABRT && info->si_pid == sys_getpid();
    struct crash_fault first;
    return aborts && crash_first_fault(machine_context_stack(context), &first)
               ? CRASH_GOES_ON
               : CRASH_NONE;
}

void crash_mask_change(int how, uint64_t *set, uint64_t *now, uintptr_t depth)
{
    struct fault_note *note = crash_fault_note();
    if (note == NULL || !mask_holds(note, *now, depth))
        return;
    uint64_t held = note->held;
    uint64_t blocked = *now;
    *now = (blocked & ~note->added) | held;
    if (set != NULL && how == SIG_UNBLOCK)
        note->held &= ~*set;
    if (set == NULL || how == SIG_UNBLOCK || !crash_fault_stands(note, depth))
        return;
    bool sets = how == SIG_SETMASK;
    note->added = (sets ? note->witness : note->added) & ~*set;
    note->held = (sets ? 0 : held) | (*set & crash_holds & ~blocked);
    *set &= ~note->held;
    if (sets && note->held != 0)
        *set |= note->witness;
}
