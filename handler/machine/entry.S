// SPDX-License-Identifier: Apache-2.0
//
// The kernel's entry into the handler (see crash.c), and the code that signal handlers
// return to.
//
// The program's handler is called from here with a frame that unwinders take for the
// kernel's own: when it walks the stack, for a dump of its own or to throw, it finds the
// interrupted program and no frame of ours. Code that calls our handler as a function, as
// a handler that has replaced ours may, has no such frame and takes another path.
//
// On other processors the entry is in C (crash_entry.c).
#include "handler/machine/machine_marks.h"

#if defined(__x86_64__)

// FRAME has room for a struct crash_asked and is 8 more than a multiple of 16; the return
// address and then the context are above it. All of it may be copied to another stack
// (crash_stack.c), which HOME then points to; the rules for unwinding hold there as well.
#define FRAME   360
#define HOME    24
#define CONTEXT (FRAME + 8)

// SAVED is DW_CFA_expression for a register by its place in the context: DW_OP_breg7 (rsp)
// with two bytes of LEB128. The frame is also recognized by the one of rsp.
#define LOW(place)  (((CONTEXT + place) & 0x7f) | 0x80)
#define HIGH(place) ((CONTEXT + place) >> 7)
#define SAVED(number, place)                                                           \
    .cfi_escape 0x10, number, 3, 0x77, LOW(place), HIGH(place)

    .section .text.crash_handle, "ax", %progbits
    .p2align 4
    .hidden crash_handle
    .globl crash_handle
    .type crash_handle, %function
crash_handle:
    .cfi_startproc simple
    .cfi_signal_frame
    .cfi_escape 0x0f, 4, 0x77, LOW(160), HIGH(160), 0x06
    SAVED(8, 40)
    SAVED(9, 48)
    SAVED(10, 56)
    SAVED(11, 64)
    SAVED(12, 72)
    SAVED(13, 80)
    SAVED(14, 88)
    SAVED(15, 96)
    SAVED(5, 104)  // rdi
    SAVED(4, 112)  // rsi
    SAVED(6, 120)  // rbp
    SAVED(3, 128)  // rbx
    SAVED(1, 136)  // rdx
    SAVED(0, 144)  // rax
    SAVED(2, 152)  // rcx
    SAVED(7, 160)  // rsp
    SAVED(16, 168) // rip
    LANDING
    lea 8(%rsp), %rax
    cmp %rax, %rdx // the kernel puts the context right above the return address
    jne crash_handle_called
    test $8, %spl
    jz 2f
    sub $FRAME, %rsp
    mov %rsp, %rcx
    call crash_begin
    test %rax, %rax
    jz 1f
    mov HOME(%rsp), %rsp
    mov (%rsp), %edi
    mov 8(%rsp), %rsi
    mov 16(%rsp), %rdx
    call *%rax
    mov %rsp, %rdi
    call crash_end
1:  add $FRAME, %rsp
    ret
    // The user mode of qemu 7 enters a handler with a stack that is not aligned for a
    // function. A call from here aligns it.
2:  call crash_handle_called
    ret
    .cfi_endproc
    .size crash_handle, . - crash_handle

// Debuggers and unwinders recognize the return from a signal by these bytes. The nop
// before keeps a lookup of the address minus one from finding another function.
    .section .text.crash_restore, "ax", %progbits
    .p2align 4
    nop
    .p2align 4
    .hidden crash_restore
    .globl crash_restore
    .type crash_restore, %function
crash_restore:
    mov $15, %rax
    syscall
    and $-16, %rsp
    call crash_return_refused
    .size crash_restore, . - crash_restore

#endif

    .section .note.GNU-stack, "", %progbits
