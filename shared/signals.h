// SPDX-License-Identifier: Apache-2.0
//
// Signals, in one table: a row is the name without SIG, the role, and a description for
// people.
//
// The handler, the agent, the settings and the report make of these rows what each of
// them needs: names by number, sets, sentences. Some of that runs in crash context, so
// all of it is constant data.
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

// A signal_role is what a signal is to a crash reporter.
enum signal_role {
    SIGNAL_FAULT, // the kernel raises it for what a thread did
    SIGNAL_ABORT, // the program raises it to end itself
    SIGNAL_DUMP,  // others whose default action dumps core (signal(7))
    SIGNAL_PLAIN, // never a crash
};

// SIGNALS stands for ROW(name, role, description) of each signal that has a name here.
// Messages list those that can be crashes in this order.
#define SIGNALS(ROW)                                                                   \
    ROW(SEGV, FAULT, "segmentation fault")                                             \
    ROW(BUS, FAULT, "bus error")                                                       \
    ROW(ILL, FAULT, "illegal instruction")                                             \
    ROW(FPE, FAULT, "arithmetic error")                                                \
    ROW(ABRT, ABORT, "aborted")                                                        \
    ROW(TRAP, FAULT, "trap")                                                           \
    ROW(SYS, FAULT, "bad system call")                                                 \
    ROW(QUIT, DUMP, "quit")                                                            \
    ROW(XCPU, DUMP, "CPU time limit exceeded")                                         \
    ROW(XFSZ, DUMP, "file size limit exceeded")                                        \
    ROW(TERM, PLAIN, "terminated")                                                     \
    ROW(KILL, PLAIN, "killed")                                                         \
    ROW(INT, PLAIN, "interrupted")                                                     \
    ROW(HUP, PLAIN, "hangup")                                                          \
    ROW(PIPE, PLAIN, "broken pipe")                                                    \
    ROW(ALRM, PLAIN, "alarm")                                                          \
    ROW(VTALRM, PLAIN, "virtual timer expired")                                        \
    ROW(PROF, PLAIN, "profiling timer expired")                                        \
    ROW(USR1, PLAIN, "user signal 1")                                                  \
    ROW(USR2, PLAIN, "user signal 2")

// SIGNALS_END is after the last signal that is not a real-time one.
enum { SIGNALS_END = 32, SIGNAL_WORD_SIZE = 7 };

// signal_words are the names without SIG, by number; empty where the table has none. In
// crash context it is reached without a table that the loader fills in.
extern const char signal_words[SIGNALS_END][SIGNAL_WORD_SIZE]
    __attribute__((visibility("hidden")));

// A set of signals has bit N for signal N. SIGNALS_FAULT is the set of signals with
// this role, SIGNALS_CRASH of those that can be a crash: their default action dumps
// core.
#define SIGNAL_FAULT_BIT(name, role, text)                                             \
    | (uint64_t)(SIGNAL_##role == SIGNAL_FAULT) << SIG##name
#define SIGNAL_CRASH_BIT(name, role, text)                                             \
    | (uint64_t)(SIGNAL_##role != SIGNAL_PLAIN) << SIG##name
#define SIGNALS_FAULT (UINT64_C(0) SIGNALS(SIGNAL_FAULT_BIT))
#define SIGNALS_CRASH (UINT64_C(0) SIGNALS(SIGNAL_CRASH_BIT))

// signal_in returns true if number is a signal of the set.
static inline bool signal_in(uint64_t set, int number)
{
    return number > 0 && number < SIGNALS_END && (set >> number & 1) != 0;
}
