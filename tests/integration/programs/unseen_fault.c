// SPDX-License-Identifier: Apache-2.0
//
// A program with the handler that sets a tag and a breadcrumb, and whose crash the
// handler cannot see: it blocks the signal of its fault.
#include <signal.h>
#include <stddef.h>

#include "crashhook/crashhook.h"

static volatile int *volatile nowhere;

static __attribute__((noinline)) void fault_unseen(void)
{
    *nowhere = 1;
}

int main(void)
{
    sigset_t faults;
    crashhook_set_tag("color", "green");
    crashhook_breadcrumb("about to fault");
    sigemptyset(&faults);
    sigaddset(&faults, SIGSEGV);
    sigprocmask(SIG_BLOCK, &faults, NULL);
    fault_unseen();
    return 0;
}
