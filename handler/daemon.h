// SPDX-License-Identifier: Apache-2.0
//
// The agent that is started at install and waits for a crash (CRASHHOOK_MODE=daemon),
// for programs that will give up the right to start processes.
//
// It is an orphan, and exits when the last process that holds its socket has exited:
// the program and those it forks, but not those it executes.
#pragma once
#include <stdbool.h>

// daemon_start starts it for the plan in force, in place of an earlier one. False: it
// could not be started; then each crash starts its own agent.
bool daemon_start(void);

// crash_start_daemon starts the agent that waits, natively under Valgrind, and returns
// the channel to it; negative: there is none.
int crash_start_daemon(void);
