/*
 * t_context.c - what a coroutine knows of the Go context that it was started with: its deadline,
 * and why it was canceled.
 */
#include "gostand.h"

#include "border/context.h"
#include "border/state.h"
#include "kernel/wait.h"

#include <string.h>

#define HOUR (UINT64_C(3600) * 1000000000)

static uint64_t seen_at;

static void asks(void *arg, void *result)
{
	char text[32] = "x";
	(void)arg;
	(void)result;

	seen_at = coro_deadline();
	CHECK_EQ(coro_cancel_cause(text, sizeof text), 0);
	CHECK_EQ(text[0], 0);
	CHECK_EQ(coro_shield_begin(12), CORO_OK); /* in the past */
	CHECK_EQ(coro_deadline(), seen_at);
	CHECK_EQ(coro_shield_end(), CORO_OK);
	CHECK_EQ(coro_shield_begin(CORO_FOREVER - 1), CORO_OK);
	CHECK_EQ(coro_deadline(), CORO_FOREVER - 1);
	CHECK_EQ(coro_cancel(coro_self()), CORO_OK);
	/* a scheduler that is not Go's, or a coroutine that Go does not know */
	CHECK_EQ(coro_cancel_cause(text, sizeof text), strlen("coro: canceled"));
	CHECK_EQ(strcmp(text, "coro: canceled"), 0);
	CHECK_EQ(coro_cancel_cause(text, 5), strlen("coro: canceled"));
	CHECK_EQ(strcmp(text, "coro"), 0);
	CHECK_EQ(coro_cancel_cause(NULL, 0), strlen("coro: canceled"));
}

/* One that asks why is told of its cancel. */
static void joins_one_that_asks(void *arg, void *result)
{
	coro_handle child;
	(void)arg;
	(void)result;

	CHECK_EQ(coro_spawn_attr(JOINABLE(0), asks, NULL, 0, &child), CORO_OK);
	CHECK_EQ(coro_join(child, NULL, 0), CORO_ECANCELED);
}

TEST(context_of_one_that_has_none)
{
	coro_scheduler *s = start_with(1, 0);
	char text[8] = "x";

	CHECK_EQ(coro_deadline(), CORO_FOREVER);
	CHECK_EQ(coro_cancel_cause(text, sizeof text), 0);
	CHECK_EQ(text[0], 0);
	spawn(s, asks, NULL, 0);
	spawn(s, joins_one_that_asks, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(seen_at, CORO_FOREVER);
	finish(s);
}

/* Each id has a place of its own, which is never moved: at the borders of the segments too. */
static void *sets(void *scheduler)
{
	for (uint32_t id = 0; id < 20000; id += 7)
		CHECK(coroi_deadline_set(scheduler, id, HOUR + id));
	return NULL;
}

static uint64_t deadline_of(coro_scheduler *s, uint32_t id)
{
	for (uint32_t n = 0, first = 0, places = 64; n < COROI_DEADLINE_SEGMENTS;
	     n++, first += places, places *= 2)
		if (id < first + places) {
			uint64_t *at = (uint64_t *)(uintptr_t)at_load_acq(
				&coroi_border(s)->deadlines.segment[n]);
			return at ? at_load_rlx(&at[id - first]) : 0;
		}
	return 0;
}

TEST(context_deadlines_by_id)
{
	static const uint32_t borders[] = {0, 63, 64, 191, 192, 447, 448, (1u << 20) - 1};
	uint64_t now = coro_now();
	coro_scheduler *s = start_with(1, 0);
	pthread_t t;

	thread_start(&t, sets, s);
	sets(s);
	thread_join(t);
	for (uint32_t id = 0; id < 20000; id += 7) {
		uint64_t at = deadline_of(s, id);
		CHECK(at >= now + HOUR + id && at < now + 2 * HOUR);
		CHECK_EQ(deadline_of(s, id + 1), 0);
	}
	for (size_t i = 0; i < sizeof borders / sizeof *borders; i++) {
		uint32_t id = borders[i];
		CHECK(coroi_deadline_set(s, id, CORO_FOREVER - 5)); /* beyond the end of time */
		CHECK_EQ(deadline_of(s, id), CORO_FOREVER);
		coroi_deadline_forget(s, id);
		CHECK_EQ(deadline_of(s, id), 0);
	}
	fail_alloc = 0;
	CHECK(!coroi_deadline_set(s, 1u << 22, 1));
	CHECK_EQ(fail_alloc, -1);
	CHECK(coroi_deadline_set(s, 1u << 22, 1));
	finish(s);
}
