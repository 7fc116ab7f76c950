// SPDX-License-Identifier: Apache-2.0
//
// The crash path. What is true here: any lock may be held and the heap may be broken;
// we run on 64 KB of alternate stack, or on whatever the thread had; other threads
// still run; and we may be re-entered, by our own crash or by another thread's. So this
// file calls syscalls.h and its neighbours, handler/crash*.c, only, and writes only to
// the crash_state. What the program itself has to say in a crash, in an earlier handler
// or a callback, it says on its own account.
#include "handler/crash.h"

#include "handler/machine.h"
#include "handler/syscalls.h"

#include "handler/poison.h"

struct crash_state crash_state;
struct crash_plan *crash_plan;

// tell reports a crash that is ours to report, with what the program wants before and
// after it. false: the program says that it is none.
static bool tell(siginfo_t *info, void *context)
{
    enum crashhook_answer answer = crash_call_before(info, context);
    if (answer == CRASHHOOK_CONTINUE)
        return false;
    bool reported = answer == CRASHHOOK_REPORT && crash_report();
    crash_call_after(info, context, reported);
    return true;
}

void crash_handle(int signal, siginfo_t *info, void *context)
{
    machine_allow_misaligned();
    if (crash_refused(signal, info, context))
        return;
    uint64_t owner = __atomic_load_n(&crash_state.claim, __ATOMIC_SEQ_CST);
    if (owner != 0 && owner == crash_claim_of_caller()) {
        crash_re_enter(info);
        return;
    }
    enum crash_verdict verdict = crash_ask_previous(signal, info, context);
    if (verdict == CRASH_NONE)
        return;

    int bound = crash_bound_set(); // before any other call of ours, see crash_bound.c
    enum crash_claim claim = crash_claim_take(crash_claim_of_caller());
    if (claim == CRASH_CLAIM_TAKEN) {
        crash_die_on_return(signal, info, context);
        return;
    }
    if (claim == CRASH_CLAIM_RE_ENTERED)
        crash_give_up();
    if (owner != 0)
        crash_bound_renew(bound); // it has waited for another crash
    crash_state.bound = bound;
    crash_state.signal = signal;
    crash_record(signal, info, context, verdict == CRASH_DIES);
    if (tell(info, context) && verdict == CRASH_DIES) {
        crash_die_on_return(signal, crash_plan->page->siginfo, context);
        return;
    }
    crash_bound_lift(bound);
    crash_claim_give_back();
}
