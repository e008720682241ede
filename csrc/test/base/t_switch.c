/*
 * t_switch.c - what a switch keeps: callee-saved registers, floating-point locals, the alignment of
 * the stack. Where unwinding ends.
 */
#include "gostand.h"

#include "base/switch.h"

#include <unwind.h>

/*
 * keep_check(fn, in, out): load every callee-saved register from in, call fn, store them all to
 * out.
 */
void keep_check(void (*fn)(void), const uint64_t *in, uint64_t *out);

#if defined(__x86_64__)
#define KEPT 6
__asm__(".text\n"
	".globl keep_check\n"
	".type keep_check, @function\n"
	"keep_check:\n"
	"	pushq %rbp; pushq %rbx; pushq %r12; pushq %r13; pushq %r14\n"
	"	pushq %r15; pushq %rdx\n"
	"	movq %rdi, %rax\n"
	"	movq 0(%rsi), %rbp; movq 8(%rsi), %rbx; movq 16(%rsi), %r12\n"
	"	movq 24(%rsi), %r13; movq 32(%rsi), %r14; movq 40(%rsi), %r15\n"
	"	call *%rax\n"
	"	popq %rcx\n"
	"	movq %rbp, 0(%rcx); movq %rbx, 8(%rcx); movq %r12, 16(%rcx)\n"
	"	movq %r13, 24(%rcx); movq %r14, 32(%rcx); movq %r15, 40(%rcx)\n"
	"	popq %r15; popq %r14; popq %r13; popq %r12; popq %rbx; popq %rbp\n"
	"	ret\n"
	".size keep_check, .-keep_check\n");
#elif defined(__aarch64__)
#define KEPT 19 /* x19-x29, d8-d15 */
__asm__(".text\n"
	".globl keep_check\n"
	".type keep_check, %function\n"
	"keep_check:\n"
	"	sub sp, sp, #176\n"
	"	stp x19, x20, [sp, #0]\n	stp x21, x22, [sp, #16]\n"
	"	stp x23, x24, [sp, #32]\n"
	"	stp x25, x26, [sp, #48]\n	stp x27, x28, [sp, #64]\n"
	"	stp x29, x30, [sp, #80]\n"
	"	stp d8, d9, [sp, #96]\n	stp d10, d11, [sp, #112]\n	stp d12, d13, [sp, #128]\n"
	"	stp d14, d15, [sp, #144]\n	str x2, [sp, #160]\n"
	"	ldp x19, x20, [x1, #0]\n	ldp x21, x22, [x1, #16]\n"
	"	ldp x23, x24, [x1, #32]\n"
	"	ldp x25, x26, [x1, #48]\n	ldp x27, x28, [x1, #64]\n"
	"	ldr x29, [x1, #80]\n"
	"	ldp d8, d9, [x1, #88]\n	ldp d10, d11, [x1, #104]\n	ldp d12, d13, [x1, #120]\n"
	"	ldp d14, d15, [x1, #136]\n"
	"	blr x0\n"
	"	ldr x2, [sp, #160]\n"
	"	stp x19, x20, [x2, #0]\n	stp x21, x22, [x2, #16]\n"
	"	stp x23, x24, [x2, #32]\n"
	"	stp x25, x26, [x2, #48]\n	stp x27, x28, [x2, #64]\n"
	"	str x29, [x2, #80]\n"
	"	stp d8, d9, [x2, #88]\n	stp d10, d11, [x2, #104]\n	stp d12, d13, [x2, #120]\n"
	"	stp d14, d15, [x2, #136]\n"
	"	ldp x19, x20, [sp, #0]\n	ldp x21, x22, [sp, #16]\n"
	"	ldp x23, x24, [sp, #32]\n"
	"	ldp x25, x26, [sp, #48]\n	ldp x27, x28, [sp, #64]\n"
	"	ldp x29, x30, [sp, #80]\n"
	"	ldp d8, d9, [sp, #96]\n	ldp d10, d11, [sp, #112]\n	ldp d12, d13, [sp, #128]\n"
	"	ldp d14, d15, [sp, #144]\n"
	"	add sp, sp, #176\n"
	"	ret\n"
	".size keep_check, .-keep_check\n");
#endif

static void check_kept(void (*fn)(void), uint64_t seed)
{
	uint64_t in[KEPT], out[KEPT];

	for (int i = 0; i < KEPT; i++) {
		in[i] = rnd(&seed);
		out[i] = 0;
	}
	keep_check(fn, in, out);
	for (int i = 0; i < KEPT; i++)
		CHECK(in[i] == out[i]);
}

/* -------------------------------------------------------------------------------------- by hand */

#define ROUNDS 200

static void hand_over(void)
{
	CHECK_EQ(coro_yield_value(1, NULL), CORO_OK);
}

static intptr_t keeper(void *arg, intptr_t first)
{
	(void)first;
	for (uint64_t i = 0; i < ROUNDS; i++)
		check_kept(hand_over, (uintptr_t)arg * 1000 + i + 1);
	return 0;
}

static coro_t *resumed;

static void resume_it(void)
{
	int status = coro_resume(resumed, 0, NULL);
	CHECK(status == CORO_MAY_RESUME || status == CORO_FINISHED);
}

/* The registers of the resumer and of the resumed, with three that take turns. */
TEST(switch_keeps_registers_by_hand)
{
	coro_t *co[3];

	for (int i = 0; i < 3; i++)
		CHECK_EQ(coro_new(&co[i], keeper, (void *)(intptr_t)(i + 1), STACK), CORO_OK);
	for (int n = 0; n <= ROUNDS; n++) {
		for (int i = 0; i < 3; i++) {
			resumed = co[i];
			check_kept(resume_it, (uint64_t)(n + 7) * 31);
		}
	}
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(coro_status(co[i]), CORO_FINISHED);
		CHECK_EQ(coro_free(co[i]), CORO_OK);
	}
}

/* ------------------------------------------------------------------------------------ scheduled */

static uint64_t keepers_done;

static void yield_it(void)
{
	CHECK_EQ(coro_yield(), CORO_OK);
}

static void noop(void *arg, void *result)
{
	(void)arg;
	(void)result;
}

static void spawn_it(void)
{
	CHECK_EQ(coro_spawn_first(NULL, noop, NULL, 0, NULL), CORO_OK);
}

static void park_it(void)
{
	coro_handle me = coro_self();
	/* a call in between */
	CHECK_EQ(coro_scheduler_spawn(NULL, NULL, noop, NULL, 0, NULL), CORO_EINVAL);
	CHECK_EQ(coro_wake(me), CORO_OK);
	CHECK_EQ(coro_park(), CORO_OK);
}

static void yield_deep(void *arg)
{
	(void)arg;
	yield_it();
}

static void deep_it(void)
{
	CHECK_EQ(coro_call_on_stack(STACK, yield_deep, NULL), CORO_OK);
}

static void scheduled_keeper(void *arg, void *result)
{
	uint64_t seed;

	(void)result;
	__builtin_memcpy(&seed, arg, sizeof seed);
	for (int i = 0; i < ROUNDS; i++) {
		check_kept(yield_it, rnd(&seed));
		check_kept(spawn_it, rnd(&seed));
		check_kept(park_it, rnd(&seed));
		check_kept(deep_it, rnd(&seed));
	}
	__atomic_add_fetch(&keepers_done, 1, __ATOMIC_SEQ_CST);
}

TEST(switch_keeps_registers_scheduled)
{
	for (uint32_t workers = 1; workers <= 3; workers++) {
		coro_scheduler *s = start_with(workers, 0);
		keepers_done = 0;
		for (uint64_t i = 1; i <= 20; i++)
			spawn(s, scheduled_keeper, &i, sizeof i);
		finish(s);
		CHECK_EQ(keepers_done, 20);
	}
}

/* ----------------------------------------------------------------- floating point and alignment */

static uint64_t floats_done;

static void floats(void *arg, void *result)
{
	uint64_t n;
	double a = 1, b = 0.5, c = 0.25, d = 2, sum = 0, want = 0;

	(void)result;
	__builtin_memcpy(&n, arg, sizeof n);
	for (uint64_t i = 0; i < n; i++)
		want += 1.0 / (double)(i + 1) + 3.75;
	for (uint64_t i = 0; i < n; i++) {
		double term = 1.0 / (double)(i + 1);
		CHECK_EQ(coro_yield(), CORO_OK);
		sum += term + (a + b + c + d);
	}
	CHECK(sum == want);
	__atomic_add_fetch(&floats_done, 1, __ATOMIC_SEQ_CST);
}

TEST(switch_keeps_floating_point_locals)
{
	coro_scheduler *s = start_with(2, 0);

	for (uint64_t n = 1; n <= 60; n++)
		spawn(s, floats, &n, sizeof n);
	finish(s);
	CHECK_EQ(floats_done, 60);
}

static bool aligned(void)
{
	return ((uintptr_t)__builtin_frame_address(0) & 15) == 0;
}

static intptr_t aligned_by_hand(void *arg, intptr_t first)
{
	(void)arg;
	(void)first;
	return aligned();
}

static void aligned_scheduled(void *arg, void *result)
{
	(void)result;
	CHECK(aligned());
	CHECK_EQ((uintptr_t)arg & 15, 0);
}

/* The ABI wants frames aligned to 16; vector code crashes where they are not. With all colours of
 * stack tops. */
TEST(switch_aligns_stacks)
{
	coro_t *co[64];

	for (int i = 0; i < 64; i++) {
		intptr_t is = 0;
		CHECK_EQ(coro_new(&co[i], aligned_by_hand, NULL, 0), CORO_OK);
		CHECK_EQ(coro_resume(co[i], 0, &is), CORO_FINISHED);
		CHECK_EQ(is, 1);
	}
	for (int i = 0; i < 64; i++)
		coro_free(co[i]);
	coro_scheduler *s = start_with(1, 0);
	for (int i = 0; i < 64; i++)
		spawn(s, aligned_scheduled, &i, sizeof i);
	finish(s);
}

/* ------------------------------------------------------------------------------------ unwinding */

struct trace {
	int frames;
	uintptr_t last;
};

static _Unwind_Reason_Code note(struct _Unwind_Context *c, void *arg)
{
	struct trace *t = arg;
	t->frames++;
	t->last = _Unwind_GetRegionStart(c);
	return t->frames < 50 ? _URC_NO_REASON : _URC_NORMAL_STOP;
}

/* An exception of C++ or a profiler walks so: the walk ends by itself, in the function that every
 * stack begins with. */
static void check_unwinds(void)
{
	struct trace t = {0};
	uintptr_t base = (uintptr_t)coroi_entry;

	CHECK_EQ(_Unwind_Backtrace(note, &t), _URC_END_OF_STACK);
	CHECK(t.frames >= 3 && t.frames < 12);
	CHECK(t.last <= base && t.last + 8 >= base);
}

static intptr_t unwinds_by_hand(void *arg, intptr_t first)
{
	(void)arg;
	for (int i = 0; i < 3; i++) {
		check_unwinds();
		coro_yield_value(first, NULL);
	}
	return 5;
}

static void unwinds_called(void *arg)
{
	(void)arg;
	check_unwinds();
}

static void unwinds_scheduled(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < 3; i++) {
		check_unwinds();
		CHECK_EQ(coro_yield(), CORO_OK);
		CHECK_EQ(coro_call_on_stack(STACK, unwinds_called, NULL), CORO_OK);
	}
}

TEST(switch_lets_unwinding_end)
{
	coro_t *co;
	coro_scheduler *s = start_with(2, 0);

	CHECK_EQ(coro_new(&co, unwinds_by_hand, NULL, STACK), CORO_OK);
	while (coro_resume(co, 0, NULL) == CORO_MAY_RESUME)
		;
	CHECK_EQ(coro_status(co), CORO_FINISHED);
	CHECK_EQ(coro_free(co), CORO_OK);
	for (int i = 0; i < 20; i++)
		spawn(s, unwinds_scheduled, NULL, 0);
	finish(s);
}

/* -------------------------------------------------------------------------------- coroi_call_on */

/* The builds that are told of every stack are not told of this one, and do not use
 * coroi_call_on. */
#if !SANITIZED && !defined(COROI_VALGRIND)

#define CALL_ROUNDS 100

static char call_stack[64 << 10] __attribute__((aligned(64)));
static void *caller, *called; /* contexts */
static int call_rounds;

static void is_aligned(void)
{
	CHECK_EQ(((uintptr_t)__builtin_frame_address(0)) % 16, 0);
}

/* is_called - a walk ends in coroi_call_on. */
static void is_called(void)
{
	struct trace t = {0};

	is_aligned();
	CHECK_EQ(_Unwind_Backtrace(note, &t), _URC_END_OF_STACK);
	CHECK(t.frames >= 3 && t.frames < 12);
	CHECK_EQ(t.last, (uintptr_t)coroi_call_on);
	CHECK((char *)__builtin_frame_address(0) > call_stack &&
	      (char *)__builtin_frame_address(0) < call_stack + sizeof call_stack);
}

static int returns(intptr_t value)
{
	is_called();
	check_kept(is_aligned, (uint64_t)value + 1); /* other values in all that a call keeps */
	return (int)value + 1;
}

static void swaps_back(void)
{
	coroi_swap(&called, caller, call_rounds);
}

/* stays - go back to the caller by a switch, again and again: this frame lives on. */
static int stays(intptr_t value)
{
	CHECK_EQ(value, 5);
	for (;;) {
		is_called();
		check_kept(swaps_back, (uint64_t)call_rounds * 7 + 1);
	}
}

static void calls_on(void)
{
	void *top = call_stack + sizeof call_stack;

	CHECK_EQ(coroi_call_on(&caller, top, call_rounds, returns), call_rounds + 1);
}

static void calls_on_and_is_gone_back_to(void)
{
	void *top = call_stack + sizeof call_stack;

	if (call_rounds == 0)
		CHECK_EQ(coroi_call_on(&caller, top, 5, stays), 0);
	else
		CHECK_EQ(coroi_swap(&caller, called, 0), call_rounds);
}

TEST(switch_by_call_on_keeps_registers_and_lets_unwinding_end)
{
	for (call_rounds = 0; call_rounds < CALL_ROUNDS; call_rounds++)
		check_kept(calls_on, (uint64_t)call_rounds + 1);
	for (call_rounds = 0; call_rounds < CALL_ROUNDS; call_rounds++)
		check_kept(calls_on_and_is_gone_back_to, (uint64_t)call_rounds + 1);
}

static void unwinds_lent(void *arg, void *result)
{
	struct trace t = {0};

	(void)arg;
	CHECK_EQ(_Unwind_Backtrace(note, &t), _URC_END_OF_STACK);
	CHECK(t.frames >= 3 && t.frames < 12);
	*(uint64_t *)result = t.last;
}

/* A lender's coroutine that has never suspended has coroi_call_on below it. */
TEST(switch_lets_unwinding_end_in_a_lend)
{
	coro_scheduler *s = start_go(1, 0);

	for (int i = 0; i < 20; i++) {
		struct coroi_lend l = lend_of(s, unwinds_lent, NULL, 0, 8);
		CHECK_EQ(lend(&l), COROI_LEND_ENDED);
		CHECK_EQ(*(uint64_t *)l.payload, (uintptr_t)coroi_call_on);
	}
	finish(s);
}
#endif
