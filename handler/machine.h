// SPDX-License-Identifier: Apache-2.0
//
// What the handler needs that differs between processors: a raw system call, a clone
// whose child runs a function on another stack, and the registers of a signal context.
//
// Used by syscalls.h and the crash path alone. System calls return what the kernel
// returns: a negative errno value on failure; errno itself is never touched.
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <ucontext.h>
#if defined(__x86_64__)
#include <asm/prctl.h>
#endif

#include "handler/request_page.h"

// A machine_child_fn is what a cloned child does; it exits with what is returned.
typedef int machine_child_fn(void *argument);

#if defined(__x86_64__)

// machine_call makes a system call of up to five arguments.
static inline long machine_call(long number, long a, long b, long c, long d, long e)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
    return result;
}

// machine_clone starts child(argument) on the stack that ends at stack_end, which is
// aligned to 16 bytes, and returns its pid.
static inline long machine_clone(unsigned long flags, void *stack_end, int32_t *out_pid,
                                 machine_child_fn *child, void *argument)
{
    register long r10 __asm__("r10") = 0;
    register long r8 __asm__("r8") = 0;
    register machine_child_fn *r12 __asm__("r12") = child;
    register void *r13 __asm__("r13") = argument;
    long result;
    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "xor %%ebp, %%ebp\n\t"
                     "mov %%r13, %%rdi\n\t"
                     "call *%%r12\n\t"
                     "mov %%eax, %%edi\n\t"
                     "mov %[exit], %%eax\n\t"
                     "syscall\n\t"
                     "hlt\n"
                     "1:"
                     : "=a"(result)
                     : "a"(SYS_clone), "D"(flags), "S"(stack_end), "d"(out_pid),
                       "r"(r10), "r"(r8), "r"(r12), "r"(r13), [exit] "i"(SYS_exit)
                     : "rcx", "r11", "memory", "cc");
    return result;
}

// machine_call_on calls function(argument) on the stack that ends at stack_end, which
// is aligned to 16 bytes.
static inline void machine_call_on(void *stack_end, machine_child_fn *function,
                                   void *argument)
{
    __asm__ volatile("mov %%rsp, %%rbx\n\t"
                     "mov %[stack], %%rsp\n\t"
                     "call *%[function]\n\t"
                     "mov %%rbx, %%rsp"
                     : "+D"(argument)
                     : [stack] "r"(stack_end), [function] "r"(function)
                     : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11",
                       "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",
                       "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
                       "xmm13", "xmm14", "xmm15");
}

// machine_registers copies the registers of context to out.
static inline void machine_registers(const ucontext_t *context, uint64_t *out)
{
    for (int i = 0; i < (int)NGREG; i++)
        out[i] = (uint64_t)context->uc_mcontext.gregs[i];
}

// machine_stack_pointer is that of copied registers, machine_frame_pointer likewise.
static inline uint64_t machine_stack_pointer(const uint64_t *registers)
{
    return registers[REG_RSP];
}

static inline uint64_t machine_frame_pointer(const uint64_t *registers)
{
    return registers[REG_RBP];
}

// machine_thread_pointer is where the thread's own storage begins. The kernel is asked:
// a thread made without such storage has nothing to read it from.
static inline uint64_t machine_thread_pointer(void)
{
    uint64_t pointer = 0;
    machine_call(SYS_arch_prctl, ARCH_GET_FS, (long)&pointer, 0, 0, 0);
    return pointer;
}

// machine_fault_wrote: the page fault of context was a write; false when unknown.
static inline bool machine_fault_wrote(const ucontext_t *context)
{
    return (context->uc_mcontext.gregs[REG_ERR] & 2) != 0;
}

#elif defined(__aarch64__)

static inline long machine_call(long number, long a, long b, long c, long d, long e)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    __asm__ volatile("svc #0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
                     : "memory", "cc");
    return x0;
}

static inline long machine_clone(unsigned long flags, void *stack_end, int32_t *out_pid,
                                 machine_child_fn *child, void *argument)
{
    register long x8 __asm__("x8") = SYS_clone;
    register long x0 __asm__("x0") = (long)flags;
    register void *x1 __asm__("x1") = stack_end;
    register int32_t *x2 __asm__("x2") = out_pid;
    register long x3 __asm__("x3") = 0;
    register long x4 __asm__("x4") = 0;
    register machine_child_fn *x19 __asm__("x19") = child;
    register void *x20 __asm__("x20") = argument;
    __asm__ volatile("svc #0\n\t"
                     "cbnz x0, 1f\n\t"
                     "mov x29, xzr\n\t"
                     "mov x0, x20\n\t"
                     "blr x19\n\t"
                     "mov x8, %[exit]\n\t"
                     "svc #0\n\t"
                     "brk #0\n"
                     "1:"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x19),
                       "r"(x20), [exit] "i"(SYS_exit)
                     : "memory", "cc");
    return x0;
}

static inline void machine_call_on(void *stack_end, machine_child_fn *function,
                                   void *argument)
{
    register void *x0 __asm__("x0") = argument;
    __asm__ volatile("mov x19, sp\n\t"
                     "mov sp, %[stack]\n\t"
                     "blr %[function]\n\t"
                     "mov sp, x19"
                     : "+r"(x0)
                     : [stack] "r"(stack_end), [function] "r"(function)
                     : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10",
                       "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19",
                       "x30", "memory", "cc", "v0", "v1", "v2", "v3", "v4", "v5", "v6",
                       "v7", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23",
                       "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31");
}

static inline void machine_registers(const ucontext_t *context, uint64_t *out)
{
    for (int i = 0; i < 31; i++)
        out[i] = context->uc_mcontext.regs[i];
    out[31] = context->uc_mcontext.sp;
    out[32] = context->uc_mcontext.pc;
    out[33] = context->uc_mcontext.pstate;
}

static inline uint64_t machine_stack_pointer(const uint64_t *registers)
{
    return registers[31];
}

static inline uint64_t machine_frame_pointer(const uint64_t *registers)
{
    return registers[29];
}

static inline uint64_t machine_thread_pointer(void)
{
    uint64_t pointer;
    __asm__("mrs %0, tpidr_el0" : "=r"(pointer));
    return pointer;
}

static inline bool machine_fault_wrote(const ucontext_t *context)
{
    (void)context;
    return false;
}

#else
#error "crashhook runs on x86-64 and aarch64"
#endif
