//go:build ignore
/* time.c - sleeps and tickers: waits that only time ends, or a cancel. */
#include "kernel/nowait.h"
#include "kernel/wait.h"

uint64_t coro_now(void)
{
	return coroi_now_ns();
}

/* withdraw_nothing - a sleep has registered nowhere, and no event comes: it can always end. */
static bool withdraw_nothing(void *arg)
{
	(void)arg;
	return true;
}

/* sleep_until - coro_sleep_until. call: the name that a no-wait section reports. */
static int sleep_until(uint64_t deadline, const char *call)
{
	struct coroi_worker *w = coroi_self();

	if (!w || !w->current)
		return CORO_EPERM;
	int status = coroi_nowait(w, call, deadline);
	if (status)
		return status;
	status = coroi_wait(w->current, CORO_WAIT_SLEEP, deadline, withdraw_nothing, NULL);
	return status == CORO_ETIMEDOUT ? CORO_OK : status;
}

int coro_sleep_until(uint64_t deadline)
{
	return sleep_until(deadline, "coro_sleep_until");
}

int coro_sleep(uint64_t ns)
{
	uint64_t now = coroi_now_ns();
	return sleep_until(ns < CORO_FOREVER - now ? now + ns : CORO_FOREVER - 1, "coro_sleep");
}

int coro_ticker_init(coro_ticker *t, uint64_t period)
{
	uint64_t now = coroi_now_ns();

	if (!t || !period || period > CORO_FOREVER / 2 - now)
		return CORO_EINVAL;
	t->period = period;
	t->next = now + period;
	return CORO_OK;
}

int coro_ticker_wait(coro_ticker *t, uint64_t *ticks)
{
	if (!t || !t->period)
		return CORO_EINVAL;
	int status = sleep_until(t->next, "coro_ticker_wait");
	if (status)
		return status;
	uint64_t now = coroi_now_ns(), n = 1 + (now > t->next ? (now - t->next) / t->period : 0);
	t->next += n * t->period;
	if (ticks)
		*ticks = n;
	return CORO_OK;
}
