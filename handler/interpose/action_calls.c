// SPDX-License-Identifier: Apache-2.0
//
// The functions by which a program sets signal actions, interposed before libc's (see
// actions.h), and the raise, exits and longjmp by which its handlers end. In
// libcrashhook.a they are weak: definitions by the program or a sanitizer win, and
// libc's do where it links them.
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "crashhook/crashhook.h"
#include "handler/crash/crash.h"
#include "handler/interpose/actions.h"
#include "handler/machine/machine.h"
#include "handler/prepare/liveness_record.h"
#include "handler/prepare/next_call.h"
#include "handler/prepare/threads.h"

typedef void handler_fn(int);
typedef int raise_fn(int);

// The signals that interrupt system calls, by siginterrupt.
static uint64_t interrupting;

static uint64_t bit_of(int number)
{
    return UINT64_C(1) << (number - 1);
}

static bool is_signal(int number)
{
    if (number > 0 && number < NSIG)
        return true;
    errno = EINVAL;
    return false;
}

// only makes *out, an empty set, the set of number alone.
static void only(int number, sigset_t *out)
{
    *(uint64_t *)out = bit_of(number);
}

// set_signal_action is signal() with the flags by which the members of its family
// differ.
static handler_fn *set_signal_action(int number, handler_fn *handler, int flags,
                                     bool blocks_itself)
{
    struct sigaction action = { .sa_handler = handler, .sa_flags = flags };
    struct sigaction old;
    if (handler == SIG_ERR || !is_signal(number)) {
        errno = EINVAL;
        return SIG_ERR;
    }
    if (blocks_itself)
        only(number, &action.sa_mask);
    return actions_exchange(number, &action, &old) == 0 ? old.sa_handler : SIG_ERR;
}

static handler_fn *set_bsd(int number, handler_fn *handler)
{
    bool interrupts =
        is_signal(number) &&
        (__atomic_load_n(&interrupting, __ATOMIC_RELAXED) & bit_of(number)) != 0;
    return set_signal_action(number, handler, interrupts ? 0 : SA_RESTART, true);
}

static handler_fn *set_system_v(int number, handler_fn *handler)
{
    return set_signal_action(number, handler, (int)SA_RESETHAND | SA_NODEFER, false);
}

// bsd_signal and the next three are not declared by every libc; their names are
// reserved for it.
handler_fn *bsd_signal(int number, handler_fn *handler);
handler_fn *ssignal(int number, handler_fn *handler);
handler_fn *sysv_signal(int number, handler_fn *handler);
handler_fn *__sysv_signal(int number, handler_fn *handler);

INTERPOSED int sigaction(int number, const struct sigaction *restrict action,
                         struct sigaction *restrict old)
{
    return actions_exchange(number, action, old);
}

INTERPOSED handler_fn *signal(int number, handler_fn *handler)
{
    return set_bsd(number, handler);
}

INTERPOSED handler_fn *bsd_signal(int number, handler_fn *handler)
{
    return set_bsd(number, handler);
}

INTERPOSED handler_fn *ssignal(int number, handler_fn *handler)
{
    return set_bsd(number, handler);
}

INTERPOSED handler_fn *sysv_signal(int number, handler_fn *handler)
{
    return set_system_v(number, handler);
}

INTERPOSED handler_fn *__sysv_signal(int number, handler_fn *handler)
{
    return set_system_v(number, handler);
}

INTERPOSED int sigignore(int number)
{
    return set_signal_action(number, SIG_IGN, 0, false) == SIG_ERR ? -1 : 0;
}

// sigset with SIG_HOLD blocks the signal and leaves its action.
INTERPOSED handler_fn *sigset(int number, handler_fn *handler)
{
    handler_fn *const hold = (handler_fn *)2; // SIG_HOLD, which not every libc defines
    sigset_t its = { 0 };
    sigset_t before;
    struct sigaction old;
    bool holds = handler == hold;

    if (!is_signal(number))
        return SIG_ERR;
    only(number, &its);
    if (holds && actions_exchange(number, NULL, &old) != 0)
        return SIG_ERR;
    if (!holds &&
        (old.sa_handler = set_signal_action(number, handler, 0, false)) == SIG_ERR)
        return SIG_ERR;
    if (sigprocmask(holds ? SIG_BLOCK : SIG_UNBLOCK, &its, &before) != 0)
        return SIG_ERR;
    return (*(uint64_t *)&before & bit_of(number)) != 0 ? hold : old.sa_handler;
}

// change_mask is sigprocmask in a thread that may be in a handler of a fault, where the
// kernel does not block what the program blocks (crash_mask.c).
static int change_mask(int how, const sigset_t *set, sigset_t *old)
{
    sigset_t wanted;
    sigset_t now;
    if (crash_fault_note() == NULL || next_sigmask(SIG_BLOCK, NULL, &now) != 0)
        return next_sigmask(how, set, old);
    if (set != NULL)
        wanted = *set;
    crash_mask_change(how, set != NULL ? (uint64_t *)&wanted : NULL, (uint64_t *)&now,
                      (uintptr_t)__builtin_frame_address(0));
    int result = next_sigmask(how, set != NULL ? &wanted : NULL, NULL);
    if (result == 0 && old != NULL)
        *(uint64_t *)old = *(uint64_t *)&now;
    return result;
}

INTERPOSED int pthread_sigmask(int how, const sigset_t *restrict set,
                               sigset_t *restrict old)
{
    return change_mask(how, set, old);
}

INTERPOSED int sigprocmask(int how, const sigset_t *restrict set,
                           sigset_t *restrict old)
{
    int result = change_mask(how, set, old);
    if (result == 0)
        return 0;
    errno = result;
    return -1;
}

INTERPOSED int siginterrupt(int number, int interrupts)
{
    struct sigaction action;
    if (!is_signal(number) || actions_exchange(number, NULL, &action) != 0)
        return -1;
    if (interrupts) {
        __atomic_fetch_or(&interrupting, bit_of(number), __ATOMIC_RELAXED);
        action.sa_flags &= ~SA_RESTART;
    } else {
        __atomic_fetch_and(&interrupting, ~bit_of(number), __ATOMIC_RELAXED);
        action.sa_flags |= SA_RESTART;
    }
    return actions_exchange(number, &action, NULL);
}

__attribute__((noinline)) static int raise_checked(int number)
{
    if (number != 0 && !is_signal(number))
        return -1;
    int error = pthread_kill(pthread_self(), number);
    if (error == 0)
        return 0;
    errno = error;
    return -1;
}

// raise_here is raise in a static program, which does not link libc's. For abort it is
// a jump: musl's has no unwind rules, and is found by what is next on the stack.
static int raise_here(int number)
{
    return number == SIGABRT ? pthread_kill(pthread_self(), number)
                             : raise_checked(number);
}

// before_raise reports what is to be reported before the call, and gives the function
// that is to be called.
static raise_fn *before_raise(int number)
{
    static raise_fn *next;
    crash_report_signal(number, SI_TKILL, 0);
    if (next == NULL)
        next = (raise_fn *)next_symbol("raise");
    return next != NULL ? next : raise_here;
}

// raise_abort raises SIGABRT, and forgets that where it has been blocked: it must not
// be remembered when libc's abort comes.
__attribute__((noinline)) static int raise_abort(raise_fn *next)
{
    __atomic_store_n(&crash_state.raises_abort,
                     machine_thread_word(crash_state.reads_thread_word),
                     __ATOMIC_RELAXED);
    int result = next(SIGABRT);
    __atomic_store_n(&crash_state.raises_abort, 0, __ATOMIC_RELAXED);
    return result;
}

// is_libc_abort returns true if a return address is in abort, which calls our raise in
// a static program alone.
static bool is_libc_abort(const void *address)
{
    enum { ABORT_BYTES = 1024 }; // twice that of glibc 2.36 and 2.41
    return (uintptr_t)address - (uintptr_t)abort < ABORT_BYTES;
}

// raise is not abort: the program continues where its handler returns.
INTERPOSED int raise(int number)
{
    struct crash_action action = { 0 };
    const void *caller = __builtin_return_address(0);
    raise_fn *next = before_raise(number);
    if (number == SIGABRT && !is_libc_abort(caller))
        crash_action_read(SIGABRT, &action);
    if (action.handler == (uintptr_t)SIG_DFL || actions_are_shared())
        return next(number);
    return raise_abort(next);
}

// end_now is in one piece for both, so that each is a jump.
__attribute__((noinline, noreturn)) static void end_now(int status)
{
    liveness_record_end();
    crash_report_exit(status & 0xff, (uintptr_t)__builtin_frame_address(0));
    next_exit_now(status);
}

INTERPOSED void _exit(int status)
{
    end_now(status);
}

INTERPOSED void _Exit(int status)
{
    end_now(status);
}

#if defined(__GLIBC__)

typedef void longjmp_fn(struct __jmp_buf_tag *, int);

// __longjmp_chk is glibc's longjmp for programs built with _FORTIFY_SOURCE. It queries
// the kernel whether it leaves an alternate stack, and the kernel has only ours.
__attribute__((noreturn)) void __longjmp_chk(struct __jmp_buf_tag *to, int value);

// jump_unchecked is siglongjmp also where we are built with _FORTIFY_SOURCE.
__attribute__((noreturn)) void jump_unchecked(struct __jmp_buf_tag *to,
                                              int value) __asm__("siglongjmp");

INTERPOSED void __longjmp_chk(struct __jmp_buf_tag *to, int value)
{
    static longjmp_fn *next;
    stack_t now = { .ss_flags = 0 };
    if (next == NULL)
        next = (longjmp_fn *)next_symbol("__longjmp_chk");
    if (threads_have_set)
        (void)sigaltstack(NULL, &now);
    if (next != NULL && (now.ss_flags & SS_ONSTACK) == 0)
        next(to, value);
    jump_unchecked(to, value);
}

#endif
