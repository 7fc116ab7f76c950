// SPDX-License-Identifier: Apache-2.0
//
// The program's own actions for the signals that are ours. The kernel keeps ours; what
// the program sets is noted (crash_action.c), answered when it asks, and called first
// when the signal comes. So a runtime that is started after us finds the signals as it
// would without us, and its handler runs as it would, and we still see the end.
//
// Not crash context, though a handler of the program's may set an action in one:
// nothing here locks or allocates.
#pragma once
#include <signal.h>

// actions_take puts our action in place of the one for signal.
void actions_take(int signal);

// actions_exchange is sigaction, for every signal. Negative: an errno value.
int actions_exchange(int signal, const struct sigaction *action, struct sigaction *old);

// actions_take_back takes SIGSEGV back where somebody has taken it by a system call of
// his own: his handler is called as if he had come through libc. The other signals are
// left to whoever takes them so, for asking costs a call each.
void actions_take_back(void);
