// SPDX-License-Identifier: Apache-2.0
//
// This process's effective user, also where a seccomp filter refuses geteuid: both C
// libraries then pass on the error as if it were a user. Users: report, symbolizer,
// settings.
#pragma once
#include <sys/auxv.h>
#include <sys/types.h>
#include <unistd.h>

// own_user is geteuid's answer or, where that is an error number, the user that the
// kernel started this program as.
static inline uid_t own_user(void)
{
    enum { LARGEST_ERROR = 4095 }; // the kernel's MAX_ERRNO
    uid_t user = geteuid();
    return user < (uid_t)-LARGEST_ERROR ? user : (uid_t)getauxval(AT_EUID);
}
