// SPDX-License-Identifier: Apache-2.0
//
// The program's own actions for the signals that we handle. The kernel has ours; an
// action that the program sets is recorded (crash_action.c), returned when the program
// queries it, and called first when the signal comes. Thus a runtime that starts after
// us finds the signals as it would without us, its handler runs as it would, and we
// still see how it ends.
//
// This is not crash context, but a program's handler may set an action in a crash:
// nothing here locks or allocates.
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

// actions_take installs our action for signal and keeps the one in force as the
// program's.
void actions_take(int signal);

// actions_give_back leaves signal to the program, with the action that it set.
void actions_give_back(int signal);

// actions_exchange is sigaction for every signal: -1, with errno set, where it fails.
int actions_exchange(int signal, const struct sigaction *action, struct sigaction *old);

// actions_take_back retakes the signals that code has set by a direct system call: its
// handlers are then called as if they had been set through libc. A look at a signal
// costs a system call, so each call looks at SIGSEGV and at one place of all signals in
// turn; where either was set, at all.
void actions_take_back(void);

// actions_leave_to_exec has the kernel ignore what the program ignores, also signals
// that we handle all the same, since a program that is executed inherits that. It
// returns which these are, a bit each. actions_keep undoes it after an exec that has
// failed.
uint64_t actions_leave_to_exec(void);
void actions_keep(uint64_t left);

// actions_are_shared returns true in a child that runs in its parent's memory until it
// executes a program, as vfork's does. The kernel keeps the child's actions apart, and
// so must we.
bool actions_are_shared(void);

// actions_await_at_exit has an exit wait, as its last step, while another thread's
// crash is being reported. What is registered first is called last, so this is called
// before the program's own code. Where there is no on_exit, the exit waits in
// liveness_record_end.
void actions_await_at_exit(void);

// end_calls_find looks up libc's own functions that end the program or execute another
// (end_calls.c), before there is a second thread: in the child of a vfork, a lookup
// would wait for a thread of the parent that loads a library.
void end_calls_find(void);

#pragma GCC visibility pop
