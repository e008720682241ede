/*
 * t_policy_stop.c - pools of dispatchers: stop, free, and a pool that ends another.
 */
#include "pools.h"

static uint64_t canceled, deferred, told, stop_it;

/* ----------------------------------------------------------------------------------------- stop */

static void waits_for_the_stop(void *arg)
{
	CHECK_EQ(coro_defer(pool_tell, &deferred), CORO_OK);
	add_one(&told);
	CHECK_EQ(pattern_across(10, (uintptr_t)arg, coro_dispatch_park), CORO_ECANCELED);
	CHECK_EQ(coro_dispatch_park(), CORO_ECANCELED);
	CHECK_EQ(coro_dispatch_pool_spawn(pool, pool_tell, &told, 0, NULL), CORO_ECLOSED);
	add_one(&canceled);
	if ((uintptr_t)arg % 2)
		coro_abort();
}

static void has_a_permit(void *arg)
{
	(void)arg;
	CHECK_EQ(coro_dispatch_wake(pool, coro_dispatch_id_self()), CORO_OK);
	add_one(&told);
	while (!seen(&stop_it))
		CHECK_EQ(coro_dispatch_block(), CORO_OK); /* a yield */
	CHECK_EQ(coro_dispatch_park(), CORO_OK);
	CHECK_EQ(coro_dispatch_park(), CORO_ECANCELED);
	add_one(&canceled);
}

static void stop(uint32_t policy, uint32_t threads)
{
	unsigned n = 100;

	pool_new(policy, threads, 7);
	canceled = deferred = told = stop_it = 0;
	for (uintptr_t i = 0; i < n; i++)
		pool_spawn(waits_for_the_stop, (void *)i,
			   policy == CORO_DISPATCH_LL ? (uint32_t)i : 0);
	pool_spawn(has_a_permit, NULL, 0);
	while (seen(&told) < n + 1)
		sleep_us(100);
	CHECK_EQ(coro_dispatch_pool_stop(pool), CORO_OK);
	CHECK_EQ(coro_dispatch_pool_spawn(pool, pool_tell, &told, 0, NULL), CORO_ECLOSED);
	add_one(&stop_it);
	CHECK_EQ(coro_dispatch_pool_wait(pool), CORO_OK);
	CHECK_EQ(seen(&canceled), n + 1);
	CHECK_EQ(seen(&deferred), n);
	CHECK_EQ(seen(&told), n + 1);
	CHECK_EQ(coro_dispatch_pool_stop(pool), CORO_OK);
	pool_end(pool);
}

TEST(dispatch_pool_stop)
{
	pool_each(4, stop);
}

/* Coroutines that have not started before the stop never start. */
static void stops_inside(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < 1000; i++)
		pool_spawn(pool_tell, &told, 0);
	CHECK_EQ(coro_dispatch_pool_stop(pool), CORO_OK);
	CHECK_EQ(coro_dispatch_pool_wait(pool), CORO_EPERM);
	CHECK_EQ(coro_dispatch_pool_free(pool), CORO_EPERM);
	CHECK_EQ(coro_dispatch_park(), CORO_ECANCELED);
}

static void parks_once(void *arg)
{
	add_to(arg, coro_dispatch_park() == CORO_ECANCELED);
}

static void stop_unstarted(uint32_t policy, uint32_t threads)
{
	/* a second thread of gq would begin some */
	pool_new(policy, policy == CORO_DISPATCH_GQ ? 1 : threads, UINT32_MAX);
	told = canceled = 0;
	pool_spawn(parks_once, &canceled, 0);
	pool_spawn(stops_inside, NULL, 0);
	CHECK_EQ(coro_dispatch_pool_wait(pool), CORO_OK);
	CHECK_EQ(seen(&told), 0);
	CHECK_EQ(seen(&canceled), 1);
	pool_end(pool);
}

TEST(dispatch_pool_stop_before_they_start)
{
	pool_each(2, stop_unstarted);
}

/* Free stops, waits and frees. */
static void free_alone(uint32_t policy, uint32_t threads)
{
	pool_new(policy, threads, 0);
	canceled = 0;
	for (unsigned i = 0; i < 100; i++)
		pool_spawn(parks_once, &canceled, 0);
	CHECK_EQ(coro_dispatch_pool_free(pool), CORO_OK);
	CHECK(seen(&canceled) <= 100);
	pool_new(policy, threads, 0);
	CHECK_EQ(coro_dispatch_pool_free(pool), CORO_OK);
}

TEST(dispatch_pool_free_stops)
{
	pool_each(4, free_alone);
}

/* -------------------------------------------------------------------------- a pool ends another */

static void ends_another(void *arg)
{
	coro_dispatch_pool *other = arg;

	CHECK_EQ(coro_dispatch_pool_wait(pool), CORO_EPERM);
	CHECK_EQ(coro_dispatch_pool_free(pool), CORO_EPERM);
	CHECK_EQ(coro_dispatch_pool_spawn(other, pool_tell, &pool_done, 0, NULL), CORO_OK);
	CHECK_EQ(coro_dispatch_pool_wait(other), CORO_OK);
	CHECK_EQ(seen(&pool_done), 1);
	CHECK_EQ(coro_dispatch_pool_free(other), CORO_OK);
	add_one(&pool_done);
}

TEST(dispatch_pool_ends_another)
{
	for (int i = 0; i < POOL_POLICIES * POOL_POLICIES; i++) {
		coro_dispatch_pool *other = pool_new(pool_policies[i / POOL_POLICIES], 2, 0);
		pool = pool_new(pool_policies[i % POOL_POLICIES], 1, 0);
		pool_spawn(ends_another, other, 0);
		pool_end(pool);
		CHECK_EQ(pool_done, 2);
	}
}
