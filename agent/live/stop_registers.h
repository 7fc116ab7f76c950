// SPDX-License-Identifier: Apache-2.0
//
// Registers of a stopped thread, and the repair of a system call that the stop broke.
//
// What differs between processors is here and nowhere else in the agent: where the
// kernel keeps a register, and which one says that a thread sleeps in a system call.
#pragma once
#include "agent/live/stopped_thread.h"

// stop_registers_read fills thread's registers, flags, run_state ('R' or 'S') and
// restart from the stopped thread. False: the thread is gone.
bool stop_registers_read(struct stopped_thread *thread);

// stop_registers_restart makes the kernel restart the thread's system call when it is
// let go. Most calls restart by themselves after a stop; the few that answer EINTR
// (signal(7), "Interruption of system calls by stop signals") are turned into those.
void stop_registers_restart(struct stopped_thread *thread);

// stop_registers_interrupted is whether the thread may be one for
// stop_registers_restart: its system call has answered EINTR. It is for every signal
// that a tracer passes on, and so asks for no more than that.
bool stop_registers_interrupted(pid_t tid);
