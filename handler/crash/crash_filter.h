// SPDX-License-Identifier: Apache-2.0
//
// The system calls that a healthy program makes because of us, and that a seccomp
// filter which it has set since its start may answer by ending it. They are left out
// then: a thread gets no alternate stack, say. seccomp_calls.c finds out about filters.
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum crash_own_call {
    CRASH_CALLS_STACK = 1,  // sigaltstack
    CRASH_CALLS_ACTION = 2, // rt_sigaction where the program does not call that
    CRASH_CALLS_MAP = 4,    // memory is mapped, or something is done with mappings
    CRASH_CALLS_PID = 8,    // getpid and gettid
    CRASH_CALLS_MASK = 16,  // rt_sigprocmask
    CRASH_CALLS_START = 32, // those of a start alone, a supervisor's included
    CRASH_CALLS_PRCTL = 64,
    CRASH_CALLS_CLOCK = 128, // clock_gettime, which libc calls where it finds no vDSO

    CRASH_FILTER_SETTING = 256, // not a call: how many filters are being set counts so
};

#pragma GCC visibility push(hidden)

// crash_refused_calls are those that would end the program, and above them the number
// of filters that are being set: until it is known what they refuse, all are.
extern uint32_t crash_refused_calls;

#pragma GCC visibility pop

// crash_may_call returns true if all of these calls may be made.
static inline bool crash_may_call(uint32_t calls)
{
    uint32_t refused = __atomic_load_n(&crash_refused_calls, __ATOMIC_RELAXED);
    return refused < CRASH_FILTER_SETTING && (refused & calls) == 0;
}
