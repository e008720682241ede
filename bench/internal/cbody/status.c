/* status.c - the first failure, the clock, and what it has measured. */
#include "cbody.h"

int64_t cb_waits[CB_WAITS];
static int first_bad;

void cb_failed(int status)
{
	int none = CORO_OK;
	__atomic_compare_exchange_n(&first_bad, &none, status, 0, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
}

int cb_take_status(void)
{
	return __atomic_exchange_n(&first_bad, CORO_OK, __ATOMIC_RELAXED);
}

int64_t cb_clock_ns(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t cb_now_ns(void)
{
	return cb_clock_ns(CLOCK_MONOTONIC);
}

int64_t cb_thread_ns(void)
{
	return cb_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}
