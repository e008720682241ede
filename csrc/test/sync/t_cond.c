/*
 * t_cond.c - conditions: threads and coroutines wait for each other.
 */
#include "test.h"

#include <string.h>

static coro_mutex mutex;
static coro_cond cond;
static uint64_t done;

/* ----------------------------------------------------------------------------- a bounded buffer */

static coro_once once;
static coro_latch latch;
static uint64_t begun, total;

static void happens(void *arg)
{
	add_one(arg);
	coro_sleep(MS); /* EPERM in a thread, which is no matter */
	total = 1;
}

static uint64_t room, taken;
enum { ROOM = 4 };

/* A bounded buffer of nothing: makers and takers wait for each other at a condition. */
static void makes_or_takes(void *arg, void *result)
{
	uint64_t n;
	bool makes;
	(void)result;

	memcpy(&n, arg, 8);
	makes = n & 1;
	CHECK_EQ(coro_once_do(&once, happens, &begun, CORO_FOREVER), CORO_OK);
	CHECK_EQ(total, 1);
	for (n >>= 1; n; n--) {
		CHECK_EQ(coro_mutex_lock(&mutex, CORO_FOREVER), CORO_OK);
		while (makes ? room == ROOM : room == 0)
			CHECK_EQ(coro_cond_wait(&cond, &mutex, CORO_FOREVER), CORO_OK);
		room += makes ? 1 : (uint64_t)-1;
		taken += !makes;
		CHECK_EQ(coro_cond_broadcast(&cond), CORO_OK);
		CHECK_EQ(coro_mutex_unlock(&mutex), CORO_OK);
	}
	CHECK_EQ(coro_latch_add(&latch, -1), CORO_OK);
	CHECK_EQ(coro_latch_wait(&latch, CORO_FOREVER), CORO_OK);
	CHECK_EQ(room, 0);
	add_one(&done);
}

static void *makes_or_takes_as_thread(void *arg)
{
	makes_or_takes(arg, NULL);
	return NULL;
}

TEST(sync_threads_and_coroutines_wait_for_each_other)
{
	for (uint32_t workers = 1; workers <= 3; workers++) {
		coro_scheduler *s = start_with(workers, 0);
		uint64_t n = scaled(1000), what[4];
		pthread_t t[4];
		memset(&once, 0, sizeof once);
		done = total = begun = taken = 0;
		CHECK_EQ(coro_latch_init(&latch, 12, 0), CORO_OK);
		for (uint64_t i = 0; i < 4; i++) {
			what[i] = n << 1 | (i & 1);
			thread_start(&t[i], makes_or_takes_as_thread, &what[i]);
		}
		for (uint64_t i = 0; i < 8; i++)
			spawn(s, makes_or_takes, &what[i & 1], 8);
		for (int i = 0; i < 4; i++)
			thread_join(t[i]);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(done, 12);
		CHECK_EQ(begun, 1);
		CHECK_EQ(taken, 6 * n);
		finish(s);
	}
}

/* ------------------------------------------------------------------------- a mutex that is gone */

static void waits_without_a_mutex(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_mutex_lock(&mutex, CORO_FOREVER), CORO_OK);
	CHECK_EQ(coro_cond_wait(&cond, &mutex, CORO_FOREVER), CORO_EINVAL);
	CHECK_EQ(coro_mutex_unlock(&mutex), CORO_EINVAL);
	add_one(&done);
}

/* The mutex is destroyed while a waiter at the condition has given it back: there is no mutex to
 * lock again. */
TEST(waits_at_a_condition_whose_mutex_is_destroyed)
{
	coro_scheduler *s = start_with(1, 0);

	CHECK_EQ(coro_mutex_init(&mutex, 0), CORO_OK);
	CHECK_EQ(coro_cond_init(&cond, 0), CORO_OK);
	spawn(s, waits_without_a_mutex, NULL, 0);
	until_waiting(s, 1);
	CHECK_EQ(coro_mutex_destroy(&mutex), CORO_OK);
	CHECK_EQ(coro_cond_signal(&cond), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(seen(&done), 1);
	CHECK_EQ(coro_cond_destroy(&cond), CORO_OK);
	finish(s);
}
