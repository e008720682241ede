/*
 * t_cap.c - the cap on bytes of stacks. At the cap, a start waits. Where nobody can ever leave a
 * stack, those that await one end with CORO_ENOMEM. None is lost or started twice. Others than
 * these: t_nostack.c.
 */
#include "test.h"

#include "kernel/idle.h"
#include "kernel/life.h"
#include "border/goworker.h"
#include "border/state.h"
#include "kernel/spawn.h"
#include "kernel/wait.h"

#include <string.h>

static uint64_t ran, others;

static void three_yields(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < 3; i++)
		CHECK_EQ(coro_yield(), CORO_OK);
	__atomic_add_fetch(&ran, 1, __ATOMIC_SEQ_CST);
}

TEST(cap_makes_starting_wait)
{
	for (uint32_t workers = 1; workers <= 4; workers++) {
		coro_options o = options_capped(workers, 5);
		coro_scheduler *s = start(&o);
		uint64_t n = scaled(2000);

		ran = 0;
		for (uint64_t i = 0; i < n; i++)
			spawn(s, three_yields, NULL, 0);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(ran, n);
		CHECK(stats(s).stacks <= 5);
		finish(s);
	}
}

/* When a parent suspends for the first time, all others are fresh and have no stack: the parent
 * goes on. */
static void parent_yields(void *arg, void *result)
{
	(void)result;
	uint64_t mine = *(uint64_t *)arg, local = mine * 7;

	for (int i = 0; i < 5; i++)
		spawn_in(three_yields, NULL, 0);
	for (int i = 0; i < 10; i++) {
		CHECK_EQ(coro_yield(), CORO_OK);
		CHECK_EQ(local, mine * 7);
		CHECK_EQ(*(uint64_t *)arg, mine);
		local = mine * 7;
	}
	CHECK_EQ(__atomic_load_n(&ran, __ATOMIC_SEQ_CST), 0);
	__atomic_add_fetch(&others, 1, __ATOMIC_SEQ_CST);
}

TEST(cap_of_one_stack)
{
	for (uint64_t i = 1; i <= 3; i++) {
		coro_options o = options_capped(1, 1);
		coro_scheduler *s = start(&o);
		ran = others = 0;
		spawn(s, parent_yields, &i, sizeof i);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(others, 1);
		CHECK_EQ(ran, 5);
		finish(s);
	}
}

static void parks(void *arg, void *result)
{
	(void)arg;
	CHECK_EQ(coro_park(), CORO_OK);
	memset(result, 1, 4);
	__atomic_add_fetch(&ran, 1, __ATOMIC_SEQ_CST);
}

#define CHILDREN 40
#define STACKS   10

/* Of a root and CHILDREN that park, STACKS have a stack. The others end with CORO_ENOMEM. */
static void root_joins(void *arg, void *result)
{
	coro_handle h[CHILDREN];
	int refused = 0, status[CHILDREN];

	(void)arg;
	(void)result;
	for (int i = 0; i < CHILDREN; i++)
		CHECK_EQ(coro_spawn_attr(JOINABLE(4), parks, NULL, 0, &h[i]), CORO_OK);
	for (int i = CHILDREN - 1; i >= STACKS - 1; i--) {
		status[i] = coro_join(h[i], NULL, 0);
		CHECK_EQ(status[i], CORO_ENOMEM);
		refused++;
	}
	CHECK_EQ(refused, CHILDREN - STACKS + 1);
	for (int i = 0; i < STACKS - 1; i++)
		CHECK_EQ(coro_wake(h[i]), CORO_OK);
	for (int i = 0; i < STACKS - 1; i++) {
		uint32_t got = 0;
		CHECK_EQ(coro_join(h[i], &got, 4), CORO_OK);
		CHECK_EQ(got, 0x01010101);
	}
	others++;
}

TEST(cap_tells_joiners_when_nothing_moves)
{
	coro_options o = options_capped(1, STACKS);
	o.flags = CORO_PAUSED;
	coro_scheduler *s = start(&o);

	spawn(s, root_joins, NULL, 0);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(stats(s).unstarted_no_stack, CHILDREN - STACKS + 1);
	CHECK_EQ(others, 1);
	CHECK_EQ(ran, STACKS - 1);
	finish(s);
}

/* The same with several workers: their number is certain, not which of them had a stack. */
static void root_counts(void *arg, void *result)
{
	coro_handle h[CHILDREN];
	int refused = 0;

	(void)arg;
	(void)result;
	for (int i = 0; i < CHILDREN; i++)
		CHECK_EQ(coro_spawn_attr(JOINABLE(4), parks, NULL, 0, &h[i]), CORO_OK);
	coro_yield();
	for (int i = 0; i < CHILDREN; i++)
		CHECK_EQ(coro_wake(h[i]), CORO_OK);
	for (int i = 0; i < CHILDREN; i++) {
		int status = coro_join(h[i], NULL, 0);
		CHECK(status == CORO_OK || status == CORO_ENOMEM);
		refused += status == CORO_ENOMEM;
	}
	CHECK_EQ(refused, 0); /* each was woken ahead, so it ends and passes its stack on */
	others++;
}

TEST(cap_hands_stacks_on_across_workers)
{
	for (uint32_t workers = 1; workers <= 6; workers++) {
		for (uint64_t i = 0; i < scaled(100); i++) {
			coro_options o = options_capped(workers, 3);
			coro_scheduler *s = start(&o);
			ran = others = 0;
			spawn(s, root_counts, NULL, 0);
			CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
			CHECK_EQ(others, 1);
			CHECK_EQ(ran, CHILDREN);
			finish(s);
		}
	}
}

/* Two sizes: a coroutine that can have a stack runs, although one ahead of it never will. */
static void two_sizes(void *arg, void *result)
{
	coro_handle large[8], small[8];
	coro_attr attr = *JOINABLE(0);

	(void)arg;
	(void)result;
	for (int i = 0; i < 8; i++) {
		attr.stack_bytes = CORO_STACK_MAX;
		CHECK_EQ(coro_spawn_attr(&attr, three_yields, NULL, 0, &large[i]), CORO_OK);
		attr.stack_bytes = 0;
		CHECK_EQ(coro_spawn_attr(&attr, three_yields, NULL, 0, &small[i]), CORO_OK);
	}
	for (int i = 0; i < 8; i++)
		CHECK_EQ(coro_join(small[i], NULL, 0), CORO_OK);
	for (int i = 0; i < 8; i++)
		CHECK_EQ(coro_join(large[i], NULL, 0), CORO_ENOMEM);
	others++;
}

TEST(cap_of_two_sizes)
{
	for (uint32_t workers = 1; workers <= 3; workers++) {
		for (int i = 0; i < 20; i++) {
			coro_options o = options_capped(workers, 2);
			coro_scheduler *s = start(&o);
			ran = others = 0;
			spawn(s, two_sizes, NULL, 0);
			CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
			CHECK_EQ(others, 1);
			CHECK_EQ(ran, 8);
			finish(s);
		}
	}
}

#define LENT 20

static void one_large(void *arg, void *result)
{
	volatile char frame[STACK * 4];
	(void)arg;
	(void)result;
	for (size_t i = 0; i < sizeof frame; i += 512)
		frame[i] = (char)i;
	for (size_t i = 0; i < sizeof frame; i += 512)
		CHECK_EQ(frame[i], (char)i);
	CHECK_EQ(coro_yield(), CORO_OK);
	__atomic_add_fetch(&ran, 1, __ATOMIC_SEQ_CST);
}

/* By turns: small stacks take all that the cap allows, and then a large one wants most of it. */
static void small_then_large(void *arg, void *result)
{
	coro_handle h[LENT];
	coro_attr large = *JOINABLE(0);

	(void)arg;
	(void)result;
	large.stack_bytes = STACK * 16;
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < LENT; i++)
			CHECK_EQ(coro_spawn_attr(JOINABLE(4), parks, NULL, 0, &h[i]), CORO_OK);
		for (int i = 0; i < 5; i++)
			CHECK_EQ(coro_yield(), CORO_OK);
		for (int i = 0; i < LENT; i++)
			CHECK_EQ(coro_wake(h[i]), CORO_OK);
		for (int i = 0; i < LENT; i++)
			CHECK_EQ(coro_join(h[i], NULL, 0), CORO_OK);
		CHECK_EQ(coro_spawn_attr(&large, one_large, NULL, 0, &h[0]), CORO_OK);
		CHECK_EQ(coro_join(h[0], NULL, 0), CORO_OK);
	}
	others++;
}

TEST(cap_lends_idle_memory_to_other_sizes)
{
	for (uint32_t workers = 1; workers <= 4; workers++) {
		for (uint64_t i = 0; i < scaled(50); i++) {
			coro_options o = options_capped(workers, LENT + 1);
			coro_scheduler *s = start(&o);
			ran = others = 0;
			spawn(s, small_then_large, NULL, 0);
			CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
			CHECK_EQ(others, 1);
			CHECK_EQ(ran, 3 * (LENT + 1));
			coro_stats t = stats(s);
			CHECK(t.stack_bytes <= o.stack_limit);
			CHECK(t.stacks_idle <= t.stacks && t.stacks <= LENT + 1);
			finish(s);
		}
	}
}

static void root_waits(void *arg, void *result)
{
	coro_attr attr = *JOINABLE(0);
	coro_handle h[4];

	(void)arg;
	(void)result;
	/* more than the cap: these never start, wherever they are stolen to */
	attr.stack_bytes = CORO_STACK_MAX;
	for (int i = 0; i < 4; i++)
		CHECK_EQ(coro_spawn_attr(&attr, three_yields, NULL, 0, &h[i]), CORO_OK);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(coro_join(h[i], NULL, 0), CORO_ENOMEM);
	others++;
}

/* Nothing can run, but those that await a stack are yet to be told: that is not the end of a
 * run. */
TEST(cap_is_no_deadlock)
{
	for (uint64_t i = 0; i < scaled(2000); i++) {
		coro_options o = options_capped(1 + (uint32_t)i % 3, STACKS);
		o.flags = CORO_PAUSED;
		coro_scheduler *s = start(&o);
		others = 0;
		spawn(s, root_waits, NULL, 0);
		CHECK_EQ(coro_scheduler_run(s), CORO_OK);
		CHECK_EQ(others, 1);
		finish(s);
	}
}

static bool canceled;

static void parks_for_good(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_park(), canceled ? CORO_ECANCELED : CORO_OK);
}

#define AWAIT 5

/* hold - a coroutine has the only stack, and parks; AWAIT others await one, on any workers. */
static coro_handle hold(coro_scheduler *s, coro_handle *awaits)
{
	coro_attr attr = {.size = sizeof attr, .flags = CORO_JOINABLE};
	coro_handle holds;

	CHECK_EQ(coro_scheduler_spawn(s, &attr, parks_for_good, NULL, 0, &holds), CORO_OK);
	while (stats(s).stacks == 0 || stats(s).awake)
		sleep_us(50);
	for (uint32_t i = 0; i < AWAIT; i++)
		CHECK_EQ(coro_scheduler_spawn(s, &attr, three_yields, NULL, 0, &awaits[i]),
			 CORO_OK);
	while (stats(s).awaiting_stack != AWAIT || stats(s).awake)
		sleep_us(50);
	return holds;
}

/* What parks may be woken from outside, so what awaits its stack is not lost, however long nothing
 * moves, and whatever was pending meanwhile. */
TEST(cap_loses_nothing_while_one_may_be_woken)
{
	for (uint32_t flags = 0; flags <= CORO_NO_STANDBY; flags += CORO_NO_STANDBY) {
		for (uint32_t workers = 1; workers <= 3; workers++) {
			coro_options o = options_capped(workers, 1);
			o.flags = flags;
			coro_scheduler *s = start(&o);
			coro_handle awaits[AWAIT];

			ran = 0;
			coroi_pending_begin(s, 1);
			coro_handle holds = hold(s, awaits);
			CHECK(!coroi_at_rest(s));
			CHECK_EQ(stats(s).live, 1 + AWAIT);
			uint64_t rests = stats(s).idle_ends;
			coroi_pending_end(s);
			while (!coroi_at_rest(s) || stats(s).idle_ends == rests)
				sleep_us(50);
			CHECK_EQ(stats(s).awaiting_stack, AWAIT);
			CHECK(!coroi_finished(s));
			CHECK_EQ(coro_wake(holds), CORO_OK);
			CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
			CHECK_EQ(ran, AWAIT);
			for (int i = 0; i < AWAIT; i++)
				CHECK_EQ(coroi_join_status(coroi_find(awaits[i])), CORO_OK);
			CHECK_EQ(stats(s).awaiting_stack, 0);
			CHECK_EQ(stats(s).unstarted_no_stack, 0);
			CHECK_EQ(coro_scheduler_close(s, 0), CORO_OK);
			CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
		}
	}
}

/* They end by a cancel of their own, and with their scheduler. */
TEST(cap_ends_what_is_canceled)
{
	for (uint32_t workers = 1; workers <= 3; workers++) {
		coro_options o = options_capped(workers, 1);
		coro_scheduler *s = start(&o);
		coro_handle awaits[AWAIT];

		ran = 0;
		hold(s, awaits);
		CHECK_EQ(coro_cancel(awaits[2]), CORO_OK);
		while (stats(s).ended != 1 || stats(s).awake) /* a worker may try the next still */
			sleep_us(50);
		CHECK_EQ(stats(s).awaiting_stack, AWAIT - 1);
		CHECK_EQ(coroi_join_status(coroi_find(awaits[2])), CORO_ECANCELED);
		CHECK_EQ(stats(s).unstarted_canceled, 1);
		canceled = true;
		CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
		CHECK_EQ(stats(s).unstarted_closed, AWAIT - 1);
		CHECK_EQ(stats(s).ended, stats(s).spawned);
		CHECK_EQ(ran, 0);
		canceled = false;
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	}
}

/* joins_one - of a chain: each joins the next, and the last joins one that never gets a stack. */
static void joins_one(void *arg, void *result)
{
	uint64_t left = *(uint64_t *)arg - 1;
	coro_handle h;

	(void)result;
	CHECK_EQ(coro_spawn_attr(JOINABLE(0), left ? joins_one : three_yields, &left, sizeof left,
				 &h),
		 CORO_OK);
	CHECK_EQ(coro_join(h, NULL, 0), left ? CORO_OK : CORO_ENOMEM);
}

/* In service mode they are told where nobody can ever leave a stack: each coroutine joins another
 * one. */
TEST(cap_tells_joiners_of_each_other)
{
	for (uint32_t workers = 1; workers <= 4; workers++) {
		for (uint64_t i = 0; i < scaled(100); i++) {
			coro_options o = options_capped(workers, STACKS);
			coro_scheduler *s = start(&o);
			uint64_t chain = STACKS;

			ran = 0;
			spawn(s, joins_one, &chain, sizeof chain);
			CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
			CHECK_EQ(ran, 0);
			CHECK_EQ(stats(s).unstarted_no_stack, 1);
			finish(s);
		}
	}
}

/* A coroutine that could never have a stack is told so, even if others may be woken. */
TEST(cap_tells_what_is_too_large)
{
	coro_options o = options_capped(2, 1);
	coro_scheduler *s = start(&o);
	coro_attr attr = {.size = sizeof attr, .flags = CORO_JOINABLE};
	coro_handle awaits[AWAIT], large;

	ran = 0;
	coro_handle holds = hold(s, awaits);
	attr.stack_bytes = CORO_STACK_MAX;
	CHECK_EQ(coro_scheduler_spawn(s, &attr, three_yields, NULL, 0, &large), CORO_OK);
	while (!stats(s).unstarted_no_stack || stats(s).awake)
		sleep_us(50);
	CHECK_EQ(coroi_join_status(coroi_find(large)), CORO_ENOMEM);
	CHECK_EQ(stats(s).awaiting_stack, AWAIT);
	CHECK_EQ(coro_wake(holds), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(ran, AWAIT);
	CHECK_EQ(coro_scheduler_close(s, 0), CORO_OK);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
}

/* --------------------------------------------------------------------- records that are missing */

static struct coroi_mag *taken[1024];
static uint32_t mags_taken;

/* hide_records - take all free records, as if they had been retired: credit is left, and no record.
 * show_records - give them back. */
static void hide_records(coro_scheduler *s)
{
	while (mags_taken < 1024 && (taken[mags_taken] = coroi_slab_trade_full(&s->slab, NULL)))
		mags_taken++;
	CHECK(mags_taken < 1024);
}

static void show_records(coro_scheduler *s)
{
	while (mags_taken)
		coroi_slab_give(&s->slab, taken[--mags_taken]);
}

static void finds_no_record(void *arg, void *result)
{
	coro_scheduler *s = *(coro_scheduler **)arg;
	coro_handle h = 0;

	(void)result;
	while (coro_spawn_attr(NULL, three_yields, NULL, 0, &h) == CORO_OK)
		__atomic_add_fetch(&others, 1, __ATOMIC_SEQ_CST);
	CHECK_EQ(coro_spawn_attr(NULL, three_yields, NULL, 0, &h), CORO_ENOMEM);
	CHECK_EQ(coro_spawn_first(NULL, three_yields, NULL, 0, NULL), CORO_ENOMEM);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(coro_spawn(three_yields, NULL, 0), CORO_OK); /* no record is needed yet */
	for (int i = 0; i < 3; i++)
		CHECK_EQ(coro_yield(), CORO_OK); /* these keep no other coroutine waiting */
	show_records(s);
}

/* Credit stands for records that exist, except for retired ones. A spawn that needs a record at
 * once is then refused. One that does not waits for a free record, and is not lost. */
TEST(cap_of_records_that_are_missing)
{
	coro_options o = options(1, CORO_PAUSED);
	o.record_limit = 1;
	coro_scheduler *s = start(&o);
	coro_handle h;

	ran = others = 0;
	CHECK_EQ(coro_scheduler_spawn(s, NULL, finds_no_record, &s, sizeof s, &h), CORO_OK);
	for (int i = 0; i < 80; i++)
		CHECK_EQ(coro_scheduler_spawn(s, NULL, three_yields, NULL, 0, &h), CORO_OK);
	coroi_mags_flush(&s->outside.mags);
	hide_records(s);
	CHECK_EQ(coro_scheduler_spawn(s, NULL, three_yields, NULL, 0, NULL), CORO_ENOMEM);
	/* for the worker, which soon uses them up */
	coroi_slab_give(&s->slab, taken[--mags_taken]);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(ran, 80 + others + 3);
	finish(s);
}

/* More of these are spawned than ThreadSanitizer has stacks. */
static void ends(void *arg, void *result)
{
	(void)arg;
	(void)result;
}

static void starts_no_go_body(void *arg, void *result)
{
	coro_scheduler *s = *(coro_scheduler **)arg;
	coro_handle h = 0;
	(void)result;

	while (coro_spawn_attr(NULL, ends, NULL, 0, &h) == CORO_OK)
		;
	uint64_t credit = coroi_self()->mags.credit;
	CHECK_EQ(coro_spawn_go(COROI_GO_BODY | 7, NULL, 0, &h), CORO_ENOMEM);
	CHECK_EQ(coroi_self()->mags.credit, credit);
	show_records(s);
	while (coro_spawn(ends, NULL, 0) == CORO_OK)
		;
	/* without credit, too */
	CHECK_EQ(coro_spawn_go(COROI_GO_BODY | 7, NULL, 0, &h), CORO_ENOMEM);
}

TEST(cap_of_records_that_are_missing_for_go)
{
	coro_options o = options(1, CORO_PAUSED);
	o.record_limit = 1;
	coro_scheduler *s = start(&o);
	coro_handle h;

	CHECK_EQ(coroi_goworker_body(COROI_GO_BODY | 7, 0, 0, 0, 0), CORO_OK);
	coroi_border(s)->bell.go_id = 1;
	CHECK_EQ(coro_scheduler_spawn(s, NULL, starts_no_go_body, &s, sizeof s, &h), CORO_OK);
	coroi_mags_flush(&s->outside.mags);
	hide_records(s);
	coroi_slab_give(&s->slab, taken[--mags_taken]); /* for the worker, which uses them up */
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	finish(s);
}

/* A worker whose only work waits for a record waits too, and notices when it can start. */
static void *shows_records(void *arg)
{
	sleep_us(20000);
	show_records(arg);
	return NULL;
}

TEST(cap_of_records_that_come_late)
{
	coro_scheduler *s = start_with(2, 0);
	pthread_t t;

	ran = 0;
	coro_handle h;
	/* map a chunk */
	CHECK_EQ(coro_scheduler_spawn(s, NULL, three_yields, NULL, 0, &h), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	coro_scheduler_trim(s);
	CHECK_EQ(coro_scheduler_spawn(s, NULL, three_yields, NULL, 0, &h), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	hide_records(s);
	struct coroi_fill q = {.fn = three_yields, .class = s->class};
	CHECK_EQ(coroi_spawn_many(s, &q, NULL, 500, 0), 500);
	thread_start(&t, shows_records, s);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(ran, 502);
	thread_join(t);

	/* Spawns with more than a word of argument wait where they came in: only a record has room
	 * for the argument. */
	uint64_t words[2] = {1, 2};
	coro_scheduler_trim(s);
	CHECK_EQ(coro_scheduler_spawn(s, NULL, three_yields, NULL, 0, &h), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	hide_records(s);
	q.arg_bytes = sizeof words;
	CHECK_EQ(coroi_spawn_many(s, &q, words, 100, 0), 100);
	thread_start(&t, shows_records, s);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(ran, 603);
	thread_join(t);
	finish(s);
}
