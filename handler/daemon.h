// SPDX-License-Identifier: Apache-2.0
//
// The agent that is started at install and waits for a crash (CRASHHOOK_MODE=daemon),
// for programs that will give up the right to start anything.
//
// It is nobody's child and goes when the last process that holds its socket has gone:
// the program and those it forks, not those it executes.
#pragma once
#include <stdbool.h>

// daemon_start starts it for the plan that is in force, in place of an earlier one.
// false: it could not be started; crashes start their agent themselves then.
bool daemon_start(void);
