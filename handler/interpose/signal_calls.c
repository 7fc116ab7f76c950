// SPDX-License-Identifier: Apache-2.0
//
// abort, and the calls but raise by which a handler of the program may end it with a
// signal that is not ours, such as SIGTERM: interposed before libc's by the shared
// library, they report the handler's fault first. Each ends in a jump to libc's own
// function, so that it is on no stack that is unwound.
#include <signal.h>
#include <stddef.h>
#include <sys/types.h>

#include "crashhook/crashhook.h"
#include "handler/crash/crash.h"
#include "handler/interpose/actions.h"
#include "handler/machine/machine.h"
#include "handler/machine/syscalls.h"
#include "handler/prepare/next_call.h"

typedef int kill_fn(pid_t, int);
typedef int tgkill_fn(pid_t, pid_t, int);
typedef int pthread_kill_fn(pthread_t, int);
typedef int sigqueue_fn(pid_t, int, const union sigval);

enum signal_call { KILL, TGKILL, PTHREAD_KILL, SIGQUEUE };

enum { THIS_PROCESS = 0 };

// before_signal reports what is to be reported before the call, and gives libc's own
// function, which it looks up the first time.
static void *before_signal(enum signal_call call, int number, int code, pid_t process)
{
    static const char names[][13] = { "kill", "tgkill", "pthread_kill", "sigqueue" };
    static void *found[sizeof(names) / sizeof(names[0])];
    crash_report_signal(number, code, process);
    if (found[call] == NULL)
        found[call] = next_symbol(names[call]);
    return found[call];
}

// unblock_abort unblocks SIGABRT where libc's abort does not (glibc 2.41, musl):
// otherwise the kernel ends a thread that blocks it without our handler. A handler of
// the program's own would not run without us, so then it stays blocked. It returns
// libc's abort.
__attribute__((noinline)) static void *unblock_abort(void)
{
    const uint64_t own = UINT64_C(1) << (SIGABRT - 1);
    struct crash_action action;
    crash_action_read(SIGABRT, &action);
    if ((crash_holds & own) != 0 && !crash_action_calls(&action))
        (void)machine_call4(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&own, 0,
                            SYS_SIGSET_BYTES);
    return next_symbol("abort");
}

// abort_at_once is abort. A function that is declared not to return would not end in a
// jump.
void abort_at_once(void) __asm__("abort");

CRASHHOOK_API void abort_at_once(void)
{
    ((void (*)(void))unblock_abort())();
}

// kill with a pid of 0 is for the process group that the caller is in.
CRASHHOOK_API int kill(pid_t pid, int number)
{
    kill_fn *next = (kill_fn *)before_signal(KILL, number, SI_USER, pid);
    return next(pid, number);
}

// tgkill is not declared by every libc.
int tgkill(pid_t pid, pid_t tid, int number);

CRASHHOOK_API int tgkill(pid_t pid, pid_t tid, int number)
{
    tgkill_fn *next = (tgkill_fn *)before_signal(TGKILL, number, SI_TKILL, pid);
    return next(pid, tid, number);
}

CRASHHOOK_API int pthread_kill(pthread_t thread, int number)
{
    pthread_kill_fn *next =
        (pthread_kill_fn *)before_signal(PTHREAD_KILL, number, SI_TKILL, THIS_PROCESS);
    return next(thread, number);
}

CRASHHOOK_API int sigqueue(pid_t pid, int number, const union sigval value)
{
    sigqueue_fn *next = (sigqueue_fn *)before_signal(SIGQUEUE, number, SI_QUEUE, pid);
    return next(pid, number, value);
}
