// SPDX-License-Identifier: Apache-2.0
//
// What only the crashed thread can read of its processor: where its shadow stack is,
// the base of gs, and the tag of memory.
#pragma once
#include <signal.h>
#include <stdint.h>

#include "handler/machine/machine.h"

// machine_shadow_pointer gives the pointer of the shadow stack; 0: the thread has none.
// The kernel is queried first: the instruction that reads the pointer exists where a
// shadow stack does, and emulators and Valgrind need not know it.
static inline uint64_t machine_shadow_pointer(void)
{
    enum { ENABLED = 1 };
    uint64_t features = 0;
    uint64_t pointer = 0;
#if defined(__x86_64__)
    enum { SHSTK_STATUS = 0x5005 }; // since Linux 6.6
    long status = machine_call2(SYS_arch_prctl, SHSTK_STATUS, (long)&features);
    if (status == 0 && (features & ENABLED) != 0)
        __asm__ volatile("rdsspq %0" : "+r"(pointer));
#else
    enum { GET_SHADOW_STACK_STATUS = 74 }; // since Linux 6.13
    long status =
        machine_call(SYS_prctl, GET_SHADOW_STACK_STATUS, (long)&features, 0, 0, 0);
    if (status == 0 && (features & ENABLED) != 0)
        __asm__ volatile("mrs %0, s3_3_c2_c5_1" : "=r"(pointer)); // GCSPR_EL0
#endif
    return pointer;
}

// machine_gs_base is the base of gs on x86-64; 0: it is not set, as in most programs.
static inline uint64_t machine_gs_base(void)
{
    uint64_t base = 0;
#if defined(__x86_64__)
    machine_call2(SYS_arch_prctl, ARCH_GET_GS, (long)&base);
#endif
    return base;
}

// machine_memory_tag gives the tag of the memory that a pointer with another tag led to
// (MTE of AArch64); negative: info is of another fault. The memory is there, as the
// processor has compared its tag.
static inline int32_t machine_memory_tag(int signal, const siginfo_t *info)
{
#if defined(__aarch64__)
    enum { SYNCHRONOUS = 9, TAG_SHIFT = 56, TAG_MASK = 15 }; // SEGV_MTESERR
    if (signal == SIGSEGV && info->si_signo == signal && info->si_code == SYNCHRONOUS) {
        register uint64_t x0 __asm__("x0") = (uintptr_t)info->si_addr;
        __asm__ volatile(".inst 0xd9600000" : "+r"(x0)); // ldg x0, [x0]
        return (int32_t)(x0 >> TAG_SHIFT & TAG_MASK);
    }
#endif
    (void)signal;
    (void)info;
    return -1;
}
