// SPDX-License-Identifier: Apache-2.0
//
// The agent as a daemon (CRASHHOOK_MODE=daemon): it starts with the program, waits for
// crashes of it and of the processes it forks, and forks a process for each.
#pragma once
#include "agent/trace.h"
#include "base/settings.h"

// A daemon_wants is what the new process is to report.
enum daemon_wants {
    DAEMON_CRASH, // the crash whose channel is descriptor channel
    DAEMON_KILL,  // what out has
};

// daemon_serve waits on the socket for crashes and returns, for each, in a new process.
// This process exits once no one holds the socket's other end. With CRASHHOOK_KILLS it
// keeps the program meanwhile, and has `crashhook` look at the spool when that has
// ended, and so report one that was killed.
enum daemon_wants daemon_serve(int socket, int channel, const struct settings *settings,
                               struct trace_report *out);
