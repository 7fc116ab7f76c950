// SPDX-License-Identifier: Apache-2.0
//
// The signal frame that the kernel puts on the stack, as far as it differs between
// processors: where its parts are, and how they are distinguished from other bytes.
//
// Used by the crash path alone.
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
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

// machine_is_context returns true if the bytes look like a context from the kernel.
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

// Code may keep data in MACHINE_RED_ZONE bytes below its stack pointer.
enum { MACHINE_RED_ZONE = 128 };

// machine_frame_end is where the kernel's frame ends: after the saved processor state.
static inline uintptr_t machine_frame_end(const ucontext_t *context)
{
    enum { PLAIN_BYTES = 512, MARK_AT = 464, MARK = 0x46505853 }; // FP_XSTATE_MAGIC1
    const char *state = (const char *)context->uc_mcontext.fpregs;
    if (state == NULL)
        return (uintptr_t)context + MACHINE_CONTEXT_BYTES + sizeof(siginfo_t);
    const uint32_t *mark = (const uint32_t *)(const void *)(state + MARK_AT);
    return (uintptr_t)state + (mark[0] == MARK ? mark[1] : PLAIN_BYTES);
}

// machine_frame_moved corrects the pointers of a frame that was copied by bytes down.
static inline void machine_frame_moved(ucontext_t *context, uintptr_t by)
{
    uintptr_t state = (uintptr_t)context->uc_mcontext.fpregs;
    if (state != 0)
        context->uc_mcontext.fpregs = (void *)(state - by);
}

// machine_copy copies bytes between ranges that do not overlap.
static inline void machine_copy(uintptr_t to, uintptr_t from, size_t bytes)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes)::"memory");
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

enum { MACHINE_RED_ZONE = 0, MACHINE_FRAME_RECORD = 16 };

// machine_extra is the record that refers to processor state after the context. NULL:
// all of it is in the context.
static inline uint64_t *machine_extra(const ucontext_t *context)
{
    enum { EXTRA = 0x45585401, HEAD = 8 }; // EXTRA_MAGIC
    const char *end = (const char *)(context + 1);
    const char *at = (const char *)context->uc_mcontext.__reserved;
    while (at + HEAD < end) {
        const uint32_t *head = (const uint32_t *)(const void *)at;
        if (head[0] == EXTRA)
            return (uint64_t *)(uintptr_t)(at + HEAD);
        if (head[0] == 0 || head[1] < HEAD)
            return NULL;
        at += head[1];
    }
    return NULL;
}

// machine_frame_end is the end of a frame record of the interrupted code.
static inline uintptr_t machine_frame_end(const ucontext_t *context)
{
    const uint64_t *extra = machine_extra(context);
    uintptr_t end = (uintptr_t)(context + 1);
    if (extra != NULL)
        end = (uintptr_t)extra[0] + (uint32_t)extra[1];
    return ((end + 15) & ~(uintptr_t)15) + MACHINE_FRAME_RECORD;
}

static inline void machine_frame_moved(ucontext_t *context, uintptr_t by)
{
    uint64_t *extra = machine_extra(context);
    if (extra != NULL)
        extra[0] -= by;
}

static inline void machine_copy(uintptr_t to, uintptr_t from, size_t bytes)
{
    volatile char *into = (volatile char *)to;
    for (size_t i = 0; i < bytes; i++)
        into[i] = ((const char *)from)[i];
}

struct crash_asked;

// machine_enter calls function(asked) as if the kernel had delivered the signal on the
// stack of frame; asked is where that frame ends.
static inline __attribute__((noreturn)) void
machine_enter(void *frame, void (*function)(struct crash_asked *),
              struct crash_asked *asked, void *restorer)
{
    register void *x0 __asm__("x0") = asked;
    register void *x30 __asm__("x30") = restorer;
    __asm__ volatile("mov sp, %[frame]\n\t"
                     "sub x29, x0, %[record]\n\t"
                     "br %[function]" ::"r"(x0),
                     "r"(x30), [frame] "r"(frame), [function] "r"(function),
                     [record] "i"(MACHINE_FRAME_RECORD)
                     : "memory");
    __builtin_unreachable();
}

static inline void machine_fault_info(int signal, const ucontext_t *context,
                                      siginfo_t *out)
{
    *out = (siginfo_t){ .si_signo = signal, .si_code = SI_KERNEL };
    out->si_addr = (void *)(uintptr_t)context->uc_mcontext.fault_address;
}

#endif
