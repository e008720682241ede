/*
 * t_policy_nomemory.c - pools of dispatchers without memory: what is refused has not happened.
 */
#include "pools.h"

#include <stdlib.h>

static uint64_t told;
static coro_dispatch_id *ids;

/* ------------------------------------------------------------------------- pools and coroutines */

static void new_fails(uint32_t policy, uint32_t threads)
{
	coro_dispatch_pool_options o = {.size = sizeof o, .policy = policy, .threads = threads};
	int *faults[] = {&fail_alloc, &fail_map, &fail_guard, &fail_thread};

	for (unsigned f = 0; f < 4; f++) {
		for (int k = 0;; k++) {
			CHECK(k < 1000);
			*faults[f] = k;
			pool = NULL;
			int status = coro_dispatch_pool_new(&pool, &o);
			bool came = *faults[f] < 0;
			*faults[f] = -1;
			if (status == CORO_OK)
				CHECK_EQ(coro_dispatch_pool_free(pool), CORO_OK);
			else
				CHECK_EQ(status, f == 3 ? CORO_EAGAIN : CORO_ENOMEM);
			CHECK_EQ(status != CORO_OK, came);
			if (!came)
				break;
		}
	}
}

TEST(dispatch_pool_no_memory_to_begin_with)
{
	pool_each(4, new_fails);
}

static void spawn_fails(uint32_t policy, uint32_t threads)
{
	coro_dispatch_id id = 7;

	pool_new(policy, threads, 0);
	fail_alloc = 0;
	CHECK_EQ(coro_dispatch_pool_spawn(pool, pool_tell, &pool_done, 0, &id), CORO_ENOMEM);
	CHECK_EQ(id, 7);
	CHECK_EQ(fail_alloc, -1);
	pool_spawn(pool_tell, &pool_done, 0);
	CHECK_EQ(coro_dispatch_pool_wait(pool), CORO_OK);
	CHECK_EQ(seen(&pool_done), 1);
	pool_end(pool);
}

TEST(dispatch_pool_no_memory_to_spawn)
{
	pool_each(1, spawn_fails);
}

/* ---------------------------------------------------------------------------------------- parks */

/* No memory for its frames: the coroutine has not waited, and a permit that comes is kept. */
static void cannot_park(void *arg)
{
	fail_block = 0;
	fail_blocks = 1;
	CHECK_EQ(pattern_across(20, (uintptr_t)arg, coro_dispatch_park), CORO_ENOMEM);
	CHECK_EQ(fail_blocks, 0);
	add_one(&told);
	CHECK_EQ(pattern_across(20, (uintptr_t)arg, coro_dispatch_park), CORO_OK);
	fail_block = 0;
	fail_blocks = 1;
	CHECK_EQ(pattern_across(200, (uintptr_t)arg, coro_dispatch_park),
		 CORO_ENOMEM); /* the buffer is too small */
	add_one(&pool_done);
	CHECK_EQ(coro_dispatch_park(), CORO_ECANCELED);
}

static void park_fails(uint32_t policy, uint32_t threads)
{
	pool_new(policy, threads, 0);
	told = 0;
	ids = calloc(10, sizeof *ids);
	for (unsigned i = 0; i < 10; i++)
		ids[i] = pool_spawn(cannot_park, (void *)(uintptr_t)i, 0);
	while (seen(&told) < 10)
		sleep_us(100);
	for (unsigned i = 0; i < 10; i++)
		CHECK_EQ(coro_dispatch_wake(pool, ids[i]), CORO_OK);
	while (seen(&pool_done) < 10)
		sleep_us(100);
	CHECK_EQ(coro_dispatch_pool_free(pool), CORO_OK);
	free(ids);
}

TEST(dispatch_pool_no_memory_to_park)
{
	pool_each(2, park_fails);
}

/* A wake during a park that fails gives a permit all the same: as many parks succeed as there are
 * wakes. */
static void parks_without_memory(void *arg)
{
	uint64_t n = *(uint64_t *)arg, taken = 0;

	fail_block = 0;
	while (taken < n) {
		fail_blocks = 1;
		int status = coro_dispatch_park();
		CHECK(status == CORO_OK || status == CORO_ENOMEM);
		taken += status == CORO_OK;
	}
	fail_blocks = 0;
	add_one(&pool_done);
}

static void *wakes_one(void *arg)
{
	coro_dispatch_id *id = arg;

	for (uint64_t i = 0; i < id[1]; i++)
		CHECK_EQ(coro_dispatch_wake(pool, id[0]), CORO_OK);
	return NULL;
}

static void wake_while_a_park_fails(uint32_t policy, uint32_t threads)
{
	uint64_t n = scaled(3000);
	pthread_t t;

	pool_new(policy, threads, 0);
	coro_dispatch_id id[2] = {pool_spawn(parks_without_memory, &n, 0), n};
	thread_start(&t, wakes_one, id);
	thread_join(t);
	CHECK_EQ(coro_dispatch_pool_wait(pool), CORO_OK);
	CHECK_EQ(seen(&pool_done), 1);
	pool_end(pool);
}

TEST(dispatch_pool_wakes_while_a_park_fails)
{
	pool_each(1, wake_while_a_park_fails);
}

static coro_dispatch_id parker;
static uint64_t order[8], steps;

static void notes(void *arg)
{
	order[steps++] = (uintptr_t)arg;
}

static void *wakes(void *arg)
{
	(void)arg;
	pool_spawn(notes, (void *)3, 0);
	CHECK_EQ(coro_dispatch_wake(pool, parker), CORO_OK);
	pool_spawn(notes, (void *)4, 0);
	return NULL;
}

static pthread_t waker;
static bool joins_meanwhile;

/* Between the park and its refusal another thread starts coroutines, and wakes the one that parks.
 * Unless it is ll, that thread waits until the refusal is over. */
static void wakes_meanwhile(void)
{
	thread_start(&waker, wakes, NULL);
	if (joins_meanwhile)
		thread_join(waker);
}

static void parks_among_others(void *arg)
{
	joins_meanwhile = *(const uint32_t *)arg == CORO_DISPATCH_LL;
	parker = coro_dispatch_id_self();
	pool_spawn(notes, (void *)1, 0);
	pool_spawn(notes, (void *)2, 0);
	fail_meanwhile = wakes_meanwhile;
	fail_block = 0;
	fail_blocks = 1;
	int status = coro_dispatch_park();
	CHECK_EQ(fail_blocks, 0);
	fail_meanwhile = NULL;
	fail_block = -1;
	CHECK_EQ(status, CORO_ENOMEM);
	if (!joins_meanwhile)
		thread_join(waker);
	CHECK_EQ(coro_dispatch_park(), CORO_OK); /* the permit is on its way, or there */
	CHECK_EQ(steps, 0);
	notes((void *)0);
}

/* The refused coroutine goes on at once, and the others keep their turns. */
TEST(dispatch_pool_refused_park_leaves_the_others)
{
	for (int i = 0; i < POOL_POLICIES; i++) {
		steps = 0;
		pool = pool_new(pool_policies[i], 1, 0);
		pool_spawn(parks_among_others, (void *)(uintptr_t)&pool_policies[i], 0);
		pool_end(pool);
		CHECK_EQ(steps, 5);
		for (uint64_t k = 0; k < 5; k++)
			CHECK_EQ(order[k], k);
	}
}
