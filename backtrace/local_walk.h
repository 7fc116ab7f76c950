// SPDX-License-Identifier: Apache-2.0
//
// The walk of our own stacks: registers and memory to return addresses, in any context,
// also in a signal handler that interrupted malloc, dlopen or another walk.
//
// It takes no lock, allocates nothing, keeps errno, and makes no system call where the
// stack's bounds are known (backtrace/local_thread.h). On another stack it asks the
// kernel page by page how far memory is readable from the stack pointer on, and reads
// nothing beyond the first gap. Its own stack takes at most about 6 KB.
//
// Nearly all steps are repeated from the thread's table. One that is not there is found
// in the image's rules; then come the function's code (backtrace/code_return.h) and
// frame pointers. Where a rule needs a register that the quick steps did not recover,
// the walk is repeated from its start with all registers.
#pragma once
#include "backtrace/local_code.h"
#include "backtrace/local_thread.h"
#include "crashhook/backtrace.h"
#include "unwind/unwind_state.h"

// ALIGNS_STACK is for the functions that a signal handler's calls come to first. qemu's
// user mode starts handlers with a stack that the ABI's alignment does not hold for, so
// the functions that call these use no vector registers (backtrace/CMakeLists.txt).
#if defined(__x86_64__)
#define ALIGNS_STACK __attribute__((force_align_arg_pointer, noinline))
#else
#define ALIGNS_STACK __attribute__((noinline))
#endif

struct local_walk {
    const struct local_thread *thread;    // NULL: not prepared
    struct local_thread *table;           // its table of steps; NULL: not to be used
    const struct unwind_registers *first; // the registers that the walk began with
    enum crashhook_unwind_algorithm algorithm;
    enum crashhook_raw_end end; // why there are no more frames
    uint64_t pc;
    uint64_t sp;
    uint64_t fp;
    bool is_first;       // the current frame is the one with the first registers
    bool is_interrupted; // the current frame is at its PC, not in a call
    bool has_fp;         // fp is the frame's own
    bool has_ended;
    bool keeps_all; // every step recovers all registers
    bool has_state; // state is that of the current frame
    unsigned signals;
    uint64_t stack_low;   // what may be read of the stack
    uint64_t stack_high;  //
    uint64_t stack_limit; // up to where the kernel may be asked for more; 0: nowhere
    uint64_t code_low;    // the code that the last frame was in
    uint64_t code_high;
    uint64_t seen_same; // bit n: image n of the table is what it was
    struct unwind_state state;
};

// local_walk_begin begins at the frame with these registers, whose PC is exact; they
// must outlive the walk. local_walk_finish ends it.
ALIGNS_STACK void local_walk_begin(struct local_walk *walk,
                                   const struct unwind_registers *registers,
                                   enum crashhook_unwind_algorithm algorithm);

// local_walk_to_caller moves a walk that begins in the calling function to that one's
// caller, the quick way: record is the calling function's frame record and cfa its
// canonical frame address.
ALIGNS_STACK void local_walk_to_caller(struct local_walk *walk, const uint64_t *record,
                                       uint64_t cfa);
void local_walk_finish(struct local_walk *walk);

// local_walk_next moves outward and writes at most `room` addresses. They are return
// addresses, unless walk->is_interrupted is true afterwards: then it is one address, of
// a frame that a signal interrupted. 0: there are no more, and walk->end says why.
size_t local_walk_next(struct local_walk *walk, uint64_t *addresses, size_t room);

// local_walk_here stores PC, SP, FP and the callee-saved registers as they are here;
// a walk needs no others. It is inlined, so they belong to the enclosing function,
// which must not end in a tail call.
static inline __attribute__((always_inline)) void
local_walk_here(struct unwind_registers *out)
{
    uint64_t *value = out->value;
#if defined(__x86_64__)
    __asm__ volatile("movq %%rbx, 3*8(%0)\n\t"
                     "movq %%rbp, 6*8(%0)\n\t"
                     "movq %%rsp, 7*8(%0)\n\t"
                     "movq %%r12, 12*8(%0)\n\t"
                     "movq %%r13, 13*8(%0)\n\t"
                     "movq %%r14, 14*8(%0)\n\t"
                     "movq %%r15, 15*8(%0)\n\t"
                     "leaq 0f(%%rip), %%rax\n"
                     "0:\n\t"
                     "movq %%rax, 16*8(%0)"
                     :
                     : "r"(value)
                     : "rax", "memory");
#elif defined(__aarch64__)
    __asm__ volatile("stp x19, x20, [%0, #19*8]\n\t"
                     "stp x21, x22, [%0, #21*8]\n\t"
                     "stp x23, x24, [%0, #23*8]\n\t"
                     "stp x25, x26, [%0, #25*8]\n\t"
                     "stp x27, x28, [%0, #27*8]\n\t"
                     "stp x29, x30, [%0, #29*8]\n\t"
                     "mov x9, sp\n\t"
                     "adr x10, 0f\n"
                     "0:\n\t"
                     "stp x9, x10, [%0, #31*8]"
                     :
                     : "r"(value)
                     : "x9", "x10", "memory");
#endif
}
