// SPDX-License-Identifier: Apache-2.0
//
// The parts of the handler that differ between processors: a raw system call, a clone
// whose child runs a function on another stack, and the registers of a signal context.
//
// Used by syscalls.h and the crash path alone. System calls return the kernel's result:
// a negative errno value on failure; errno itself is never touched. Each is made at one
// place, in machine.S, so a signal handler can distinguish them from the program's.
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <ucontext.h>
#if defined(__x86_64__)
#include <asm/prctl.h>
#endif

#include "shared/request_page.h"

// A machine_child_fn is a cloned child's main function; its result is the exit status.
typedef int machine_child_fn(void *argument);

#pragma GCC visibility push(hidden)

// machine_call makes a system call of five arguments, the others one of fewer. They are
// one function: the kernel ignores argument registers that a call does not use.
long machine_call(long number, long a, long b, long c, long d, long e);
long machine_call0(long number);
long machine_call1(long number, long a);
long machine_call2(long number, long a, long b);
long machine_call3(long number, long a, long b, long c);
long machine_call4(long number, long a, long b, long c, long d);

// machine_clone starts child(argument) on the stack that ends at stack_end, which is
// aligned to 16 bytes, and returns its pid. According to flags, the kernel writes the
// pid to out_word, or clears it at the child's end.
long machine_clone(unsigned long flags, void *stack_end, void *out_word,
                   machine_child_fn *child, void *argument);

// The addresses after these two system call instructions.
extern const char machine_call_end[];
extern const char machine_clone_end[];

#pragma GCC visibility pop

#if defined(__x86_64__)

// machine_allow_misaligned clears EFLAGS.AC, by which the program may have enabled
// alignment checks: the kernel leaves it set for handlers, and compiled code makes
// misaligned accesses.
static inline void machine_allow_misaligned(void)
{
    __asm__ volatile("lea -128(%%rsp), %%rsp\n\t"
                     "pushfq\n\t"
                     "andl $~0x40000, (%%rsp)\n\t"
                     "popfq\n\t"
                     "lea 128(%%rsp), %%rsp" ::
                         : "memory", "cc");
}

// machine_fault executes an instruction that raises signal, or does nothing where there
// is none.
static inline void machine_fault(int signal)
{
    if (signal == SIGSEGV)
        __asm__ volatile("hlt");
    if (signal == SIGILL)
        __asm__ volatile("ud2");
    if (signal == SIGTRAP)
        __asm__ volatile("int3");
    if (signal == SIGFPE)
        __asm__ volatile("xor %%edx, %%edx\n\tdiv %%edx" ::: "eax", "edx", "cc");
    if (signal == SIGBUS) // see machine_allow_misaligned
        __asm__ volatile("pushfq\n\t"
                         "orl $0x40000, (%%rsp)\n\t"
                         "popfq\n\t"
                         "mov 1(%%rsp), %%eax" ::
                             : "eax", "memory", "cc");
}

// machine_fault_at faults with the stack pointer at stack, so that no frame has room.
static inline __attribute__((noreturn)) void machine_fault_at(uintptr_t stack)
{
    __asm__ volatile("mov %0, %%rsp\n\thlt" ::"r"(stack) : "memory");
    __builtin_unreachable();
}

// machine_set_result sets the result of context's system call to value.
static inline void machine_set_result(ucontext_t *context, long value)
{
    context->uc_mcontext.gregs[REG_RAX] = value;
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
    for (int i = (int)NGREG; i < REQUEST_REGISTERS; i++)
        out[i] = 0;
}

// machine_stack_pointer is the stack pointer of copied registers, machine_frame_pointer
// their frame pointer.
static inline uint64_t machine_stack_pointer(const uint64_t *registers)
{
    return registers[REG_RSP];
}

static inline uint64_t machine_frame_pointer(const uint64_t *registers)
{
    return registers[REG_RBP];
}

// machine_thread_pointer is the address of the thread's own storage. The kernel is
// queried, because a thread created without such storage has no memory to read it from.
static inline uint64_t machine_thread_pointer(void)
{
    uint64_t pointer = 0;
    machine_call2(SYS_arch_prctl, ARCH_GET_FS, (long)&pointer);
    return pointer;
}

// machine_thread_word is distinct for each thread, and costs one instruction where
// may_read: the processor and the kernel support it. 0: the thread has none.
static inline uint64_t machine_thread_word(bool may_read)
{
    uint64_t word;
    if (!may_read)
        return machine_thread_pointer();
    __asm__("rdfsbase %0" : "=r"(word));
    return word;
}

// MACHINE_THREAD_WORD_HWCAP2 is the bit of AT_HWCAP2 that says so.
enum { MACHINE_THREAD_WORD_HWCAP2 = 2 };

// machine_fault_wrote returns true if the page fault of context was a write; false when
// unknown.
static inline bool machine_fault_wrote(const ucontext_t *context)
{
    return (context->uc_mcontext.gregs[REG_ERR] & 2) != 0;
}

#elif defined(__aarch64__)

static inline void machine_allow_misaligned(void)
{
}

static inline void machine_fault(int signal)
{
    if (signal == SIGSEGV)
        __asm__ volatile("ldr xzr, [%[nowhere]]" ::[nowhere] "r"(0L));
    if (signal == SIGILL)
        __asm__ volatile(".inst 0");
    if (signal == SIGTRAP)
        __asm__ volatile("brk #0");
}

static inline __attribute__((noreturn)) void machine_fault_at(uintptr_t stack)
{
    __asm__ volatile("mov sp, %0\n\tldr xzr, [%1]" ::"r"(stack), "r"(0L) : "memory");
    __builtin_unreachable();
}

static inline void machine_set_result(ucontext_t *context, long value)
{
    context->uc_mcontext.regs[0] = (uint64_t)value;
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

static inline uint64_t machine_thread_word(bool may_read)
{
    (void)may_read;
    return machine_thread_pointer();
}

enum { MACHINE_THREAD_WORD_HWCAP2 = 0 };

static inline bool machine_fault_wrote(const ucontext_t *context)
{
    (void)context;
    return false;
}

#else
#error "crashhook runs on x86-64 and aarch64"
#endif
