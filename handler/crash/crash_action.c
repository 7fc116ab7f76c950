// SPDX-License-Identifier: Apache-2.0
//
// The actions that the program has set for our signals, stored where a crash can read
// them at any time: the kernel has only our action.
//
// A thread that sets an action may be interrupted by a signal whose handler sets
// another, or by a crash that reads it. So no lock is taken and no thread waits: an
// action is written into a slot that is not in use, and one exchange of a word, the
// slot's number with a count of exchanges, puts it in force. A reader that finds the
// word unchanged afterwards has read one action and not parts of two.
#include "handler/crash/crash.h"

#include <linux/errno.h>

#include "handler/crash/crash_filter.h"
#include "handler/machine/syscalls.h"

#include "handler/machine/poison.h"

enum {
    ACTIONS_END = SYS_SIGNALS + 1,
    SLOT_BITS = 8,
    // As many as can be in force, and as many again for changes in progress.
    SLOTS = 2 * ACTIONS_END,
};

struct action_slot {
    uint32_t used;
    struct crash_action action;
};

static struct action_slot slots[SLOTS];
static uint64_t in_force[ACTIONS_END]; // count << SLOT_BITS | slot + 1; 0: default
static uint64_t exchanges;
static uint64_t found[ACTIONS_END]; // the handler whose code was there; 0: none

uintptr_t crash_restorer;

static struct action_slot *action_slot_of(uint64_t word)
{
    size_t number = word & ((1u << SLOT_BITS) - 1);
    return number != 0 ? &slots[number - 1] : NULL;
}

static uint64_t load(const void *word)
{
    return __atomic_load_n((const uint64_t *)word, __ATOMIC_RELAXED);
}

static void store(void *word, uint64_t value)
{
    __atomic_store_n((uint64_t *)word, value, __ATOMIC_RELAXED);
}

static void action_copy(struct crash_action *to, const struct crash_action *from)
{
    store(&to->handler, load(&from->handler));
    store(&to->flags, load(&from->flags));
    store(&to->mask, load(&from->mask));
}

void crash_action_read(int signal, struct crash_action *out)
{
    uint64_t word = __atomic_load_n(&in_force[signal], __ATOMIC_ACQUIRE);
    for (;;) {
        const struct action_slot *slot = action_slot_of(word);
        *out = (struct crash_action){ 0 };
        if (slot != NULL)
            action_copy(out, &slot->action);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        uint64_t now = __atomic_load_n(&in_force[signal], __ATOMIC_ACQUIRE);
        if (now == word)
            return;
        word = now;
    }
}

// slot_take finds a slot for a new action. There is one unless dozens of threads are
// here at once, each of which finishes soon.
static size_t slot_take(void)
{
    for (size_t i = 0;; i = (i + 1) % SLOTS) {
        uint32_t unused = 0;
        if (__atomic_compare_exchange_n(&slots[i].used, &unused, 1, false,
                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return i;
    }
}

void crash_action_exchange(int signal, const struct crash_action *action,
                           struct crash_action *out_old)
{
    size_t taken = slot_take();
    action_copy(&slots[taken].action, action);
    uint64_t count = __atomic_add_fetch(&exchanges, 1, __ATOMIC_RELAXED);
    uint64_t word = __atomic_exchange_n(
        &in_force[signal], count << SLOT_BITS | (taken + 1), __ATOMIC_ACQ_REL);
    struct action_slot *old = action_slot_of(word);
    if ((action->flags & CRASH_ACTION_UNSEEN) == 0)
        store(&found[signal], action->handler);
    *out_old = (struct crash_action){ 0 };
    if (old == NULL)
        return;
    *out_old = old->action; // no longer in force, so it is ours alone
    __atomic_store_n(&old->used, 0, __ATOMIC_RELEASE);
}

bool crash_action_calls(const struct crash_action *action)
{
    return action->handler != (uintptr_t)SIG_DFL &&
           action->handler != (uintptr_t)SIG_IGN;
}

// code_is_mapped returns true if the function's code is mapped. It uses a call that
// filters allow: rt_sigprocmask reads the set before it rejects an unknown `how`. Code
// that cannot be read may still be mapped, which madvise shows.
static bool code_is_mapped(uint64_t function)
{
    enum { UNKNOWN_HOW = -1 };
    size_t bytes = crash_plan->page_size;
    return machine_call4(SYS_rt_sigprocmask, UNKNOWN_HOW,
                         (long)(function & ~UINT64_C(7)), 0,
                         SYS_SIGSET_BYTES) != -EFAULT ||
           sys_madvise(function & ~(uint64_t)(bytes - 1), bytes, CRASH_POPULATE_READ) !=
               -ENOMEM;
}

bool crash_action_is_there(int signal, const struct crash_action *action)
{
    if (load(&found[signal]) == action->handler)
        return true;
    if (!code_is_mapped(action->handler))
        return false;
    store(&found[signal], action->handler);
    return true;
}

void crash_action_look_again(void)
{
    struct crash_action action;
    bool may_look = crash_may_call(CRASH_CALLS_MASK | CRASH_CALLS_MAP);
    for (int signal = 1; signal < SIGNALS_END && may_look; signal++) {
        crash_action_read(signal, &action);
        if (crash_action_calls(&action))
            store(&found[signal], code_is_mapped(action.handler) ? action.handler : 0);
    }
}

// crash_action_for_kernel makes the action that the kernel gets. A program's handler is
// to run with the mask that it requested, without a call of ours, so the kernel does
// for us what it would have done for that handler. Our own code always runs on the
// alternate stack: an overflow of the thread's stack leaves no room on that. It returns
// through libc's code, which a program that dispatches its own system calls expects.
// Without such a handler we block everything but other crashes.
void crash_action_for_kernel(int signal, const struct crash_action *theirs,
                             struct sys_action *out)
{
    const uint64_t kept = SA_ONSTACK | SA_NODEFER | SA_RESTART;

    *out = (struct sys_action){ .handler = (uintptr_t)crash_handle,
                                .flags = SA_SIGINFO | kept,
                                .mask = ~(crash_plan->signals >> 1) };
    if (crash_action_calls(theirs)) {
        out->flags = SA_SIGINFO | SA_ONSTACK | (theirs->flags & kept);
        out->mask = crash_mask_of_kernel(signal, theirs);
        if ((crash_mask_to_hold(signal, theirs) >> (signal - 1) & 1) != 0)
            out->flags |= SA_NODEFER;
    }
#if defined(__x86_64__)
    out->flags |= SYS_SA_RESTORER;
    out->restorer = (uintptr_t)crash_restore;
    if (crash_action_calls(theirs) && crash_restorer != 0)
        out->restorer = crash_restorer;
#endif
}
