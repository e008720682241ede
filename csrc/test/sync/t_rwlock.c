/*
 * t_rwlock.c - reader-writer locks: a writer that stops waiting lets the readers behind it in.
 */
#include "test.h"

#include <string.h>

static coro_rwlock rwlock;
static coro_latch latch;
static uint64_t done, total;

static void reads_together(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_rwlock_read(&rwlock, CORO_FOREVER), CORO_OK);
	CHECK_EQ(coro_latch_add(&latch, -1), CORO_OK);
	CHECK_EQ(coro_latch_wait(&latch, CORO_FOREVER), CORO_OK); /* until all are in */
	CHECK_EQ(coro_rwlock_unlock(&rwlock), CORO_OK);
	add_one(&done);
}

static void writes_if_in_time(void *arg, void *result)
{
	uint64_t ns;
	(void)result;

	memcpy(&ns, arg, 8);
	int status = coro_rwlock_write(&rwlock, ns ? coro_now() + ns : CORO_FOREVER);
	CHECK(status == CORO_ETIMEDOUT || status == CORO_ECANCELED);
	add_one(&total);
}

/* A writer that is canceled, or times out, lets the readers behind it in. */
TEST(sync_writer_that_leaves_makes_way)
{
	coro_scheduler *s = start_with(2, 0);

	for (int late = 0; late < 2; late++) {
		uint64_t ns = late ? 50 * MS : 0;
		coro_handle writer;
		done = total = 0;
		CHECK_EQ(coro_latch_init(&latch, 10, 0), CORO_OK);
		CHECK_EQ(coro_rwlock_read(&rwlock, 0), CORO_OK);
		CHECK_EQ(coro_scheduler_spawn(s, NULL, writes_if_in_time, &ns, 8, &writer),
			 CORO_OK);
		if (!late)
			until_waiting(s, 1);
		for (int i = 0; i < 10; i++)
			spawn(s, reads_together, NULL, 0);
		if (!late) {
			until_waiting(s, 11);
			CHECK_EQ(coro_rwlock_read(&rwlock, 0), CORO_ETIMEDOUT);
			CHECK_EQ(coro_cancel(writer), CORO_OK);
		}
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(done, 10);
		CHECK_EQ(total, 1);
		CHECK_EQ(coro_rwlock_unlock(&rwlock), CORO_OK);
		CHECK_EQ(coro_rwlock_write(&rwlock, 0), CORO_OK);
		CHECK_EQ(coro_rwlock_unlock(&rwlock), CORO_OK);
	}
	finish(s);
}
