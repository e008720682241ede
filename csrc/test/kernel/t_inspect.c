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

/* ------------------------------------------------------------------------ counts by function */

static void waits_here(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_park(), CORO_OK);
}

static void waits_there(void *arg, void *result)
{
	waits_here(arg, result);
}

static coro_handle here[30], there[5];
static coro_sem children;

static void is_child(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_sem_acquire(&children, CORO_FOREVER), CORO_OK);
}

static void is_like_one(void *arg, void *result)
{
	is_child(arg, result);
}

static void has_children(void *arg, void *result)
{
	coro_scope *scope;
	(void)arg;
	(void)result;

	CHECK_EQ(coro_scope_new(&scope), CORO_OK);
	for (int i = 0; i < 7; i++)
		CHECK_EQ(coro_scope_spawn(scope, NULL, is_child, NULL, 0), CORO_OK);
	CHECK_EQ(coro_scope_wait(scope), CORO_OK);
}

/* spins_before - it keeps the only worker, with what it has spawned in the queue. */
static void spins_before(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < 9; i++)
		spawn_in(is_like_one, NULL, 0);
	CHECK_EQ(coro_spawn_attr(JOINABLE(0), is_child, NULL, 0, &here[0]), CORO_OK);
	add_one(&inside);
	while (!seen(&leave))
		sleep_us(100);
}

static coro_function_count of(coro_scheduler *s, coro_fn fn)
{
	coro_function_count list[8], found = {0};
	size_t n = coro_scheduler_functions(s, list, 8);

	CHECK(n <= 8);
	for (size_t i = 0; i < n; i++)
		if (list[i].fn == fn) {
			CHECK(!found.fn);
			found = list[i];
		}
	return found;
}

TEST(functions_of_those_that_wait)
{
	coro_scheduler *s = start_with(2, 0);
	coro_function_count list[4];

	CHECK_EQ(coro_scheduler_functions(NULL, list, 4), 0);
	CHECK_EQ(coro_scheduler_functions(s, list, 4), 0);
	for (int i = 0; i < 30; i++)
		CHECK_EQ(coro_scheduler_spawn(s, NULL, waits_here, NULL, 0, &here[i]), CORO_OK);
	for (int i = 0; i < 5; i++)
		CHECK_EQ(coro_scheduler_spawn(s, NULL, waits_there, NULL, 0, &there[i]), CORO_OK);
	spawn(s, has_children, NULL, 0);
	until_waiting(s, 43);
	CHECK_EQ(coro_scheduler_functions(s, list, 4), 4);
	CHECK_EQ(coro_scheduler_functions(s, list, 3), 4);
	CHECK_EQ(coro_scheduler_functions(s, NULL, 3), 1);
	CHECK_EQ(of(s, waits_here).live, 30);
	CHECK_EQ(of(s, waits_here).unstarted, 0);
	CHECK_EQ(of(s, waits_there).live, 5);
	CHECK_EQ(of(s, has_children).live, 1);
	CHECK_EQ(of(s, is_child).live, 7);
	for (int i = 0; i < 30; i++)
		CHECK_EQ(coro_wake(here[i]), CORO_OK);
	CHECK_EQ(coro_sem_release(&children, 7), CORO_OK);
	while (stats(s).live != 5)
		sleep_us(100);
	CHECK_EQ(coro_scheduler_functions(s, list, 4), 1);
	CHECK_EQ(of(s, waits_there).live, 5);
	for (int i = 0; i < 5; i++)
		CHECK_EQ(coro_wake(there[i]), CORO_OK);
	finish(s);
}

TEST(functions_of_those_that_have_not_started)
{
	coro_scheduler *s = start_with(1, 0);

	inside = leave = 0;
	spawn(s, spins_before, NULL, 0);
	sleep_until_seen(&inside, 1);
	CHECK_EQ(of(s, spins_before).live, 1);
	CHECK_EQ(of(s, spins_before).unstarted, 0);
	CHECK_EQ(of(s, is_like_one).live, 9);
	CHECK_EQ(of(s, is_like_one).unstarted, 9);
	CHECK_EQ(of(s, is_child).unstarted, 1);
	add_one(&leave);
	until_waiting(s, 10);
	CHECK_EQ(of(s, is_like_one).live, 9);
	CHECK_EQ(of(s, is_like_one).unstarted, 0);
	CHECK_EQ(coro_sem_release(&children, 10), CORO_OK);
	CHECK_EQ(coro_detach(here[0]), CORO_OK);
	CHECK_EQ(coro_scheduler_close(s, 0), CORO_OK);
	CHECK_EQ(coro_scheduler_functions(s, &(coro_function_count){0}, 1), 0);
	coro_scheduler_destroy(s);
}
