// SPDX-License-Identifier: Apache-2.0
//
// Threads of our own in a program that receives its signals in others, such as the
// collector, whose first thread waits for SIGTERM, or one that links the symbolizer,
// and the processors that they and children run on. A fault in such a thread ends the
// process, whatever handlers it has.
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

// own_thread_start starts a thread that blocks all signals, whatever its creator
// blocks: one that is sent to the process never comes to it. The caller joins it.
// False: there is none.
bool own_thread_start(pthread_t *out, void *(*run)(void *), void *argument);

// own_thread_leave moves the calling thread off its creator's processor: some kernels
// queue a new thread after its creator there, so that it starts milliseconds later.
// Negative: it is not known which that is.
void own_thread_leave(int processor);

// own_child_move moves a child that was just made, or with 0 the calling thread, off
// the processor that this thread runs on, for the same reason. It may come back.
void own_child_move(pid_t child);
