//go:build ignore
/*
 * switch_amd64.S - the switch between stacks, System V AMD64 ABI (psABI 1.0, section 3.2.1).
 *
 * Callee-saved and so kept: rbx, rbp, r12-r15, rsp. By the letter of the ABI the x87 control word
 * and MXCSR are callee-saved too; they are not kept (coro.h says so). The layout of a suspended
 * stack, upwards from the saved rsp:
 *
 *      0 r15 | 8 r14 | 16 r13 | 24 r12 | 32 rbx | 40 rbp | 48 where to continue
 *
 * The last step is pop and jmp, not ret. Callers reach these functions by tail calls, so the place
 * to continue at is the user's own call site, and the return predictor, which holds the other
 * stack's sites, would be wrong. coroi_switch_within, whose caller has a frame to come back to,
 * ends with ret: the predictor's last entry is that call, and the context that continues was most
 * often suspended by the same one.
 *
 * docs/internals/abi.md explains each line.
 */
#if defined(__x86_64__)
	.text

.macro SAVE
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbx, 0
	pushq	%r12
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r12, 0
	pushq	%r13
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r13, 0
	pushq	%r14
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r14, 0
	pushq	%r15
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r15, 0
	movq	%rsp, (%rdi)
.endm

/* rsp is that of a saved context. */
.macro SAVED
	.cfi_def_cfa %rsp, 56
	.cfi_rel_offset %r15, 0
	.cfi_rel_offset %r14, 8
	.cfi_rel_offset %r13, 16
	.cfi_rel_offset %r12, 24
	.cfi_rel_offset %rbx, 32
	.cfi_rel_offset %rbp, 40
.endm

/* From here on the target's stack: the frame has the same shape, so the CFI above stays true. */
.macro RESTORE
	popq	%r15
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r15
	popq	%r14
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r14
	popq	%r13
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r13
	popq	%r12
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r12
	popq	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbx
	popq	%rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbp
.endm

.macro GO_ON
	popq	%rcx
	.cfi_adjust_cfa_offset -8
	.cfi_register %rip, %rcx
	jmpq	*%rcx
.endm

/* int coroi_switch(void **save, void *to, intptr_t value, uint32_t *door); see switch.h */
	.globl	coroi_switch
	.hidden	coroi_switch
	.type	coroi_switch, @function
	.p2align 5
coroi_switch:
	.cfi_startproc
	SAVE
	movq	%rsi, %rsp
	movl	$0, (%rcx)
	movq	%rdx, %rax
	RESTORE
	GO_ON
	.cfi_endproc
	.size	coroi_switch, .-coroi_switch

/* int coroi_switch_within(void **save, void *to, intptr_t value, uint32_t *door) */
	.globl	coroi_switch_within
	.hidden	coroi_switch_within
	.type	coroi_switch_within, @function
	.p2align 5
coroi_switch_within:
	.cfi_startproc
	SAVE
	movq	%rsi, %rsp
	movl	$0, (%rcx)
	movq	%rdx, %rax
	RESTORE
	ret
	.cfi_endproc
	.size	coroi_switch_within, .-coroi_switch_within

/*
 * int coroi_call_on(void **save, void *top, intptr_t value, int (*fn)(intptr_t)). While fn runs, the
 * zero return slot, the zero rbp and the undefined rip end every unwinder here. rbx has the saved
 * rsp for the return.
 */
	.globl	coroi_call_on
	.hidden	coroi_call_on
	.type	coroi_call_on, @function
	.p2align 5
coroi_call_on:
	.cfi_startproc
	SAVE
	movq	%rsp, %rbx
	leaq	-16(%rsi), %rsp
	.cfi_remember_state
	.cfi_undefined %rip
	.cfi_undefined %rbp
	xorl	%ebp, %ebp
	movq	%rbp, (%rsp)
	movq	%rbp, 8(%rsp)
	movq	%rdx, %rdi
	callq	*%rcx
	movq	%rbx, %rsp
	.cfi_restore_state
	RESTORE
	ret
	.cfi_endproc
	.size	coroi_call_on, .-coroi_call_on

/* int coroi_fork_call(void **save, void (*fn)(void *, void *), void *arg, void *result) */
	.globl	coroi_fork_call
	.hidden	coroi_fork_call
	.type	coroi_fork_call, @function
	.p2align 5
coroi_fork_call:
	.cfi_startproc
	SAVE
	movq	%rsi, %rax
	movq	%rdx, %rdi
	movq	%rcx, %rsi
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	callq	*%rax
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	xorl	%eax, %eax
	RESTORE
	ret
	.cfi_endproc
	.size	coroi_fork_call, .-coroi_fork_call

/* void coroi_fork_return(void *to): a return of the coroi_fork_call that has saved `to`. */
	.globl	coroi_fork_return
	.hidden	coroi_fork_return
	.type	coroi_fork_return, @function
	.p2align 5
coroi_fork_return:
	.cfi_startproc
	movq	%rdi, %rsp
	SAVED
	movl	$1, %eax
	RESTORE
	ret
	.cfi_endproc
	.size	coroi_fork_return, .-coroi_fork_return

/*
 * How functions marked COROI_RETURNS_AFTER_SWITCH return. The name is the compiler's. It is weak:
 * the rest of a program may have a definition of its own, which serves as well.
 */
	.weak	__x86_return_thunk
	.hidden	__x86_return_thunk
	.type	__x86_return_thunk, @function
	.p2align 5
__x86_return_thunk:
	.cfi_startproc
	GO_ON
	.cfi_endproc
	.size	__x86_return_thunk, .-__x86_return_thunk

/* int coroi_swap(void **save, void *to, intptr_t value) */
	.globl	coroi_swap
	.hidden	coroi_swap
	.type	coroi_swap, @function
	.p2align 5
coroi_swap:
	.cfi_startproc
	SAVE
	movq	%rsi, %rsp
	movq	%rdx, %rax
	RESTORE
	GO_ON
	.cfi_endproc
	.size	coroi_swap, .-coroi_swap

/* void coroi_jump(void *to, intptr_t value, uint32_t *door): the present stack is not saved. */
	.globl	coroi_jump
	.hidden	coroi_jump
	.type	coroi_jump, @function
	.p2align 5
coroi_jump:
	.cfi_startproc
	movq	%rdi, %rsp
	SAVED
	movl	$0, (%rdx)
	movq	%rsi, %rax
	RESTORE
	GO_ON
	.cfi_endproc
	.size	coroi_jump, .-coroi_jump

/*
 * void coroi_restart(void *to, intptr_t value): begin a context that coroi_context has just made on
 * the present stack.
 */
	.globl	coroi_restart
	.hidden	coroi_restart
	.type	coroi_restart, @function
	.p2align 5
coroi_restart:
	.cfi_startproc
	movq	%rdi, %rsp
	.cfi_def_cfa %rsp, 56
	.cfi_rel_offset %rbx, 32
	movq	%rsi, %rax
	movq	32(%rsp), %rbx
	.cfi_restore %rbx
	addq	$56, %rsp
	.cfi_adjust_cfa_offset -56
	jmp	coroi_entry
	.cfi_endproc
	.size	coroi_restart, .-coroi_restart

/*
 * coroi_entry - where a new context continues: rbx is its function, rax the function's argument,
 * and rsp is 16-aligned. The zero return slot, the zero rbp and the undefined rip end every
 * unwinder here; the nop is for unwinders that look at the instruction before the place where a
 * suspended context continues. coroi_entry_again - the same, and the context is kept for the next
 * time: its function runs below it. Until rsp is below it again, the context is in the red zone,
 * which signals leave alone.
 */
	.type	coroi_base, @function
	.p2align 5
coroi_base:
	.cfi_startproc
	.cfi_undefined %rip
	.cfi_undefined %rbp
	nop
	.globl	coroi_entry
	.hidden	coroi_entry
	.type	coroi_entry, @function
coroi_entry:
	xorl	%ebp, %ebp
	movq	%rax, %rdi
	callq	*%rbx
	ud2
	.size	coroi_entry, .-coroi_entry
	.globl	coroi_entry_again
	.hidden	coroi_entry_again
	.type	coroi_entry_again, @function
coroi_entry_again:
	subq	$64, %rsp
	jmp	coroi_entry
	.cfi_endproc
	.size	coroi_entry_again, .-coroi_entry_again
	.size	coroi_base, .-coroi_base
#endif
	.section .note.GNU-stack,"",@progbits
