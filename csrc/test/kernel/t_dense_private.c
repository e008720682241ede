/*
 * t_dense_private.c - dense coroutines with large frames, and dense coroutines that call on a
 * deeper stack: they keep a stack of their own, and the shared stack gets another one.
 */
#include "dense_bodies.h"

#include <string.h>
#include <unistd.h>

static uint64_t arrived;

/* --------------------------------------------------------------------------------- large frames */

/* A plain coroutine may have an object on its stack, even on a stack that dense ones have
 * shared. */
static void is_plain(void *arg, void *result)
{
	coro_sem mine;
	(void)arg;
	(void)result;

	CHECK_EQ(coro_sem_init(&mine, 1, 0), CORO_OK);
	CHECK_EQ(coro_sem_acquire(&mine, CORO_FOREVER), CORO_OK);
	CHECK_EQ(coro_yield(), CORO_OK);
	CHECK_EQ(coro_sem_destroy(&mine), CORO_OK);
	add_one(&arrived);
}

/* By its end its stack has become private, and the coroutines that it has spawned run there. */
static void ends_before_plain_ones(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (unsigned i = 0; i < 50; i++)
		CHECK_EQ(pattern_across(1500, i, coro_yield), CORO_OK);
	for (unsigned i = 0; i < 10; i++) /* no other coroutine is left */
		CHECK_EQ(coro_spawn(is_plain, NULL, 0), CORO_OK);
}

/* From inside, so that all of them are there. */
static void starts_one_of_them(void *arg, void *result)
{
	uint64_t n = 0;
	(void)arg;
	(void)result;

	CHECK_EQ(coro_spawn_attr(&dense_attr, ends_before_plain_ones, &n, 8, NULL), CORO_OK);
	for (; n < 3; n++)
		CHECK_EQ(coro_spawn_attr(&dense_attr, dense_yields, &n, 8, NULL), CORO_OK);
}

TEST(dense_stack_becomes_a_plain_one)
{
	coro_scheduler *s = dense_start(1, 2, 16 << 10);

	arrived = dense_done = 0;
	CHECK_EQ(coro_scheduler_spawn(s, NULL, starts_one_of_them, NULL, 0, NULL), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(seen(&arrived), 10);
	CHECK(stats(s).dense_private > 0);
	finish(s);
}

static void starts_large_ones(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (uint64_t i = 0; i < 64; i++)
		CHECK_EQ(coro_spawn_attr(&dense_attr, dense_large, &i, 8, NULL), CORO_OK);
}

TEST(dense_large_frames_keep_their_stack)
{
	coro_scheduler *s = dense_start(1, 4, 16 << 10);

	dense_done = 0;
	CHECK_EQ(coro_scheduler_spawn(s, NULL, starts_large_ones, NULL, 0, NULL), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(seen(&dense_done), 64);
	CHECK(stats(s).dense_private > 0);
	finish(s);
}

/* ------------------------------------------------------ what a private stack leaves in the heap */

/* A coroutine with a private stack is not in a shared one, but what it waits with lies in the heap:
 * a trim leaves the heap alone. */
static coro_chan *ways[3];

static int waits_for_one(void)
{
	uint64_t got[2] = {0, 0};

	for (unsigned i = 0; i < 2; i++) {
		CHECK_EQ(coro_chan_recv(ways[0], &got[i], CORO_FOREVER), CORO_OK);
		coro_case both[2] = {{.chan = ways[1], .recv = &got[i]},
				     {.chan = ways[2], .recv = &got[i]}};
		CHECK_EQ(coro_select(both, 2, CORO_FOREVER), i);
		CHECK_EQ(got[i], 1000 + i);
	}
	add_one(&dense_done);
	return CORO_OK;
}

static void keeps_its_stack(void *arg, void *result)
{
	uint64_t id;
	(void)result;

	memcpy(&id, arg, 8);
	CHECK_EQ(pattern_across(1500, id, waits_for_one), CORO_OK);
}

static void starts_one_that_keeps_its_stack(void *arg, void *result)
{
	uint64_t n = 0;
	(void)arg;
	(void)result;

	CHECK_EQ(coro_spawn_attr(&dense_attr, keeps_its_stack, &n, 8, NULL), CORO_OK);
	for (; n < 4; n++)
		CHECK_EQ(coro_spawn_attr(&dense_attr, dense_yields, &n, 8, NULL), CORO_OK);
}

/* trim_and_send - the only coroutine waits; trim, and send to it. */
static void trim_and_send(coro_scheduler *s, unsigned way, uint64_t value)
{
	while (coro_scheduler_blocked(s, NULL, 0) != 1 || stats(s).live != 1)
		usleep(100);
	coro_scheduler_trim(s);
	CHECK_EQ(coro_chan_send(ways[way], &value, CORO_FOREVER), CORO_OK);
}

TEST(dense_trim_spares_one_that_keeps_its_stack)
{
	for (unsigned round = 0; round < 5; round++) {
		coro_scheduler *s = dense_start(1, 2, 16 << 10);
		dense_done = 0;
		for (unsigned i = 0; i < 3; i++)
			CHECK_EQ(coro_chan_new(&ways[i], 8, 0, 0), CORO_OK);
		CHECK_EQ(coro_scheduler_spawn(s, NULL, starts_one_that_keeps_its_stack, NULL, 0,
					      NULL),
			 CORO_OK);
		for (unsigned i = 0; i < 2; i++) {
			trim_and_send(s, 0, 7);
			trim_and_send(s, 1 + i, 1000 + i);
		}
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(seen(&dense_done), 4 + 1);
		CHECK_EQ(stats(s).dense_private, 1);
		CHECK(stats(s).dense_bytes > 0);
		coro_scheduler_trim(s);
		CHECK_EQ(stats(s).dense_bytes, 0); /* the coroutine has ended */
		finish(s);
		for (unsigned i = 0; i < 3; i++)
			CHECK_EQ(coro_chan_free(ways[i]), CORO_OK);
	}
}

/* -------------------------------------------------------------------------------- deeper stacks */

static void deeper(void *arg)
{
	uint64_t *caller = arg; /* on the shared stack */
	uint64_t before = *caller;

	CHECK_EQ(pattern_across(4000, before, coro_yield), CORO_OK);
	CHECK_EQ(*caller, before);
	*caller = before + 1;
}

static void calls_deep(void *arg, void *result)
{
	uint64_t id, mine;
	(void)result;

	memcpy(&id, arg, 8);
	mine = id;
	for (unsigned i = 0; i < 5; i++) {
		CHECK_EQ(coro_call_on_stack(64 << 10, deeper, &mine), CORO_OK);
		CHECK_EQ(mine, ++id);
		CHECK_EQ(pattern_across(12, id, coro_yield), CORO_OK);
	}
	add_one(&dense_done);
}

TEST(dense_deep_calls_wait)
{
	coro_scheduler *s = dense_start(2, 2, 0);

	dense_done = 0;
	for (uint64_t i = 0; i < 50; i++)
		dense_spawn(s, calls_deep, 100 * i);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(seen(&dense_done), 50);
	finish(s);
}

static void exits_deep(void *arg)
{
	(void)arg;
	CHECK_EQ(pattern_across(100, 7, coro_yield), CORO_OK);
	coro_exit();
}

static void ends_deep(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_defer(dense_deferred, NULL), CORO_OK);
	coro_call_on_stack(64 << 10, exits_deep, NULL);
	CHECK(false);
}

TEST(dense_exit_from_a_deep_call)
{
	coro_scheduler *s = dense_start(1, 2, 0);

	dense_done = 0;
	for (uint64_t i = 0; i < 50; i++)
		dense_spawn(s, i & 1 ? ends_deep : calls_deep, 100 * i);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(seen(&dense_done), 50);
	finish(s);
}

static void is_not_called(void *arg)
{
	(void)arg;
	CHECK(!"called with a place that others do not see");
}

/* During a call on a deeper stack, what lies on the shared stack is hidden. What lies on the deeper
 * one is not. */
static void gives_away(void *arg)
{
	coro_sem on_top;
	coro_sem *below = arg;

	CHECK_EQ(coro_blocking(is_not_called, below), CORO_EINVAL);
	CHECK_EQ(coro_sem_acquire(below, CORO_FOREVER), CORO_EINVAL);
	CHECK_EQ(coro_sem_init(&on_top, 0, 0), CORO_OK);
	CHECK_EQ(coro_sem_acquire(&on_top, coro_now() + 1000), CORO_ETIMEDOUT);
	CHECK_EQ(coro_sem_destroy(&on_top), CORO_OK);
}

static void gives_away_deep(void *arg, void *result)
{
	coro_sem sem;
	(void)arg;
	(void)result;

	memset(&sem, 0, sizeof sem);
	CHECK_EQ(coro_call_on_stack(64 << 10, gives_away, &sem), CORO_OK);
	add_one(&dense_done);
}

TEST(waits_of_dense_ones_on_a_deeper_stack)
{
	dense_done = 0;
	run_alone(dense_start(1, 2, 0), &dense_attr, gives_away_deep);
	CHECK_EQ(seen(&dense_done), 1);
}
