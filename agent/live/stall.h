// SPDX-License-Identifier: Apache-2.0
//
// A bound on single reads of a process's memory.
//
// A read of a page that somebody else supplies may never end (target_memory.h), and
// only SIGKILL ends the wait. So one timer kills us after REQUEST_STALL_MS, and the
// handler of a second, more frequent timer sets the first one back: it runs unless we
// are in such a wait. The second signal interrupts other system calls too; musl repeats
// sigtimedwait with its whole timeout then, so threads are stopped before stall_begin.
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

// stall_begin starts both timers for a crash that may take timeout_ms.
void stall_begin(uint64_t timeout_ms);

// stall_end stops them. It may be called without stall_begin.
void stall_end(void);

// stall_start_timer has the kernel send us signal after first_ms, and then every_ms;
// 0: once.
bool stall_start_timer(int signal, uint64_t first_ms, uint64_t every_ms, timer_t *out);
