// SPDX-License-Identifier: Apache-2.0
//
// Where stacks.c starts, and the code that returns from its signal, which has no unwind
// rules and is known by its instructions.
	.text
	.globl	_start
	.type	_start,%function
	.globl	__restore_rt
	.type	__restore_rt,%function
#if defined(__x86_64__)
_start:
	.cfi_startproc
	.cfi_undefined rip
	xorl	%ebp, %ebp
	andq	$-16, %rsp
	call	begin
	hlt
	.cfi_endproc
	.size	_start, . - _start
	nop
__restore_rt:
	movq	$15, %rax
	syscall
#elif defined(__aarch64__)
_start:
	.cfi_startproc
	.cfi_undefined x30
	mov	x29, #0
	mov	x30, #0
	bl	begin
	brk	#0
	.cfi_endproc
	.size	_start, . - _start
	nop
__restore_rt:
	mov	x8, #139
	svc	#0
#else
_start:
	.cfi_startproc
	.cfi_undefined r14
	aghi	%r15, -160
	xc	0(8,%r15), 0(%r15)
	brasl	%r14, begin
	.word	0
	.cfi_endproc
	.size	_start, . - _start
	nopr	%r7
__restore_rt:
	svc	173
#endif
	.size	__restore_rt, . - __restore_rt
	.section .note.GNU-stack, "", %progbits
