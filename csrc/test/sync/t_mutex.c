/*
 * t_mutex.c - mutexes: one at a time is inside, coroutine or thread.
 */
#include "test.h"

#include <string.h>

static coro_mutex mutex;
static uint64_t inside, total;

static void increments(void *arg, void *result)
{
	uint64_t n;
	(void)result;

	memcpy(&n, arg, 8);
	for (uint64_t i = 0; i < n; i++) {
		CHECK_EQ(coro_mutex_lock(&mutex, CORO_FOREVER), CORO_OK);
		CHECK_EQ(inside++, 0);
		total++;
		if (i % 16 == 0)
			coro_yield();
		CHECK_EQ(--inside, 0);
		CHECK_EQ(coro_mutex_unlock(&mutex), CORO_OK);
	}
}

static void *increments_as_thread(void *arg)
{
	increments(arg, NULL);
	return NULL;
}

TEST(sync_mutex_excludes_coroutines_and_threads)
{
	coro_scheduler *s = start_with(3, 0);
	uint64_t n = scaled(20000);
	pthread_t t[2];

	for (int i = 0; i < 16; i++)
		spawn(s, increments, &n, 8);
	for (int i = 0; i < 2; i++)
		thread_start(&t[i], increments_as_thread, &n);
	for (int i = 0; i < 2; i++)
		thread_join(t[i]);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(total, 18 * n);
	CHECK_EQ(coro_mutex_destroy(&mutex), CORO_OK);
	CHECK_EQ(coro_mutex_lock(&mutex, 0), CORO_EINVAL);
	finish(s);
}
