// SPDX-License-Identifier: Apache-2.0
//
// Starting the agent, in crash context (see crash.c). Two children in a row share our
// memory while we wait, so the cost does not grow with it: the first makes the second
// and ends, so that the agent is nobody's child and no exit signal is sent; the second
// has a descriptor table of its own, empties it, and becomes the agent.
//
// No signal runs a handler of the program's or of ours on the way: all are blocked
// until the agent's process has dropped the handlers. SIGSYS is one of them: a call
// that a seccomp filter answers with it ends that child alone, by the kernel.
#include "handler/crash.h"

#include <fcntl.h>
#include <linux/errno.h>
#include <sched.h>
#include <sys/prctl.h>

#include "handler/machine.h"
#include "handler/syscalls.h"

#include "handler/poison.h"

enum { SPAWN_FLAGS = CLONE_VM | CLONE_VFORK };

// reset_signals has no handler left, and only then unblocks what would run one.
static void reset_signals(void)
{
    const struct sys_action standard = { .handler = (uintptr_t)SIG_DFL };
    long failed = 0;
    for (int signal = 1; signal <= SYS_SIGNALS; signal++) {
        if (signal != SIGKILL && signal != SIGSTOP)
            failed |= sys_sigaction(signal, &standard, NULL);
    }
    if (failed == 0)
        sys_sigmask(0);
}

// lift_limits gives the agent what the program may have used up, as far as it is
// allowed to.
static void lift_limits(void)
{
    static const int used_up[] = { RLIMIT_AS, RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_CPU };
    struct rlimit limit = { 0, 0 };
    for (size_t i = 0; i < sizeof(used_up) / sizeof(used_up[0]); i++) {
        if (sys_limit(used_up[i], NULL, &limit) != 0)
            continue;
        limit.rlim_cur = limit.rlim_max;
        sys_limit(used_up[i], &limit, NULL);
    }
}

// dump_nothing: a core dump of a child would hide that of the program, whose memory it
// shares. A limit of 1 byte is one that pipes respect as well (core(5)).
static void dump_nothing(void)
{
    sys_limit(RLIMIT_CORE, &(const struct rlimit){ 1, 1 }, NULL);
}

static void close_from(unsigned first)
{
    struct rlimit limit = { 1024, 1024 };
    if (sys_close_range(first, ~0u) == 0)
        return;
    // Before Linux 5.9 they are closed one by one.
    sys_limit(RLIMIT_NOFILE, NULL, &limit);
    for (unsigned fd = first; fd < limit.rlim_cur && fd < 1u << 20; fd++)
        sys_close((int)fd);
}

// keep_channel leaves the channel as descriptor 3, perhaps standard error as 2, and
// /dev/null in the place of the other standard ones: nothing of the program's is held.
static void keep_channel(int channel)
{
    bool keep_stderr = crash_plan->page->keep_stderr != 0;

    if (channel == REQUEST_CHANNEL_FD)
        sys_keep_at_exec(channel);
    else
        sys_dup_to(channel, REQUEST_CHANNEL_FD);
    close_from(REQUEST_CHANNEL_FD + 1);
    for (int fd = 0; fd < (keep_stderr ? 2 : 3); fd++)
        sys_close(fd);
    if (sys_open("/dev/null", O_RDWR) == 0) {
        sys_dup(0);
        if (!keep_stderr)
            sys_dup(0);
    }
}

// What the children are told.
struct start {
    int channel;
    char *const *argv;
};

static int become_agent(void *argument)
{
    const struct start *start = argument;
    reset_signals();
    sys_setsid();
    keep_channel(start->channel);
    lift_limits();
    sys_exec(crash_plan->agent, start->argv, crash_plan->envp);
    crash_state.exec_fails = 1;
    return 127;
}

static int make_agent(void *argument)
{
    dump_nothing();
    long pid =
        machine_clone(SPAWN_FLAGS | CLONE_PARENT_SETTID, crash_plan->second_stack_end,
                      &crash_plan->page->agent_pid, become_agent, argument);
    if (pid > 0)
        sys_wait((int32_t)pid,
                 1 /* WNOHANG: it has ended when it could not be started */);
    return 0;
}

// It finds room in a full descriptor table: under a higher limit, or else in place of
// the last descriptors, in a table of this thread's own if others share it.
long crash_make_channel(int *out_ends)
{
    enum { ROOM = 4 };
    struct rlimit old = { 0, 0 };
    long result = sys_socketpair(out_ends);
    if (result == 0 || sys_limit(RLIMIT_NOFILE, NULL, &old) != 0)
        return result;

    struct rlimit wider = { old.rlim_cur + ROOM, old.rlim_max };
    if (wider.rlim_cur <= old.rlim_max && sys_limit(RLIMIT_NOFILE, &wider, NULL) == 0)
        result = sys_socketpair(out_ends);
    if (result == 0 || old.rlim_cur < 2 * ROOM)
        return result;
    sys_unshare(CLONE_FILES);
    close_from((unsigned)old.rlim_cur - ROOM);
    return sys_socketpair(out_ends);
}

// clone_blocked makes a child that is born with every signal blocked; this thread has
// SIGSYS blocked for no other call.
static long clone_blocked(struct start *start)
{
    uint64_t mask = 0;
    if (sys_block_all(&mask) != 0)
        return -1;
    long pid = machine_clone(SPAWN_FLAGS, crash_plan->first_stack_end, NULL, make_agent,
                             start);
    sys_sigmask(mask);
    return pid;
}

// run_first_child makes the agent an orphan, and sees to it that a program that reaps
// orphans does not get this one.
static void run_first_child(struct start *start)
{
    int reaps = 0;
    sys_prctl(PR_GET_CHILD_SUBREAPER, (unsigned long)&reaps);
    if (reaps)
        sys_prctl(PR_SET_CHILD_SUBREAPER, 0);
    long pid = clone_blocked(start);
    while (pid > 0 && sys_wait((int32_t)pid, 0) == -EINTR)
        ;
    if (reaps)
        sys_prctl(PR_SET_CHILD_SUBREAPER, 1);
}

// may_clone makes a call that the kernel refuses for its flags, while SIGSYS is not
// blocked: a filter that answers it so must not end the program.
static bool may_clone(void)
{
    return machine_clone(SPAWN_FLAGS | CLONE_THREAD, crash_plan->first_stack_end, NULL,
                         make_agent, NULL) != -ENOSYS;
}

bool crash_start_agent(struct crash_agent *out, char *const *argv)
{
    int ends[2] = { -1, -1 };

    if (crash_make_channel(ends) != 0)
        return false;
    crash_state.exec_fails = 0;
    uint64_t mask = sys_sigmask(SYS_ALL_BUT_SIGSYS);
    struct start start = { ends[1], argv };
    if (may_clone())
        run_first_child(&start);
    sys_sigmask(mask);
    sys_close(ends[1]);
    if (crash_plan->page->agent_pid <= 0 || crash_state.exec_fails) {
        sys_close(ends[0]);
        return false;
    }
    *out = (struct crash_agent){
        .channel = ends[0],
        .pidfd = sys_pidfd_open(crash_plan->page->agent_pid),
    };
    return true;
}
