/*
 * t_policy_gq.c - the policy gq of a pool of dispatchers: what is fresh goes to the thread that is
 * free, what has begun stays, and all have their turn in the order in which they became ready.
 */
#include "pools.h"

#include <sched.h>

static uint64_t order[16], steps, go, busy;

static void notes(void *arg)
{
	order[__atomic_fetch_add(&steps, 1, __ATOMIC_SEQ_CST)] = (uintptr_t)arg;
}

static void keeps_its_thread(void *arg)
{
	(void)arg;
	add_one(&busy);
	while (!seen(&go))
		sched_yield();
}

static void begin(uint32_t threads)
{
	pool_new(CORO_DISPATCH_GQ, threads, 0);
	steps = go = busy = 0;
}

/* One thread computes for long, the other begins what is there. In rr and ll they would wait. */
TEST(dispatch_gq_a_busy_thread_keeps_none_waiting)
{
	begin(2);
	pool_spawn(keeps_its_thread, NULL, 0);
	while (!seen(&busy))
		sleep_us(100);
	for (uintptr_t i = 0; i < 10; i++)
		pool_spawn(notes, (void *)i, 0);
	while (seen(&steps) < 10)
		sleep_us(100);
	add_one(&go);
	pool_end(pool);
	for (uint64_t i = 0; i < 10; i++)
		CHECK_EQ(order[i], i);
}

/* Each fresh one wakes a thread that sleeps: as many at once as there are threads. */
TEST(dispatch_gq_uses_all_threads)
{
	begin(4);
	for (int round = 0; round < 20; round++) {
		busy = go = 0;
		for (unsigned i = 0; i < 4; i++)
			pool_spawn(keeps_its_thread, NULL, 0);
		while (seen(&busy) < 4)
			sleep_us(100);
		add_one(&go);
		CHECK_EQ(coro_dispatch_pool_wait(pool), CORO_OK);
	}
	pool_end(pool);
}

static void stays(void *arg)
{
	pthread_t here = pthread_self();

	for (int i = 0; i < 10; i++) {
		CHECK_EQ(pattern_across((unsigned)(uintptr_t)arg % 30 + 1, (uintptr_t)arg,
					coro_dispatch_block),
			 CORO_OK);
		CHECK(pthread_equal(here, pthread_self()));
	}
	add_one(&pool_done);
}

TEST(dispatch_gq_what_has_begun_stays)
{
	begin(4);
	for (uintptr_t i = 0; i < 500; i++)
		pool_spawn(stays, (void *)i, 0);
	CHECK_EQ(coro_dispatch_pool_wait(pool), CORO_OK);
	CHECK_EQ(seen(&pool_done), 500);
	pool_end(pool);
}

static void parks_then_notes(void *arg)
{
	CHECK_EQ(coro_dispatch_park(), CORO_OK);
	notes(arg);
}

/* On the only thread: one that goes on is between those that were spawned before and after its
 * wake, and one that yields goes behind all. */
static void has_all_in_turn(void *arg)
{
	coro_dispatch_id early = pool_spawn(parks_then_notes, (void *)1, 0);
	(void)arg;

	CHECK_EQ(coro_dispatch_block(), CORO_OK);
	pool_spawn(notes, (void *)0, 0);
	CHECK_EQ(coro_dispatch_wake(pool, early), CORO_OK);
	pool_spawn(notes, (void *)2, 0);
	CHECK_EQ(coro_dispatch_block(), CORO_OK);
	notes((void *)3);
}

TEST(dispatch_gq_first_in_first_out)
{
	begin(1);
	pool_spawn(has_all_in_turn, NULL, 0);
	CHECK_EQ(coro_dispatch_pool_wait(pool), CORO_OK);
	CHECK_EQ(steps, 4);
	for (uint64_t i = 0; i < 4; i++)
		CHECK_EQ(order[i], i);
	pool_end(pool);
}

/* The stop comes while a thread computes: what is fresh ends unstarted, on the other threads, and
 * what is parked on any thread goes on. */
TEST(dispatch_gq_stops_beside_a_busy_thread)
{
	coro_dispatch_id parked;

	begin(2);
	parked = pool_spawn(parks_then_notes, (void *)1, 0);
	pool_spawn(keeps_its_thread, NULL, 0);
	pool_spawn(keeps_its_thread, NULL, 0);
	while (seen(&busy) < 2)
		sleep_us(100);
	for (int i = 0; i < 100; i++)
		pool_spawn(notes, (void *)2, 0);
	CHECK_EQ(coro_dispatch_wake(pool, parked), CORO_OK);
	CHECK_EQ(coro_dispatch_pool_stop(pool), CORO_OK);
	add_one(&go);
	pool_end(pool);
	CHECK_EQ(steps, 1);
	CHECK_EQ(order[0], 1);
}
