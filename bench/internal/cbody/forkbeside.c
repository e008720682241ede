/* forkbeside.c - forks where something waits: children that sleep, deep chains, others beside. */
#include "cbody.h"

#include <string.h>

static int64_t every, ticket; /* one child in `every` sleeps; 0: none */

static void fib(void *arg, void *result)
{
	int64_t n = *(int64_t *)arg, a = 0, b = 0, left = n - 1, right = n - 2;
	coro_fork child;

	if (every && __atomic_fetch_add(&ticket, 1, __ATOMIC_RELAXED) % every == 0)
		cb_fail(coro_sleep(CB_FORKS_NAP));
	if (n < 2) {
		*(int64_t *)result = n;
		return;
	}
	coro_fork_begin(&child, fib, &left, &a);
	fib(&right, &b);
	cb_fail(coro_fork_join(&child));
	*(int64_t *)result = a + b;
}

/* Its forks are one inside the other. */
static void chain(void *arg, void *result)
{
	int64_t n = *(int64_t *)arg, next = n - 1, below = 0;
	coro_fork child;

	if (n > 0) {
		coro_fork_begin(&child, chain, &next, &below);
		cb_fail(coro_fork_join(&child));
		below++;
	}
	*(int64_t *)result = below;
}

/* ------------------------------------------------------------------------------------- beside */

static int stopped;

static int goes_on(void)
{
	return !__atomic_load_n(&stopped, __ATOMIC_RELAXED);
}

/* yielder - its result is the longest time between two of its turns. */
static void yielder(void *arg, void *result)
{
	int64_t most = 0, last = cb_now_ns();

	(void)arg;
	while (goes_on()) {
		cb_fail(coro_yield());
		int64_t now = cb_now_ns();
		most = now - last > most ? now - last : most;
		last = now;
	}
	memcpy(result, &most, sizeof most);
}

/* sleeper - its result is how late it was: at most, and on average. */
static void sleeper(void *arg, void *result)
{
	int64_t late[2] = {0, 0}, n = 0;

	(void)arg;
	while (goes_on()) {
		int64_t due = cb_now_ns() + CB_FORKS_NAP;
		cb_fail(coro_sleep(CB_FORKS_NAP));
		int64_t by = cb_now_ns() - due;
		late[0] = by > late[0] ? by : late[0];
		late[1] += by;
		n++;
	}
	late[1] /= n ? n : 1;
	memcpy(result, late, sizeof late);
}

static coro_handle begun(coro_fn fn, uint32_t result_bytes)
{
	coro_attr attr = {
		.size = sizeof attr, .flags = CORO_JOINABLE, .result_bytes = result_bytes};
	coro_handle child = 0;

	cb_fail(coro_spawn_attr(&attr, fn, NULL, 0, &child));
	return child;
}

void cb_forks_body(void *arg, void *result)
{
	struct cb_forks f;
	struct cb_forks_done done = {0, 0, 0, 0, 0};
	coro_handle beside[3] = {0, 0, 0};

	memcpy(&f, arg, sizeof f);
	every = f.every;
	ticket = 0;
	stopped = 0;
	if (f.flags & CB_FORKS_BESIDE) {
		beside[0] = begun(yielder, sizeof(int64_t));
		beside[1] = begun(yielder, sizeof(int64_t));
		beside[2] = begun(sleeper, 2 * sizeof(int64_t));
		cb_fail(coro_yield());
	}
	int64_t begin = cb_now_ns();
	if (f.flags & CB_FORKS_CHAIN)
		chain(&f.n, &done.sum);
	else if (f.n)
		fib(&f.n, &done.sum);
	else
		cb_fail(coro_sleep(CB_FORKS_NONE));
	done.ns = cb_now_ns() - begin;
	__atomic_store_n(&stopped, 1, __ATOMIC_RELAXED);
	if (f.flags & CB_FORKS_BESIDE) {
		int64_t late[2] = {0, 0};
		for (int i = 0; i < 2; i++) {
			int64_t gap = 0;
			cb_fail(coro_join(beside[i], &gap, sizeof gap));
			done.gap_ns = gap > done.gap_ns ? gap : done.gap_ns;
		}
		cb_fail(coro_join(beside[2], late, sizeof late));
		done.late_ns = late[0];
		done.late_mean_ns = late[1];
	}
	memcpy(result, &done, sizeof done);
}
