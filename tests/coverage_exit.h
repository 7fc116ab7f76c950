// SPDX-License-Identifier: Apache-2.0
//
// Included first in every C file of a coverage build: a process that ends by _exit
// writes its counts as well, which it would not do otherwise. Free-standing files have
// no _exit.
#pragma once

#if __STDC_HOSTED__
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // or the file's own comes too late
#endif
#include <unistd.h>

// __gcov_dump writes the counts; it is libgcov's.
void __gcov_dump(void);

// coverage_exit is _exit after the counts of all that led to it, status included.
static inline _Noreturn void coverage_exit(int status)
{
    __gcov_dump();
    _exit(status);
}

#define _exit(status) coverage_exit(status)
#endif
