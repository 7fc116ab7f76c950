// SPDX-License-Identifier: Apache-2.0
//
// The helper, in crash context (see crash.c): a process that starts the agent and stays
// until there is a report. Where there is none, it writes the record. If the disk
// hangs, no deadline reaches the process that is writing, so that is never the crashed
// one as long as there is a helper.
#include "handler/crash/crash.h"

#include <linux/errno.h>
#include <sys/prctl.h>

#include "handler/machine/syscalls.h"

#include "handler/machine/poison.h"

// A helper looks first at the program's end, which may be near, and then less often.
enum { LOOK_EVERY_NS = 100000000, LOOK_FIRST_NS = 8000000 };

static uint32_t helper_load(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

static void helper_tell(uint32_t *word, uint32_t value)
{
    __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
    sys_futex_wake_all(word);
}

// helper_has_slept is false when a futex wait was refused and must be replaced.
static bool helper_has_slept(long result)
{
    return result == 0 || result == -EAGAIN || result == -EINTR || result == -ETIMEDOUT;
}

// helper_await_change waits for the helper's state to change. False: not in time.
static bool helper_await_change(uint32_t state, uint64_t deadline)
{
    uint32_t *word = &crash_state.helper.state;
    for (;;) {
        uint64_t now = sys_clock_ns(CLOCK_MONOTONIC);
        if (helper_load(word) != state)
            return true;
        if (now >= deadline)
            return false;
        if (!helper_has_slept(sys_futex_wait(word, state, deadline - now)))
            sys_poll(NULL, 0, LOOK_EVERY_NS / 1000);
    }
}

// helper_await_end also covers a helper that ends without ever waiting for an order.
static bool helper_await_end(uint64_t deadline)
{
    return helper_await_change(CRASH_HELPER_STARTS, deadline) &&
           (helper_load(&crash_state.helper.state) == CRASH_HELPER_GONE ||
            helper_await_change(CRASH_HELPER_WAITS, deadline));
}

// helper_start starts the helper. False: that failed.
static bool helper_start(int channel, char *const *argv)
{
    struct crash_helper *helper = &crash_state.helper;
    // After a vfork child's crash, its helper may still be ending, on this very stack.
    if (helper_load(&helper->state) != CRASH_HELPER_GONE)
        (void)helper_await_end(sys_clock_ns(CLOCK_MONOTONIC) + LOOK_EVERY_NS);
    helper->channel = channel;
    helper->argv = argv;
    helper->wrote = 0;
    crash_state.exec_fails = 0;
    helper->order = CRASH_HELPER_WAIT;
    __atomic_store_n(&helper->state, CRASH_HELPER_STARTS, __ATOMIC_SEQ_CST);
    long pid = crash_helper_clone();
    helper->pid = pid > 0 ? (int32_t)pid : 0;
    return pid > 0;
}

bool crash_start_agent(struct crash_agent *out, char *const *argv)
{
    int ends[2] = { -1, -1 };

    if (crash_make_channel(ends) != 0)
        return false;
    crash_plan->page->agent_pid = 0;
    crash_plan->page->seized = 0;
    bool started = helper_start(ends[1], argv);
    sys_close(ends[1]);
    if (!started) {
        sys_close(ends[0]);
        return false;
    }
    *out = (struct crash_agent){ ends[0], -1, crash_state.helper.pid, false };
    return true;
}

// program_is_there is false when the process has ended, or when one of its threads has
// executed another program, which ends the crashed one.
static bool program_is_there(int32_t parent)
{
    const struct request_page *page = crash_plan->page;
    const int32_t program = (int32_t)(crash_state.claim >> 32);
    const int32_t now = sys_getppid(); // negative: a filter refuses that
    if (!page->dies || now < 0)
        return now == parent;
    return now == program && sys_has_thread(program, page->crashed_tid);
}

void crash_helper_serve(void)
{
    struct crash_helper *helper = &crash_state.helper;
    int32_t parent = sys_getppid();
    uint64_t end = crash_plan->page->deadline_monotonic_ns + CRASH_BOUND_NS;

    uint64_t pause = LOOK_FIRST_NS;
    helper_tell(&helper->state, CRASH_HELPER_WAITS);
    while (helper_load(&helper->order) == CRASH_HELPER_WAIT &&
           program_is_there(parent) && sys_clock_ns(CLOCK_MONOTONIC) < end) {
        if (!helper_has_slept(sys_futex_wait(&helper->order, CRASH_HELPER_WAIT, pause)))
            return;
        pause = pause < LOOK_EVERY_NS ? 2 * pause : LOOK_EVERY_NS;
    }
    if (helper_load(&helper->order) == CRASH_HELPER_RECORD)
        helper->wrote = crash_write_record(helper->reason);
    else if (helper_load(&helper->order) == CRASH_HELPER_WAIT)
        crash_record_cut_off();
}

bool crash_leave_record(enum record_reason reason)
{
    struct crash_helper *helper = &crash_state.helper;
    uint64_t end = crash_plan->page->deadline_monotonic_ns + CRASH_RECORD_NS;

    crash_state.record_due = 0;
    if (crash_state.filtered) { // otherwise it was done before
        helper->program_ppid = sys_getppid();
        sys_prctl(PR_GET_NAME, (unsigned long)helper->thread_name);
    }
    helper->reason = reason;
    if (helper->pid == 0 && crash_may_start())
        (void)helper_start(-1, NULL);
    // One that never waited was ended by a filter or by the kernel.
    if (helper->pid == 0 || (helper_await_change(CRASH_HELPER_STARTS, end) &&
                             helper_load(&helper->state) == CRASH_HELPER_GONE))
        return crash_write_record(reason);
    helper_tell(&helper->order, CRASH_HELPER_RECORD);
    return helper_await_end(end) && helper->wrote;
}

// helper_dismiss signals the helper to end, unless it has something to write.
static void helper_dismiss(void)
{
    uint32_t *order = &crash_state.helper.order;
    if (helper_load(order) == CRASH_HELPER_WAIT)
        helper_tell(order, CRASH_HELPER_END);
}

// helper_reap waits until the helper has left the process table, which is soon: all
// that it had is closed.
static void helper_reap(int32_t pid)
{
    for (int i = 0; i < 100 && sys_wait(pid, 1 /* WNOHANG */) == 0; i++)
        sys_poll(NULL, 0, LOOK_EVERY_NS / 2000);
}

// crash_helper_end makes the agent an orphan, which a program that is a subreaper must
// not get.
void crash_helper_end(void)
{
    const struct request_page *page = crash_plan->page;
    int32_t pid = crash_state.helper.pid;
    int reaps = 0;
    crash_state.helper.pid = 0;
    if (pid == 0)
        return;
    sys_prctl(PR_GET_CHILD_SUBREAPER, (unsigned long)&reaps);
    if (reaps)
        sys_prctl(PR_SET_CHILD_SUBREAPER, 0);
    if (page->dies) {
        helper_dismiss();
        // The last process that releases the memory frees it, and that must not be
        // after our parent is notified of our exit. On a processor of its own the
        // helper is quick enough.
        if (crash_state.helper.pinned &&
            helper_await_end(sys_clock_ns(CLOCK_MONOTONIC) + LOOK_EVERY_NS))
            sys_wait(pid, 0);
        return;
    }
    helper_dismiss();
    if (helper_await_end(page->deadline_monotonic_ns + CRASH_RECORD_NS))
        helper_reap(pid);
    if (reaps)
        sys_prctl(PR_SET_CHILD_SUBREAPER, 1);
    // The agent may have become our child if the helper ended earlier.
    sys_wait(page->agent_pid, 1 /* WNOHANG */);
}
