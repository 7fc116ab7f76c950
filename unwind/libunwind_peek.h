// SPDX-License-Identifier: Apache-2.0
//
// The memory of a process, read a word at a time by libunwind-ptrace's accessors.
//
// Every word takes a PTRACE_PEEKDATA, which is a hundred times slower than reading in
// bulk but works where all bulk reads are refused: it is the last resort of a tracer of
// a stopped thread. The unwinder works on top of it unchanged.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"

struct libunwind_peek;

// libunwind_peek_create reads through thread tid, which the caller keeps stopped.
CH_CHECKED enum ch_status libunwind_peek_create(pid_t tid, struct libunwind_peek **out);
void libunwind_peek_destroy(struct libunwind_peek *peek);

// libunwind_peek_read copies up to length bytes from address and returns how many it
// read before a hole. -1: the thread cannot be peeked at (EPERM, ENOSYS).
ssize_t libunwind_peek_read(struct libunwind_peek *peek, uint64_t address, void *to,
                            size_t length);
