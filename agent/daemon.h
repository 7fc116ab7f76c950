// SPDX-License-Identifier: Apache-2.0
//
// The agent as a daemon (CRASHHOOK_MODE=daemon): it starts with the program, waits for
// crashes of it and of the processes it forks, and forks a process for each.
#pragma once
#include "base/settings.h"

// daemon_serve waits on the socket for crashes and returns, for each, in a new process
// that has the crash's channel as descriptor channel. This process exits once no one
// holds the socket's other end; with CRASHHOOK_KILLS it first has `crashhook` look at
// the spool, and so report a program that was killed.
void daemon_serve(int socket, int channel, const struct settings *settings);
