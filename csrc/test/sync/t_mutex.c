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

/* ----------------------------------------------------------------------- owners that have ended */

static coro_mutex left; /* by its owner */
static coro_handle handles[3];
static uint64_t told;

static void locks_and_ends(void *arg, void *result)
{
	int how;
	(void)result;

	memcpy(&how, arg, sizeof how);
	int status = coro_mutex_lock(&left, CORO_FOREVER);
	CHECK(status == CORO_OK || status == CORO_EOWNERDEAD);
	if (how == 1)
		coro_exit();
	if (how == 2)
		coro_abort();
}

static void ends_with_it(coro_scheduler *s, int how)
{
	spawn(s, locks_and_ends, &how, sizeof how);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
}

static void may_not_unlock(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_mutex_unlock(&left), CORO_EPERM);
	CHECK_EQ(coro_mutex_consistent(&left), CORO_EPERM);
	add_one(&told);
}

/* However the owner ends, the next caller that locks is told, and the mutex is whole afterwards. */
TEST(sync_mutex_tells_that_its_owner_has_ended)
{
	coro_scheduler *s = start_with(1, 0);

	for (int how = 0; how < 3; how++) {
		memset(&left, 0, sizeof left);
		told = 0;
		ends_with_it(s, how);
		spawn(s, may_not_unlock, NULL, 0); /* in the record of the owner, perhaps */
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(told, 1);
		CHECK_EQ(coro_mutex_unlock(&left), CORO_EPERM);
		CHECK_EQ(coro_mutex_lock(&left, 0), CORO_EOWNERDEAD);
		CHECK_EQ(coro_mutex_lock(&left, 0), CORO_EDEADLK);
		CHECK_EQ(coro_mutex_destroy(&left), CORO_EBUSY);
		CHECK_EQ(coro_mutex_consistent(&left), CORO_OK);
		CHECK_EQ(coro_mutex_unlock(&left), CORO_OK);
		CHECK_EQ(coro_mutex_lock(&left, 0), CORO_OK);
		CHECK_EQ(coro_mutex_unlock(&left), CORO_OK);
		ends_with_it(s, how);
		ends_with_it(s, how); /* it was told, and has ended, too */
		CHECK_EQ(coro_mutex_lock(&left, 0), CORO_EOWNERDEAD);
		CHECK_EQ(coro_mutex_unlock(&left), CORO_OK);
		CHECK_EQ(coro_mutex_lock(&left, 0), CORO_ENOTRECOVERABLE);
		CHECK_EQ(coro_mutex_lock(&left, CORO_FOREVER), CORO_ENOTRECOVERABLE);
		CHECK_EQ(coro_mutex_unlock(&left), CORO_EPERM);
		CHECK_EQ(coro_mutex_consistent(&left), CORO_EPERM);
		CHECK_EQ(coro_mutex_destroy(&left), CORO_OK);
		CHECK_EQ(coro_mutex_lock(&left, 0), CORO_EINVAL);
		CHECK_EQ(coro_mutex_consistent(&left), CORO_EINVAL);
	}
	CHECK_EQ(coro_mutex_consistent(NULL), CORO_EINVAL);
	memset(&left, 0, sizeof left);
	ends_with_it(s, 0);
	CHECK_EQ(coro_mutex_destroy(&left), CORO_OK); /* nobody holds it any more */
	memset(&left, 0, sizeof left);
	ends_with_it(s, 0);
	finish(s);
	/* the owner's scheduler is gone */
	CHECK_EQ(coro_mutex_lock(&left, 0), CORO_EOWNERDEAD);
	CHECK_EQ(coro_mutex_destroy(&left), CORO_EBUSY);
}

/* One record is used again and again; no coroutine counts as the owner for another. */
TEST(sync_mutex_owner_is_never_another)
{
	coro_scheduler *s = start_with(1, 0);

	memset(&left, 0, sizeof left);
	told = 0;
	ends_with_it(s, 0);
	for (int i = 0; i < 1000; i++) {
		spawn(s, may_not_unlock, NULL, 0);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	}
	CHECK_EQ(told, 1000);
	for (int i = 0; i < 1000; i++)
		ends_with_it(s, i % 3);
	CHECK_EQ(coro_mutex_lock(&left, 0), CORO_EOWNERDEAD);
	finish(s);
}

static void *locks_in_thread(void *arg)
{
	CHECK_EQ(coro_mutex_lock(arg, 0), CORO_OK);
	return NULL;
}

static void *may_not_unlock_in_thread(void *arg)
{
	CHECK_EQ(coro_mutex_unlock(arg), CORO_EPERM);
	CHECK_EQ(coro_mutex_lock(arg, 0), CORO_ETIMEDOUT);
	return NULL;
}

/* Threads one after the other, at the same addresses, are different owners. */
TEST(sync_mutex_thread_that_ended_stays_the_owner)
{
	pthread_t t;

	memset(&left, 0, sizeof left);
	thread_start(&t, locks_in_thread, &left);
	thread_join(t);
	for (int i = 0; i < 100; i++) {
		thread_start(&t, may_not_unlock_in_thread, &left);
		thread_join(t);
	}
}

static void waits_for_it(void *arg, void *result)
{
	int want;
	(void)result;

	memcpy(&want, arg, sizeof want);
	CHECK_EQ(coro_mutex_lock(&left, CORO_FOREVER), want);
	add_one(&told);
	if (want == CORO_ENOTRECOVERABLE)
		return;
	if (want == CORO_EOWNERDEAD)
		CHECK_EQ(coro_mutex_consistent(&left), CORO_OK);
	CHECK_EQ(coro_mutex_unlock(&left), CORO_OK);
}

static void holds_until_woken(void *arg, void *result)
{
	(void)arg;
	(void)result;
	int status = coro_mutex_lock(&left, CORO_FOREVER);
	CHECK(status == CORO_OK || status == CORO_EOWNERDEAD);
	CHECK_EQ(coro_park(), CORO_OK);
	if (status == CORO_EOWNERDEAD)
		CHECK_EQ(coro_mutex_unlock(&left), CORO_OK); /* and it is lost */
}

static void holder(coro_scheduler *s)
{
	CHECK_EQ(coro_scheduler_spawn(s, NULL, holds_until_woken, NULL, 0, &handles[0]), CORO_OK);
	until_waiting(s, 1);
}

static void waiter(coro_scheduler *s, int want, uint32_t waiting)
{
	spawn(s, waits_for_it, &want, sizeof want);
	until_waiting(s, waiting);
}

/* Those that wait when the owner ends are told at once, in their order: no newcomer has to come. */
TEST(sync_mutex_tells_those_that_wait)
{
	coro_scheduler *s = start_with(2, 0);

	memset(&left, 0, sizeof left);
	told = 0;
	holder(s);
	waiter(s, CORO_EOWNERDEAD, 2);
	waiter(s, CORO_OK, 3);
	CHECK_EQ(coro_mutex_lock(&left, 0), CORO_ETIMEDOUT);
	CHECK_EQ(coro_wake(handles[0]), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(told, 2);
	CHECK_EQ(coro_mutex_lock(&left, 0), CORO_OK);
	CHECK_EQ(coro_mutex_unlock(&left), CORO_OK);

	/* not marked consistent: all that wait are told that it is lost */
	ends_with_it(s, 0);
	holder(s);
	waiter(s, CORO_ENOTRECOVERABLE, 2);
	waiter(s, CORO_ENOTRECOVERABLE, 3);
	CHECK_EQ(coro_wake(handles[0]), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(told, 4);
	finish(s);
}

static void at_home(void *arg, void *result)
{
	static coro_mutex home;
	int second;
	(void)result;

	memcpy(&second, arg, sizeof second);
	CHECK_EQ(coro_pin(0), CORO_OK);
	if (!second) {
		CHECK_EQ(coro_mutex_init(&home, CORO_HOME), CORO_OK);
		CHECK_EQ(coro_mutex_lock(&home, CORO_FOREVER), CORO_OK);
		return;
	}
	CHECK_EQ(coro_mutex_unlock(&home), CORO_EPERM);
	CHECK_EQ(coro_mutex_lock(&home, CORO_FOREVER), CORO_EOWNERDEAD);
	CHECK_EQ(coro_mutex_consistent(&home), CORO_OK);
	CHECK_EQ(coro_mutex_unlock(&home), CORO_OK);
	CHECK_EQ(coro_mutex_lock(&home, CORO_FOREVER), CORO_OK);
	CHECK_EQ(coro_mutex_unlock(&home), CORO_OK);
	CHECK_EQ(coro_mutex_destroy(&home), CORO_OK);
}

TEST(sync_mutex_at_home_tells_too)
{
	coro_scheduler *s = start_with(2, 0);

	for (int second = 0; second < 2; second++) {
		spawn(s, at_home, &second, sizeof second);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	}
	finish(s);
}

static coro_cond cond;

static void waits_at_cond(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_mutex_lock(&left, CORO_FOREVER), CORO_OK);
	CHECK_EQ(coro_cond_wait(&cond, &left, CORO_FOREVER), CORO_EOWNERDEAD);
	CHECK_EQ(coro_mutex_consistent(&left), CORO_OK);
	CHECK_EQ(coro_mutex_unlock(&left), CORO_OK);
	add_one(&told);
}

static void signals_and_ends(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_mutex_lock(&left, CORO_FOREVER), CORO_OK);
	coro_yield(); /* the other does not get it meanwhile */
	CHECK_EQ(coro_cond_signal(&cond), CORO_OK);
}

/* One worker: the signaler has ended before the waiter goes on. */
TEST(sync_cond_wait_tells_too)
{
	coro_scheduler *s = start_with(1, 0);

	memset(&left, 0, sizeof left);
	told = 0;
	spawn(s, waits_at_cond, NULL, 0);
	until_waiting(s, 1);
	spawn(s, signals_and_ends, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(told, 1);
	finish(s);
}

static uint64_t deaths, losses;

static void locks_and_may_end(void *arg, void *result)
{
	uint64_t n;
	(void)result;

	memcpy(&n, arg, 8);
	int status = coro_mutex_lock(&left, CORO_FOREVER);
	CHECK(status == CORO_OK || status == CORO_EOWNERDEAD);
	CHECK_EQ(inside++, 0);
	if (status) {
		losses++;
		CHECK_EQ(coro_mutex_consistent(&left), CORO_OK);
	}
	if (n % 3 == 0)
		coro_yield();
	CHECK_EQ(--inside, 0);
	if (n % 4 == 0)
		deaths++;
	else
		CHECK_EQ(coro_mutex_unlock(&left), CORO_OK);
	add_one(&told);
}

/* Each end with the mutex is told once, and one at a time is inside. */
TEST(sync_mutex_each_end_is_told_once)
{
	coro_scheduler *s = start_with(3, 0);
	uint64_t n = scaled(4000);

	memset(&left, 0, sizeof left);
	inside = deaths = losses = told = 0;
	for (uint64_t i = 0; i < n; i++)
		spawn(s, locks_and_may_end, &i, 8);
	while (seen(&told) != n) {
		/* what waits behind an owner that has ended is told by a caller that comes */
		int status = coro_mutex_lock(&left, 0);
		if (status == CORO_EOWNERDEAD) {
			losses++;
			CHECK_EQ(coro_mutex_consistent(&left), CORO_OK);
		}
		if (status != CORO_ETIMEDOUT)
			CHECK_EQ(coro_mutex_unlock(&left), CORO_OK);
		sleep_us(20);
	}
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	if (coro_mutex_lock(&left, 0) == CORO_EOWNERDEAD)
		losses++;
	CHECK_EQ(deaths, n / 4 + (n % 4 != 0));
	CHECK_EQ(losses, deaths);
	finish(s);
}

/* Owners that end just after they have unlocked have left nothing. */

static coro_mutex brief;
static uint64_t relays_left;

static void unlocks_and_ends(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_mutex_lock(&brief, CORO_FOREVER), CORO_OK);
	CHECK_EQ(inside++, 0);
	CHECK_EQ(--inside, 0);
	CHECK_EQ(coro_mutex_unlock(&brief), CORO_OK);
	if ((int64_t)__atomic_fetch_sub(&relays_left, 1, __ATOMIC_SEQ_CST) > 0)
		CHECK_EQ(coro_spawn(unlocks_and_ends, NULL, 0), CORO_OK);
}

static void *locks_beside(void *arg)
{
	(void)arg;
	while ((int64_t)__atomic_load_n(&relays_left, __ATOMIC_SEQ_CST) > 0) {
		int status = coro_mutex_lock(&brief, 0); /* no waiter: owners unlock in one step */
		CHECK(status == CORO_OK || status == CORO_ETIMEDOUT);
		if (status)
			continue;
		CHECK_EQ(inside++, 0);
		CHECK_EQ(--inside, 0);
		CHECK_EQ(coro_mutex_unlock(&brief), CORO_OK);
	}
	return NULL;
}

TEST(sync_mutex_was_unlocked_before_the_end)
{
	coro_scheduler *s = start_with(2, 0);
	pthread_t threads[2];

	relays_left = scaled(1000000);
	CHECK_EQ(coro_mutex_init(&brief, 0), CORO_OK);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(coro_scheduler_spawn(s, NULL, unlocks_and_ends, NULL, 0, NULL), CORO_OK);
	for (int i = 0; i < 2; i++)
		thread_start(&threads[i], locks_beside, NULL);
	for (int i = 0; i < 2; i++)
		thread_join(threads[i]);
	finish(s);
	CHECK_EQ(coro_mutex_destroy(&brief), CORO_OK);
}
