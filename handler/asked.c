// SPDX-License-Identifier: Apache-2.0
//
// What a program asks the handler for itself: callbacks, a report of the running
// program, and a crash to see what becomes of it.
#include <errno.h>
#include <stdlib.h>

#include "crashhook/crashhook.h"
#include "handler/crash.h"
#include "handler/install.h"

void crashhook_set_callbacks(crashhook_before_fn *before, crashhook_after_fn *after,
                             void *argument)
{
    // Neither is called with the argument of others.
    __atomic_store_n(&crash_state.before, NULL, __ATOMIC_SEQ_CST);
    __atomic_store_n(&crash_state.after, NULL, __ATOMIC_SEQ_CST);
    __atomic_store_n(&crash_state.callback_argument, argument, __ATOMIC_SEQ_CST);
    __atomic_store_n(&crash_state.before, before, __ATOMIC_SEQ_CST);
    __atomic_store_n(&crash_state.after, after, __ATOMIC_SEQ_CST);
}

int crashhook_report_now(const char *why)
{
    if (!install_done())
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

// overflow uses up the stack, a kilobyte a call.
// NOLINTNEXTLINE(misc-no-recursion): that is how a stack is used up
__attribute__((noinline)) static int overflow(volatile int *above)
{
    volatile int room[256];
    room[0] = *above + 1;
    // Never so many, which the compiler cannot know.
    return room[0] != 0 ? overflow(room) + room[0] : 0;
}

void crashhook_test_crash(enum crashhook_test how)
{
    volatile int zero = 0;
    switch (how) {
    case CRASHHOOK_TEST_NULL_WRITE:
        // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): it is to crash
        *(volatile int *)(uintptr_t)(unsigned)zero = 1;
        break;
    case CRASHHOOK_TEST_STACK_OVERFLOW:
        zero = overflow(&zero);
        break;
    case CRASHHOOK_TEST_ILLEGAL_INSTRUCTION:
        __builtin_trap();
    case CRASHHOOK_TEST_ABORT:
        break;
    }
    abort();
}
