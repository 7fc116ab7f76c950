// SPDX-License-Identifier: Apache-2.0
//
// Writing what a person may read to a descriptor that nobody may be reading: a pipe
// that is full, a terminal that was stopped. What we say must hold nobody up, ourselves
// neither. The descriptor is shared with others, so it is not made non-blocking. Users:
// agent, cli.
#pragma once
#include <stddef.h>

// bounded_write writes bytes to fd until they are written or fd has taken nothing for
// stall_ms, and returns how many it took. Less than size: nobody reads, or it failed. A
// SIGALRM of the caller's is lost meanwhile.
size_t bounded_write(int fd, const char *bytes, size_t size, unsigned stall_ms);
