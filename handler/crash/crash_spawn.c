// SPDX-License-Identifier: Apache-2.0
//
// The two processes that a crash starts (see crash.c). They share our memory, so their
// cost does not grow with it. The first, the helper, has its own descriptor table,
// empties it, makes the second, and waits for further work (crash_helper.c); the second
// becomes the agent, an orphan once the helper has ended.
//
// No handler of the program runs on the way: all signals are blocked, and the agent
// unblocks them once exec has removed the handlers, except SIGSYS: a call that a
// seccomp filter answers with it fails, as in the crashed thread.
#include "handler/crash/crash.h"

#include <fcntl.h>
#include <linux/errno.h>
#include <sched.h>
#include <sys/prctl.h>

#include "handler/crash/crash_trust.h"
#include "handler/machine/machine.h"
#include "handler/machine/syscalls.h"

#include "handler/machine/poison.h"

// lift_limits raises limits that the program may have exhausted, as far as the hard
// limits allow.
static void lift_limits(void)
{
    static const int used_up[] = { RLIMIT_AS, RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_CPU };
    struct rlimit limit = { 0, 0 };
    for (size_t i = 0; i < sizeof(used_up) / sizeof(used_up[0]); i++) {
        if (sys_limit(used_up[i], NULL, &limit) != 0 ||
            limit.rlim_cur == limit.rlim_max)
            continue;
        limit.rlim_cur = limit.rlim_max;
        sys_limit(used_up[i], &limit, NULL);
    }
}

// dump_nothing prevents a child's core dump, which would overwrite that of the program
// whose memory it shares. Pipes respect a limit of 1 byte, unlike 0 (core(5)).
static void dump_nothing(void)
{
    sys_limit(RLIMIT_CORE, &(const struct rlimit){ 1, 1 }, NULL);
}

// keep_channel leaves the channel as descriptor 3, those of the standard ones that the
// agent prints on, and /dev/null in place of the others: no other file of the program
// stays open.
static void keep_channel(int channel)
{
    uint32_t kept = crash_plan->page->kept_files;

    if (channel == REQUEST_CHANNEL_FD)
        sys_keep_at_exec(channel);
    else
        sys_dup_to(channel, REQUEST_CHANNEL_FD);
    crash_close_from(REQUEST_CHANNEL_FD + 1);
    sys_close(0);
    bool has_null = sys_open("/dev/null", O_RDWR) == 0;
    for (int fd = 1; fd < REQUEST_CHANNEL_FD; fd++) {
        if ((kept & UINT32_C(1) << fd) != 0)
            continue;
        sys_close(fd);
        if (has_null)
            sys_dup(0);
    }
}

static void execute_agent(const char *path)
{
    if (crash_plan->page->dies && !crash_state.alone && !crash_state.filtered)
        crash_seize_others(path);
    sys_exec(path, crash_state.helper.argv, crash_plan->envp);
}

static int become_agent(void *argument)
{
    (void)argument;
    lift_limits();
    for (const char *agent = crash_plan->agents; *agent != 0; agent++) {
        if (crash_trusts(agent))
            execute_agent(agent);
        else
            crash_distrusted = agent;
        while (*agent != 0)
            agent++;
    }
    crash_state.exec_fails = 1;
    return 127;
}

static int run_helper(void *argument)
{
    (void)argument;
    sys_sigmask(SYS_ALL_BUT_SIGSYS);
    dump_nothing();
    if (crash_state.helper.argv != NULL) {
        // Signals for the program's group, which terminals and shells send, are not for
        // the agent. A session of its own has to wait until the program has exited:
        // with one the kernel makes a scheduling group, which takes it 30 microseconds.
        sys_own_group();
        keep_channel(crash_state.helper.channel);
        machine_clone(CLONE_VM | CLONE_VFORK | CLONE_PARENT_SETTID,
                      crash_plan->second_stack_end, &crash_plan->page->agent_pid,
                      become_agent, NULL);
    }
    // A descriptor left open here would stay open for the program's peers while a disk
    // hangs.
    crash_close_from(0);
    crash_helper_serve();
    return 0;
}

// stay_on_processor keeps this thread, and with it the agent, on its current processor,
// if nothing of the program runs any more. The kernel would put each new process on an
// idle processor, and so the thread that is woken at the end. Waking one takes a while,
// milliseconds in a virtual machine whose host is busy, and the current one is free.
static void stay_on_processor(void)
{
    static uint64_t one[REQUEST_PROCESSORS / 64];
    struct request_page *page = crash_plan->page;
    unsigned here = 0;
    // The program's callback may start others. A filter might kill for these calls,
    // which a crash can do without. The first fails where there are processors of
    // higher numbers than the sets have room for.
    if (!page->dies || crash_state.after != NULL || crash_state.filtered ||
        sys_processors(page->processors, sizeof(page->processors)) <= 0)
        return;
    sys_processor(&here);
    one[here / 64] = UINT64_C(1) << here % 64;
    sys_stay_on(one, sizeof(one));
    crash_state.helper.pinned = 1;
}

// may_clone makes a clone call whose flags the kernel rejects, while SIGSYS is not
// blocked: if a filter answers clone with SIGSYS, that must not end the program.
static bool may_clone(void)
{
    return machine_clone(CLONE_VM | CLONE_VFORK | CLONE_THREAD,
                         crash_plan->first_stack_end, NULL, run_helper,
                         NULL) != -ENOSYS;
}

// clone_blocked makes a child that starts with every signal blocked; for no other call
// does this thread block SIGSYS.
static long clone_blocked(void)
{
    uint64_t mask = 0;
    if (sys_block_all(&mask) != 0)
        return -1;
    long pid =
        machine_clone(CLONE_VM | CLONE_CHILD_CLEARTID, crash_plan->first_stack_end,
                      &crash_state.helper.state, run_helper, NULL);
    sys_sigmask(mask);
    return pid;
}

long crash_helper_clone(void)
{
    if (crash_state.helper.argv != NULL)
        stay_on_processor();
    uint64_t mask = sys_sigmask(SYS_ALL_BUT_SIGSYS);
    long pid = may_clone() ? clone_blocked() : -1;
    sys_sigmask(mask);
    return pid;
}
