/* scenarios_own.c - memory and stacks that a coroutine takes for itself; coroutines by hand. */
#include "ledger.h"

#include "base/manual.h"

#include <string.h>

/* ------------------------------------------------------------------------ scheduled */

static void owner(void *arg, void *result)
{
	(void)arg;
	(void)result;
	what_it_owns(&own_ends);
	count(&ran);
}

SCENARIO(owning)
{
	coro_scheduler *s = begin(2, 0, 0);
	coro_attr large = {.size = sizeof large, .stack_bytes = CORO_STACK_MAX};

	if (!s)
		return;
	own_ends = 0;
	for (int i = 0; i < 5; i++) {
		outside(s, owner, NULL, 0);
		outside_attr(s, &large, owner, NULL, 0);
	}
	end(s);
	CHECK_EQ(own_ends, 0);
}

static void deferred(void *arg)
{
	count(arg);
}

/* has_deferred - the first block may be refused, and the call is not made again. */
static void has_deferred(void)
{
	if (went_well(coro_defer(deferred, &own_ends), CORO_ENOMEM))
		__atomic_sub_fetch(&own_ends, 1, __ATOMIC_SEQ_CST);
}

/* has_printed - a mark, and a text that is freed with it. */
static void has_printed(void)
{
	coro_mark *mark = coro_defer_mark();
	went_well(mark ? CORO_OK : CORO_ENOMEM, CORO_ENOMEM);
	char *text = coro_asprintf("%s %d", "text", 7);
	if (went_well(text ? CORO_OK : CORO_ENOMEM, CORO_ENOMEM))
		CHECK(strcmp(text, "text 7") == 0);
	if (mark)
		CHECK_EQ(coro_defer_run(mark), CORO_OK);
}

static void sleeps_between(void *arg, void *result)
{
	(void)arg;
	(void)result;
	has_deferred();
	has_printed();
	CHECK_EQ(coro_sleep(1), CORO_OK);
	has_deferred();
	CHECK_EQ(coro_sleep(100000), CORO_OK);
	has_deferred();
	count(&ran);
}

/* A coroutine that was refused its first block waits with a deadline: the deadline has its place
 * in that block, or else in the record. */
SCENARIO(first_block)
{
	coro_scheduler *s = begin(2, 0, 0);

	if (!s)
		return;
	own_ends = 0;
	for (int i = 0; i < 4; i++)
		outside(s, sleeps_between, NULL, 0);
	end(s);
	CHECK_EQ(own_ends, 0);
}

/* ------------------------------------------------------------------------ by hand */

static intptr_t by_hand(void *arg, intptr_t first)
{
	intptr_t sent = 0;

	what_it_owns(arg);
	for (intptr_t sum = first;; sum += sent) {
		CHECK_EQ(coro_yield_value(sum, &sent), CORO_OK);
		if (sent == 0)
			return sum;
	}
}

#define BY_HAND 20

/* Their stacks come from three arenas. */
SCENARIO(manual)
{
	coro_t *co[BY_HAND];
	intptr_t got;
	int n = 0;

	own_ends = 0;
	for (int i = 0; i < BY_HAND; i++) {
		co[n] = NULL;
		if (again(QUIET(coro_new(&co[n], by_hand, &own_ends, 4 << 20)), CORO_ENOMEM))
			n++;
		else
			CHECK(co[n] == NULL);
	}
	for (int i = 0; i < n; i++) {
		CHECK_EQ(coro_resume(co[i], i, &got), CORO_MAY_RESUME);
		CHECK_EQ(got, i);
	}
	for (int i = 0; i < n; i++) {
		CHECK_EQ(coro_resume(co[i], 5, &got), CORO_MAY_RESUME);
		CHECK_EQ(got, i + 5);
		if (i % 3 == 0)
			CHECK_EQ(coro_resume(co[i], 0, &got), CORO_FINISHED);
		if (i % 3 == 1)
			CHECK_EQ(coro_reset(co[i], by_hand, &own_ends), CORO_OK);
		CHECK_EQ(QUIET(coro_free(co[i])), CORO_OK);
	}
	CHECK_EQ(own_ends, 0);
	coroi_stack_pool_trim(coroi_manual_pool());
}
