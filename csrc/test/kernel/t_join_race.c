/*
 * t_join_race.c - several that join and detach one coroutine, at the moment of its end and later:
 * exactly one succeeds.
 */
#include "test.h"

#include "kernel/wait.h"

#include <string.h>

static uint64_t done;

static void finished(void)
{
	__atomic_add_fetch(&done, 1, __ATOMIC_SEQ_CST);
}

/* --------------------------------------------------------------------------- two joiners of one */

struct contest {
	coro_handle target;
	uint64_t won, busy, stale, detached;
};

static struct contest contests[400];

static void quick(void *arg, void *result)
{
	(void)arg;
	memset(result, 5, 1);
}

static void contends(void *arg, void *result)
{
	uint32_t in[2];
	uint8_t got = 0;

	(void)result;
	memcpy(in, arg, sizeof in);
	struct contest *c = &contests[in[0]];
	int status = in[1] % 3 == 2 ? coro_detach(c->target) : coro_join(c->target, &got, 1);
	uint64_t *which = status == CORO_OK       ? in[1] % 3 == 2 ? &c->detached : &c->won
			  : status == CORO_EBUSY  ? &c->busy
			  : status == CORO_ESTALE ? &c->stale
						  : NULL;
	CHECK(which);
	CHECK_EQ(got, which == &c->won ? 5 : 0);
	__atomic_add_fetch(which, 1, __ATOMIC_SEQ_CST);
}

/* Of several that join or detach one coroutine, exactly one succeeds. */
TEST(join_by_several)
{
	for (uint32_t workers = 1; workers <= 4; workers++) {
		coro_scheduler *s = start_with(workers, 0);
		memset(contests, 0, sizeof contests);
		for (uint32_t i = 0; i < 400; i++) {
			CHECK_EQ(coro_scheduler_spawn(s, JOINABLE(1), quick, NULL, 0,
						      &contests[i].target),
				 CORO_OK);
			for (uint32_t k = 0; k < 5; k++) {
				uint32_t in[2] = {i, k + i};
				spawn(s, contends, in, sizeof in);
			}
		}
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		for (uint32_t i = 0; i < 400; i++) {
			struct contest *c = &contests[i];
			CHECK_EQ(c->won + c->detached, 1);
			CHECK_EQ(c->won + c->detached + c->busy + c->stale, 5);
		}
		finish(s);
	}
}

static coro_handle slow_target;

static void parks(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_park(), CORO_OK);
}

static void second_joiner(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_join(slow_target, NULL, 0), CORO_EBUSY);
	CHECK_EQ(coro_detach(slow_target), CORO_EBUSY);
	CHECK_EQ(coro_wake(slow_target), CORO_OK);
	finished();
}

static void first_joiner(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_spawn_attr(JOINABLE(0), parks, NULL, 0, &slow_target), CORO_OK);
	spawn_in(second_joiner, NULL, 0);
	CHECK_EQ(coro_join(slow_target, NULL, 0), CORO_OK);
	CHECK_EQ(coro_join(slow_target, NULL, 0), CORO_ESTALE);
	CHECK_EQ(coro_detach(slow_target), CORO_ESTALE);
	finished();
}

TEST(join_while_another_joins)
{
	coro_scheduler *s = start_with(1, 0);
	spawn(s, first_joiner, NULL, 0);
	finish(s);
	CHECK_EQ(done, 2);
}

#define DETACHED 3000
static coro_handle detach_me[DETACHED];
static uint32_t detach_ready;

static void *detaches(void *arg)
{
	(void)arg;
	for (int i = 0; i < DETACHED; i++) {
		while (__atomic_load_n(&detach_ready, __ATOMIC_ACQUIRE) <= (uint32_t)i)
			;
		CHECK_EQ(coro_detach(detach_me[i]), CORO_OK);
		CHECK_EQ(coro_detach(detach_me[i]), CORO_ESTALE);
	}
	return NULL;
}

/* Detach from outside, while coroutines run, end, or have ended: no record is lost or freed twice;
 * finish counts them. */
TEST(join_detach_races_with_the_end)
{
	for (uint32_t workers = 1; workers <= 3; workers++) {
		coro_scheduler *s = start_with(workers, 0);
		pthread_t t;
		detach_ready = 0;
		thread_start(&t, detaches, NULL);
		for (uint32_t i = 0; i < DETACHED; i++) {
			CHECK_EQ(
				coro_scheduler_spawn(s, JOINABLE(1), quick, NULL, 0, &detach_me[i]),
				CORO_OK);
			__atomic_store_n(&detach_ready, i + 1, __ATOMIC_RELEASE);
		}
		thread_join(t);
		finish(s);
	}
}

/* --------------------------------------------------------------------- at the moment of the end */

static void parks_a_while(void *arg, void *result)
{
	(void)arg;
	CHECK_EQ(coro_park(), CORO_OK);
	memset(result, 5, 1);
}

struct race {
	coro_handle target;
};

static void waits_first(void *arg, void *result)
{
	struct race *r = *(struct race **)arg;
	uint8_t got = 0;

	(void)result;
	/* this joiner waited, so it is the first */
	CHECK_EQ(coro_join(r->target, &got, 1), CORO_OK);
	CHECK_EQ(got, 5);
}

/* Detach again and again, until it is too late. */
static void comes_second(void *arg, void *result)
{
	struct race *r = *(struct race **)arg;
	uint8_t got = 0;
	int status;

	(void)result;
	uint64_t *join = &coroi_cold(coroi_at((uint32_t)r->target))->join;
	while ((at_load_seq(join) >> COROI_JOIN_KIND_SHIFT & 3) != COROI_JOIN_COROUTINE)
		CHECK_EQ(coro_yield(), CORO_OK);
	CHECK_EQ(coro_wake(r->target), CORO_OK);
	while ((status = coro_detach(r->target)) == CORO_EBUSY)
		CHECK_EQ(coro_yield(), CORO_OK);
	CHECK_EQ(status, CORO_ESTALE);
	CHECK_EQ(coro_join(r->target, &got, 1), CORO_ESTALE);
}

static void detaches_then_joins(void *arg, void *result)
{
	struct race *r = *(struct race **)arg;

	(void)result;
	CHECK_EQ(coro_wake(r->target), CORO_OK);
	for (uint64_t spin = (uintptr_t)arg >> 6 & 63; spin; spin--)
		__asm__ volatile("" ::: "memory");
	CHECK_EQ(coro_detach(r->target), CORO_OK);
	for (int i = 0; i < 20; i++)
		/* whatever the record is used for meanwhile */
		CHECK_EQ(coro_join(r->target, NULL, 0), CORO_ESTALE);
}

TEST_LIMIT(join_races_with_the_end, 180)
{
	enum { AT_ONCE = 50 };
	static struct race races[2 * AT_ONCE];

	for (uint32_t workers = 2; workers <= 4; workers++) {
		coro_scheduler *s = start_with(workers, 0);
		for (uint64_t round = 0; round < scaled(400); round++) {
			memset(races, 0, sizeof races);
			for (int i = 0; i < 2 * AT_ONCE; i++) {
				struct race *r = &races[i];
				CHECK_EQ(coro_scheduler_spawn(s, JOINABLE(1), parks_a_while, NULL,
							      0, &r->target),
					 CORO_OK);
				if (i & 1) {
					spawn(s, detaches_then_joins, &r, sizeof r);
				} else {
					spawn(s, waits_first, &r, sizeof r);
					spawn(s, comes_second, &r, sizeof r);
				}
			}
			CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		}
		finish(s);
	}
}

/* A coroutine of one scheduler joins those of another. */
static coro_handle far[500];

static void joins_far(void *arg, void *result)
{
	uint8_t got = 0;
	(void)result;
	CHECK_EQ(coro_join(far[*(uint32_t *)arg], &got, 1), CORO_OK);
	CHECK_EQ(got, 5);
	finished();
}

TEST(join_across_schedulers)
{
	coro_scheduler *a = start_with(2, 0), *b = start_with(2, 0);
	for (uint32_t i = 0; i < 500; i++) {
		CHECK_EQ(coro_scheduler_spawn(b, JOINABLE(1), quick, NULL, 0, &far[i]), CORO_OK);
		spawn(a, joins_far, &i, sizeof i);
	}
	finish(a);
	finish(b);
	CHECK_EQ(done, 500);
}
