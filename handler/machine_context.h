// SPDX-License-Identifier: Apache-2.0
//
// The signal frame that the kernel puts on the stack, as far as it differs between
// processors: where its parts are, and how they are told from other bytes.
//
// Used by the crash path alone.
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#if defined(__x86_64__)

// The frame is the return address of the handler, the context and then the siginfo.
enum { MACHINE_CONTEXT_BYTES = 304 };

// machine_siginfo is the siginfo in the same frame as context.
static inline siginfo_t *machine_siginfo(void *context)
{
    return (siginfo_t *)((char *)context + MACHINE_CONTEXT_BYTES);
}

// machine_program_counter and machine_context_stack are the program counter and the
// stack pointer of context.
static inline uint64_t machine_program_counter(const ucontext_t *context)
{
    return (uint64_t)context->uc_mcontext.gregs[REG_RIP];
}

static inline uint64_t machine_context_stack(const ucontext_t *context)
{
    return (uint64_t)context->uc_mcontext.gregs[REG_RSP];
}

// machine_is_context is whether the bytes look like a context from the kernel.
static inline bool machine_is_context(const ucontext_t *context)
{
    enum { CODE = 0x33, DATA = 0x2b, FLAGS_KNOWN = 7, FLAG_ALWAYS = 2 };
    uint64_t selectors = (uint64_t)context->uc_mcontext.gregs[REG_CSGSFS];
    return context->uc_flags <= FLAGS_KNOWN && context->uc_link == NULL &&
           (selectors & 0xffff) == CODE && selectors >> 48 == DATA &&
           (context->uc_mcontext.gregs[REG_EFL] & FLAG_ALWAYS) != 0 &&
           context->uc_mcontext.gregs[REG_RIP] != 0;
}

// machine_context_call makes the context of the call itself in one that is clear;
// machine_context_here clears it before.
static inline __attribute__((always_inline)) void
machine_context_call(ucontext_t *context)
{
    uint64_t *frame = __builtin_frame_address(0);
    context->uc_mcontext.gregs[REG_RIP] =
        (greg_t)(uintptr_t)__builtin_return_address(0);
    context->uc_mcontext.gregs[REG_RBP] = (greg_t)frame[0];
    context->uc_mcontext.gregs[REG_RSP] = (greg_t)(uintptr_t)(frame + 2);
}

static inline __attribute__((always_inline)) void
machine_context_here(ucontext_t *context)
{
    *context = (ucontext_t){ .uc_flags = 0 };
    machine_context_call(context);
}

// machine_fault_info derives the siginfo of a page fault from its context.
static inline void machine_fault_info(int signal, const ucontext_t *context,
                                      siginfo_t *out)
{
    enum { PAGE_FAULT = 14, PROTECTION = 1 };
    bool page = context->uc_mcontext.gregs[REG_TRAPNO] == PAGE_FAULT;
    bool mapped = (context->uc_mcontext.gregs[REG_ERR] & PROTECTION) != 0;
    *out = (siginfo_t){ .si_signo = signal, .si_code = SI_KERNEL };
    if (page && signal == SIGSEGV)
        out->si_code = mapped ? SEGV_ACCERR : SEGV_MAPERR;
    if (page)
        out->si_addr = (void *)(uintptr_t)context->uc_mcontext.gregs[REG_CR2];
}

#elif defined(__aarch64__)

// The siginfo precedes the context.
enum { MACHINE_SIGINFO_BYTES = 128 };

static inline siginfo_t *machine_siginfo(void *context)
{
    return (siginfo_t *)((char *)context - MACHINE_SIGINFO_BYTES);
}

static inline uint64_t machine_program_counter(const ucontext_t *context)
{
    return context->uc_mcontext.pc;
}

static inline uint64_t machine_context_stack(const ucontext_t *context)
{
    return context->uc_mcontext.sp;
}

static inline bool machine_is_context(const ucontext_t *context)
{
    return context->uc_flags == 0 && context->uc_link == NULL &&
           context->uc_mcontext.pc != 0 && (context->uc_mcontext.pstate >> 32) == 0 &&
           context->uc_mcontext.sp > (uintptr_t)context;
}

// A frame record is at the low end of its frame, so that the caller's stack pointer
// does not follow from its address. Rules of code that keeps no frame records begin
// there.
#if defined(__clang__)
#define MACHINE_CALLER_STACK() __builtin_sponentry()
#else
#define MACHINE_CALLER_STACK() __builtin_dwarf_cfa()
#endif

static inline __attribute__((always_inline)) void
machine_context_call(ucontext_t *context)
{
    uint64_t *frame = __builtin_frame_address(0);
    context->uc_mcontext.pc = (uintptr_t)__builtin_return_address(0);
    context->uc_mcontext.regs[29] = frame[0];
    context->uc_mcontext.sp = (uintptr_t)MACHINE_CALLER_STACK();
}

static inline __attribute__((always_inline)) void
machine_context_here(ucontext_t *context)
{
    *context = (ucontext_t){ .uc_flags = 0 };
    machine_context_call(context);
}

static inline void machine_fault_info(int signal, const ucontext_t *context,
                                      siginfo_t *out)
{
    *out = (siginfo_t){ .si_signo = signal, .si_code = SI_KERNEL };
    out->si_addr = (void *)(uintptr_t)context->uc_mcontext.fault_address;
}

#endif
