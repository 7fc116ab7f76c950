// SPDX-License-Identifier: Apache-2.0
#include "handler/end_signal.h"

#include <stddef.h>
#include <time.h>

#include "handler/context_page.h"
#include "handler/crash.h"
#include "handler/next_call.h"
#include "handler/syscalls.h"

_Static_assert(offsetof(struct context_life, ended) == 0, "the state points to it");

// A handler_fn is a handler with SA_SIGINFO; one without ignores all but the signal.
typedef void handler_fn(int, siginfo_t *, void *);

// What the program has set, and whether it asked for SA_SIGINFO.
static handler_fn *theirs;
static int theirs_flag;

// note_end_signal leaves by a jump: it is in no stack below the program's handler.
static void note_end_signal(int signal, siginfo_t *info, void *context)
{
    // A child has the handler of its parent, but no life.
    struct context_life *life = (struct context_life *)(void *)crash_state.ended;
    if (life != NULL) {
        life->told_by = info->si_pid != 0 ? info->si_pid : LIFE_ASKED_OUTSIDE;
        life->told_realtime_ns = sys_clock_ns(CLOCK_REALTIME);
        life->told_signal = SIGTERM;
    }
    __atomic_load_n(&theirs, __ATOMIC_ACQUIRE)(signal, info, context);
}

int end_signal_exchange(const struct sigaction *action, struct sigaction *old)
{
    handler_fn *handler = __atomic_load_n(&theirs, __ATOMIC_ACQUIRE);
    int flag = theirs_flag;
    struct sigaction ours;
    if (action != NULL && action->sa_handler != SIG_DFL &&
        action->sa_handler != SIG_IGN && action->sa_sigaction != note_end_signal) {
        ours = *action;
        theirs_flag = ours.sa_flags & SA_SIGINFO;
        __atomic_store_n(&theirs, ours.sa_sigaction, __ATOMIC_RELEASE);
        ours.sa_sigaction = note_end_signal;
        ours.sa_flags |= SA_SIGINFO;
        action = &ours;
    }
    int result = next_sigaction(SIGTERM, action, old);
    if (result == 0 && old != NULL && old->sa_sigaction == note_end_signal) {
        old->sa_sigaction = handler;
        old->sa_flags ^= SA_SIGINFO ^ flag;
    }
    return result;
}
