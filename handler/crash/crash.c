// SPDX-License-Identifier: Apache-2.0
//
// The crash path. Any lock may be held here and the heap may be broken; the code runs
// on 64 KB of alternate stack, or on whatever the thread had; other threads still run;
// and it may be re-entered, by its own crash or by another thread's. So this file calls
// only syscalls.h and the other handler/crash*.c files, and writes only to crash_state.
// The program's earlier handlers and callbacks, which it calls, are not bound by this.
#include "handler/crash/crash.h"

#include "handler/machine/machine.h"
#include "handler/machine/machine_context.h"
#include "handler/machine/syscalls.h"
#include "shared/context_page.h"

#include "handler/machine/poison.h"

struct crash_state crash_state;
struct crash_plan *crash_plan;
int32_t *crash_process;

// tell_crash reports a crash that is ours to report, calling the program's callbacks
// before and after. False: the program says that it is not a crash.
static bool tell_crash(siginfo_t *info, void *context)
{
    enum crashhook_answer answer = crash_call_before(info, context);
    if (answer == CRASHHOOK_CONTINUE)
        return false;
    bool reported = answer == CRASHHOOK_REPORT && crash_report();
    crash_call_after(info, context, reported);
    return true;
}

// tell_first reports, once, the fault in whose handler the process is about to end; we
// end it if dies.
static bool tell_first(const struct crash_fault *first, int status,
                       const siginfo_t *then, bool dies)
{
    crash_record_first(first, status, then, dies);
    if (*first->told)
        return true;
    *first->told = true;
    return tell_crash(first->info, first->context);
}

// claim_crash makes the crash the caller's, waiting a limited time. False: another
// thread's crash did not end in time, and the process is to die of that one.
static bool claim_crash(int signal)
{
    uint64_t owner = __atomic_load_n(&crash_state.claim, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&crash_state.claimants, 1, __ATOMIC_SEQ_CST);
    int bound = crash_bound_set(); // before any other system call, see crash_bound.c
    enum crash_claim claim = crash_claim_take(crash_claim_of_caller());
    __atomic_sub_fetch(&crash_state.claimants, 1, __ATOMIC_SEQ_CST);
    if (claim == CRASH_CLAIM_TAKEN)
        return false;
    if (claim == CRASH_CLAIM_RE_ENTERED)
        crash_give_up();
    if (owner != 0)
        crash_bound_renew(bound); // time has passed waiting for another crash
    crash_state.bound = bound;
    crash_state.signal = signal;
    return true;
}

static void give_back(void)
{
    crash_bound_lift(crash_state.bound);
    crash_claim_give_back();
}

// note_reported notes that the end is reported, and how the program goes on; or that
// the handler could leave nothing.
static void note_reported(enum liveness_ended how)
{
    crash_note_liveness(crash_state.lost ? LIVENESS_LOST : how);
}

// conclude_crash acts on the verdict about a signal.
static void conclude_crash(enum crash_verdict verdict, int signal, siginfo_t *info,
                           void *context)
{
    struct crash_fault first;
    bool told;
    if (verdict == CRASH_NONE || verdict == CRASH_COMES_AGAIN)
        return;
    if (verdict == CRASH_DIES)
        crash_note_crash(signal);
    if (!claim_crash(signal)) {
        crash_die_on_return(signal, info, context);
        return;
    }
    if (crash_first_fault(machine_context_stack(context), &first)) {
        told = tell_first(&first, -1, info, true);
    } else {
        crash_record(signal, info, context, verdict == CRASH_DIES);
        told = crash_fault_is_reported(signal, context) || tell_crash(info, context);
    }
    // Also where the program's handler, which is called now, will end it.
    if (told)
        note_reported(verdict == CRASH_ASKS_LATE ? LIVENESS_TOLD : LIVENESS_ENDED);
    if (told && verdict == CRASH_DIES) {
        crash_die_on_return(signal, crash_dying_siginfo(), context);
    } else {
        crash_continue_liveness(LIVENESS_CRASHED);
        give_back();
    }
}

// mask_for_report blocks everything but other crashes, and the same signal too if the
// program's handler has raised it again. To see that, it has to be blocked first.
static void mask_for_report(int signal)
{
    const uint64_t others = ~(crash_plan->signals >> 1);
    sys_sigmask(others | UINT64_C(1) << (signal - 1));
    if (!sys_is_pending(signal))
        sys_sigmask(others);
}

// handle_reentry returns true if the signal was raised inside our own handler; it has
// then been handled.
static bool handle_reentry(int signal, const siginfo_t *info, void *context)
{
    if (crash_refused(signal, info, context))
        return true;
    uint64_t owner = __atomic_load_n(&crash_state.claim, __ATOMIC_SEQ_CST);
    if (owner == 0 || owner != crash_claim_of_caller())
        return false;
    crash_re_enter(info);
    return true;
}

uintptr_t crash_begin(int signal, siginfo_t *info, void *context,
                      struct crash_asked *asked)
{
    machine_allow_misaligned();
    if (crash_relay(signal, info, context, asked))
        return asked->action.handler;
    if (handle_reentry(signal, info, context))
        return 0;
    enum crash_verdict verdict = crash_ask_there(signal, info, context, asked);
    if (verdict == CRASH_ASKS)
        return (uintptr_t)asked->action.handler;
    if (verdict == CRASH_ASKS_LATE) {
        uint64_t mask = sys_sigmask(~(crash_plan->signals >> 1));
        conclude_crash(verdict, signal, asked->home->info, asked->home->context);
        sys_sigmask(mask);
        crash_fault_tell(asked->note, asked->last);
        return (uintptr_t)asked->action.handler;
    }
    conclude_crash(verdict, signal, info, context);
    return 0;
}

void crash_end(struct crash_asked *asked)
{
    if (crash_stack_return(asked))
        return;
    enum crash_verdict verdict = crash_judge(asked);
    if (asked->told)
        verdict == CRASH_NONE
            ? crash_continue_liveness(crash_state.lost ? LIVENESS_LOST : LIVENESS_TOLD)
            : crash_fault_expect(asked->context);
    if (verdict == CRASH_NONE || verdict == CRASH_COMES_AGAIN)
        return;
    mask_for_report(asked->signal);
    conclude_crash(verdict, asked->signal, asked->info, asked->context);
}

void crash_handle_called(int signal, siginfo_t *info, void *context)
{
    struct crash_called called = { .info = info, .context = context };
    struct crash_asked asked;
    if (crash_relay_call(signal, info, context))
        return;
    machine_allow_misaligned();
    // A handler that is being called and calls us has given up.
    bool given_up =
        crash_find_caller(signal, (uintptr_t)__builtin_frame_address(0), &called);
    if (handle_reentry(signal, called.info, called.context))
        return;
    enum crash_verdict verdict = CRASH_DIES;
    if (!given_up)
        verdict = crash_ask(signal, called.info, called.context, &asked);
    if (verdict == CRASH_ASKS || verdict == CRASH_ASKS_LATE) {
        crash_call(&asked);
        verdict = crash_judge(&asked);
    }
    conclude_crash(verdict, signal, called.info, called.context);
}

void crash_tell_end(const struct crash_fault *first, int status, const siginfo_t *then)
{
    uint64_t mask = sys_sigmask(~(crash_plan->signals >> 1) | sys_pending());
    if (claim_crash(first->signal)) {
        if (tell_first(first, status, then, false))
            note_reported(LIVENESS_ENDED);
        give_back();
    }
    sys_sigmask(mask);
}
