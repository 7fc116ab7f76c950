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

// actions_take installs our action for signal and keeps the one in force as the
// program's.
void actions_take(int signal);

// actions_exchange is sigaction for every signal: -1, with errno set, where it fails.
int actions_exchange(int signal, const struct sigaction *action, struct sigaction *old);

// actions_take_back retakes SIGSEGV where code has set it by a direct system call: that
// handler is then called as if it had been set through libc. The other signals are left
// to such code, because each query costs a system call.
void actions_take_back(void);
