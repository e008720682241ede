/* fair.c - coroutines over channels that keep each other busy, and newcomers beside them. */
#include "cbody.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct cb_fair *all;
static uint32_t count;

int cb_fair_open(uint32_t n, uint64_t steps)
{
	all = calloc(n, sizeof *all);
	if (!all)
		return CORO_ENOMEM;
	count = n;
	for (uint32_t i = 0; i < n; i++) {
		int status = coro_chan_new(&all[i].in, 8, 64, 0);
		if (status)
			return status;
		all[i].steps = steps;
	}
	return CORO_OK;
}

/* The coroutines end when the channels are closed. */
void cb_fair_stop(void)
{
	for (uint32_t i = 0; i < count; i++)
		coro_chan_close(all[i].in);
}

void cb_fair_close(void)
{
	for (uint32_t i = 0; i < count; i++)
		coro_chan_free(all[i].in);
	free(all);
	all = NULL;
	count = 0;
}

struct cb_fair *cb_fair_at(uint32_t i)
{
	return &all[i];
}

void cb_sleep_until(int64_t ns)
{
	struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

int cb_fair_send(uint32_t to, uint64_t token)
{
	return coro_chan_send(all[to].in, &token, CORO_FOREVER);
}

void cb_fair_busy(void *arg, void *result)
{
	struct cb_fair *me;
	uint64_t token;

	(void)result;
	memcpy(&me, arg, sizeof me);
	while (coro_chan_recv(me->in, &token, CORO_FOREVER) == CORO_OK) {
		__atomic_store_n(&me->handled, me->handled + 1, __ATOMIC_RELAXED);
		cb_spin(me->steps);
		if (coro_chan_send(all[me->to].in, &token, CORO_FOREVER))
			break;
	}
}

void cb_fair_newcomer(void *arg, void *result)
{
	struct cb_fair *me;
	uint64_t token;

	(void)result;
	memcpy(&me, arg, sizeof me);
	cb_fail(coro_chan_recv(me->in, &token, CORO_FOREVER));
	__atomic_store_n(&me->handled, (uint64_t)cb_now_ns(), __ATOMIC_RELAXED);
}

void cb_fair_crier(void *arg, void *result)
{
	struct cb_crier c;

	(void)result;
	memcpy(&c, arg, sizeof c);
	for (uint32_t i = 0; i < c.pairs; i++)
		cb_fail(cb_fair_send(c.first + 2 * i, i));
}

void cb_fair_yields(void *arg, void *result)
{
	const uint32_t *stop;

	(void)result;
	memcpy(&stop, arg, sizeof stop);
	while (!__atomic_load_n(stop, __ATOMIC_RELAXED) && coro_yield() == CORO_OK)
		;
}
