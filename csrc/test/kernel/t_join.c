/*
 * t_join.c - joining and detaching: before and after the end, on every worker, by one and by two.
 * Several at the moment of the end: t_join_race.c.
 */
#include "test.h"

#include <string.h>

static uint64_t done;

static void finished(void)
{
	__atomic_add_fetch(&done, 1, __ATOMIC_SEQ_CST);
}

/* -------------------------------------------------------------------------------------- results */

static void fills_result(void *arg, void *result)
{
	uint8_t n, seed;

	n = ((uint8_t *)arg)[0];
	seed = ((uint8_t *)arg)[1];
	CHECK_EQ((uintptr_t)arg & 15, 0);
	if (n == 0) {
		CHECK(result != NULL); /* scratch */
		return;
	}
	CHECK_EQ((uintptr_t)result & 15, 0);
	for (int i = 0; i < n; i++)
		CHECK_EQ(((uint8_t *)result)[i], 0);
	for (int i = 0; i < n; i++)
		((uint8_t *)result)[i] = (uint8_t)(seed + i);
	if (seed & 1)
		CHECK_EQ(coro_yield(), CORO_OK);
}

static void joins_every_size(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (uint32_t n = 0; n <= CORO_INLINE_BYTES; n++) {
		for (uint32_t take = 0; take <= n; take++) {
			uint8_t in[CORO_INLINE_BYTES] = {(uint8_t)n, (uint8_t)(n * 7 + take)},
				got[CORO_INLINE_BYTES + 1];
			coro_handle h;
			memset(got, 0xee, sizeof got);
			CHECK_EQ(coro_spawn_attr(JOINABLE(n), fills_result, in, 2 + take % 46, &h),
				 CORO_OK);
			if (n < CORO_INLINE_BYTES) /* more than the result has */
				CHECK_EQ(coro_join(h, got, n + 1), CORO_EINVAL);
			CHECK_EQ(coro_join(h, take ? got : NULL, take), CORO_OK);
			for (uint32_t i = 0; i < take; i++)
				CHECK_EQ(got[i], (uint8_t)(in[1] + i));
			CHECK_EQ(got[take], 0xee);
		}
	}
	finished();
}

TEST(join_results_of_every_size)
{
	for (uint32_t workers = 1; workers <= 3; workers++) {
		coro_scheduler *s = start_with(workers, 0);
		done = 0;
		spawn(s, joins_every_size, NULL, 0);
		finish(s);
		CHECK_EQ(done, 1);
	}
}

/* ------------------------------------------------------------------------- before, while, after */

static void spins_and_adds(void *arg, void *result)
{
	uint64_t in[2];

	memcpy(in, arg, sizeof in);
	for (uint64_t i = 0; i < in[1]; i++)
		CHECK_EQ(coro_yield(), CORO_OK);
	in[0] = in[0] * 3 + 1;
	memcpy(result, in, 8);
}

static void joins_at_all_times(void *arg, void *result)
{
	uint64_t seed = *(uint64_t *)arg;
	enum { AT_ONCE = 30 };

	(void)result;
	for (int round = 0; round < (FIBERS ? 10 : 100); round++) {
		coro_handle h[AT_ONCE];
		uint64_t in[AT_ONCE][2];
		for (int i = 0; i < AT_ONCE; i++) {
			in[i][0] = rnd(&seed);
			in[i][1] = rnd(&seed) % 20;
			CHECK_EQ(coro_spawn_attr(JOINABLE(8), spins_and_adds, in[i], sizeof in[i],
						 &h[i]),
				 CORO_OK);
		}
		for (uint64_t n = rnd(&seed) % 30; n; n--)
			CHECK_EQ(coro_yield(), CORO_OK);
		for (int i = 0; i < AT_ONCE; i++) {
			uint64_t got = 0;
			CHECK_EQ(coro_join(h[i], &got, 8), CORO_OK);
			CHECK(got == in[i][0] * 3 + 1);
			CHECK_EQ(coro_join(h[i], &got, 8), CORO_ESTALE);
		}
	}
	finished();
}

TEST(join_before_and_after_the_end)
{
	for (uint32_t workers = 1; workers <= 4; workers++) {
		coro_scheduler *s = start_with(workers, workers & 1 ? CORO_NO_STANDBY : 0);
		done = 0;
		for (uint64_t i = 1; i <= 20; i++)
			spawn(s, joins_at_all_times, &i, sizeof i);
		finish(s);
		CHECK_EQ(done, 20);
	}
}

/* A tree of joins: every node waits for two. */
static void fib(void *arg, void *result)
{
	uint64_t n, a, b;
	coro_handle h[2];

	memcpy(&n, arg, sizeof n);
	if (n >= 2) {
		for (int i = 0; i < 2; i++) {
			uint64_t child = n - 1 - (uint64_t)i;
			CHECK_EQ(coro_spawn_attr(JOINABLE(8), fib, &child, sizeof child, &h[i]),
				 CORO_OK);
		}
		CHECK_EQ(coro_join(h[0], &a, 8), CORO_OK);
		CHECK_EQ(coro_join(h[1], &b, 8), CORO_OK);
		n = a + b;
	}
	memcpy(result, &n, sizeof n);
}

static void joins_fib(void *arg, void *result)
{
	coro_handle h;
	uint64_t got;

	(void)result;
	CHECK_EQ(coro_spawn_attr(JOINABLE(8), fib, arg, 8, &h), CORO_OK);
	CHECK_EQ(coro_join(h, &got, 8), CORO_OK);
	CHECK_EQ(got, FIBERS ? 144 : 4181);
	finished();
}

TEST(join_tree)
{
	uint64_t n = FIBERS ? 12 : 19;

	for (uint32_t workers = 1; workers <= 4; workers++) {
		coro_scheduler *s = start_with(workers, 0);
		done = 0;
		for (int i = 0; i < 5; i++)
			spawn(s, joins_fib, &n, sizeof n);
		finish(s);
		CHECK_EQ(done, 5);
	}
}

/* ----------------------------------------------------------------------------- refusals, aborts */

static void aborts(void *arg, void *result)
{
	(void)arg;
	memset(result, 9, 4);
	coro_abort();
}

static void exits(void *arg, void *result)
{
	(void)arg;
	memset(result, 8, 4);
	coro_exit();
}

static void parks(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_park(), CORO_OK);
}

static void refusals(void *arg, void *result)
{
	coro_handle h, plain;
	uint32_t got = 0;
	char room[64];

	(void)arg;
	(void)result;
	CHECK_EQ(coro_spawn_attr(NULL, parks, NULL, 0, &plain), CORO_OK);
	CHECK_EQ(coro_join(plain, NULL, 0), CORO_EINVAL); /* not joinable */
	CHECK_EQ(coro_detach(plain), CORO_EINVAL);
	CHECK_EQ(coro_join(coro_self(), NULL, 0), CORO_EINVAL); /* itself */
	CHECK_EQ(coro_wake(plain), CORO_OK);

	CHECK_EQ(coro_spawn_attr(JOINABLE(4), aborts, NULL, 0, &h), CORO_OK);
	CHECK_EQ(coro_join(h, room, 5), CORO_EINVAL);
	CHECK_EQ(coro_join(h, NULL, 4), CORO_EINVAL);
	CHECK_EQ(coro_join(h, &got, 4), CORO_EABORTED);
	CHECK_EQ(got, 0x09090909);
	CHECK_EQ(coro_join(h, &got, 4), CORO_ESTALE);
	CHECK_EQ(coro_spawn_attr(JOINABLE(4), exits, NULL, 0, &h), CORO_OK);
	CHECK_EQ(coro_join(h, &got, 4), CORO_OK);
	CHECK_EQ(got, 0x08080808);

	CHECK_EQ(coro_spawn_attr(JOINABLE(0), parks, NULL, 0, &h), CORO_OK);
	CHECK_EQ(coro_detach(h), CORO_OK);
	CHECK_EQ(coro_detach(h), CORO_ESTALE); /* nobody can any more */
	CHECK_EQ(coro_join(h, NULL, 0), CORO_ESTALE);
	CHECK_EQ(coro_wake(h), CORO_OK); /* but the coroutine lives */
	finished();
}

TEST(join_refusals)
{
	coro_scheduler *s = start_with(1, 0);
	CHECK_EQ(coro_join(1, NULL, 0), CORO_EPERM);
	spawn(s, refusals, NULL, 0);
	finish(s);
	CHECK_EQ(done, 1);
}
