/* ladder.c - the life of a coroutine that is suspended once, in the ways in which RethinkDB came to
 * its fast coroutines (2010). LADDER_GROUP are there at once: all begin, and then all go on. */
#include "cbody.h"
#include "stack.h"

#include <stdbool.h>
#include <stdlib.h>
#include <ucontext.h>

#define LADDER_GROUP 10

static int64_t ended;

/* ----------------------------------------------------------------------- rungs of the C library */

static ucontext_t home, member[LADDER_GROUP];
static char *stack[LADDER_GROUP];

static size_t stack_bytes;

/* Where the stacks of a rung come from, and whether they are kept. */
struct source {
	char *(*get)(size_t bytes);
	void (*put)(char *low, size_t bytes);
	bool keeps;
};

static char *by_malloc(size_t bytes)
{
	return malloc(bytes);
}

static char *by_calloc(size_t bytes)
{
	return calloc(1, bytes);
}

static void by_free(char *low, size_t bytes)
{
	(void)bytes;
	free(low);
}

static const struct source sources[] = {
	[CB_LADDER_NEW_STACK] = {cb_stack_new, cb_stack_free, false},
	[CB_LADDER_REUSED_STACK] = {cb_stack_new, cb_stack_free, true},
	[CB_LADDER_MALLOC] = {by_malloc, by_free, false},
	[CB_LADDER_CALLOC] = {by_calloc, by_free, false},
	[CB_LADDER_REUSED_CALLOC] = {by_calloc, by_free, true},
};

static void suspended_once(int index)
{
	swapcontext(&member[index], &home);
	ended++;
}

static void begin(int index)
{
	ucontext_t *m = &member[index];
	getcontext(m);
	m->uc_stack.ss_sp = stack[index];
	m->uc_stack.ss_size = stack_bytes;
	m->uc_link = &home;
	makecontext(m, (void (*)(void))suspended_once, 1, index);
	swapcontext(&home, m);
}

static int64_t by_ucontext(int64_t n, const struct source *from)
{
	int64_t started = 0;
	int status = CORO_OK, stacks = 0;

	while (started < n && status == CORO_OK) {
		for (; stacks < LADDER_GROUP && status == CORO_OK; stacks++)
			if (!(stack[stacks] = from->get(stack_bytes))) {
				status = CORO_ENOMEM;
				break;
			}
		for (int k = 0; k < stacks; k++)
			begin(k);
		for (int k = 0; k < stacks; k++)
			swapcontext(&home, &member[k]);
		started += stacks;
		while (!from->keeps && stacks)
			from->put(stack[--stacks], stack_bytes);
	}
	while (stacks)
		from->put(stack[--stacks], stack_bytes);
	return status;
}

/* ------------------------------------------------------------------------ rungs of coro by hand */

/* What swapcontext keeps beside the registers: the control words of the floating-point units. */
struct fp {
	uint64_t words;
};

static inline __attribute__((always_inline)) void fp_save(struct fp *fp)
{
#if defined(__x86_64__)
	uint32_t *w = (uint32_t *)fp;
	__asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(w[0]), "=m"(w[1]));
#else
	__asm__ volatile("mrs %0, fpcr" : "=r"(fp->words));
#endif
}

static inline __attribute__((always_inline)) void fp_restore(const struct fp *fp)
{
#if defined(__x86_64__)
	const uint32_t *w = (const uint32_t *)fp;
	__asm__ volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(w[0]), "m"(w[1]));
#else
	__asm__ volatile("msr fpcr, %0" : : "r"(fp->words));
#endif
}

static intptr_t by_hand(void *arg, intptr_t value)
{
	(void)arg;
	coro_yield_value(value, &value);
	ended++;
	return 0;
}

static intptr_t by_hand_fp(void *arg, intptr_t value)
{
	struct fp fp;
	(void)arg;
	fp_save(&fp);
	coro_yield_value(value, &value);
	fp_restore(&fp);
	ended++;
	return 0;
}

static inline __attribute__((always_inline)) int64_t on_stacks_of_the_pool(int64_t n, bool keeps_fp)
{
	coro_t *co[LADDER_GROUP];
	struct fp fp = {0};
	intptr_t got;
	int status = CORO_OK;

	for (int64_t started = 0; started < n && status == CORO_OK; started += LADDER_GROUP) {
		int made = 0;
		while (made < LADDER_GROUP &&
		       !(status = coro_new(&co[made], keeps_fp ? by_hand_fp : by_hand, NULL,
					   stack_bytes)))
			made++;
		for (int turn = 0; turn < 2; turn++)
			for (int k = 0; k < made; k++) {
				if (keeps_fp)
					fp_save(&fp);
				coro_resume(co[k], 0, &got);
				if (keeps_fp)
					fp_restore(&fp);
			}
		while (made)
			coro_free(co[--made]);
	}
	return status;
}

int64_t cb_ladder(int64_t rung, int64_t bytes, int64_t n)
{
	int64_t status = CORO_EINVAL;

	ended = 0;
	stack_bytes = (size_t)bytes;
	int64_t start = cb_thread_ns();
	switch (rung) {
	case CB_LADDER_NEW_STACK:
	case CB_LADDER_REUSED_STACK:
	case CB_LADDER_MALLOC:
	case CB_LADDER_CALLOC:
	case CB_LADDER_REUSED_CALLOC:
		status = by_ucontext(n, &sources[rung]);
		break;
	case CB_LADDER_NO_MASK:
		status = on_stacks_of_the_pool(n, true);
		break;
	case CB_LADDER_NO_FP:
		status = on_stacks_of_the_pool(n, false);
		break;
	}
	int64_t ns = cb_thread_ns() - start;
	return status != CORO_OK ? status : ended == n ? ns : CORO_EINVAL;
}

/* ------------------------------------------------------------------------- the rung of a worker */

static void yields_once(void *arg, void *result)
{
	(void)arg;
	(void)result;
	coro_yield();
	ended++;
}

void cb_ladder_run_loop(void *arg, void *result)
{
	int64_t n = *(int64_t *)arg;
	int status = CORO_OK;

	ended = 0;
	int64_t start = cb_thread_ns();
	for (int64_t started = 0; started < n && status == CORO_OK;) {
		for (int k = 0; k < LADDER_GROUP && status == CORO_OK; k++, started++)
			status = coro_spawn(yields_once, NULL, 0);
		while (ended < started)
			coro_yield();
	}
	*(int64_t *)result = cb_thread_ns() - start;
	cb_fail(status);
}
