// SPDX-License-Identifier: Apache-2.0
//
// The agent that is started at install: it waits for a crash (CRASHHOOK_MODE=daemon),
// for programs that will give up the right to start processes, supervises the program
// (liveness_record.h), or both.
//
// It is an orphan. One that waits for crashes exits when the last process that holds
// its socket has exited: the program and those it forks, but not those it executes. One
// that only supervises exits with the program, which has no socket to it.
#pragma once
#include <stdbool.h>

// daemon_start starts it for the plan in force and sends it the liveness record in
// liveness_fd, if that is not negative. serves: it is to serve crashes, in place of an
// earlier one. False: it does not; then each crash starts its own agent.
bool daemon_start(int liveness_fd, bool serves);
