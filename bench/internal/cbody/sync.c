/* sync.c - semaphores and mutexes that nobody has to wait for, and a token that goes round by
 * semaphores. */
#include "cbody.h"

#include <stdlib.h>

static int64_t mutex_ns(int64_t n, uint32_t flags)
{
	static coro_mutex m;

	cb_fail(coro_mutex_init(&m, flags));
	int64_t start = cb_now_ns();
	for (int64_t i = 0; i < n; i++)
		if (coro_mutex_lock(&m, CORO_FOREVER) | coro_mutex_unlock(&m))
			cb_fail(CORO_EINVAL);
	int64_t ns = cb_now_ns() - start;
	cb_fail(coro_mutex_destroy(&m));
	return ns;
}

static int64_t sem_ns(int64_t n, uint32_t flags)
{
	static coro_sem s;

	cb_fail(coro_sem_init(&s, 1, flags));
	int64_t start = cb_now_ns();
	for (int64_t i = 0; i < n; i++)
		if (coro_sem_acquire(&s, CORO_FOREVER) | coro_sem_release(&s, 1))
			cb_fail(CORO_EINVAL);
	int64_t ns = cb_now_ns() - start;
	cb_fail(coro_sem_destroy(&s));
	return ns;
}

void cb_uncontended(void *arg, void *result)
{
	const struct cb_sync a = *(struct cb_sync *)arg;

	cb_fail(coro_pin(0));
	*(int64_t *)result = a.kind == CB_MUTEX ? mutex_ns(a.n, a.flags) : sem_ns(a.n, a.flags);
}

/* -------------------------------------------------------------------------------------- rings */

#define RING CB_RING

static struct cb_sync run;
static coro_sem *turn; /* RING for each ring */
static coro_latch started, ended;

/* member - waits for its turn and gives the next one a turn, this number of laps. */
static void member(void *arg, void *result)
{
	int64_t i = *(int64_t *)arg;
	coro_sem *own = &turn[i], *next = &turn[i % RING == RING - 1 ? i - (RING - 1) : i + 1];
	int bad = 0;

	(void)result;
	cb_fail(coro_latch_add(&started, -1));
	for (int64_t lap = 0; lap < run.laps; lap++) {
		bad |= coro_sem_acquire(own, CORO_FOREVER);
		bad |= coro_sem_release(next, 1);
	}
	cb_fail(bad);
	cb_fail(coro_latch_add(&ended, -1));
}

void cb_ring_start(void *arg, void *result)
{
	coro_attr at = {.size = sizeof at, .worker = 1};

	run = *(struct cb_sync *)arg;
	cb_fail(coro_pin(0));
	cb_fail(coro_latch_init(&started, (uint64_t)run.n, run.flags));
	cb_fail(coro_latch_init(&ended, (uint64_t)run.n, run.flags));
	if (!(turn = malloc((size_t)run.n * sizeof *turn))) {
		cb_fail(CORO_ENOMEM);
		return;
	}
	if (!(run.flags & CORO_HOME))
		at.worker = 0; /* plain ones */
	for (int64_t i = 0; i < run.n; i++) {
		cb_fail(coro_sem_init(&turn[i], 0, run.flags));
		cb_fail(coro_spawn_attr(&at, member, &i, sizeof i, NULL));
	}
	cb_fail(coro_latch_wait(&started, CORO_FOREVER));
	int64_t start = cb_now_ns();
	for (int64_t i = 0; i < run.n; i += RING)
		cb_fail(coro_sem_release(&turn[i], 1));
	cb_fail(coro_latch_wait(&ended, CORO_FOREVER));
	*(int64_t *)result = cb_now_ns() - start;
	free(turn);
}
