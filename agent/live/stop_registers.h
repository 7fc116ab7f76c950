// SPDX-License-Identifier: Apache-2.0
//
// Registers of a stopped thread, and the restart of a system call that the stop
// interrupted.
//
// All that differs between processors in the agent is here: where the kernel keeps a
// register, and which one shows that a thread sleeps in a system call.
#pragma once
#include "agent/live/stopped_thread.h"

// stop_registers_before notes the call that the thread waits in, by its file in
// tasks_fd, before it is requested to stop: what AArch64 needs in order to restart it.
void stop_registers_before(int tasks_fd, struct stopped_thread *thread);

// stop_registers_read fills in registers, flags, run_state ('R' or 'S') and restart of
// the stopped thread. False: the thread has exited.
bool stop_registers_read(struct stopped_thread *thread);

// stop_registers_vectors reads xmm0 to xmm15 or v0 to v31 of a stopped thread, 16 bytes
// each. False: the thread is not stopped by this process, or of another machine.
bool stop_registers_vectors(pid_t tid, uint8_t out[512]);

// stop_registers_tag reads the tag of memory at an address of a stopped thread (MTE of
// AArch64). False: it has none.
bool stop_registers_tag(pid_t tid, const void *address, uint8_t *out);

// stop_registers_last_call is the system call that the thread is in, or out of which it
// has just come; negative: none. Before a signal ends a thread, the kernel of AArch64
// forgets the call; the pc is then after its instruction.
int64_t stop_registers_last_call(const struct stopped_thread *thread);

// stop_registers_is_filtered returns true if the thread, which exits as if by SIGSYS,
// is the one whose call a seccomp filter has ended the process for, and none that dies
// with it.
bool stop_registers_is_filtered(const struct stopped_thread *thread);

// stop_registers_restart makes the kernel restart the thread's system call when the
// thread is resumed. Most calls restart by themselves after a stop; the few that return
// EINTR (signal(7), "Interruption of system calls by stop signals") are made to restart
// as well.
void stop_registers_restart(struct stopped_thread *thread);

// stop_registers_interrupted returns true if the thread may need
// stop_registers_restart: its system call returned EINTR. It is called for every signal
// that a tracer passes on, so it reads no more than that.
bool stop_registers_interrupted(pid_t tid);
