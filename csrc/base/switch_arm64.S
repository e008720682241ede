//go:build ignore
/*
 * switch_arm64.S - the switch between stacks, AAPCS64 (2024Q3, sections 6.1.1 and 6.1.2).
 *
 * Callee-saved and so kept: x19-x28, x29 (frame pointer), sp, and the low halves of v8-v15
 * (d8-d15). x30 (link register) is where to continue. x18 is the platform register: neither used
 * nor touched. FPCR is not kept (coro.h says so). The layout of a suspended stack, upwards from the
 * saved sp:
 *
 *      0 x19 x20 | 16 x21 x22 | 32 x23 x24 | 48 x25 x26 | 64 x27 x28 | 80 x29 x30 | 96 d8-d15 | 160
 *
 * docs/internals/abi.md explains each line.
 */
#if defined(__aarch64__)
	.text

.macro SAVE
	sub	sp, sp, #160
	.cfi_def_cfa_offset 160
	stp	x19, x20, [sp, #0]
	stp	x21, x22, [sp, #16]
	stp	x23, x24, [sp, #32]
	stp	x25, x26, [sp, #48]
	stp	x27, x28, [sp, #64]
	stp	x29, x30, [sp, #80]
	stp	d8, d9, [sp, #96]
	stp	d10, d11, [sp, #112]
	stp	d12, d13, [sp, #128]
	stp	d14, d15, [sp, #144]
	SAVED
	mov	x9, sp
	str	x9, [x0]
.endm

.macro SAVED
	.cfi_offset x19, -160
	.cfi_offset x20, -152
	.cfi_offset x21, -144
	.cfi_offset x22, -136
	.cfi_offset x23, -128
	.cfi_offset x24, -120
	.cfi_offset x25, -112
	.cfi_offset x26, -104
	.cfi_offset x27, -96
	.cfi_offset x28, -88
	.cfi_offset x29, -80
	.cfi_offset x30, -72
	.cfi_offset d8, -64
	.cfi_offset d9, -56
	.cfi_offset d10, -48
	.cfi_offset d11, -40
	.cfi_offset d12, -32
	.cfi_offset d13, -24
	.cfi_offset d14, -16
	.cfi_offset d15, -8
.endm

/* The last step. br x16 rather than ret (but in coroi_switch_within), as on amd64: the return
 * predictor holds the other stack's call sites. These sites are no landing pads: where the compiler
 * makes such pads (-mbranch-protection), only ret may go there. */
.macro GO_ON
#if defined(__ARM_FEATURE_BTI_DEFAULT)
	ret
#else
	mov	x16, x30
	br	x16
#endif
.endm

.macro RESTORE
	ldp	x19, x20, [sp, #0]
	ldp	x21, x22, [sp, #16]
	ldp	x23, x24, [sp, #32]
	ldp	x25, x26, [sp, #48]
	ldp	x27, x28, [sp, #64]
	ldp	x29, x30, [sp, #80]
	ldp	d8, d9, [sp, #96]
	ldp	d10, d11, [sp, #112]
	ldp	d12, d13, [sp, #128]
	ldp	d14, d15, [sp, #144]
	add	sp, sp, #160
	.cfi_restore x19
	.cfi_restore x20
	.cfi_restore x21
	.cfi_restore x22
	.cfi_restore x23
	.cfi_restore x24
	.cfi_restore x25
	.cfi_restore x26
	.cfi_restore x27
	.cfi_restore x28
	.cfi_restore x29
	.cfi_restore x30
	.cfi_restore d8
	.cfi_restore d9
	.cfi_restore d10
	.cfi_restore d11
	.cfi_restore d12
	.cfi_restore d13
	.cfi_restore d14
	.cfi_restore d15
	.cfi_def_cfa_offset 0
.endm

.macro FUNCTION name
	.globl	\name
	.hidden	\name
	.type	\name, %function
	.p2align 5
\name:
	.cfi_startproc
	hint	#34	/* bti c */
.endm

.macro END name
	.cfi_endproc
	.size	\name, .-\name
.endm

/* int coroi_switch(void **save, void *to, intptr_t value, uint32_t *door); see switch.h.
 * stlr: the next thread to enter the door sees the registers and the saved sp. */
FUNCTION coroi_switch
	SAVE
	mov	sp, x1
	stlr	wzr, [x3]
	mov	x0, x2
	RESTORE
	GO_ON
END coroi_switch

/* int coroi_switch_within(void **save, void *to, intptr_t value, uint32_t *door) */
FUNCTION coroi_switch_within
	SAVE
	mov	sp, x1
	stlr	wzr, [x3]
	mov	x0, x2
	RESTORE
	ret
END coroi_switch_within

/* int coroi_call_on(void **save, void *top, intptr_t value, int (*fn)(intptr_t)). While fn runs, the
 * zero x29 and the undefined x30 end every unwinder here. x19 has the saved sp for the return. */
FUNCTION coroi_call_on
	SAVE
	mov	x19, x9
	mov	sp, x1
	.cfi_remember_state
	.cfi_undefined x30
	.cfi_undefined x29
	mov	x29, xzr
	mov	x0, x2
	blr	x3
	mov	sp, x19
	.cfi_restore_state
	RESTORE
	ret
END coroi_call_on

/* int coroi_fork_call(void **save, void (*fn)(void *, void *), void *arg, void *result) */
FUNCTION coroi_fork_call
	SAVE
	mov	x9, x1
	mov	x0, x2
	mov	x1, x3
	blr	x9
	mov	x0, xzr
	RESTORE
	ret
END coroi_fork_call

/* void coroi_fork_return(void *to): a return of the coroi_fork_call that has saved `to`. */
FUNCTION coroi_fork_return
	mov	sp, x0
	.cfi_def_cfa sp, 160
	SAVED
	mov	x0, #1
	RESTORE
	ret
END coroi_fork_return

/* int coroi_swap(void **save, void *to, intptr_t value) */
FUNCTION coroi_swap
	SAVE
	mov	sp, x1
	mov	x0, x2
	RESTORE
	GO_ON
END coroi_swap

/* void coroi_jump(void *to, intptr_t value, uint32_t *door): the present stack is not saved. */
FUNCTION coroi_jump
	mov	sp, x0
	.cfi_def_cfa sp, 160
	SAVED
	stlr	wzr, [x2]
	mov	x0, x1
	RESTORE
	GO_ON
END coroi_jump

/* void coroi_restart(void *to, intptr_t value): begin a context that coroi_context has just made on
 * the present stack. */
FUNCTION coroi_restart
	mov	sp, x0
	.cfi_def_cfa sp, 160
	.cfi_offset x19, -160
	.cfi_offset x30, -72
	ldr	x19, [sp, #0]
	ldr	x30, [sp, #88]
	add	sp, sp, #160
	.cfi_restore x19
	.cfi_restore x30
	.cfi_def_cfa_offset 0
	mov	x0, x1
	b	coroi_entry
END coroi_restart

/*
 * coroi_entry - where a new context continues: x19 is its function, x0 the function's argument. The
 * zero x29 and the undefined x30 end every unwinder here; the nop is for unwinders that look at the
 * instruction before the place where a suspended context continues.
 * coroi_entry_again - the same, and the context is kept for the next time: its function runs below
 * it. The words of it that count are written once more, since a signal may have come before sp was
 * back below them.
 */
	.type	coroi_base, %function
	.p2align 5
coroi_base:
	.cfi_startproc
	.cfi_undefined x30
	.cfi_undefined x29
	nop
	.globl	coroi_entry
	.hidden	coroi_entry
	.type	coroi_entry, %function
coroi_entry:
	hint	#34	/* bti c */
	mov	x29, xzr
	blr	x19
	brk	#1
	.size	coroi_entry, .-coroi_entry
	.globl	coroi_entry_again
	.hidden	coroi_entry_again
	.type	coroi_entry_again, %function
coroi_entry_again:
	hint	#34	/* bti c */
	sub	sp, sp, #160
	adr	x9, coroi_entry_again
	str	x19, [sp, #0]
	str	x9, [sp, #88]
	b	coroi_entry
	.cfi_endproc
	.size	coroi_entry_again, .-coroi_entry_again
	.size	coroi_base, .-coroi_base

#if defined(__ARM_FEATURE_BTI_DEFAULT)
	.section .note.gnu.property, "a"
	.p2align 3
	.word	4, 16, 5	/* bytes of the name, bytes of the rest, NT_GNU_PROPERTY_TYPE_0 */
	.asciz	"GNU"
	.word	0xc0000000, 4	/* GNU_PROPERTY_AARCH64_FEATURE_1_AND */
	.word	1, 0		/* BTI: all targets of jumps in here are landing pads */
#endif
#endif
	.section .note.GNU-stack,"",%progbits
