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

/* ---------------------------------------------------------------------- writers that have ended */

static void writes_and_ends(void *arg, void *result)
{
	(void)arg;
	(void)result;
	int status = coro_rwlock_write(&rwlock, CORO_FOREVER);
	CHECK(status == CORO_OK || status == CORO_EOWNERDEAD);
	CHECK_EQ(coro_park(), CORO_OK);
}

static coro_handle writer_waits(coro_scheduler *s)
{
	coro_handle writer;

	CHECK_EQ(coro_scheduler_spawn(s, NULL, writes_and_ends, NULL, 0, &writer), CORO_OK);
	until_waiting(s, 1);
	return writer;
}

static void writer_ends(coro_scheduler *s)
{
	CHECK_EQ(coro_wake(writer_waits(s)), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
}

static void gets_told(void *arg, void *result)
{
	int write;
	(void)result;

	memcpy(&write, arg, sizeof write);
	CHECK_EQ(write ? coro_rwlock_write(&rwlock, CORO_FOREVER)
		       : coro_rwlock_read(&rwlock, CORO_FOREVER),
		 CORO_EOWNERDEAD);
	if (write)
		CHECK_EQ(coro_rwlock_consistent(&rwlock), CORO_OK);
	CHECK_EQ(coro_rwlock_unlock(&rwlock), CORO_OK);
	add_one(&done);
}

TEST(sync_rwlock_tells_that_a_writer_has_ended)
{
	coro_scheduler *s = start_with(2, 0);

	memset(&rwlock, 0, sizeof rwlock);
	CHECK_EQ(coro_rwlock_consistent(&rwlock), CORO_EPERM);
	CHECK_EQ(coro_rwlock_consistent(NULL), CORO_EINVAL);
	writer_ends(s);
	CHECK_EQ(coro_rwlock_unlock(&rwlock), CORO_EPERM);
	/* readers are told as long as no writer has repaired it */
	CHECK_EQ(coro_rwlock_read(&rwlock, 0), CORO_EOWNERDEAD);
	CHECK_EQ(coro_rwlock_consistent(&rwlock), CORO_EPERM);
	CHECK_EQ(coro_rwlock_unlock(&rwlock), CORO_OK);
	CHECK_EQ(coro_rwlock_read(&rwlock, 0), CORO_EOWNERDEAD);
	CHECK_EQ(coro_rwlock_unlock(&rwlock), CORO_OK);
	CHECK_EQ(coro_rwlock_write(&rwlock, 0), CORO_EOWNERDEAD);
	CHECK_EQ(coro_rwlock_write(&rwlock, 0), CORO_EDEADLK);
	CHECK_EQ(coro_rwlock_consistent(&rwlock), CORO_OK);
	CHECK_EQ(coro_rwlock_unlock(&rwlock), CORO_OK);
	CHECK_EQ(coro_rwlock_read(&rwlock, 0), CORO_OK);
	CHECK_EQ(coro_rwlock_unlock(&rwlock), CORO_OK);

	/* those that wait are told at once: nobody has to come */
	done = 0;
	coro_handle writer = writer_waits(s);
	for (int i = 0; i < 4; i++) {
		int write = i == 2;
		spawn(s, gets_told, &write, sizeof write);
		until_waiting(s, 2 + (uint32_t)i);
		if (write) /* the last comes after the repair */
			break;
	}
	CHECK_EQ(coro_wake(writer), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(done, 3);

	/* a writer that repairs nothing loses it */
	writer_ends(s);
	CHECK_EQ(coro_rwlock_write(&rwlock, 0), CORO_EOWNERDEAD);
	CHECK_EQ(coro_rwlock_unlock(&rwlock), CORO_OK);
	CHECK_EQ(coro_rwlock_read(&rwlock, CORO_FOREVER), CORO_ENOTRECOVERABLE);
	CHECK_EQ(coro_rwlock_write(&rwlock, CORO_FOREVER), CORO_ENOTRECOVERABLE);
	CHECK_EQ(coro_rwlock_unlock(&rwlock), CORO_EPERM);
	CHECK_EQ(coro_rwlock_destroy(&rwlock), CORO_OK);

	memset(&rwlock, 0, sizeof rwlock);
	writer_ends(s);
	CHECK_EQ(coro_rwlock_destroy(&rwlock), CORO_OK);
	finish(s);
}
