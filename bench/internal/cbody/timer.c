/* timer.c - deadlines that do not come, and how late those are that do. */
#include "cbody.h"

#include <stdlib.h>

#define FAR_NS  ((uint64_t)3600 * 1000000000) /* a deadline that does not come: an hour and more */
#define AT_ONCE 128                           /* wake-ups between two yields */

static struct cb_timers run;
static coro_handle *handle;
static int64_t waiting; /* that have come to their wait, all together; on one worker */
static int over;

/* waiter - waits for permits, with a deadline or without. */
static void waiter(void *arg, void *result)
{
	int64_t i = *(int64_t *)arg;
	uint64_t deadline = run.deadlines ? coro_now() + FAR_NS + (uint64_t)i * 4099 : CORO_FOREVER;
	int bad = 0;

	(void)result;
	handle[i] = coro_self();
	while (!over) {
		waiting++;
		bad |= coro_park_until(deadline);
	}
	cb_fail(bad);
}

static void wake_all(void)
{
	for (int64_t i = 0; i < run.n; i++) {
		cb_fail(coro_wake(handle[i]));
		if (i % AT_ONCE == AT_ONCE - 1)
			coro_yield();
	}
	coro_yield();
}

void cb_timers_start(void *arg, void *result)
{
	run = *(struct cb_timers *)arg;
	if (!(handle = malloc((size_t)run.n * sizeof *handle))) {
		cb_fail(CORO_ENOMEM);
		return;
	}
	waiting = over = 0;
	for (int64_t i = 0; i < run.n; i++) {
		cb_fail(coro_spawn(waiter, &i, sizeof i));
		if (i % AT_ONCE == AT_ONCE - 1)
			coro_yield();
	}
	while (waiting < run.n)
		coro_yield();
	int64_t start = cb_now_ns();
	for (int64_t i = 0; i < run.rounds; i++)
		wake_all();
	*(int64_t *)result = cb_now_ns() - start;
	if (waiting != run.n * (run.rounds + 1))
		cb_fail(CORO_EINVAL); /* somebody was not woken in time */
	over = 1;
	wake_all();
	free(handle);
}

/* ------------------------------------------------------------------------------------- lateness */

static struct cb_late late;
static coro_latch armed, fired;
static uint64_t first_ns;

static void sleeper(void *arg, void *result)
{
	int64_t i = *(int64_t *)arg;
	uint64_t deadline = first_ns + (uint64_t)(i * late.apart_ns);

	(void)result;
	cb_fail(coro_unpin()); /* the others may run it, if its worker does not */
	cb_fail(coro_latch_add(&armed, -1));
	cb_fail(coro_sleep_until(deadline));
	cb_waits[i % CB_WAITS] = (int64_t)(coro_now() - deadline);
	cb_fail(coro_latch_add(&fired, -1));
}

/* busy - from when all sleep until the last has woken. */
static void busy(void *arg, void *result)
{
	(void)arg;
	(void)result;
	cb_fail(coro_latch_wait(&armed, CORO_FOREVER));
	while (coro_latch_wait(&fired, 0) == CORO_ETIMEDOUT)
		cb_spin(1000);
}

void cb_late_start(void *arg, void *result)
{
	coro_attr at = {.size = sizeof at, .worker = 1};

	(void)result;
	late = *(struct cb_late *)arg;
	cb_fail(coro_latch_init(&armed, (uint64_t)late.n, 0));
	cb_fail(coro_latch_init(&fired, (uint64_t)late.n, 0));
	first_ns = coro_now() + (uint64_t)late.ahead_ns;
	cb_fail(coro_spawn_attr(&at, busy, NULL, 0, NULL));
	at.worker = (uint32_t)late.sleepers + 1;
	for (int64_t i = 0; i < late.n; i++)
		cb_fail(coro_spawn_attr(&at, sleeper, &i, sizeof i, NULL));
}
