// SPDX-License-Identifier: Apache-2.0
//
// Writes text for people to a descriptor that nobody may be reading, such as a full
// pipe or a stopped terminal. Our output must not block the program or us. The
// descriptor is shared with other processes, so it is not made non-blocking. Users:
// agent, cli.
#pragma once
#include <stddef.h>

// bounded_write writes bytes to fd until all are written or fd has accepted nothing for
// stall_ms, and returns how many were written. Less than size: nobody reads, or the
// write failed. A SIGALRM meant for the caller is lost in the meantime.
size_t bounded_write(int fd, const char *bytes, size_t size, unsigned stall_ms);

// The files that CRASHHOOK_LOG and CRASHHOOK_OUTPUT name. A variable may be another
// user's, and the folder writable by others, so not every file is written to. Users:
// agent, finish.

// log_file_open opens it for appending, and makes it if it is missing. A file of a
// user other than root and ours, or with a second name, is not. Negative: no log;
// errno is set.
int log_file_open(const char *log);
