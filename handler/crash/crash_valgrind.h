// SPDX-License-Identifier: Apache-2.0
//
// What is different under Valgrind, which runs a program without the processor: some
// system calls that it refuses, a fault that may not recur, and memcheck's view of
// memory. Users: the crash path, and install.c.
#pragma once
#include <stddef.h>

#include "handler/machine/machine.h"

#pragma GCC visibility push(hidden)

// crash_is_in_valgrind returns true if Valgrind emulates the processor.
bool crash_is_in_valgrind(void);

// crash_run_natively calls function, which returns 0 or 1, and returns that. Under
// Valgrind it runs on the real processor: Valgrind refuses the clone that starts the
// agent, and ends the program for it. The argument of function means nothing.
// It has no thread-local storage, so it is in a file of the crash path, which has no
// stack protector.
bool crash_run_natively(machine_child_fn *function);

// crash_hide_memory keeps memcheck from finding heap blocks by pointers in there.
void crash_hide_memory(const void *at, size_t bytes);

#pragma GCC visibility pop
