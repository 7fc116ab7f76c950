// SPDX-License-Identifier: Apache-2.0
#include "agent/live/permitted.h"

#include <sched.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

enum { NOT_ASKED, ALLOWED, FORBIDDEN };
enum { CALLS = PERMITTED_READV + 1, STACK_BYTES = 16 << 10 };

static bool filter_is_expected;

// A trial is the calls that a child makes, and whether it survived them.
struct trial {
    enum permitted_call first;
    enum permitted_call last;
    bool survived;
};

// make_calls makes each call with arguments by which it has no effect.
static int make_calls(void *argument)
{
    struct trial *trial = argument;
    if (trial->first == PERMITTED_PTRACE)
        (void)ptrace(PTRACE_SEIZE, 0, NULL, NULL);
    if (trial->last == PERMITTED_READV)
        (void)process_vm_readv(1, NULL, 0, NULL, 0, 0);
    trial->survived = true;
    return 0;
}

// child_survives has a child make the calls. It is made with clone, which made this
// process, so the filter is known to allow that. The child shares our memory and we are
// suspended until it ends: no wait call is needed, and no parent is notified.
static bool child_survives(enum permitted_call first, enum permitted_call last)
{
    static _Alignas(16) char stack[STACK_BYTES];
    struct trial trial = { .first = first, .last = last };
    return clone(make_calls, stack + sizeof(stack), CLONE_VM | CLONE_VFORK, &trial) >
               0 &&
           trial.survived;
}

void permitted_expect_filter(void)
{
    filter_is_expected = true;
}

bool permitted_all(void)
{
    return !filter_is_expected;
}

bool permitted(enum permitted_call call)
{
    static char known[CALLS];
    if (!filter_is_expected)
        return true;
    if (known[call] != NOT_ASKED)
        return known[call] == ALLOWED;
    bool all = child_survives(PERMITTED_PTRACE, PERMITTED_READV);
    for (enum permitted_call each = PERMITTED_PTRACE; each <= PERMITTED_READV; each++)
        known[each] = all || child_survives(each, each) ? ALLOWED : FORBIDDEN;
    return known[call] == ALLOWED;
}
