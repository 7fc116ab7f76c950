// SPDX-License-Identifier: Apache-2.0
//
// Alternate signal stacks: without one, a thread that overflows its stack cannot run
// the handler and dies without a report.
//
// Threads made by pthread_create or thrd_create get one before they start
// (thread_start.c, in the shared library alone); others, the installing one among them,
// by crashhook_thread_init. Up to sixteen are in one mapping with one guard page below:
// to list the mappings of a crashed program, and to end it, takes less time. Handlers
// of the program do not run on them (crash_stack.c). When its thread ends, a stack is
// kept for another thread, or unmapped where enough are kept.
#pragma once
#include <stdbool.h>
#include <stddef.h>

#pragma GCC visibility push(hidden)

// threads_stack_create gives a stack. NULL: out of memory.
void *threads_stack_create(void);

// threads_stack_end is where it ends.
void *threads_stack_end(void *stack);

// threads_stack_destroy releases a stack from threads_stack_create; NULL is allowed.
void threads_stack_destroy(void *stack);

// threads_adopt makes a created stack the calling thread's for its lifetime, or
// destroys it when the thread already has a large enough one.
void threads_adopt(void *stack);

// threads_use makes the stack the calling thread's alternate stack. False: it has a
// large enough one already.
bool threads_use(void *stack);

// threads_have_set returns true if a thread of the program has set an alternate stack
// that the kernel does not have.
extern bool threads_have_set __attribute__((visibility("hidden")));

// threads_first_bytes is how large a stack the calling thread, which is about to
// install, needs; 0: it has one.
size_t threads_first_bytes(void);

#pragma GCC visibility pop
