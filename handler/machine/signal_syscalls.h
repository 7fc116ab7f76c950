// SPDX-License-Identifier: Apache-2.0
//
// The crash path's system calls on signals, and those that identify the process and the
// thread. They are made as those in syscalls.h are, which includes them.
#pragma once
#include <signal.h>
#include <stdint.h>
#include <time.h>

#include "handler/machine/machine.h"

// The kernel's own signal set and action; libc's are larger.
enum { SYS_SIGSET_BYTES = 8, SYS_SIGNALS = 64, SYS_SA_RESTORER = 0x04000000 };

static const uint64_t SYS_SA_RESETHAND = 0x80000000; // libc's is negative

// What is blocked while we make system calls: a filter's answer by SIGSYS must arrive.
#define SYS_ALL_BUT_SIGSYS (~(UINT64_C(1) << (SIGSYS - 1)))

// sys_action is the kernel's struct, which has the restorer on AArch64 too, where
// nothing uses it.
struct sys_action {
    uintptr_t handler;
    uint64_t flags;
    uintptr_t restorer;
    uint64_t mask;
};

static inline int32_t sys_getpid(void)
{
    return (int32_t)machine_call0(SYS_getpid);
}

static inline int32_t sys_gettid(void)
{
    return (int32_t)machine_call0(SYS_gettid);
}

static inline long sys_sigaction(int signal, const struct sys_action *action,
                                 struct sys_action *out_old)
{
    return machine_call4(SYS_rt_sigaction, signal, (long)action, (long)out_old,
                         SYS_SIGSET_BYTES);
}

// sys_sigmask sets the thread's set of blocked signals to mask and returns the old set.
__attribute__((visibility("hidden"))) uint64_t sys_sigmask(uint64_t mask);

// sys_block_all blocks every signal.
static inline long sys_block_all(uint64_t *out_old)
{
    const uint64_t all = ~UINT64_C(0);
    return machine_call4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)out_old, 8);
}

// sys_pending is the set of signals that are blocked and pending.
__attribute__((visibility("hidden"))) uint64_t sys_pending(void);

static inline bool sys_is_pending(int signal)
{
    return (sys_pending() >> (signal - 1) & 1) != 0;
}

static inline void sys_sigaltstack(stack_t *out)
{
    machine_call2(SYS_sigaltstack, 0, (long)out);
}

// sys_queue_signal sends signal with exactly this siginfo to the calling thread.
static inline long sys_queue_signal(int signal, const void *siginfo)
{
    return machine_call4(SYS_rt_tgsigqueueinfo, sys_getpid(), sys_gettid(), signal,
                         (long)siginfo);
}

static inline long sys_kill_thread(int signal)
{
    return machine_call3(SYS_tgkill, sys_getpid(), sys_gettid(), signal);
}

// sys_has_thread is false if process pid has no such thread, not even one that has
// exited.
static inline bool sys_has_thread(int32_t pid, int32_t tid)
{
    enum { NO_SUCH_PROCESS = 3 }; // ESRCH
    return machine_call3(SYS_tgkill, pid, tid, 0) != -NO_SUCH_PROCESS;
}

static inline long sys_kill(int32_t pid, int signal)
{
    return machine_call2(SYS_kill, pid, signal);
}
