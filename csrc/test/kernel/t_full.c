/*
 * t_full.c - full queues in use: they grow, they cannot grow for want of memory, they are very
 * large.
 */
#include "test.h"

#include "kernel/deque.h"
#include "kernel/spawn.h"
#include "kernel/wait.h"

#define RING 256 /* what a queue has room for at first */

static uint64_t done, stop;
static coro_sem sem, second;

static struct coroi_deque *queue(void)
{
	return &coroi_self()->queue;
}

static void until_all(uint64_t n)
{
	while (seen(&done) < n)
		CHECK_EQ(coro_yield(), CORO_OK);
}

/* ----------------------------------------------------------------------------- queues that grow */

enum { AT_A_SEMAPHORE, AT_HOME, PARKED, KINDS };

static unsigned kind;

static void waits(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(kind == PARKED ? coro_park() : coro_sem_acquire(&sem, CORO_FOREVER), CORO_OK);
	add_one(&done);
}

/* Each woken coroutine displaces the one before, which goes to the back of a queue that is full at
 * times. */
static void wakes_many(void *arg, void *result)
{
	static coro_handle waiting[3 * RING];
	coro_attr here = on(CORO_HERE);
	(void)arg;
	(void)result;

	done = 0;
	CHECK_EQ(coro_sem_init(&sem, 0, kind == AT_HOME ? CORO_HOME : 0), CORO_OK);
	for (int i = 0; i < 3 * RING; i++) {
		CHECK_EQ(coro_spawn_attr(&here, waits, NULL, 0, &waiting[i]), CORO_OK);
		CHECK_EQ(coro_yield(), CORO_OK); /* the child waits */
	}
	CHECK_EQ(coroi_deque_length(queue()), 0);
	CHECK_EQ(queue()->mask + 1, RING);
	for (int i = 0; i < 3 * RING; i++)
		CHECK_EQ(kind == PARKED ? coro_wake(waiting[i]) : coro_sem_release(&sem, 1),
			 CORO_OK);
	CHECK_EQ(coroi_deque_length(queue()), 3 * RING - 1);
	until_all(3 * RING);
	CHECK_EQ(coro_sem_destroy(&sem), CORO_OK);
}

TEST(full_queues_grow_while_many_are_woken)
{
	for (kind = 0; kind < KINDS; kind++) {
		coro_scheduler *s = start_with(1, 0);
		coro_attr first = on(1);
		CHECK_EQ(coro_scheduler_spawn(s, &first, wakes_many, NULL, 0, NULL), CORO_OK);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(done, 3 * RING);
		finish(s);
	}
}

static void counts(void *arg, void *result)
{
	(void)arg;
	(void)result;
	add_one(&done);
}

/* From 2 MiB on a queue lies on large pages, if there are any. */
static void spawns_very_many(void *arg, void *result)
{
	uint64_t n = *(uint64_t *)arg;
	(void)result;

	done = 0;
	for (uint64_t i = 0; i < n; i++)
		spawn_in(counts, NULL, 0);
	CHECK(queue()->mask + 1 >= 128 << 10);
	until_all(n);
}

TEST(full_queues_grow_very_large)
{
	coro_scheduler *s = start_with(1, 0);
	uint64_t n = 70000;

	spawn(s, spawns_very_many, &n, sizeof n);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(done, n);
	finish(s);
}

/* ---------------------------------------------------------------------- queues that cannot grow */

static void yields(void *arg, void *result)
{
	(void)arg;
	(void)result;
	while (!seen(&stop))
		CHECK_EQ(coro_yield(), CORO_OK);
	add_one(&done);
}

/* The queue has room for one more; all in it have run before. */
static void fill(void)
{
	done = stop = 0;
	for (int i = 0; i < RING - 1; i++)
		spawn_in(yields, NULL, 0);
	CHECK_EQ(coro_yield(), CORO_OK);
	CHECK_EQ(queue()->count, RING - 1);
	CHECK_EQ(queue()->mask + 1, RING);
}

/* overflow - from now on, what is woken does not fit, and goes to the spill in its turn. */
static void overflow(void)
{
	fail_alloc = 0;
}

static void waits_twice(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_sem_acquire(&sem, CORO_FOREVER), CORO_OK);
	/* the queue's `next` is empty now, and some are in the spill */
	CHECK_EQ(coro_sem_acquire(&second, CORO_FOREVER), CORO_OK);
	add_one(&done);
}

static void is_canceled(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_park(), CORO_ECANCELED);
	add_one(&done);
}

static void overflows(void *arg, void *result)
{
	coro_handle canceled[3];
	(void)arg;
	(void)result;

	CHECK_EQ(coro_sem_init(&sem, 0, 0), CORO_OK);
	CHECK_EQ(coro_sem_init(&second, 0, 0), CORO_OK);
	for (int i = 0; i < 20; i++)
		spawn_in(waits_twice, NULL, 0);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(coro_spawn_attr(JOINABLE(0), is_canceled, NULL, 0, &canceled[i]), CORO_OK);
	CHECK_EQ(coro_yield(), CORO_OK);
	fill();
	overflow();
	for (int i = 0; i < 20; i++)
		CHECK_EQ(coro_sem_release(&sem, 1), CORO_OK);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(coro_cancel(canceled[i]), CORO_OK);
	CHECK_EQ(fail_alloc, -1);
	CHECK_EQ(queue()->count, RING);
	CHECK_EQ(queue()->spill.count, 18 + 3); /* one is in `next` */
	CHECK_EQ(coro_yield(), CORO_OK);
	CHECK_EQ(seen(&done), 3);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(coro_join(canceled[i], NULL, 0), CORO_ECANCELED);
	CHECK_EQ(coro_sem_release(&second, 20), CORO_OK);
	add_one(&stop);
	until_all(RING - 1 + 20 + 3);
	CHECK_EQ(coro_sem_destroy(&sem), CORO_OK);
	CHECK_EQ(coro_sem_destroy(&second), CORO_OK);
}

/* Those that did not fit run after the others, and get the codes with which their waits have
 * ended. */
TEST(full_queues_that_cannot_grow_lose_nobody)
{
	coro_scheduler *s = start_with(1, CORO_PAUSED);

	spawn(s, overflows, NULL, 0);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(done, RING - 1 + 20 + 3);
	finish(s);
}

/* What comes from outside while the queue is full waits in records. */
static uint64_t filled, sent;

static void takes_what_comes(void *arg, void *result)
{
	(void)arg;
	(void)result;
	fill();
	add_one(&filled);
	while (!seen(&sent))
		; /* nothing of it is taken meanwhile */
	overflow();
	while (fail_alloc == 0)
		CHECK_EQ(coro_yield(), CORO_OK);
	add_one(&stop);
}

TEST(full_queues_take_what_comes_from_outside)
{
	coro_scheduler *s = start_with(1, 0);

	spawn(s, takes_what_comes, NULL, 0);
	while (!seen(&filled))
		sleep_us(100);
	struct coroi_fill q = {.fn = counts, .class = s->class};
	CHECK_EQ(coroi_spawn_many(s, &q, NULL, 200, 0), 200);
	add_one(&sent);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(done, RING - 1 + 200);
	finish(s);
}
