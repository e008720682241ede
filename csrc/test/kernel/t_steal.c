/*
 * t_steal.c - whom a thief looks at, and how many look at once.
 *
 * All workers but the thief compute, so that their queues are for the thief alone.
 */
#include "test.h"

#include "coro_actor.h"

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

/* hold_off - w steals from those alone that are stuck. */
static void hold_off(struct coroi_worker *w)
{
	w->steal.began = 0; /* it is judged */
	at_store_rlx(&w->steal.hold_off, coroi_now_ns() + 1000 * MS);
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
		hold_off(w);
		CHECK(coroi_search(w));
		/* One searcher more is one too many. */
		at_add(&s->activity, COROI_SEARCHING);
		hold_off(w);
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
		hold_off(w);
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

/* ---------------------------------------------------------------------------- what is worth it */

static void has_ten(void *arg, void *result)
{
	struct coroi_worker *w = coroi_self();

	(void)arg;
	(void)result;
	for (int n = 0; n < 10; n++)
		spawn_in(notes_victim, &(uint64_t){0}, sizeof(uint64_t));
	CHECK_EQ(coroi_deque_length(&w->queue), 10);
	at_store_rlx(&w->worth, 11);
	CHECK_EQ(coroi_to_share(w), 0);
	CHECK(!coroi_has_surplus(w));
	at_store_rlx(&w->worth, 10);
	CHECK_EQ(coroi_to_share(w), 10);
	CHECK(coroi_has_surplus(w));
}

TEST(steal_leaves_a_queue_that_is_not_worth_it)
{
	thief = 1; /* none */
	run_alone(start_with(1, 0), NULL, has_ten);
}

/* yields_until - turns of that many ns, until the worker takes them for short ones, or for long. */
static void yields_until(uint64_t ns, bool are_short)
{
	struct coroi_worker *w = coroi_self();
	uint64_t end = coroi_now_ns() + 20000 * MS;

	while ((at_load_rlx(&w->worth) > 1) != are_short) {
		CHECK(coroi_now_ns() < end);
		for (int i = 0; i < 100; i++) {
			uint64_t until = ns ? coroi_now_ns() + ns : 0;
			while (ns && coroi_now_ns() < until)
				at_relax();
			coro_yield();
		}
	}
}

/* are_quick - a turn that yields takes far less than a short one: not so where it is emulated. */
static bool are_quick(void)
{
	uint64_t began = coroi_now_ns();

	for (int i = 0; i < 1000; i++)
		coro_yield();
	return coroi_now_ns() - began < 100 * 1000;
}

static void has_short_turns(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < 20000; i++)
		coro_yield();
	CHECK_EQ(coroi_self()->worth, 1);
	add_one(&robbed);
}

static void yields_beside(void *arg, void *result)
{
	(void)arg;
	(void)result;
	while (!seen(&robbed))
		coro_yield();
}

static void has_turns_of_each_kind(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < 3; i++) {
		if (are_quick())
			yields_until(0, true);
		yields_until(2000, false);
	}
	CHECK_EQ(coroi_self()->worth, 1);
	add_one(&robbed);
}

static size_t is_none(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	(void)turn;
	(void)state;
	(void)m;
	return n;
}

/* The look at the clock tells a worker's short turns from long ones, where there are actors. */
TEST(steal_knows_short_turns)
{
	static const coro_actor_kind kind = {.size = sizeof kind, .behave = is_none};
	coro_scheduler *s = start_with(2, CORO_PAUSED);
	coro_attr here = on(1);
	coro_actor a;

	robbed = 0;
	CHECK_EQ(coro_actor_spawn(s, &kind, NULL, &a), CORO_OK);
	CHECK_EQ(coro_scheduler_spawn(s, &here, has_turns_of_each_kind, NULL, 0, NULL), CORO_OK);
	CHECK_EQ(coro_scheduler_spawn(s, &here, yields_beside, NULL, 0, NULL), CORO_OK);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	finish(s);
}

/* Coroutines alone are shared, however short their turns. */
TEST(steal_shares_short_turns_of_coroutines)
{
	coro_scheduler *s = start_with(2, CORO_PAUSED);
	coro_attr here = on(1);

	robbed = 0;
	CHECK_EQ(coro_scheduler_spawn(s, &here, has_short_turns, NULL, 0, NULL), CORO_OK);
	CHECK_EQ(coro_scheduler_spawn(s, &here, yields_beside, NULL, 0, NULL), CORO_OK);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	finish(s);
}
