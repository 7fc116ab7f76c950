// SPDX-License-Identifier: Apache-2.0
//
// Signals for the stepping harness: handlers on the same stack and on their own, one
// inside another, at a call, at a leaf's first instruction, at a fault.
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "stepping.h"

static volatile int seen;
static char stack[64 << 10];

KEEP int work(int a)
{
    seen += a;
    return seen * 3;
}

static void count(int number)
{
    seen += work(number);
}

static void count_with_info(int number, siginfo_t *info, void *context)
{
    (void)context;
    char copy[sizeof(*info)];
    memcpy(copy, info, sizeof(copy));
    seen += work(number) + copy[0];
    if (number == SIGUSR1)
        raise(SIGUSR2);
}

// step_over passes the instruction that faulted: ud2, which has two bytes.
static void step_over(int number, siginfo_t *info, void *context)
{
    ucontext_t *where = context;
    (void)info;
    seen += work(number);
    where->uc_mcontext.gregs[REG_RIP] += 2;
}

KEEP int faults(int a)
{
    int before = work(a);
    __asm__ volatile("ud2");
    return before + work(a + 1);
}

// A function whose very first instruction is interrupted: the address before it
// belongs to another function.
__asm__(".text\n"
        ".type first_faults, @function\n"
        "first_faults:\n"
        ".cfi_startproc\n"
        "ud2\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size first_faults, .-first_faults\n");
void first_faults(void);

static void set(int number, void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | flags;
    sigaction(number, &action, NULL);
}

int main(void)
{
    stack_t own = { .ss_sp = stack, .ss_size = sizeof(stack) };
    sigaltstack(&own, NULL);
    set(SIGUSR1, count_with_info, SA_ONSTACK);
    set(SIGUSR2, count_with_info, 0);
    set(SIGILL, step_over, SA_ONSTACK);
    signal(SIGURG, count);

    stepping_begin();
    raise(SIGUSR2);
    raise(SIGUSR1);
    kill(getpid(), SIGURG);
    seen += faults(4);
    first_faults();
    stepping_end();
    return seen == 0;
}
