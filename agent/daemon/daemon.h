// SPDX-License-Identifier: Apache-2.0
//
// The agent as a daemon (CRASHHOOK_MODE=daemon): it starts with the program, and waits
// for crashes of it and of the processes it forks. It reports each itself, with what it
// has prepared meanwhile (warm_begin), and waits again; while it keeps a program, or a
// report is to be sent before the process may die, it forks a process for each.
#pragma once
#include <stddef.h>
#include <sys/types.h>

#include "agent/trace/trace.h"
#include "base/settings/settings.h"

// A daemon_wants is what the new process is to report.
enum daemon_wants {
    DAEMON_CRASH, // the crash whose channel is descriptor channel
    DAEMON_KILL,  // what out has
};

// daemon_serve waits on the socket for crashes and returns, for each, in a new process,
// where out_again is -1, or in the waiting one, which calls daemon_again with out_again
// when it has reported. It exits once no one holds the socket's other end. With
// CRASHHOOK_KILLS it keeps the program meanwhile, and has `crashhook` look at the spool
// when that has ended, and so report one that was killed.
enum daemon_wants daemon_serve(int socket, int channel, const struct settings *settings,
                               struct trace_report *out, int *out_again);

// daemon_serves_itself returns true if the waiting process reports crashes itself.
bool daemon_serves_itself(const struct settings *settings);

// daemon_again waits on the socket for further crashes. It executes the agent, so that
// nothing is left of the last one, in this process, whose number the program knows.
void daemon_again(int socket) __attribute__((noreturn));

// What an agent that waits for a crash prepares, so that the crash need not pay for it:
// memory that has been touched, code that is mapped, the entries of /proc that the
// kernel makes when they are first read, and which memory of the process will be read.
// None of it is remembered as a fact: a report reads everything anew, but for the
// system's name, where the file that has it is unchanged.

// warm_bytes touches each page of what is there, and changes nothing.
void warm_bytes(void *bytes, size_t size);
