// SPDX-License-Identifier: Apache-2.0
//
// What the stepped programs share: the two marks between which every instruction is
// looked at. Both are breakpoint traps, which gdb and our stepper see alike; run
// without either, the programs die of them. amd64 alone.
#pragma once

#define KEEP __attribute__((noinline)) static

static inline void stepping_begin(void)
{
    __asm__ volatile("int3");
}

static inline void stepping_end(void)
{
    __asm__ volatile("int3");
}
