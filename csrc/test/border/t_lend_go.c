/*
 * t_lend_go.c - calls into Go by the coroutine of a lend: the lender makes them, and goes on with
 * the coroutine (coroi_lend_on).
 */
#include "gostand.h"

#include "border/gocall.h"
#include "border/state.h"
#include "kernel/life.h"

#include <string.h>

static uint64_t counted;

static void calls(void *arg, void *result)
{
	int64_t n = *(int64_t *)arg, number = 0;
	char text[20];

	for (int64_t i = 0; i < n; i++) {
		size_t got = 0;
		int status = i % 2 ? coro_call_go(1, &number, 8, &number, 8, &got)
				   : coro_call_go_inline(1, &number, 8, &number, 8, &got);
		CHECK_EQ(status, CORO_OK);
		CHECK_EQ(number, i + 1);
		CHECK_EQ(got, 8);
	}
	CHECK_EQ(coro_call_go_inline(2, NULL, 0, NULL, 0, NULL), CORO_EFAILED);
	CHECK_EQ(coro_call_error(text, sizeof text), 9);
	CHECK_EQ(strcmp(text, "it failed"), 0);
	*(int64_t *)result = number;
}

/* The lender makes calls of both kinds. Nobody else is told of them. */
TEST(lend_on_goes_on_after_each_call)
{
	stand_in(adds); /* for what goes on elsewhere */
	for (uint32_t workers = 1; workers <= 3; workers += 2) {
		coro_scheduler *s = start_go(workers, 0);
		uint64_t ons = 0;
		for (int64_t n = 0; n < 100; n++) {
			struct coroi_lend l = lend_of(s, calls, &n, 8, 8);
			for (lend(&l); l.outcome == COROI_LEND_CALLS;) {
				struct coroi_call *c = (struct coroi_call *)(uintptr_t)l.call;
				CHECK_EQ(c->caller->state, COROI_COMMITTED);
				CHECK_EQ(at_load_seq(&coroi_border(s)->calls.first), 0);
				CHECK(COROI_PENDING_OF(at_load_seq(&s->activity)) >= 1);
				CHECK(!coroi_finished(s));
				make_call(c);
				l.outcome = coroi_lend_on(&l);
				ons += l.outcome != COROI_LEND_NONE;
				if (l.outcome == COROI_LEND_NONE) {
					/* its worker was awake for a moment */
					complete(s, c);
					l.outcome = COROI_LEND_SUSPENDED;
				}
			}
			if (l.outcome == COROI_LEND_SUSPENDED)
				break; /* the rest of its calls are a poller's */
			CHECK_EQ(l.outcome, COROI_LEND_ENDED);
			CHECK_EQ(l.status, CORO_OK);
			CHECK_EQ(*(int64_t *)l.payload, n);
		}
		while (coroi_live(s)) {
			clerk_once(s);
			sleep_us(20);
		}
		CHECK(ons >= 1 || workers > 1);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		coro_scheduler_destroy(s);
	}
}

/* A call by the lender lends again, and so on: as many workers, or the same once more. */
#define NESTED 100

static void calls_nested(void *arg, void *result)
{
	int64_t depth = *(int64_t *)arg;

	CHECK_EQ(coro_call_go(1, &depth, 8, &depth, 8, NULL), CORO_OK);
	*(int64_t *)result = depth;
}

static void nest(coro_scheduler *s, int64_t depth)
{
	struct coroi_lend l = lend_of(s, calls_nested, &depth, 8, 8);

	CHECK_EQ(lend(&l), COROI_LEND_CALLS);
	struct coroi_call *c = (struct coroi_call *)(uintptr_t)l.call;
	if (depth < NESTED)
		nest(s, depth + 1);
	make_call(c);
	l.outcome = coroi_lend_on(&l);
	if (l.outcome == COROI_LEND_NONE) {
		complete(s, c);
		CHECK_EQ(take_end(&l), CORO_OK);
	} else {
		CHECK_EQ(l.outcome, COROI_LEND_ENDED);
	}
	CHECK_EQ(l.status, CORO_OK);
	CHECK_EQ(*(int64_t *)l.payload, depth + 1);
	counted++;
}

TEST(lend_on_nests)
{
	for (uint32_t workers = 1; workers <= 2; workers++) {
		coro_scheduler *s = start_go(workers, 0);
		counted = 0;
		nest(s, 1);
		CHECK_EQ(counted, NESTED);
		finish(s);
	}
}

/* Meanwhile it is canceled, or its scheduler: the call stands. */
static void calls_and_is_canceled(void *arg, void *result)
{
	int64_t number = 1;

	(void)arg;
	(void)result;
	CHECK_EQ(coro_call_go(1, &number, 8, &number, 8, NULL), CORO_OK);
	CHECK_EQ(number, 2);
	CHECK_EQ(coro_park(), CORO_ECANCELED);
}

static void *closes(void *s)
{
	CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
	return NULL;
}

TEST(lend_on_after_a_cancel_or_a_close)
{
	for (int close = 0; close < 2; close++)
		for (int i = 0; i < 20; i++) {
			coro_scheduler *s = start_go(1, 0);
			struct coroi_lend l = lend_of(s, calls_and_is_canceled, NULL, 0, 0);
			pthread_t t;
			CHECK_EQ(lend(&l), COROI_LEND_CALLS);
			struct coroi_call *c = (struct coroi_call *)(uintptr_t)l.call;
			if (close) {
				thread_start(&t, closes, s);
				while (!at_load_rlx(&s->worker[0].cancel))
					sleep_us(20);
			} else {
				CHECK_EQ(coro_cancel(l.handle), CORO_OK);
			}
			make_call(c);
			l.outcome = coroi_lend_on(&l);
			CHECK(!close || l.outcome == COROI_LEND_NONE);
			if (l.outcome == COROI_LEND_NONE)
				complete(s, c);
			if (l.outcome != COROI_LEND_ENDED)
				take_end(&l);
			CHECK_EQ(l.status, CORO_ECANCELED);
			if (close)
				thread_join(t);
			CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
		}
}
