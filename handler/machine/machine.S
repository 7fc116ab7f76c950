// SPDX-License-Identifier: Apache-2.0
//
// The two system call instructions of the crash path (see crash.c and machine.h). There
// is one of each, so that their addresses are known: a SIGSYS for either is a seccomp
// filter's answer to a call of ours.
#include <sys/syscall.h>

#include "handler/machine/machine_marks.h"

#define FUNCTION(name)      \
    .hidden name           ;\
    .globl name            ;\
    .type name, %function  ;\
    name:                  ;\
    .cfi_startproc         ;\
    LANDING
#define PLACE(name)         \
    .hidden name           ;\
    .globl name            ;\
    name:
#define END(name)           \
    .cfi_endproc           ;\
    .size name, . - name

    .section .text.machine_call, "ax", %progbits

PLACE(machine_call0)
PLACE(machine_call1)
PLACE(machine_call2)
PLACE(machine_call3)
PLACE(machine_call4)

#if defined(__x86_64__)

FUNCTION(machine_call)
    mov %rdi, %rax
    mov %rsi, %rdi
    mov %rdx, %rsi
    mov %rcx, %rdx
    mov %r8, %r10
    mov %r9, %r8
    syscall
PLACE(machine_call_end)
    ret
END(machine_call)

// The kernel preserves r8 and r9 in the child too: its argument and function.
FUNCTION(machine_clone)
    mov %rcx, %r9
    mov %rdx, %r10
    mov $SYS_clone, %eax
    syscall
PLACE(machine_clone_end)
    test %rax, %rax
    jz 1f
    ret
1:  xor %ebp, %ebp
    mov %r8, %rdi
    call *%r9
    mov %eax, %edi
    mov $SYS_exit, %eax
    syscall
    hlt
END(machine_clone)

#elif defined(__aarch64__)

FUNCTION(machine_call)
    mov x8, x0
    mov x0, x1
    mov x1, x2
    mov x2, x3
    mov x3, x4
    mov x4, x5
    svc #0
PLACE(machine_call_end)
    ret
END(machine_call)

FUNCTION(machine_clone)
    mov x6, x3
    mov x7, x4
    mov x4, x2
    mov x3, xzr
    mov x8, #SYS_clone
    svc #0
PLACE(machine_clone_end)
    cbz x0, 1f
    ret
1:  mov x29, xzr
    mov x0, x7
    blr x6
    mov x8, #SYS_exit
    svc #0
    brk #0
END(machine_clone)

#endif

    .section .note.GNU-stack, "", %progbits
