/*
 * t_threads.c - a thread for a call that blocks is refused, and something else happens meanwhile:
 * no call is forgotten.
 */
#include "layer.h"

#include "../test.h"

#include <errno.h>

static uint64_t begun, called, returned;
static int statuses[2];

static void blocks_for_a_while(void *arg)
{
	sleep_us(*(unsigned *)arg);
	add_one(&called);
}

static void calls(void *arg, void *result)
{
	uint64_t me = *(uint64_t *)arg;
	unsigned us = 3000;

	(void)result;
	add_one(&begun);
	statuses[me] = coro_blocking(blocks_for_a_while, &us);
	add_one(&returned);
}

static coro_scheduler *start_blocking(uint32_t workers, uint32_t threads)
{
	coro_options o = options(workers, 0);

	o.blocking_threads = threads;
	begun = called = returned = 0;
	return start(&o);
}

static void until_first_is_idle(void)
{
	sleep_until_seen(&called, 1);
	sleep_us(10000);
}

/* The second call is refused a thread. By then the first thread has nothing to do, and makes it. */
TEST(threads_idle_meanwhile)
{
	coro_scheduler *s = start_blocking(1, 0);

	fault_meanwhile = until_first_is_idle;
	fault_set(FAULT_THREAD, 1, 1, EAGAIN);
	for (uint64_t i = 0; i < 2; i++)
		spawn(s, calls, &i, sizeof i);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(fault_clear(), 1);
	CHECK(statuses[0] == CORO_OK && statuses[1] == CORO_OK);
	CHECK_EQ(called, 2);
	finish(s);
}

static void until_both_call(void)
{
	sleep_until_seen(&begun, 2);
	sleep_us(10000);
}

/* both_are_refused - there may be one thread. While it is being refused to the first of two
 * coroutines, the second queues for it. */
static void both_are_refused(coro_fn fn)
{
	coro_scheduler *s = start_blocking(2, 1);

	fault_meanwhile = until_both_call;
	fault_set(FAULT_THREAD, 0, FAULT_ALL, EAGAIN);
	for (uint64_t i = 0; i < 2; i++) {
		coro_attr there = on((uint32_t)i + 1);
		CHECK_EQ(coro_scheduler_spawn(s, &there, fn, &i, sizeof i, NULL), CORO_OK);
	}
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(fault_clear(), 1);
	CHECK(statuses[0] == CORO_EAGAIN && statuses[1] == CORO_EAGAIN);
	CHECK_EQ(returned, 2);
	finish(s);
}

TEST(threads_refused_while_calls_queue)
{
	both_are_refused(calls);
	CHECK_EQ(called, 0);
}

static void rides(void *arg, void *result)
{
	uint64_t me = *(uint64_t *)arg;

	(void)result;
	add_one(&begun);
	statuses[me] = coro_thread_begin();
	CHECK_EQ(coro_thread_end(), CORO_EPERM);
	CHECK_EQ(coro_yield(), CORO_OK);
	add_one(&returned);
}

/* The same for coroutines that are to go on on such a thread. */
TEST(threads_refused_while_riders_queue)
{
	both_are_refused(rides);
}
