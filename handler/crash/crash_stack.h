// SPDX-License-Identifier: Apache-2.0
//
// The stack that a handler of the program runs on, and signals that are only passed on
// to it (crash_stack.c, crash_relay.c).
//
// Part of the crash path (see crash_action.h, which includes it); threads.c makes the
// stacks.
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct crash_asked;

#pragma GCC visibility push(hidden)

// crash_relay fills in asked if the signal is only to be passed on to the program's
// handler: one that is not ours, a system call that the program dispatches itself, or
// any in strict seccomp mode. asked->action.handler 0: there is nothing to call.
bool crash_relay(int signal, siginfo_t *info, void *context, struct crash_asked *asked);

// crash_is_strict returns true if the thread is in strict seccomp mode: the kernel ends
// it for every call but read, write, exit and the return from a signal handler.
// crash_state.strict_thread is the machine_thread_word of the one thread in that mode,
// CRASH_STRICT_ALL where there are several, or 0.
enum { CRASH_STRICT_ALL = 1 };
bool crash_is_strict(void);

// crash_realtime_ns is the time at the last tick of the kernel's clock; 0: not known.
uint64_t crash_realtime_ns(void);

// crash_fault_without_room ends the process by a fault for which the kernel finds no
// room on the alternate stack of context.
__attribute__((noreturn)) void crash_fault_without_room(const ucontext_t *context);

// crash_relay_end does what is to be done once the handler of a relayed signal has
// returned. False: it was not relayed.
bool crash_relay_end(struct crash_asked *asked);

// crash_relay_call does so where code has called our handler as a function. False: the
// signal is ours.
bool crash_relay_call(int signal, siginfo_t *info, void *context);

// A crash_own_stack is at the bottom of each alternate stack of ours. The program has
// not set that stack, so it gets to see what it has set instead.
struct crash_own_stack {
    uint64_t mark;  // by which it is recognized
    stack_t theirs; // what the program has set
    bool first;     // its guard is below
    bool nested;    // theirs was in use already when a handler was last called on it
    uint8_t rounds; // of the thread's destructors, so far
};

// crash_stack_bytes is the size of an alternate stack of ours.
extern size_t crash_stack_bytes;

// crash_stack_mark makes stack one of ours, in place of what was set before.
void crash_stack_mark(void *stack, const stack_t *before);

// crash_stack_own is the record of the stack if it is one of ours; otherwise NULL.
struct crash_own_stack *crash_stack_own(const stack_t *stack);

// crash_stack_is_on returns true if address is on the stack.
bool crash_stack_is_on(const stack_t *stack, uintptr_t address);

// crash_stack_leave moves the signal's frame and asked to the stack on which the kernel
// would have called the handler without us, if they are not there. False: that stack
// has no room, so without us the kernel would end the process.
bool crash_stack_leave(struct crash_asked *asked);

// crash_stack_return puts our stack into force again, once the handler has returned.
// True: the signal was only relayed.
bool crash_stack_return(struct crash_asked *asked);

#pragma GCC visibility pop
