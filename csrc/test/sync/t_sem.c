/*
 * t_sem.c - semaphores: permits are passed on, first come first served.
 */
#include "test.h"

#include <string.h>

static uint64_t done;

/* -------------------------------------------------------------------------------- a strict ring */

enum { RING = 8 };

struct ring {
	coro_sem sem[RING];
	uint64_t rounds, at;
	uint32_t next, home;
};

static struct ring rings[4];

static void member(void *arg, void *result)
{
	struct ring *r;
	(void)result;

	memcpy(&r, arg, 8);
	uint32_t i = __atomic_fetch_add(&r->next, 1, __ATOMIC_RELAXED);
	for (uint64_t k = 0; k < r->rounds; k++) {
		CHECK_EQ(coro_sem_acquire(&r->sem[i], CORO_FOREVER), CORO_OK);
		CHECK_EQ(r->at % RING, i); /* one permit: nobody else writes */
		r->at++;
		CHECK_EQ(coro_sem_release(&r->sem[(i + 1) % RING], 1), CORO_OK);
	}
	add_one(&done);
}

static void starts_ring(void *arg, void *result)
{
	struct ring *r;
	(void)result;

	memcpy(&r, arg, 8);
	coro_attr here = {.size = sizeof here, .worker = r->home ? CORO_HERE : 0};
	for (int i = 0; i < RING; i++) {
		CHECK_EQ(coro_sem_init(&r->sem[i], i == 0, r->home ? CORO_HOME : 0), CORO_OK);
	}
	for (int i = 0; i < RING; i++)
		CHECK_EQ(coro_spawn_attr(&here, member, arg, 8, NULL), CORO_OK);
}

static void ring(uint32_t workers, uint32_t home)
{
	coro_scheduler *s = start_with(workers, CORO_PAUSED);
	struct ring *r = &rings[0];

	memset(r, 0, sizeof *r);
	r->rounds = scaled(20000);
	r->home = home;
	done = 0;
	coro_attr a = {.size = sizeof a, .worker = home ? 1 : 0};
	CHECK_EQ(coro_scheduler_spawn(s, &a, starts_ring, &r, 8, NULL), CORO_OK);
	uint64_t began = now_ns();
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	report("%u workers, %s: %.1f ns a hand-over", workers, home ? "home" : "shared",
	       (double)(now_ns() - began) / (double)(r->rounds * RING));
	CHECK_EQ(done, RING);
	CHECK_EQ(r->at, r->rounds * RING);
	finish(s);
}

TEST(sync_ring_of_semaphores)
{
	for (uint32_t workers = 1; workers <= 3; workers++) {
		ring(workers, 0);
		ring(workers, 1);
	}
}

/* ---------------------------------------------------------------------- first come first served */

static coro_sem sem;

static uint32_t order[32], served;

static void waits_in_turn(void *arg, void *result)
{
	uint64_t i;
	(void)result;

	memcpy(&i, arg, 8);
	/* Every third gives up. */
	int status = coro_sem_acquire(&sem, i % 3 == 2 ? coro_now() + MS : CORO_FOREVER);
	CHECK_EQ(status, i % 3 == 2 ? CORO_ETIMEDOUT : CORO_OK);
	if (!status)
		order[served++] = (uint32_t)i;
}

static void releases_in_turn(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_sleep(50 * MS), CORO_OK);
	for (uint32_t i = 0; i < 20; i++) {
		CHECK_EQ(served, i);
		CHECK_EQ(coro_sem_release(&sem, 1), CORO_OK);
		/* the permit is committed to a waiter */
		CHECK_EQ(coro_sem_acquire(&sem, 0), CORO_ETIMEDOUT);
		coro_yield();
	}
}

TEST(sync_first_come_first_served)
{
	coro_scheduler *s = start_with(1, CORO_PAUSED);

	for (uint64_t i = 0; i < 30; i++)
		spawn(s, waits_in_turn, &i, 8);
	spawn(s, releases_in_turn, NULL, 0);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(served, 20);
	for (uint32_t i = 1; i < 20; i++)
		CHECK(order[i] > order[i - 1]);
	finish(s);
}

/* --------------------------------------------------------------------- a semaphore that is gone */

/* The permit comes before the canceled waiter runs, and the semaphore is gone by then: the
 * semaphore was acquired. */
static coro_sem sem;
static coro_handle canceled;

static void acquires(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_sem_acquire(&sem, CORO_FOREVER), CORO_OK);
	CHECK_EQ(coro_park(), CORO_ECANCELED);
	add_one(&done);
}

static void cancels_releases_destroys(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_sem_init(&sem, 0, 0), CORO_OK);
	CHECK_EQ(coro_spawn_attr(JOINABLE(0), acquires, NULL, 0, &canceled), CORO_OK);
	CHECK_EQ(coro_yield(), CORO_OK);
	CHECK_EQ(coro_cancel(canceled), CORO_OK);
	CHECK_EQ(coro_sem_release(&sem, 1), CORO_OK);
	CHECK_EQ(coro_sem_destroy(&sem), CORO_OK);
	CHECK_EQ(coro_join(canceled, NULL, 0), CORO_ECANCELED); /* told by coro_park */
}

TEST(waits_that_end_before_their_object)
{
	done = 0;
	run_alone(start_with(1, 0), NULL, cancels_releases_destroys);
	CHECK_EQ(seen(&done), 1);
}
