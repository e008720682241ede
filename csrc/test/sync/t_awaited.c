/*
 * t_awaited.c - the end of the owner of a lock tells those that wait already, at once and in their
 * order, whatever they are and however it ends.
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

/* A mutex, or a reader-writer lock that is locked for writing. */
union lock {
	coro_mutex m;
	coro_rwlock w;
};

static bool rw; /* which it is */

static int lock(union lock *l, uint64_t deadline)
{
	return rw ? coro_rwlock_write(&l->w, deadline) : coro_mutex_lock(&l->m, deadline);
}

static int unlock(union lock *l)
{
	return rw ? coro_rwlock_unlock(&l->w) : coro_mutex_unlock(&l->m);
}

static int consistent(union lock *l)
{
	return rw ? coro_rwlock_consistent(&l->w) : coro_mutex_consistent(&l->m);
}

static int destroy(union lock *l)
{
	return rw ? coro_rwlock_destroy(&l->w) : coro_mutex_destroy(&l->m);
}

enum { RETURNS, EXITS, ABORTS, FAILS, CANCELED, DEFERS, DENSE, ENDS };
#define LOCKS 40

static union lock *locks;
static uint64_t came, told, got, locked;
static coro_handle owner;

/* An owner of n locks, which ends in that way when it is woken. */
struct owns {
	uint32_t n;
	int how;
};

static void nothing(void *arg)
{
	(void)arg;
}

static void owns(void *arg, void *result)
{
	struct owns o = *(struct owns *)arg;

	(void)result;
	for (uint32_t i = 0; i < o.n; i++)
		CHECK_EQ(lock(&locks[i], CORO_FOREVER), CORO_OK);
	if (o.how == DEFERS)
		CHECK_EQ(coro_defer(nothing, NULL), CORO_OK);
	owner = coro_self();
	add_one(&locked);
	CHECK_EQ(coro_park(), o.how == CANCELED ? CORO_ECANCELED : CORO_OK);
	if (o.how == EXITS)
		coro_exit();
	if (o.how == ABORTS)
		coro_abort();
	if (o.how == FAILS)
		coro_fail(1, "with locks");
}

static void starts_owner(coro_scheduler *s, uint32_t n, int how)
{
	struct owns o = {n, how};
	coro_attr attr = {.size = sizeof attr, .flags = how == DENSE ? CORO_DENSE : 0};

	came = told = got = locked = 0;
	CHECK_EQ(coro_scheduler_spawn(s, &attr, owns, &o, sizeof o, NULL), CORO_OK);
	sleep_until_seen(&locked, 1);
	until_waiting(s, 1);
}

static void ends_owner(int how)
{
	CHECK_EQ(how == CANCELED ? coro_cancel(owner) : coro_wake(owner), CORO_OK);
}

/* inherits - wait for a lock; the first that gets it after an end is told. */
static void inherits(union lock *l)
{
	int status = lock(l, CORO_FOREVER);

	CHECK(status == CORO_OK || status == CORO_EOWNERDEAD);
	if (status == CORO_EOWNERDEAD) {
		add_one(&told);
		CHECK_EQ(consistent(l), CORO_OK);
	}
	CHECK_EQ(unlock(l), CORO_OK);
	add_one(&got);
}

static void waits(void *arg, void *result)
{
	(void)result;
	inherits(*(union lock **)arg);
}

static void *waits_as_thread(void *l)
{
	add_one(&came);
	inherits(l);
	return NULL;
}

static void set_up(uint32_t n)
{
	locks = calloc(n, sizeof *locks);
	CHECK(locks != NULL);
}

static void tear_down(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		CHECK_EQ(destroy(&locks[i]), CORO_OK);
	free(locks);
}

/* with_both - run f with both kinds of locks, and one to three workers. */
static void with_both(void (*f)(coro_scheduler *s, int how), uint32_t n)
{
	for (int kind = 0; kind < 2; kind++)
		for (int how = 0; how < ENDS; how++) {
			coro_scheduler *s = start_with(1 + (uint32_t)how % 3, 0);
			rw = kind;
			set_up(n);
			f(s, how);
			finish(s);
			tear_down(n);
		}
}

static void several_wait(coro_scheduler *s, int how)
{
	union lock *l = locks;

	starts_owner(s, 1, how);
	for (uint32_t i = 0; i < 5; i++)
		spawn(s, waits, &l, sizeof l);
	until_waiting(s, 6);
	ends_owner(how);
	sleep_until_seen(&got, 5);
	CHECK_EQ(told, 1);
}

TEST(awaited_the_end_of_the_owner_tells_the_first)
{
	with_both(several_wait, 1);
}

/* More than the table has notes for, under one owner. */
static void owner_of_many(coro_scheduler *s, int how)
{
	starts_owner(s, LOCKS, how);
	for (uint32_t i = 0; i < 2 * LOCKS; i++) {
		union lock *l = &locks[i % LOCKS];
		spawn(s, waits, &l, sizeof l);
	}
	until_waiting(s, 1 + 2 * LOCKS);
	ends_owner(how);
	sleep_until_seen(&got, 2 * LOCKS);
	CHECK_EQ(told, LOCKS);
}

TEST(awaited_the_owner_of_many_locks)
{
	with_both(owner_of_many, LOCKS);
}

static void thread_waits(coro_scheduler *s, int how)
{
	pthread_t t;

	starts_owner(s, 1, how);
	thread_start(&t, waits_as_thread, locks);
	sleep_until_seen(&came, 1);
	sleep_us(3000); /* it waits, most likely; if not, it is told as it comes */
	ends_owner(how);
	thread_join(t);
	CHECK_EQ(told, 1);
}

TEST(awaited_a_thread_is_told)
{
	with_both(thread_waits, 1);
}

/* Each of those that wait ends with the lock. */
static void inherits_and_ends(void *arg, void *result)
{
	union lock *l = *(union lock **)arg;

	(void)result;
	CHECK_EQ(lock(l, CORO_FOREVER), CORO_EOWNERDEAD);
	add_one(&told);
	add_one(&got);
	coro_exit();
}

static void heirs_end(coro_scheduler *s, int how)
{
	union lock *l = locks;

	starts_owner(s, 1, how);
	for (uint32_t i = 0; i < 5; i++)
		spawn(s, inherits_and_ends, &l, sizeof l);
	until_waiting(s, 6);
	ends_owner(how);
	sleep_until_seen(&got, 5);
}

TEST(awaited_heirs_that_end_too)
{
	with_both(heirs_end, 1);
}

/* The lock is handed on, with others behind: it is noted under the one that has it. */
static void hands_on(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(lock(locks, CORO_FOREVER), CORO_OK);
	owner = coro_self();
	add_one(&came);
	if (seen(&came) < 3)
		CHECK_EQ(unlock(locks), CORO_OK);
	else
		CHECK_EQ(coro_park(), CORO_OK);
}

TEST(awaited_a_lock_that_was_handed_on)
{
	union lock *l;

	for (int kind = 0; kind < 2; kind++) {
		coro_scheduler *s = start_with(2, 0);
		rw = kind;
		set_up(1);
		l = locks;
		came = told = got = locked = 0;
		CHECK_EQ(lock(l, CORO_FOREVER), CORO_OK); /* this thread owns it */
		for (int i = 0; i < 3; i++) {
			spawn(s, hands_on, NULL, 0);
			until_waiting(s, (size_t)i + 1);
		}
		for (size_t i = 0; i < 2; i++) {
			spawn(s, waits, &l, sizeof l);
			until_waiting(s, 4 + i);
		}
		CHECK_EQ(unlock(l), CORO_OK);
		sleep_until_seen(&came, 3);
		until_waiting(s, 3); /* the owner, which parks, and two behind it */
		CHECK_EQ(coro_wake(owner), CORO_OK);
		sleep_until_seen(&got, 2);
		CHECK_EQ(told, 1);
		finish(s);
		tear_down(1);
	}
}

/* Readers that wait behind a writer are all told. */
static void reads(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_rwlock_read(&locks->w, CORO_FOREVER), CORO_EOWNERDEAD);
	CHECK_EQ(coro_rwlock_unlock(&locks->w), CORO_OK);
	add_one(&got);
}

TEST(awaited_readers_are_told)
{
	for (int how = 0; how < ENDS; how++) {
		coro_scheduler *s = start_with(2, 0);
		rw = true;
		set_up(1);
		starts_owner(s, 1, how);
		for (int i = 0; i < 4; i++)
			spawn(s, reads, NULL, 0);
		until_waiting(s, 5);
		ends_owner(how);
		sleep_until_seen(&got, 4);
		finish(s);
		tear_down(1);
	}
}

/* A lock of one worker. */
static void has_home(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(rw ? coro_rwlock_init(&locks->w, CORO_HOME)
		    : coro_mutex_init(&locks->m, CORO_HOME),
		 CORO_OK);
}

static void destroys(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(destroy(locks), CORO_OK);
}

TEST(awaited_a_lock_of_one_worker)
{
	const coro_attr there = on(1);

	for (int kind = 0; kind < 2; kind++)
		for (int how = 0; how < ENDS; how++) {
			coro_scheduler *s = start_with(2, 0);
			struct owns o = {1, how};
			union lock *l;
			rw = kind;
			set_up(1);
			l = locks;
			came = told = got = locked = 0;
			CHECK_EQ(coro_scheduler_spawn(s, &there, has_home, NULL, 0, NULL), CORO_OK);
			CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
			CHECK_EQ(coro_scheduler_spawn(s, &there, owns, &o, sizeof o, NULL),
				 CORO_OK);
			until_waiting(s, 1);
			for (int i = 0; i < 3; i++)
				CHECK_EQ(coro_scheduler_spawn(s, &there, waits, &l, sizeof l, NULL),
					 CORO_OK);
			until_waiting(s, 4);
			ends_owner(how);
			sleep_until_seen(&got, 3);
			CHECK_EQ(told, 1);
			CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
			CHECK_EQ(coro_scheduler_spawn(s, &there, destroys, NULL, 0, NULL), CORO_OK);
			finish(s);
			free(locks);
		}
}

/* A waiter that has left leaves no note: the memory of the lock may go before its owner ends. */
static void gives_up(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(lock(locks, coro_now() + MS), CORO_ETIMEDOUT);
	add_one(&got);
}

TEST(awaited_no_more)
{
	for (int kind = 0; kind < 2; kind++) {
		coro_scheduler *s = start_with(2, 0);
		rw = kind;
		set_up(1);
		starts_owner(s, 1, RETURNS);
		spawn(s, gives_up, NULL, 0);
		sleep_until_seen(&got, 1);
		until_waiting(s, 1);
		memset(locks, 0xff, sizeof *locks); /* nobody comes to it any more */
		ends_owner(RETURNS);
		finish(s);
		free(locks);
	}
}

/* Owners end while others come, leave and are told. */
static void storms(void *arg, void *result)
{
	uint64_t seed = *(uint64_t *)arg;

	(void)result;
	for (int i = 0; i < 20; i++) {
		union lock *l = &locks[rnd(&seed) % 4];
		bool forever = rnd(&seed) % 2;
		int status = lock(l, forever ? CORO_FOREVER : coro_now() + rnd(&seed) % 50000);
		if (status == CORO_ETIMEDOUT && !forever)
			continue;
		CHECK(status == CORO_OK || status == CORO_EOWNERDEAD);
		if (status == CORO_EOWNERDEAD)
			CHECK_EQ(consistent(l), CORO_OK);
		if (rnd(&seed) % 4 == 0)
			CHECK_EQ(coro_yield(), CORO_OK);
		if (rnd(&seed) % 8 == 0) {
			add_one(&told);
			coro_exit(); /* with the lock */
		}
		CHECK_EQ(unlock(l), CORO_OK);
	}
}

TEST(awaited_storm)
{
	for (int kind = 0; kind < 2; kind++)
		for (uint32_t workers = 1; workers <= 3; workers++) {
			coro_scheduler *s = start_with(workers, 0);
			rw = kind;
			set_up(4);
			told = 0;
			for (uint64_t i = 0; i < scaled(2000); i++) {
				uint64_t seed = i * 77 + workers;
				spawn(s, storms, &seed, sizeof seed);
			}
			finish(s); /* none is left that waits */
			CHECK(told > 0);
			tear_down(4);
		}
}
