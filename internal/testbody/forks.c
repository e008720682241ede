#include "forks.h"

#include "bodies.h"

#include <stdbool.h>

#define ADD(word, n) __atomic_add_fetch(&(word), (n), __ATOMIC_RELAXED)
#define LOAD(word)   __atomic_load_n(&(word), __ATOMIC_ACQUIRE)

static void call(const struct testbody_range *r, int64_t i)
{
	int64_t number = i;
	int status = (r->how ? coro_call_go : coro_call_go_inline)(r->id, &number, sizeof number,
								   &number, sizeof number, NULL);

	ADD(testbody_sum, status ? 1000000 : number);
}

/* until_canceled - says that it runs, and waits, or computes until it is to stop. */
static void until_canceled(bool waits)
{
	ADD(testbody_ran, 1);
	if (waits)
		(void)coro_park();
	while (!waits && !LOAD(testbody_stop))
		;
}

static void does(const struct testbody_range *r, int64_t i)
{
	switch ((enum testbody_does)r->does) {
	case TESTBODY_GOES_ON:
		break;
	case TESTBODY_ABORTS:
		coro_abort();
		break;
	case TESTBODY_FAILS:
		coro_fail((int)i, "it cannot");
		break;
	case TESTBODY_EXITS:
		coro_exit();
		break;
	case TESTBODY_YIELDS:
		(void)coro_yield();
		break;
	case TESTBODY_SLEEPS:
		(void)coro_sleep(1000);
		break;
	case TESTBODY_WAITS:
	case TESTBODY_COMPUTES:
		until_canceled(r->does == TESTBODY_WAITS);
		break;
	case TESTBODY_CALLS:
		call(r, i);
		break;
	case TESTBODY_CANCELS:
		(void)coro_cancel(coro_self());
		break;
	case TESTBODY_IS_JOINED:
		while (!LOAD(testbody_busy) && coro_canceled() == 0)
			;
		break;
	}
}

void testbody_range(int64_t from, int64_t to, void *arg)
{
	const struct testbody_range *r = arg;

	if (from)
		__atomic_store_n(&testbody_busy, 1, __ATOMIC_RELEASE);
	if (from >= to || (r->grain && to - from > r->grain))
		coro_abort();
	for (int64_t i = from; i < to; i++) {
		if (r->hits)
			ADD(r->hits[i], 1);
		if (i == r->at || (r->every && i > r->at && (i - r->at) % r->every == 0))
			does(r, i);
	}
}

void testbody_count_range(int64_t from, int64_t to, void *arg)
{
	ADD(testbody_sum, to - from + (arg ? 1000 : 0));
}

void testbody_fib(void *arg, void *result)
{
	int64_t n = *(int64_t *)arg, a, b, left = n - 1, right = n - 2;
	coro_fork f;

	if (n < 2) {
		*(int64_t *)result = n;
		return;
	}
	coro_fork_begin(&f, testbody_fib, &left, &a);
	testbody_fib(&right, &b);
	if (coro_fork_join(&f))
		coro_abort();
	*(int64_t *)result = a + b;
}
