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

// give_up ends the process: the handler itself has crashed, or a filter of system calls
// has answered it with a signal.
__attribute__((noreturn)) static void give_up(void)
{
    if (crash_state.record_due)
        (void)crash_write_record(RECORD_REFUSED);
    crash_die_now();
}

// re_entered: this thread is in the handler already.
static void re_entered(const siginfo_t *info)
{
    enum crash_stage stage = crash_state.stage;
    if (crash_callback_ends(info)) {
        crash_state.stage = CRASH_STAGE_NONE;
        if (stage == CRASH_STAGE_BEFORE)
            (void)crash_report();
        crash_die_now();
    }
    // Sent to us while we are at it; or else our own crash.
    if (info->si_code > 0)
        give_up();
}

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
    uint64_t self = crash_claim_of_caller();
    if (__atomic_load_n(&crash_state.claim, __ATOMIC_SEQ_CST) == self) {
        re_entered(info);
        return;
    }
    enum crash_verdict verdict = crash_ask_previous(signal, info, context);
    if (verdict == CRASH_NONE)
        return;

    enum crash_claim claim = crash_claim_take(self);
    if (claim == CRASH_CLAIM_TAKEN) {
        crash_die_on_return(signal, info, context);
        return;
    }
    if (claim == CRASH_CLAIM_RE_ENTERED)
        give_up();
    crash_state.signal = signal;
    crash_record(signal, info, context, verdict == CRASH_DIES);
    if (tell(info, context) && verdict == CRASH_DIES)
        crash_die_on_return(signal, crash_plan->page->siginfo, context);
    else
        crash_claim_give_back();
}
