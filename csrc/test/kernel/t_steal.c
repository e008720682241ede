/*
 * t_steal.c - whom a thief looks at, and how many look at once.
 *
 * All workers but the thief compute, so that their queues are for the thief alone.
 */
#include "test.h"

#include "kernel/run.h"
#include "kernel/steal.h"
#include "kernel/task.h"

#define SEARCHES 200

static uint32_t thief; /* its number */
static uint64_t ready, robbed, from[2];

static void computes_until(const uint64_t *n, uint64_t least)
{
	while (seen(n) < least)
		at_relax();
}

static void notes_victim(void *arg, void *result)
{
	(void)result;
	if (coro_worker() == (int)thief)
		add_one(&from[*(uint64_t *)arg]);
}

static void computes(void *arg, void *result)
{
	(void)arg;
	(void)result;
	add_one(&ready);
	computes_until(&robbed, 1);
}

static void is_victim(void *arg, void *result)
{
	for (int n = 0; n < 4 * SEARCHES; n++) /* others may steal some before they compute */
		spawn_in(notes_victim, arg, sizeof(uint64_t));
	computes(arg, result);
}

/* robs - the thief holds off: a search looks once, at those that are stuck. */
static void robs(void *arg, void *result)
{
	struct coroi_worker *w = coroi_self();
	struct coro_scheduler *s = w->sched;
	uint64_t enough = *(uint64_t *)arg; /* searchers */

	(void)result;
	computes_until(&ready, thief);
	for (int i = 0; i < SEARCHES; i++) {
		/* That look finds what there is, wherever it begins. */
		at_add(&s->activity, (enough - 1) * COROI_SEARCHING);
		coroi_hold_off(w, 1000 * MS);
		CHECK(coroi_search(w));
		/* One searcher more is one too many. */
		at_add(&s->activity, COROI_SEARCHING);
		coroi_hold_off(w, 1000 * MS);
		CHECK(!coroi_search(w));
		at_add(&s->activity, -enough * COROI_SEARCHING);
		coro_yield();
	}
	add_one(&robbed);
}

static void searches_among(uint32_t workers, uint64_t enough)
{
	coro_options o = options(workers, CORO_PAUSED | CORO_NO_STANDBY);
	o.steal_batch = 1;
	coro_scheduler *s = start(&o);

	ready = robbed = from[0] = from[1] = 0;
	thief = workers - 1;
	for (uint32_t w = 0; w < workers; w++) {
		coro_attr there = on(w + 1);
		uint64_t n = w == thief ? enough : w == thief - 1;
		coro_fn fn = w == thief ? robs : w == thief / 2 - 1 || n ? is_victim : computes;
		CHECK_EQ(coro_scheduler_spawn(s, &there, fn, &n, sizeof n, NULL), CORO_OK);
	}
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	/* It begins at a random one: of two that both have something neither always comes first. */
	CHECK(from[0] > SEARCHES / 8 && from[1] > SEARCHES / 8);
	finish(s);
}

/* One searcher of up to four workers, half of those awake of more; each looks at all others. */
TEST(steal_looks_at_every_victim_by_few_searchers)
{
	searches_among(3, 1);
	searches_among(4, 1);
	searches_among(12, 6);
}

static void has_pinned_ones(void *arg, void *result)
{
	coro_attr here = on(CORO_HERE);

	for (int n = 0; n < 4; n++)
		CHECK_EQ(coro_spawn_attr(&here, notes_victim, arg, sizeof(uint64_t), NULL),
			 CORO_OK);
	computes(arg, result);
}

static void finds_none(void *arg, void *result)
{
	struct coroi_worker *w = coroi_self();

	(void)arg;
	(void)result;
	computes_until(&ready, 1);
	for (int i = 0; i < 10; i++) {
		coroi_hold_off(w, 1000 * MS);
		CHECK(!coroi_search(w));
	}
	add_one(&robbed);
}

TEST(steal_that_gets_nothing_is_counted)
{
	coro_scheduler *s = start_with(2, CORO_PAUSED | CORO_NO_STANDBY);
	coro_attr first = on(1), second = on(2);
	uint64_t none = 0;
	coro_worker_stats w[2];
	coro_stats t;

	ready = robbed = from[0] = 0;
	CHECK_EQ(coro_scheduler_spawn(s, &first, has_pinned_ones, &none, sizeof none, NULL),
		 CORO_OK);
	CHECK_EQ(coro_scheduler_spawn(s, &second, finds_none, NULL, 0, NULL), CORO_OK);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(coro_scheduler_stats(s, &t, w, 2), CORO_OK);
	CHECK(w[1].missed >= 1); /* then it knows, until the victim switches */
	CHECK_EQ(w[1].steals, 0);
	finish(s);
}
