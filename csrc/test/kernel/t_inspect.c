/*
 * t_inspect.c - figures, looked at from outside while the scheduler works. Trim and coro_blocked:
 * t_cap.c, t_slab.c, t_wake.c.
 */
#include "dense_bodies.h"
#include "test.h"

#include "kernel/dense.h"
#include "kernel/door.h"

static uint64_t inside, leave, stop;

static void stays_in_its_door(void *arg, void *result)
{
	struct coroi_worker *w = coroi_self();

	(void)arg;
	(void)result;
	coroi_door_enter(w);
	add_one(&inside);
	while (!seen(&leave))
		sleep_us(100);
	coroi_door_leave(w);
}

TEST(stats_wait_for_no_worker)
{
	for (uint32_t flags = 0; flags <= CORO_NO_MEMBARRIER; flags += CORO_NO_MEMBARRIER) {
		coro_scheduler *s = start_with(2, flags);

		inside = leave = 0;
		spawn(s, stays_in_its_door, NULL, 0);
		while (!seen(&inside))
			sleep_us(100);
		/* A door that is asked for would be left alone until `leave`, which comes after. */
		for (int i = 0; i < 1000; i++)
			CHECK_EQ(stats(s).live, 1);
		add_one(&leave);
		finish(s);
	}
}

static void *looks(void *arg)
{
	coro_worker_stats each[2];

	while (!seen(&stop)) {
		coro_stats t;
		CHECK_EQ(coro_scheduler_stats(arg, &t, each, 2), CORO_OK);
		CHECK(t.dense_p50 <= t.dense_p99);
		add_one(&inside);
	}
	return NULL;
}

static void *closes(void *arg)
{
	CHECK_EQ(coro_scheduler_close(arg, 0), CORO_OK);
	return NULL;
}

/* What trim and close free is what stats look at. */
TEST(stats_while_dense_ones_come_and_go)
{
	for (uint64_t i = 0, n = scaled(40); i < n; i++) {
		coro_scheduler *s = dense_start(2, 2, 0);
		pthread_t observer, closer;

		stop = inside = 0;
		thread_start(&observer, looks, s);
		for (unsigned round = 0; round < 20; round++) {
			for (uint64_t k = 0; k < 20; k++)
				dense_spawn(s, dense_yields, k);
			if (round % 2)
				CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
			coro_scheduler_trim(s); /* after a wait, frees what is dense */
		}
		thread_start(&closer, closes, s);
		thread_join(closer);
		for (uint64_t k = seen(&inside); seen(&inside) < k + 3;)
			sleep_us(10); /* stats of a closed one */
		add_one(&stop);
		thread_join(observer);
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	}
}
