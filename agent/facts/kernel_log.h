// SPDX-License-Identifier: Apache-2.0
//
// What the kernel's log says of a process that it killed for memory. Not everybody may
// read that log, and in a container it has the host's numbers, so it is a witness more
// where it can be asked.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// kernel_log_oom copies the last line by which the kernel said that it killed process
// pid for memory since since_ns (of CLOCK_BOOTTIME), without its time. False: there is
// none, or the log cannot be read.
bool kernel_log_oom(pid_t pid, uint64_t since_ns, char *out, size_t size);

// kernel_log_find_oom does so in a log that was read.
bool kernel_log_find_oom(const char *log, pid_t pid, uint64_t since_ns, char *out,
                         size_t size);
