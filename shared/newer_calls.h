// SPDX-License-Identifier: Apache-2.0
//
// Numbers of system calls that the headers of Debian 11 (glibc 2.31, musl 1.2.2, Linux
// 5.10) do not name. They are the same on x86-64 and AArch64. A kernel without the call
// refuses it. A build of libraries and agent includes this file before each source.
#pragma once
#include <sys/syscall.h>

#if !defined(SYS_close_range)
#define SYS_close_range 436
#endif
#if !defined(FUTEX_LOCK_PI2)
#define FUTEX_LOCK_PI2 13 // linux/futex.h has it from 5.14 on
#endif
#if !defined(SEEK_DATA)
#define SEEK_DATA 3 // musl 1.2.3 has it
#endif
#if !defined(SYS_openat2)
#define SYS_openat2 437
#endif
#if !defined(SYS_pidfd_getfd)
#define SYS_pidfd_getfd 438
#endif
#if !defined(SYS_epoll_pwait2)
#define SYS_epoll_pwait2 441
#endif
