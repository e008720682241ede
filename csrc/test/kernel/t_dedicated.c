/*
 * t_dedicated.c - dedicated workers: nothing is stolen from them, and nothing else runs there.
 */
#include "test.h"

#include <string.h>

#define GENERAL   2
#define DEDICATED 2
#define WORKERS   (GENERAL + DEDICATED)

static uint64_t done, other, computed[WORKERS];

static coro_scheduler *start_dedicated(uint32_t flags)
{
	coro_options o = options(GENERAL, flags);
	o.dedicated = DEDICATED;
	return start(&o);
}

static uint64_t spawned_at(coro_scheduler *s, int from, int to)
{
	coro_worker_stats w[WORKERS];
	coro_stats t;
	uint64_t n = 0;

	CHECK_EQ(coro_scheduler_stats(s, &t, w, WORKERS), CORO_OK);
	CHECK_EQ(t.workers, WORKERS);
	for (int i = from; i < to; i++)
		n += w[i].spawned;
	return n;
}

TEST(dedicated_options)
{
	coro_options o = options(1, 0);
	coro_scheduler *s;

	o.dedicated = CORO_WORKERS_MAX;
	CHECK_EQ(coro_scheduler_init(&s, &o), CORO_EINVAL);
	o.workers = 0;
	CHECK_EQ(coro_scheduler_init(&s, &o), CORO_EINVAL);
	o.workers = CORO_WORKERS_MAX - 3;
	o.dedicated = 4;
	CHECK_EQ(coro_scheduler_init(&s, &o), CORO_EINVAL);
	o.workers = 1;
	s = start(&o);
	CHECK_EQ(stats(s).workers, 5);
	finish(s);
}

/* ----------------------------------------------------------------------------- what lands where */

static void is_general(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < 10; i++) {
		CHECK(coro_worker() < GENERAL);
		CHECK_EQ(i % 5 ? coro_yield() : coro_sleep(1000), CORO_OK);
	}
	add_one(&done);
}

static void spawns_general(void *arg, void *result)
{
	coro_attr anywhere = on(CORO_ANYWHERE);
	(void)arg;
	(void)result;
	for (int i = 0; i < 20; i++) {
		spawn_in(is_general, NULL, 0);
		CHECK_EQ(coro_spawn_attr(&anywhere, is_general, NULL, 0, NULL), CORO_OK);
	}
	is_general(NULL, NULL);
}

TEST(dedicated_gets_no_other_spawns)
{
	for (int round = 0; round < 4; round++) {
		coro_scheduler *s = start_dedicated(round % 2 ? CORO_NO_MEMBARRIER : 0);
		done = 0;
		for (int i = 0; i < 50; i++)
			spawn(s, spawns_general, NULL, 0);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(done, 50 * 41);
		CHECK_EQ(spawned_at(s, GENERAL, WORKERS), 0);
		finish(s);
	}
}

static void is_there(void *arg, void *result)
{
	uint64_t worker;
	(void)result;

	memcpy(&worker, arg, 8);
	for (int i = 0; i < 20; i++) {
		CHECK_EQ(coro_worker(), worker);
		CHECK_EQ(i % 8 ? coro_yield() : coro_sleep(1000), CORO_OK);
	}
	add_one(&done);
}

/* What these spawn is not pinned, and there are general workers that would steal it. */
static void lives_there(void *arg, void *result)
{
	uint64_t worker;
	coro_attr anywhere = on(CORO_ANYWHERE), joined = on(0);
	coro_handle h;
	(void)result;

	memcpy(&worker, arg, 8);
	for (int i = 0; i < 100; i++)
		spawn_in(is_there, &worker, 8);
	joined.flags = CORO_JOINABLE;
	CHECK_EQ(coro_spawn_attr(&joined, is_there, &worker, 8, &h), CORO_OK);
	CHECK_EQ(coro_join(h, NULL, 0), CORO_OK);
	CHECK_EQ(coro_spawn_first(&anywhere, is_general, NULL, 0, NULL), CORO_EINVAL);
	for (int i = 0; i < 10; i++)
		CHECK_EQ(coro_spawn_attr(&anywhere, is_general, NULL, 0, NULL), CORO_OK);
	joined.worker = CORO_ANYWHERE;
	CHECK_EQ(coro_spawn_attr(&joined, is_general, NULL, 0, &h), CORO_OK);
	CHECK_EQ(coro_join(h, NULL, 0), CORO_OK);
	CHECK_EQ(coro_unpin(), CORO_OK);
	is_there(&worker, NULL);
	CHECK_EQ(coro_pin(0), CORO_OK);
	CHECK_EQ(coro_unpin(), CORO_OK);
	is_general(NULL, NULL);
}

TEST(dedicated_keeps_what_is_there)
{
	for (int round = 0; round < 10; round++) {
		coro_scheduler *s = start_dedicated(round % 2 ? CORO_NO_MEMBARRIER : 0);
		done = 0;
		for (uint64_t i = GENERAL; i < WORKERS; i++) {
			coro_attr a = on((uint32_t)i + 1);
			CHECK_EQ(coro_scheduler_spawn(s, &a, lives_there, &i, 8, NULL), CORO_OK);
			CHECK_EQ(coro_scheduler_spawn(s, &a, is_there, &i, 8, NULL), CORO_OK);
		}
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(done, DEDICATED * (100 + 1 + 10 + 1 + 2 + 1));
		CHECK_EQ(spawned_at(s, GENERAL, WORKERS), DEDICATED * 103);
		finish(s);
	}
}

/* ------------------------------------------------------- long computation on a dedicated worker */

static void goes_free(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_yield(), CORO_OK);
	add_one(&other);
}

static void computes(void *arg, void *result)
{
	uint64_t want;
	(void)result;

	memcpy(&want, arg, 8);
	add_one(&done);
	while (seen(&other) < want)
		;
	add_one(&computed[coro_worker()]);
}

static void stays(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK(coro_worker() >= GENERAL);
	CHECK_EQ(coro_park(), CORO_OK);
	CHECK(coro_worker() >= GENERAL);
	CHECK_EQ(computed[coro_worker()], 1); /* the coroutine had to wait */
	add_one(&other);
}

TEST(dedicated_keeps_nobody_waiting)
{
	coro_scheduler *s = start_dedicated(0);
	uint64_t want = 500;
	coro_handle h[DEDICATED];

	for (uint32_t i = 0; i < DEDICATED; i++) {
		coro_attr a = on(GENERAL + i + 1);
		a.flags = CORO_JOINABLE;
		CHECK_EQ(coro_scheduler_spawn(s, &a, stays, NULL, 0, &h[i]), CORO_OK);
	}
	until_waiting(s, DEDICATED);
	for (uint32_t i = 0; i < DEDICATED; i++) {
		coro_attr a = on(GENERAL + i + 1);
		CHECK_EQ(coro_scheduler_spawn(s, &a, computes, &want, 8, NULL), CORO_OK);
	}
	while (seen(&done) < DEDICATED)
		sleep_us(50);
	for (uint32_t i = 0; i < DEDICATED; i++) {
		CHECK_EQ(coro_wake(h[i]), CORO_OK);
		CHECK_EQ(coro_detach(h[i]), CORO_OK);
	}
	for (uint64_t i = 0; i < want; i++)
		spawn(s, goes_free, NULL, 0);
	while (seen(&other) < want)
		sleep_us(50);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(other, want + DEDICATED);
	finish(s);
}

/* -------------------------------------------------------------------------- rest, end and close */

static coro_handle parked[WORKERS];

static void parks(void *arg, void *result)
{
	uint64_t i;
	(void)result;

	memcpy(&i, arg, 8);
	parked[i] = coro_self();
	CHECK_EQ(coro_worker(), i);
	int status = coro_park();
	CHECK(status == CORO_OK || status == CORO_ECANCELED);
	CHECK_EQ(coro_worker(), i);
	add_one(&done);
}

static void park_everywhere(coro_scheduler *s)
{
	for (uint64_t i = 0; i < WORKERS; i++) {
		coro_attr a = on((uint32_t)i + 1);
		CHECK_EQ(coro_scheduler_spawn(s, &a, parks, &i, 8, NULL), CORO_OK);
	}
}

TEST(dedicated_rest_is_told_exactly)
{
	coro_scheduler *s = start_dedicated(CORO_PAUSED);

	for (int round = 1; round <= 100; round++) {
		park_everywhere(s);
		CHECK_EQ(coro_scheduler_run(s), CORO_EDEADLK);
		CHECK_EQ(coro_scheduler_blocked(s, NULL, 0), WORKERS);
		for (int i = 0; i < WORKERS; i++)
			CHECK_EQ(coro_wake(parked[i]), CORO_OK);
		for (int i = 0; i < 20; i++)
			spawn(s, is_general, NULL, 0);
		uint64_t before = done;
		CHECK_EQ(coro_scheduler_run(s), CORO_OK);
		CHECK_EQ(done, before + WORKERS + 20);
	}
	finish(s);
}

TEST(dedicated_close_ends_all)
{
	for (int round = 0; round < 20; round++) {
		coro_scheduler *s = start_dedicated(0);
		done = 0;
		park_everywhere(s);
		until_waiting(s, WORKERS);
		CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
		CHECK_EQ(done, WORKERS);
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	}
}

/* One general worker, with no other to share with. */
TEST(dedicated_beside_one)
{
	coro_options o = options(1, 0);
	uint64_t there = 1;
	coro_attr a = on(2);

	o.dedicated = 1;
	coro_scheduler *s = start(&o);
	for (int i = 0; i < 50; i++) {
		CHECK_EQ(coro_scheduler_spawn(s, &a, is_there, &there, 8, NULL), CORO_OK);
		spawn(s, spawns_general, NULL, 0);
	}
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(done, 50 * 42);
	finish(s);
}
