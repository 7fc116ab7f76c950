// SPDX-License-Identifier: Apache-2.0
//
// The crash path. What is true here: any lock may be held and the heap may be broken;
// we run on 64 KB of alternate stack, or on whatever the thread had; other threads
// still run; and we may be re-entered, by our own crash or by another thread's. So this
// file calls syscalls.h and its two neighbours only, and writes only to the
// crash_state.
//
// The first thread to claim the state is reported, and is the watchdog of its own
// agent. The others wait for it: nearly always for the death of the process.
#include "handler/crash.h"

#include <linux/errno.h>
#include <sys/prctl.h>

#include "handler/machine.h"
#include "handler/syscalls.h"

#include "handler/poison.h"

struct crash_state crash_state;
struct crash_plan *crash_plan;

enum claim { CLAIM_WON, CLAIM_RE_ENTERED, CLAIM_TAKEN };

static uint64_t claim_of_caller(void)
{
    return (uint64_t)(uint32_t)sys_getpid() << 32 | (uint32_t)sys_gettid();
}

// A claim of another process came here by fork and is worth nothing.
static bool claim_stands(uint64_t claim, uint64_t self)
{
    return claim >> 32 == self >> 32;
}

static enum claim claim_take(uint64_t self)
{
    uint64_t found = 0;
    while (!__atomic_compare_exchange_n(&crash_state.claim, &found, self, false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
        if (found == self)
            return CLAIM_RE_ENTERED;
        if (claim_stands(found, self))
            return CLAIM_TAKEN;
    }
    return CLAIM_WON;
}

// claim_word is the half of the claim that other threads wait on.
static uint32_t *claim_word(void)
{
    return (uint32_t *)&crash_state.claim;
}

static void claim_give_back(void)
{
    __atomic_store_n(&crash_state.claim, 0, __ATOMIC_SEQ_CST);
    sys_futex_wake_all(claim_word());
}

// park waits for the claim to be given back. false: it was not in time, which is a
// second more than its owner may take.
static bool park(void)
{
    uint64_t now = sys_clock_ns(CLOCK_MONOTONIC);
    uint64_t until = now + crash_plan->timeout_ns + 1000000000u;
    for (; now < until; now = sys_clock_ns(CLOCK_MONOTONIC)) {
        uint32_t owner = __atomic_load_n(claim_word(), __ATOMIC_SEQ_CST);
        if (owner == 0)
            return true;
        sys_futex_wait(claim_word(), owner, until - now);
    }
    return false;
}

// What came of an agent.
enum outcome { AGENT_WAITS, AGENT_ANSWERED, AGENT_GONE, AGENT_LATE };

// hear takes the agent's answers. A dead agent may have answered before.
static enum outcome hear(int channel, bool died)
{
    char answer = 0;
    long count;
    while ((count = sys_receive(channel, &answer, 1)) == 1) {
        if (answer == REQUEST_WRITTEN)
            crash_state.record_due = 0;
        if (answer == REQUEST_RELEASE)
            return AGENT_ANSWERED;
    }
    return died || (count != -EAGAIN && count != -EINTR) ? AGENT_GONE : AGENT_WAITS;
}

// await ends with the agent's answer, its death, or the deadline.
static enum outcome await(const struct crash_agent *agent)
{
    const struct request_page *page = crash_plan->page;
    struct pollfd watched[] = { { .fd = agent->channel, .events = POLLIN },
                                { .fd = agent->pidfd, .events = POLLIN } };
    for (;;) {
        uint64_t now = sys_clock_ns(CLOCK_MONOTONIC);
        if (now >= page->deadline_monotonic_ns)
            break;
        long ready = sys_poll(watched, 2, page->deadline_monotonic_ns - now);
        enum outcome outcome = AGENT_WAITS;
        if (ready > 0)
            outcome = hear(agent->channel, watched[1].revents != 0);
        if (outcome != AGENT_WAITS)
            return outcome;
        if (ready < 0 && ready != -EINTR)
            return AGENT_GONE;
    }
    if (agent->pidfd >= 0)
        sys_pidfd_send_signal(agent->pidfd, SIGKILL);
    else
        sys_kill(page->agent_pid, SIGKILL);
    return AGENT_LATE;
}

static enum record_reason ask(const struct crash_agent *agent)
{
    const struct request_page *page = crash_plan->page;
    sys_prctl(PR_SET_PTRACER, (unsigned long)page->agent_pid);
    struct request_message message = { .magic = REQUEST_MAGIC,
                                       .page_address = (uintptr_t)page,
                                       .pid = sys_getpid(),
                                       .tid = page->crashed_tid };
    sys_send(agent->channel, &message, sizeof(message));
    enum outcome outcome = await(agent);
    sys_close(agent->channel);
    if (agent->pidfd >= 0)
        sys_close(agent->pidfd);
    // Ours only where the program is the reaper of orphans; nobody else should meet it.
    sys_wait(page->agent_pid, 1 /* WNOHANG */);
    return outcome == AGENT_LATE ? RECORD_AGENT_LATE : RECORD_AGENT_GONE;
}

// report has the agent write a report, or leaves a record where it has not.
static void report(void)
{
    struct crash_agent agent;
    enum record_reason reason = RECORD_NOT_STARTED;
    // 2 is a dump for root alone; once changed it could not be put back.
    if (crash_state.dumpable == 0)
        sys_prctl(PR_SET_DUMPABLE, 1);
    crash_state.record_due = 1;
    if (crash_start_agent(&agent))
        reason = ask(&agent);
    if (crash_state.record_due)
        crash_write_record(reason);
    crash_put_dumpable_back();
}

// give_up ends the process: the handler itself has crashed, or a filter of system calls
// has answered it with a signal.
__attribute__((noreturn)) static void give_up(void)
{
    if (crash_state.record_due)
        crash_write_record(RECORD_REFUSED);
    crash_die_now();
}

void crash_handle(int signal, siginfo_t *info, void *context)
{
    uint64_t self = claim_of_caller();
    if (__atomic_load_n(&crash_state.claim, __ATOMIC_SEQ_CST) == self) {
        // Sent to us while we are at it; or else our own crash.
        if (info->si_code <= 0)
            return;
        give_up();
    }
    enum crash_verdict verdict = crash_ask_previous(signal, info, context);
    if (verdict == CRASH_NONE)
        return;

    enum claim claim;
    while ((claim = claim_take(self)) == CLAIM_TAKEN) {
        if (!park()) {
            crash_die_on_return(signal, info);
            return;
        }
    }
    if (claim == CLAIM_RE_ENTERED)
        give_up();
    crash_state.signal = signal;
    crash_record(signal, info, context, verdict == CRASH_DIES);
    report();
    if (verdict == CRASH_DIES)
        crash_die_on_return(signal, crash_plan->page->siginfo);
    else
        claim_give_back();
}
