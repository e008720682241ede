/*
 * t_lend_limits.c - lends where something is in the way: a cancel, a close, a limit, and workers
 * that are not lent. And the worker's own thread meanwhile.
 */
#include "gostand.h"

#include "kernel/dense.h"
#include "border/gocall.h"
#include "kernel/idle.h"
#include "kernel/life.h"
#include "kernel/wait.h"

#include <string.h>
#include <unistd.h>

static uint64_t counted, gate, running;
static coro_handle target;

static void counts(void *arg, void *result)
{
	(void)arg;
	(void)result;
	add_one(&counted);
}

static void computes(uint64_t ns)
{
	for (uint64_t until = now_ns() + ns; now_ns() < until;)
		;
}

static void parks(void *arg, void *result)
{
	(void)arg;
	target = coro_self();
	add_one(&running);
	CHECK_EQ(coro_park(), CORO_OK);
	if (result)
		*(int64_t *)result = 7;
}

static void waits_for_gate(void *arg, void *result)
{
	(void)arg;
	(void)result;
	add_one(&running);
	while (!seen(&gate))
		coro_yield();
}

/* ---------------------------------------------------------------------------- when none is lent */

/* none_is_lent - not within some tries. */
static void none_is_lent(coro_scheduler *s)
{
	uint64_t spawned = stats(s).spawned;

	for (int i = 0; i < 50; i++) {
		struct coroi_lend l = lend_of(s, never, NULL, 0, 0);
		CHECK_EQ(coroi_lend_call(&l), COROI_LEND_NONE);
		CHECK_EQ(l.status, 77);
		sleep_us(20);
	}
	CHECK_EQ(stats(s).spawned, spawned);
}

TEST(lend_is_none_while_all_workers_are_awake)
{
	coro_scheduler *s = start_go(2, 0);

	for (int i = 0; i < 4; i++)
		spawn(s, waits_for_gate, NULL, 0);
	sleep_until_seen(&running, 4);
	while (stats(s).awake < 2)
		sleep_us(50);
	for (int i = 0; i < 50; i++) {
		struct coroi_lend l = lend_of(s, counts, NULL, 0, 0);
		int outcome = coroi_lend_call(&l);
		CHECK(outcome == COROI_LEND_NONE || outcome == COROI_LEND_ENDED);
		counted -= outcome == COROI_LEND_ENDED; /* one has slept after all */
	}
	CHECK_EQ(counted, 0);
	add_one(&gate);
	finish(s);
}

TEST(lend_is_none_by_the_options_of_the_scheduler)
{
	uint16_t cpu = 0;
	coro_options o[] = {options(2, CORO_PAUSED), options(2, CORO_NO_LENDING), options(2, 0)};

	o[2].cpus = &cpu;
	o[2].cpu_count = 1;
	for (unsigned i = 0; i < 3; i++) {
		coro_scheduler *s = start(&o[i]);
		CHECK(!s->lends);
		for (unsigned k = 0; k < 2; k++)
			while (!coroi_sleeps(s, k))
				sleep_us(50);
		none_is_lent(s);
		finish(s);
	}
}

/* All workers but the dedicated one are awake. */
TEST(lend_is_never_of_a_dedicated_worker)
{
	coro_options o = options(1, 0);

	o.dedicated = 2;
	coro_scheduler *s = start(&o);
	spawn(s, waits_for_gate, NULL, 0);
	sleep_until_seen(&running, 1);
	none_is_lent(s);
	add_one(&gate);
	for (int i = 0; i < 50; i++) {
		struct coroi_lend l = lend_of(s, counts, NULL, 0, 0);
		CHECK_EQ(lend(&l), COROI_LEND_ENDED);
	}
	CHECK_EQ(s->worker[0].lends.n, 50);
	CHECK_EQ(s->worker[1].lends.n + s->worker[2].lends.n, 0);
	finish(s);
}

static coro_scheduler *others;

static void lends_as_a_worker(void *arg, void *result)
{
	(void)arg;
	(void)result;
	none_is_lent(others);
	none_is_lent(coroi_self()->sched);
}

TEST(lend_is_none_to_a_worker)
{
	coro_scheduler *s = start_go(2, 0);

	others = start_go(1, 0);
	until_asleep(others);
	spawn(s, lends_as_a_worker, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	/* a lender is one, too */
	struct coroi_lend l = lend_of(s, lends_as_a_worker, NULL, 0, 0);
	CHECK_EQ(lend(&l), COROI_LEND_ENDED);
	finish(s);
	finish(others);
}

static void *closes(void *s)
{
	CHECK_EQ(coro_scheduler_close(s, 0), CORO_OK);
	add_one(&counted);
	return NULL;
}

TEST(lend_is_none_while_the_scheduler_is_closed_and_afterwards)
{
	coro_scheduler *s = start_go(2, 0);
	pthread_t t;

	spawn(s, parks, NULL, 0);
	until_waiting(s, 1);
	thread_start(&t, closes, s);
	while (!at_load_seq(&s->outside.refusing))
		sleep_us(50);
	none_is_lent(s);
	CHECK_EQ(counted, 0);
	CHECK_EQ(coro_wake(target), CORO_OK);
	thread_join(t);
	none_is_lent(s);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
}

/* ----------------------------------------------------------------------------- cancel and close */

static void is_canceled_while_it_waits(void *arg, void *result)
{
	(void)arg;
	(void)result;
	target = coro_self();
	CHECK_EQ(coro_park(), CORO_ECANCELED);
	CHECK_EQ(coro_sleep(CORO_FOREVER), CORO_ECANCELED);
}

static void is_canceled_while_it_computes(void *arg, void *result)
{
	(void)arg;
	(void)result;
	target = coro_self();
	add_one(&running);
	while (!coro_canceled())
		;
	CHECK_EQ(coro_park(), CORO_ECANCELED);
}

static void *cancels(void *arg)
{
	for (uint64_t n = 1; n <= (uintptr_t)arg; n++) {
		sleep_until_seen(&running, n);
		CHECK_EQ(coro_cancel(target), CORO_OK);
	}
	return NULL;
}

TEST(lend_call_is_canceled_while_it_waits_and_while_it_computes)
{
	for (uint32_t workers = 1; workers <= 2; workers++) {
		coro_scheduler *s = start_go(workers, 0);
		pthread_t t;
		running = 0;
		for (int i = 0; i < 20; i++) {
			struct coroi_lend l = lend_of(s, is_canceled_while_it_waits, NULL, 0, 0);
			CHECK_EQ(lend(&l), COROI_LEND_SUSPENDED);
			CHECK_EQ(coro_cancel(l.handle), CORO_OK);
			CHECK_EQ(take_end(&l), CORO_ECANCELED);
			CHECK_EQ(coro_cancel(l.handle), CORO_ESTALE);
		}
		thread_start(&t, cancels, (void *)20);
		for (int i = 0; i < 20; i++) {
			struct coroi_lend l = lend_of(s, is_canceled_while_it_computes, NULL, 0, 0);
			CHECK_EQ(lend_to_end(&l), CORO_ECANCELED);
		}
		thread_join(t);
		finish(s);
	}
}

static void *closes_when_it_runs(void *s)
{
	sleep_until_seen(&running, 1);
	CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
	return NULL;
}

static void leaves_a_child_and_computes(void *arg, void *result)
{
	spawn_in(never, NULL, 0); /* the close comes before it starts */
	is_canceled_while_it_computes(arg, result);
}

TEST(lend_call_is_canceled_by_a_close)
{
	for (int i = 0; i < 20; i++) {
		coro_scheduler *s = start_go(1, 0);
		pthread_t t;
		running = 0;
		struct coroi_lend waiting = lend_of(s, is_canceled_while_it_waits, NULL, 0, 0),
				  l = lend_of(s, leaves_a_child_and_computes, NULL, 0, 0);
		CHECK_EQ(lend(&waiting), COROI_LEND_SUSPENDED);
		thread_start(&t, closes_when_it_runs, s);
		CHECK_EQ(lend_to_end(&l), CORO_ECANCELED);
		CHECK_EQ(take_end(&waiting), CORO_ECANCELED);
		thread_join(t);
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	}
}

/* -------------------------------------------------------------------------- stacks and records */

static void uses_its_stack(void *arg, void *result)
{
	volatile char large[200 << 10];

	(void)arg;
	for (size_t i = 0; i < sizeof large; i += 512)
		large[i] = 1;
	*(int64_t *)result = large[0];
}

static void is_dense(void *arg, void *result)
{
	CHECK_EQ(coro_pin(CORO_HERE), CORO_OK);
	for (int i = 0; i < 10; i++)
		CHECK_EQ(coro_yield(), CORO_OK);
	CHECK_EQ(coro_sleep(1000), CORO_OK);
	(void)arg;
	*(int64_t *)result = 1;
}

TEST(lend_call_has_a_stack_of_another_class)
{
	coro_scheduler *s = start_go(2, 0);

	for (int i = 0; i < 20; i++) {
		struct coroi_lend l = lend_of(s, uses_its_stack, NULL, 0, 8);
		l.class = (uint8_t)coroi_stack_class(512 << 10);
		CHECK_EQ(lend(&l), COROI_LEND_ENDED);
		CHECK_EQ(*(int64_t *)l.payload, 1);
		l = lend_of(s, is_dense, NULL, 0, 8);
		l.class = COROI_DENSE;
		CHECK_EQ(lend_to_end(&l), CORO_OK);
		CHECK_EQ(*(int64_t *)l.payload, 1);
	}
	finish(s);
}

static void ends_at_once(void *arg, void *result)
{
	(void)arg;
	*(int64_t *)result = 7;
}

/* The only stack is in use: the lent coroutine awaits it. One that is too large never comes. */
TEST(lend_call_awaits_a_stack)
{
	coro_options o = options_capped(1, 1);

	for (int i = 0; i < 20; i++) {
		coro_scheduler *s = start(&o);
		struct coroi_lend l = lend_of(s, ends_at_once, NULL, 0, 8);
		running = 0;
		spawn(s, parks, NULL, 0);
		until_waiting(s, 1);
		CHECK_EQ(lend(&l), COROI_LEND_SUSPENDED);
		while (stats(s).awaiting_stack != 1) /* the own thread may have taken it to look */
			sleep_us(50);
		CHECK_EQ(coro_wake(target), CORO_OK);
		CHECK_EQ(take_end(&l), CORO_OK);
		CHECK_EQ(*(int64_t *)l.payload, 7);

		for (uint64_t n = 1; n <= 3; n++) { /* each is looked at, though nothing moves */
			l = lend_of(s, never, NULL, 0, 0);
			l.class = (uint8_t)coroi_stack_class(64 * STACK);
			CHECK_EQ(lend_to_end(&l), CORO_ENOMEM);
			CHECK_EQ(stats(s).unstarted_no_stack, n);
		}
		l = lend_of(s, ends_at_once, NULL, 0, 8);
		CHECK_EQ(lend_to_end(&l), CORO_OK);
		finish(s);
	}
}

TEST(lend_call_finds_no_record)
{
	coro_options o = options(2, 0);

	fail_map = 0; /* no memory for the first chunk */
	coro_scheduler *s = start(&o);
	struct coroi_lend l = lend_of(s, never, NULL, 0, 0);
	CHECK_EQ(lend(&l), CORO_ENOMEM);
	CHECK_EQ(fail_map, -1);
	CHECK_EQ(l.status, 77);
	CHECK_EQ(stats(s).spawned, 0);
	l = lend_of(s, ends_at_once, NULL, 0, 8);
	CHECK_EQ(lend_to_end(&l), CORO_OK);
	finish(s);

	o.record_limit = COROI_CHUNK_BYTES;
	s = start(&o);
	until_asleep(s);
	uint32_t all = coroi_slab_grant(&s->slab, UINT32_MAX >> 2);
	CHECK_EQ(all, COROI_CHUNK_USABLE);
	for (int i = 0; i < 3; i++) {
		l = lend_of(s, never, NULL, 0, 0);
		CHECK_EQ(lend(&l), CORO_ENOMEM);
	}
	coroi_slab_refund(&s->slab, all);
	for (int i = 0; i < 3; i++) {
		l = lend_of(s, ends_at_once, NULL, 0, 8);
		CHECK_EQ(lend_to_end(&l), CORO_OK);
	}
	CHECK_EQ(stats(s).spawned, 3);
	/* A worker that was lent keeps one credit at most. */
	CHECK(at_load_seq(&s->slab.granted) <= 2);
	finish(s);
}

/* ------------------------------------------------------------------ the own thread meanwhile */

static void sleeps_briefly(void *arg, void *result)
{
	(void)arg;
	(void)result;
	add_one(&running);
	uint64_t due = coroi_now_ns() + 2 * MS;
	CHECK_EQ(coro_sleep_until(due), CORO_OK);
	CHECK(coroi_now_ns() >= due);
	add_one(&gate);
}

static void computes_past_a_deadline(void *arg, void *result)
{
	uint64_t limit = now_ns() + 2000 * MS, alone = *(uint64_t *)arg;

	(void)result;
	if (seen(&gate)) /* it came too soon */
		return;
	if (alone)
		computes(10 * MS); /* its own worker alone can fire it: afterwards */
	while (!alone && !seen(&gate) && now_ns() < limit)
		;
	CHECK_EQ(seen(&gate), !alone);
}

/* A deadline comes on the worker that is lent. Another worker fires it, or the own thread does once
 * it is the worker again. */
TEST(lend_leaves_deadlines_to_those_who_are_awake)
{
	for (uint64_t alone = 0; alone < 2; alone++)
		for (int i = 0; i < 10; i++) {
			coro_scheduler *s = start_go(alone ? 1 : 3, 0);
			gate = running = 0;
			spawn(s, sleeps_briefly, NULL, 0);
			sleep_until_seen(&running, 1);
			while (!coroi_sleeps(s, 0))
				sleep_us(20);
			struct coroi_lend l = lend_of(s, computes_past_a_deadline, &alone, 8, 0);
			if (coroi_lend_call(&l) == COROI_LEND_NONE || l.status == 77)
				i -= !seen(&gate); /* it came too soon */
			else
				CHECK_EQ(l.status, CORO_OK);
			CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
			CHECK_EQ(seen(&gate), 1);
			CHECK_EQ(stats(s).outside, 0);
			finish(s);
		}
}

static void computes_until_gate(void *arg, void *result)
{
	(void)arg;
	(void)result;
	add_one(&running);
	while (!seen(&gate))
		;
}

/* Work behind the lender's coroutine is not left lying. */
static void leaves_a_child_until_it_has_run(void *arg, void *result)
{
	uint64_t limit = now_ns() + 5000 * MS;

	(void)arg;
	(void)result;
	spawn_in(counts, NULL, 0);
	while (!seen(&counted) && now_ns() < limit)
		;
	CHECK_EQ(seen(&counted), 1);
}

TEST(lend_leaves_no_child_behind_a_coroutine_that_computes)
{
	for (uint32_t workers = 2; workers <= 4; workers++) {
		coro_scheduler *s = start_go(workers, 0);
		for (int i = 0; i < 30; i++) {
			struct coroi_lend l = lend_of(s, leaves_a_child_until_it_has_run, NULL, 0,
						      0);
			counted = 0;
			until_asleep(s);
			CHECK_EQ(lend_to_end(&l), CORO_OK);
		}
		finish(s);
	}
}

/* The worker that is lent was the standby: another is to see what lies behind the lender. */
TEST(lend_of_the_standby_passes_its_duty_on)
{
	uint64_t of_standby = 0;

	for (uint32_t i = 0; i < 60; i++) {
		coro_attr there = on(i % 3 + 1);
		coro_scheduler *s = start_go(3, 0);
		gate = running = counted = 0;
		until_asleep(s);
		CHECK_EQ(coro_scheduler_spawn(s, &there, computes_until_gate, NULL, 0, NULL),
			 CORO_OK);
		sleep_until_seen(&running, 1);
		for (int k = 0; k < 100 && !at_load_seq(&s->standby); k++)
			sleep_us(20); /* there is one, or a push will make one */
		sleep_us(i * 20);
		uint32_t before = at_load_seq(&s->standby);
		struct coroi_lend l = lend_of(s, leaves_a_child_until_it_has_run, NULL, 0, 0);
		CHECK_EQ(lend_to_end(&l), CORO_OK);
		for (uint32_t k = 0; k < 3; k++)
			of_standby += s->worker[k].lends.n && before == k + 1;
		add_one(&gate);
		finish(s);
	}
	report("%llu of 60 lends were of the standby", (unsigned long long)of_standby);
}

/* A thread that waits for the end is told when all have ended, and not before. */
static uint64_t begun, over;

static void spawns_some(void *arg, void *result)
{
	int64_t depth = *(int64_t *)arg;

	(void)result;
	add_one(&begun);
	for (int64_t i = 0; i < 3 && depth; i++) {
		int64_t less = depth - 1;
		spawn_in(spawns_some, &less, 8);
	}
	if (depth % 2)
		CHECK_EQ(coro_yield(), CORO_OK);
	else
		CHECK_EQ(coro_sleep(10000), CORO_OK);
	add_one(&over);
}

static void *waits(void *s)
{
	while (!seen(&gate)) {
		uint64_t before = seen(&begun);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK(seen(&over) >= before);
		add_one(&counted);
	}
	return NULL;
}

TEST(lend_ends_count_for_those_who_wait_for_all)
{
	for (uint32_t workers = 1; workers <= 3; workers += 2) {
		coro_scheduler *s = start_go(workers, 0);
		pthread_t t;
		begun = over = gate = 0;
		thread_start(&t, waits, s);
		for (uint64_t i = 0; i < scaled(100); i++) {
			int64_t depth = (int64_t)(i % 4);
			struct coroi_lend l = lend_of(s, spawns_some, &depth, 8, 0);
			CHECK_EQ(lend_to_end(&l), CORO_OK);
			if (i % 3)
				continue;
			CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
			CHECK_EQ(seen(&begun), seen(&over));
		}
		add_one(&gate);
		thread_join(t);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(begun, over);
		finish(s);
	}
}

/* A coroutine that nobody will wake is no work under way: everything rests, and that is told. */
TEST(lend_leaves_a_deadlock_to_be_told)
{
	for (uint32_t workers = 1; workers <= 3; workers++) {
		coro_scheduler *s = start_go(workers, 0);
		for (int i = 0; i < 20; i++) {
			struct coroi_lend l = lend_of(s, parks, NULL, 0, 8);
			until_asleep(s);
			while (!coroi_at_rest(s))
				sleep_us(20);
			coroi_rest_waits(s, 1);
			uint32_t rests = at_load_seq(&s->rests), told = at_load_seq(&s->rests_told);
			CHECK_EQ(lend(&l), COROI_LEND_SUSPENDED);
			coroi_rest_await(s, told);
			coroi_rest_waits(s, -1);
			while (!coroi_at_rest(s))
				sleep_us(20);
			CHECK(at_load_seq(&s->rests) > rests);
			CHECK(!coroi_finished(s));
			CHECK_EQ(coro_scheduler_blocked(s, NULL, 0), 1);
			CHECK_EQ(coro_wake(l.handle), CORO_OK);
			CHECK_EQ(take_end(&l), CORO_OK);
			CHECK_EQ(*(int64_t *)l.payload, 7);
		}
		finish(s);
	}
}
