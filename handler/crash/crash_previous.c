// SPDX-License-Identifier: Apache-2.0
//
// The program's handler for one of our signals, called in crash context (see crash.c)
// before anything else is done: a runtime such as a JVM or .NET turns its own faults
// into null checks, and those are not crashes. It is called with the siginfo and
// context that the kernel gave, and with the mask and on the stack that the kernel set
// for it. Until this is known to be a crash, only indispensable system calls are made.
//
// What the handler did shows what the signal was. If it left by longjmp, we never hear
// of it. If it changed a register, or the memory is accessible now, the program
// continues. If it removed itself, it has given up: this is a crash, and the action
// that it put in place decides how the process ends. If it changed nothing, the same
// fault would recur for ever, so this is a crash and ends as one.
#include "handler/crash/crash.h"

#include <sys/mman.h>

#include "handler/machine/machine.h"
#include "handler/machine/machine_context.h"
#include "handler/machine/syscalls.h"

#include "handler/machine/poison.h"

// accessible returns true if the access that failed in context would succeed now.
static bool accessible(const siginfo_t *info, const ucontext_t *context)
{
    uintptr_t page = (uintptr_t)info->si_addr & ~(uintptr_t)(crash_plan->page_size - 1);
    int access =
        machine_fault_wrote(context) ? CRASH_POPULATE_WRITE : CRASH_POPULATE_READ;
    return sys_madvise(page, crash_plan->page_size, access) == 0;
}

void crash_call(struct crash_asked *asked)
{
    const struct crash_action *action = &asked->action;
    uint64_t interrupted =
        *(const uint64_t *)&((ucontext_t *)asked->context)->uc_sigmask;
    bool nests = (action->flags & SA_NODEFER) != 0;
    uint64_t own = nests ? 0 : UINT64_C(1) << (asked->signal - 1);
    uint64_t mask = crash_mask_of_kernel(asked->signal, action) |
                    (own & ~crash_mask_to_hold(asked->signal, action));

    uint64_t ours = sys_sigmask(interrupted | mask);
    ((void (*)(int, siginfo_t *, void *))(uintptr_t)action->handler)(
        asked->signal, asked->info, asked->context);
    // It may have raised the signal again, which must not arrive before the report.
    sys_sigmask(ours | own);
}

// same_registers returns true if the handler left every register unchanged.
static bool same_registers(const uint64_t *before, const uint64_t *after)
{
    for (int i = 0; i < REQUEST_REGISTERS; i++) {
        if (before[i] != after[i])
            return false;
    }
    return true;
}

// aborts returns true if the signal is abort()'s, which does more when a handler
// returns. It is sent to the thread: kill and sigqueue are of programs that continue.
static bool aborts(int signal, const siginfo_t *info, bool raised)
{
    return signal == SIGABRT && info->si_code == SI_TKILL &&
           info->si_pid == sys_getpid() && !raised;
}

enum crash_verdict crash_judge(struct crash_asked *asked)
{
    uint64_t after[REQUEST_REGISTERS] = { 0 };
    struct crash_action now;
    int signal = asked->signal;
    const siginfo_t *info = asked->info;

    asked->told = crash_fault_close(asked);
    machine_registers(asked->context, after);
    if (!same_registers(asked->registers, after))
        return CRASH_NONE;
    if (aborts(signal, info, asked->raised))
        return CRASH_GOES_ON;
    bool comes_again = info->si_code > 0 && signal != SIGTRAP && signal != SIGSYS;
    crash_action_read(signal, &now);
    if (now.handler != asked->action.handler && crash_action_calls(&now))
        return comes_again ? CRASH_COMES_AGAIN : CRASH_NONE;
    if (!comes_again)
        return now.handler == (uintptr_t)SIG_DFL && sys_is_pending(signal) ? CRASH_DIES
                                                                           : CRASH_NONE;
    // A signal that the handler has blocked comes first, and may end the process.
    if ((sys_pending() & ~(crash_plan->signals >> 1) &
         ~*(const uint64_t *)&((ucontext_t *)asked->context)->uc_sigmask) != 0)
        return CRASH_NONE;
    if (now.handler != asked->action.handler)
        return CRASH_DIES;
    bool memory = signal == SIGSEGV || signal == SIGBUS;
    return memory && accessible(info, asked->context) ? CRASH_NONE : CRASH_DIES;
}

// reset_first makes the action the default before its handler runs (SA_RESETHAND).
static void reset_first(int signal, const struct crash_action *action)
{
    struct crash_action standard = *action;
    struct crash_action old;
    struct sys_action ours;

    standard.handler = (uintptr_t)SIG_DFL;
    crash_action_exchange(signal, &standard, &old);
    crash_action_for_kernel(signal, &standard, &ours);
    sys_sigaction(signal, &ours, NULL);
}

bool crash_is_in_runtime(uint64_t address)
{
    return address - crash_state.runtime_text <
           crash_state.runtime_text_end - crash_state.runtime_text;
}

// is_first returns true if it is a fault that no handler was called for before.
static bool is_first(const struct crash_asked *asked)
{
    return asked->note != NULL && asked->note->is_fault;
}

// never_recovers returns true if the handler is Go's and the fault is not in Go's code.
// Then it prints a message and ends the process: by a direct system call, or by SIGABRT
// from any thread (GOTRACEBACK=crash).
static bool never_recovers(const struct crash_asked *asked)
{
    return crash_is_in_runtime(asked->action.handler) && is_first(asked) &&
           !signal_in(crash_state.runtime_asks, asked->signal) &&
           !crash_is_in_runtime(machine_program_counter(asked->context));
}

static enum crash_verdict ignored(int signal, const siginfo_t *info, bool raised)
{
    // A fault cannot be ignored, nor can abort(); a signal that was sent can.
    if (info->si_code > 0)
        return CRASH_DIES;
    return aborts(signal, info, raised) ? CRASH_GOES_ON : CRASH_NONE;
}

// await_fault_elsewhere lets another thread report first: a handler of its fault may
// have sent the process this signal, to return then. That thread's crash ends the wait.
static void await_fault_elsewhere(int signal, const siginfo_t *info)
{
    enum { TURN_NS = 5000000 };
    unsigned turns = crash_fault_turns(signal);
    if (info->si_code > 0 || turns == 0 || crash_fault_note() != NULL ||
        info->si_pid != sys_getpid())
        return;
    for (unsigned i = 0; i < turns; i++) {
        if (__atomic_load_n(&crash_state.claim, __ATOMIC_SEQ_CST) != 0)
            return;
        sys_futex_wait((uint32_t *)&crash_state.claim, 0, TURN_NS);
    }
}

// is_fault_of_call returns true if the handler could not be entered, because its code
// has been unmapped since it was last called. Calling it would fault in the same way
// for ever.
static bool is_fault_of_call(const siginfo_t *info, const void *context,
                             const struct crash_action *action)
{
    return info->si_code > 0 && machine_program_counter(context) == action->handler;
}

enum crash_verdict crash_ask(int signal, siginfo_t *info, void *context,
                             struct crash_asked *asked)
{
    // Taken before the handler, which may leave by longjmp.
    asked->raised =
        signal == SIGABRT && info->si_code == SI_TKILL && crash_raise_take();
    enum crash_verdict held = crash_mask_judge(signal, info, context);
    if (held != CRASH_ASKS)
        return held;
    crash_action_read(signal, &asked->action);
    if (asked->action.handler == (uintptr_t)SIG_DFL) {
        await_fault_elsewhere(signal, info);
        return CRASH_DIES;
    }
    if (asked->action.handler == (uintptr_t)SIG_IGN)
        return ignored(signal, info, asked->raised);
    if (!crash_action_is_there(signal, &asked->action) ||
        is_fault_of_call(info, context, &asked->action))
        return CRASH_DIES;
    asked->signal = signal;
    asked->info = info;
    asked->context = context;
    asked->relayed = false;
    asked->note = crash_fault_open(asked);
    machine_registers(context, asked->registers);
    if ((asked->action.flags & SYS_SA_RESETHAND) != 0)
        reset_first(signal, &asked->action);
    asked->last = never_recovers(asked);
    bool first = crash_plan->reports_first && is_first(asked);
    return first || asked->last ? CRASH_ASKS_LATE : CRASH_ASKS;
}
