// SPDX-License-Identifier: Apache-2.0
//
// A report of the running program, made in the way of a crash (see crash.c): the thread
// that requests it waits for the agent like a crashed one, and continues.
#include "handler/crash/crash.h"

#include <sys/prctl.h>

#include "handler/machine/machine.h"
#include "handler/machine/syscalls.h"

#include "handler/machine/poison.h"

static void fill_page(void)
{
    struct request_page *page = crash_plan->page;
    page->live = 1;
    page->dies = 0;
    page->agent_pid = 0;
    page->crashed_tid = sys_gettid();
    page->crash_monotonic_ns = sys_clock_ns(CLOCK_MONOTONIC);
    page->crash_realtime_ns = sys_clock_ns(CLOCK_REALTIME);
    page->deadline_monotonic_ns = page->crash_monotonic_ns + crash_plan->timeout_ns;
}

enum crash_live crash_report_live(void)
{
    uint64_t self = crash_claim_of_caller();
    // No handler may run before the claim is released: it might crash. A thread's own
    // faults cannot be deferred.
    uint64_t mask = sys_sigmask(~(SIGNALS_FAULT >> 1));
    enum crash_live result = CRASH_LIVE_BUSY;
    if (crash_claim_take(self) == CRASH_CLAIM_WON) {
        crash_state.signal = SIGABRT;
        crash_state.dumpable = (int32_t)sys_prctl(PR_GET_DUMPABLE, 0);
        fill_page();
        result = crash_report() ? CRASH_LIVE_DONE : CRASH_LIVE_FAILED;
        crash_claim_give_back();
    }
    sys_sigmask(mask);
    return result;
}
