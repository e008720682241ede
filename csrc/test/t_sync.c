/*
 * t_sync.c - semaphores, mutexes, reader-writer locks, conditions, latches and once.
 */
#include "test.h"

#include <string.h>

#define MS UINT64_C(1000000)

static uint64_t done;

static void add(uint64_t *n)
{
	__atomic_add_fetch(n, 1, __ATOMIC_RELAXED);
}

/* ------------------------------------------------------------------------ a strict ring of semaphores */

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
		CHECK_EQ(r->at % RING, i); /* one token: nobody else writes */
		r->at++;
		CHECK_EQ(coro_sem_release(&r->sem[(i + 1) % RING], 1), CORO_OK);
	}
	add(&done);
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
	report("%u workers, %s: %.1f ns a hand-over", workers, home ? "home" : "shared", (double)(now_ns() - began) / (double)(r->rounds * RING));
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

/* ----------------------------------------------------------------------------------- exclusion */

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
