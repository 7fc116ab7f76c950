// SPDX-License-Identifier: Apache-2.0
//
// The calls by which a program uses the handler directly: callbacks, a report of the
// running program, and a deliberate crash to test it.
#include <errno.h>
#include <stdlib.h>

#include "crashhook/crashhook.h"
#include "handler/crash/crash.h"
#include "handler/prepare/plan.h"
#include "handler/prepare/threads.h"

// has_callback_stack maps the callbacks' stack on first use. False: out of memory.
static bool has_callback_stack(void)
{
    void *none = NULL;
    if (__atomic_load_n(&crash_state.callback_stack_end, __ATOMIC_ACQUIRE) != NULL)
        return true;
    void *stack = threads_stack_create();
    if (stack == NULL)
        return false;
    if (!__atomic_compare_exchange_n(&crash_state.callback_stack_end, &none,
                                     threads_stack_end(stack), false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        threads_stack_destroy(stack); // another thread was first
    return true;
}

void crashhook_set_callbacks(crashhook_before_fn *before, crashhook_after_fn *after,
                             void *argument)
{
    // Cleared first, so that neither old callback is called with the new argument.
    __atomic_store_n(&crash_state.before, NULL, __ATOMIC_SEQ_CST);
    __atomic_store_n(&crash_state.after, NULL, __ATOMIC_SEQ_CST);
    if ((before == NULL && after == NULL) || !has_callback_stack())
        return;
    __atomic_store_n(&crash_state.callback_argument, argument, __ATOMIC_SEQ_CST);
    __atomic_store_n(&crash_state.before, before, __ATOMIC_SEQ_CST);
    __atomic_store_n(&crash_state.after, after, __ATOMIC_SEQ_CST);
}

int crashhook_report_now(const char *why)
{
    if (!plan_is_in_force())
        return ECANCELED;
    crashhook_breadcrumb(why);
    switch (crash_report_live()) {
    case CRASH_LIVE_DONE:
        return 0;
    case CRASH_LIVE_BUSY:
        return EBUSY;
    default:
        return EIO;
    }
}

// overflow_stack exhausts the stack, a kilobyte per call.
// NOLINTNEXTLINE(misc-no-recursion): that is how a stack is exhausted
__attribute__((noinline)) static int overflow_stack(volatile int *above)
{
    volatile int room[256];
    room[0] = *above + 1;
    // The recursion never reaches 0, but the compiler cannot know that.
    return room[0] != 0 ? overflow_stack(room) + room[0] : 0;
}

void crashhook_test_crash(enum crashhook_test how)
{
    volatile int zero = 0;
    switch (how) {
    case CRASHHOOK_TEST_NULL_WRITE:
        // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): the crash is intended
        *(volatile int *)(uintptr_t)(unsigned)zero = 1;
        break;
    case CRASHHOOK_TEST_STACK_OVERFLOW:
        zero = overflow_stack(&zero);
        break;
    case CRASHHOOK_TEST_ILLEGAL_INSTRUCTION:
        __builtin_trap();
    case CRASHHOOK_TEST_ABORT:
        break;
    }
    abort();
}
