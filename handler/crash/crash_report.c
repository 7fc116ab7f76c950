// SPDX-License-Identifier: Apache-2.0
//
// Having a crash reported, in crash context (see crash.c): the agent is started and
// awaited, with one deadline; where it writes no report, a record is left instead.
#include "handler/crash/crash.h"

#include <linux/errno.h>
#include <sched.h>
#include <sys/prctl.h>

#include "handler/crash/crash_valgrind.h"
#include "handler/machine/machine.h"
#include "handler/machine/syscalls.h"
#include "shared/context_page.h"

#include "handler/machine/poison.h"

// An outcome is what became of an agent.
enum outcome { AGENT_WAITS, AGENT_ANSWERED, AGENT_GONE, AGENT_LATE };

// hear_agent reads the agent's answers. A dead agent may have answered before it died.
static enum outcome hear_agent(int channel, bool died)
{
    char answer = 0;
    long count;
    while ((count = sys_receive(channel, &answer, 1)) == 1) {
        if (answer == REQUEST_WRITTEN) {
            crash_state.record_due = 0;
            // It may be killed before it has died of the crash.
            if (crash_plan->page->dies)
                crash_note_liveness(LIVENESS_ENDED);
        }
        if (answer == REQUEST_WHY)
            sys_receive(channel, crash_state.why, sizeof(crash_state.why) - 1);
        if (answer == REQUEST_READ && !crash_serve_memory(channel))
            return AGENT_GONE;
        if (answer == REQUEST_RELEASE)
            return AGENT_ANSWERED;
    }
    return died || (count != -EAGAIN && count != -EINTR) ? AGENT_GONE : AGENT_WAITS;
}

// await_agent returns at the agent's answer, its termination, or the deadline. Its
// termination ends the channel, unless a child of its own has that too; so the process
// itself is watched where it takes longer than most.
static enum outcome await_agent(struct crash_agent *agent)
{
    enum { LONG_NS = 50000000 };
    const struct request_page *page = crash_plan->page;
    struct pollfd watched[] = { { .fd = agent->channel, .events = POLLIN },
                                { .fd = -1, .events = POLLIN } };
    for (;;) {
        uint64_t now = sys_clock_ns(CLOCK_MONOTONIC);
        if (now >= page->deadline_monotonic_ns)
            break;
        uint64_t left = page->deadline_monotonic_ns - now;
        bool watch = agent->pidfd < 0 && !agent->stays;
        long ready = sys_poll(watched, 2, watch && left > LONG_NS ? LONG_NS : left);
        enum outcome outcome = AGENT_WAITS;
        if (watch && ready == 0)
            watched[1].fd = agent->pidfd = sys_pidfd_open(page->agent_pid);
        if (ready > 0)
            outcome = hear_agent(agent->channel, watched[1].revents != 0);
        if (outcome != AGENT_WAITS)
            return outcome;
        if (ready < 0 && ready != -EINTR)
            return AGENT_GONE;
    }
    if (agent->pidfd >= 0)
        sys_pidfd_send_signal(agent->pidfd, SIGKILL);
    else if (!agent->stays && page->agent_pid > 0) // a daemon ends its late children
        sys_kill(page->agent_pid, SIGKILL);
    return AGENT_LATE;
}

static enum outcome ask_agent(struct crash_agent *agent, bool careful)
{
    const struct request_page *page = crash_plan->page;
    sys_prctl(PR_SET_PTRACER, (unsigned long)agent->tracer);
    struct request_message message = { .magic = REQUEST_MAGIC,
                                       .page_address = (uintptr_t)page,
                                       .pid = sys_getpid(),
                                       .tid = page->crashed_tid,
                                       .filtered = crash_state.filtered,
                                       .careful = careful };
    enum outcome outcome = AGENT_GONE;
    if (sys_send(agent->channel, &message, sizeof(message)) > 0)
        outcome = await_agent(agent);
    sys_close(agent->channel);
    if (agent->pidfd >= 0)
        sys_close(agent->pidfd);
    return outcome;
}

bool crash_agent_started(void)
{
    return crash_plan->page->agent_pid > 0 && !crash_state.exec_fails;
}

// may_have_stalled returns true if an agent that has died may have been killed because
// a read did not end.
static bool may_have_stalled(uint64_t asked_ns)
{
    uint64_t stall_ns = request_stall_ms(crash_plan->timeout_ns / 1000000) * 1000000;
    return sys_clock_ns(CLOCK_MONOTONIC) - asked_ns >= stall_ns;
}

// ask_once asks the waiting agent and, if that has died, one that is started now.
static enum outcome ask_once(bool *careful)
{
    struct crash_agent agent;
    uint64_t asked_ns = sys_clock_ns(CLOCK_MONOTONIC);
    enum outcome outcome = AGENT_WAITS;
    if (crash_ask_daemon(&agent))
        outcome = ask_agent(&agent, *careful);
    bool died = outcome == AGENT_GONE && crash_state.record_due;
    *careful = *careful || (died && may_have_stalled(asked_ns));
    if ((died || outcome == AGENT_WAITS) && crash_may_start() &&
        crash_start_agent(&agent, crash_plan->argv))
        outcome = ask_agent(&agent, *careful);
    return outcome;
}

// ask_anybody asks again where the agent was killed because a read did not end.
static enum record_reason ask_anybody(void)
{
    uint64_t asked_ns = sys_clock_ns(CLOCK_MONOTONIC);
    bool careful = false;
    enum outcome outcome = ask_once(&careful);
    if (outcome == AGENT_GONE && crash_state.record_due && !careful &&
        may_have_stalled(asked_ns)) {
        careful = true;
        crash_helper_end(); // the next one has its stack
        outcome = ask_once(&careful);
    }
    if (outcome == AGENT_WAITS || !crash_agent_started())
        return RECORD_NOT_STARTED;
    return outcome == AGENT_LATE ? RECORD_AGENT_LATE : RECORD_AGENT_GONE;
}

// note_in_context notes the time of the report for whoever sees the process end: one
// crash gives one report.
static void note_in_context(bool reported)
{
    struct context_page *context = (void *)(uintptr_t)crash_plan->page->context_page;
    uint64_t now_s = sys_clock_ns(CLOCK_REALTIME) / 1000000000;
    if (context != NULL && !crash_plan->page->live)
        context->reported_s = reported ? now_s : 0;
}

// report_crash is a machine_child_fn. It returns 1 if the crash is reported.
static int report_crash(void *unused)
{
    (void)unused;
    // 2 means dumpable by root only; once changed, it could not be restored.
    if (crash_state.dumpable == 0)
        sys_prctl(PR_SET_DUMPABLE, 1);
    crash_state.filtered = sys_prctl(PR_GET_SECCOMP, 0) != 0;
    // Only a thread that is alone may do this, which has no effect (unshare(2)).
    crash_state.alone = !crash_state.filtered && sys_unshare(CLONE_THREAD) == 0;
    if (crash_plan->page->dies)
        crash_hold_program();
    if (!crash_state.filtered) {
        crash_state.helper.program_ppid = sys_getppid();
        sys_prctl(PR_GET_NAME, (unsigned long)crash_state.helper.thread_name);
        // Our children may trace us where Yama asks for this.
        sys_prctl(PR_SET_PTRACER, (unsigned long)(crash_state.claim >> 32));
    }
    crash_state.record_due = 1;
    enum record_reason reason = ask_anybody();
    bool reported = crash_state.record_due == 0;
    // A process that continues needs no record.
    if (!reported && !crash_plan->page->live) {
        // An agent that cannot be executed is often one outside of a chroot, and nobody
        // looks for records inside.
        bool unseen = crash_state.exec_fails != 0;
        reported = crash_leave_record(reason);
        if (!reported || unseen)
            crash_say_unreported(reason, reported ? crash_state.record_folder : NULL);
    }
    crash_state.record_due = 0;
    note_in_context(reported);
    crash_state.lost = !reported && !crash_plan->page->live;
    crash_helper_end();
    crash_put_dumpable_back();
    sys_prctl(PR_SET_PTRACER, 0); // the pid may be reused
    return reported;
}

bool crash_report(void)
{
    return crash_run_natively(report_crash);
}
