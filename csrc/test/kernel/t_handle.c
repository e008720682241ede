/*
 * t_handle.c - handles: stale, forged, and of coroutines that end while they are woken. None may
 * reach another coroutine.
 */
#include "test.h"

#include "kernel/wait.h"

#include <string.h>

static uint64_t done;
static coro_handle shown[256]; /* handles that come and go */
static uint32_t stop;

static void *exchange_handle(coro_handle h, uint64_t at)
{
	__atomic_store_n(&shown[at % 256], h, __ATOMIC_RELEASE);
	return NULL;
}

/* The handle of such a coroutine was given to nobody: a permit in it is a stray one. */
static void innocent(void *arg, void *result)
{
	(void)arg;
	(void)result;
	struct coroi_rec *me = coroi_self()->current;
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(me->permits, 0);
		CHECK_EQ(at_load_seq(&me->wake) & UINT32_MAX, 0);
		CHECK_EQ(coro_yield(), CORO_OK);
	}
	__atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
}

static void shows_itself(void *arg, void *result)
{
	uint64_t at = *(uint64_t *)arg;
	(void)result;
	exchange_handle(coro_self(), at);
	if (at & 1)
		CHECK_EQ(coro_yield(), CORO_OK);
}

static void ended_soon(void *arg, void *result)
{
	memcpy(result, arg, 8);
}

/* Ends of every kind. Wakers see the handles, and innocent coroutines take over the records. */
static void ends_of_all_kinds(void *arg, void *result)
{
	uint64_t seed = *(uint64_t *)arg;
	enum { CHILDREN = 8 };

	(void)result;
	for (uint64_t n = scaled(3000); n; n--) {
		coro_handle h[CHILDREN];
		for (uint64_t i = 0; i < CHILDREN; i++) {
			uint64_t at = rnd(&seed);
			CHECK_EQ(coro_spawn_attr(JOINABLE(8), ended_soon, &i, sizeof i, &h[i]),
				 CORO_OK);
			exchange_handle(h[i], at);
			spawn_in(shows_itself, &at, sizeof at);
			spawn_in(innocent, NULL, 0);
		}
		if (rnd(&seed) & 1)
			CHECK_EQ(coro_yield(), CORO_OK);
		for (uint64_t i = 0; i < CHILDREN; i++) {
			uint64_t got = 99;
			if (rnd(&seed) % 4 == 0) {
				CHECK_EQ(coro_detach(h[i]), CORO_OK);
				continue;
			}
			CHECK_EQ(coro_join(h[i], &got, 8), CORO_OK);
			CHECK_EQ(got, i);
		}
	}
	__atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
}

static uint64_t wakes_ok, wakes_stale;

static void wake_some(uint64_t *seed)
{
	coro_handle h = __atomic_load_n(&shown[rnd(seed) % 256], __ATOMIC_ACQUIRE);
	if (!h)
		return;
	int status = coro_wake(h);
	CHECK(status == CORO_OK || status == CORO_ESTALE);
	__atomic_add_fetch(status ? &wakes_stale : &wakes_ok, 1, __ATOMIC_RELAXED);
}

static void *wakes_from_outside(void *arg)
{
	uint64_t seed = (uintptr_t)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST))
		wake_some(&seed);
	return NULL;
}

static void wakes_from_inside(void *arg, void *result)
{
	uint64_t seed = *(uint64_t *)arg;
	(void)result;
	while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
		for (int i = 0; i < 8; i++)
			wake_some(&seed);
		CHECK_EQ(coro_yield(), CORO_OK);
	}
}

TEST_LIMIT(handle_woken_while_it_ends, 180)
{
	for (uint32_t workers = 1; workers <= 4; workers++) {
		coro_scheduler *s = start_with(workers, workers == 3 ? CORO_NO_MEMBARRIER : 0);
		pthread_t t;
		memset(shown, 0, sizeof shown);
		stop = 0;
		done = 0;
		for (uint64_t seed = 1; seed <= 2; seed++)
			spawn(s, wakes_from_inside, &seed, sizeof seed);
		uint64_t seed = 3;
		thread_start(&t, wakes_from_outside, (void *)77);
		spawn(s, ends_of_all_kinds, &seed, sizeof seed);
		thread_join(t);
		finish(s);
		CHECK_EQ(done, scaled(3000) * 8);
	}
	CHECK(wakes_stale && wakes_ok); /* both sides of the race have occurred */
}

/* ----------------------------------------------------------------------------- stale and forged */

static void check_stale(coro_handle h)
{
	bool inside = coroi_self() != NULL;

	CHECK_EQ(coro_wake(h), CORO_ESTALE);
	CHECK_EQ(coro_detach(h), CORO_ESTALE);
	CHECK_EQ(coro_join(h, NULL, 0), inside ? CORO_ESTALE : CORO_EPERM);
	CHECK_EQ(coro_switch_to(h), inside ? CORO_ESTALE : CORO_EPERM);
}

static void check_forged(uint64_t seed, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		uint64_t random = rnd(&seed);
		check_stale(random);                         /* any index, any generation */
		check_stale(random & ~(uint64_t)0x3fffc000); /* the first chunk */
		/* generation 0, which no coroutine has */
		check_stale(random & 0x3fff);
		/* coroutines that live, and whose handles were given to nobody */
		check_stale((random & 0x3fff) | UINT64_C(1) << 32);
		/* the generation that retires */
		check_stale(random | UINT64_C(0xffffffff00000000));
	}
	check_stale(0);
	check_stale(UINT64_MAX);
	check_stale(1);
}

static void hides(void *arg, void *result)
{
	(void)arg;
	(void)result;
	while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST))
		CHECK_EQ(coro_yield(), CORO_OK);
	CHECK_EQ(coroi_self()->current->permits, 0);
	__atomic_add_fetch(&done, 1, __ATOMIC_SEQ_CST);
}

static void forges(void *arg, void *result)
{
	(void)arg;
	(void)result;
	check_forged(4, scaled(20000));
	__atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
}

TEST(handle_forged)
{
	check_forged(1, 1000); /* there is no record yet */
	coro_scheduler *s = start_with(2, 0);
	for (int i = 0; i < 500; i++)
		spawn(s, hides, NULL, 0);
	check_forged(2, scaled(20000));
	spawn(s, forges, NULL, 0);
	finish(s);
	CHECK_EQ(done, 500);
	check_forged(3, 1000); /* nobody uses their chunk */
}

static void nothing(void *arg, void *result)
{
	(void)arg;
	(void)result;
}

static coro_handle old[3000];

static void joins_all(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < 3000; i++) {
		CHECK_EQ(coro_join(old[i], NULL, 0), CORO_OK);
		check_stale(old[i]);
	}
}

/* A stale handle stays stale, whether the record is free, reused, trimmed, or another
 * scheduler's. */
TEST(handle_stays_stale)
{
	coro_scheduler *s = start_with(2, 0);

	for (int i = 0; i < 3000; i++)
		CHECK_EQ(coro_scheduler_spawn(s, JOINABLE(0), nothing, NULL, 0, &old[i]), CORO_OK);
	spawn(s, joins_all, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < 3000; i++)
			check_stale(old[i]);
		for (int i = 0; i < 4000; i++)
			spawn(s, nothing, NULL, 0);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		if (round % 2) {
			CHECK(coro_scheduler_trim(s) >= COROI_CHUNK_BYTES);
			for (int i = 0; i < 3000; i++)
				check_stale(old[i]);
		}
	}
	finish(s);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 3000; i++)
			check_stale(old[i]);
		s = start_with(1, 0);
		for (int i = 0; i < 4000; i++)
			spawn(s, nothing, NULL, 0);
		finish(s);
	}
}

/* The same for a coroutine that nobody has joined, and whose scheduler is gone. */
TEST(handle_of_one_never_joined_is_nobody_elses)
{
	coro_handle again;

	for (int round = 0; round < 4; round++) {
		coro_scheduler *s = start_with(1, 0);
		for (int i = 0; i < 3000; i++)
			CHECK_EQ(coro_scheduler_spawn(s, JOINABLE(0), nothing, NULL, 0, &old[i]),
				 CORO_OK);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		/* not finish, which counts what is left */
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
		s = start_with(1, 0);
		for (int i = 0; i < 3000; i++) {
			check_stale(old[i]);
			CHECK_EQ(coro_scheduler_spawn(s, NULL, nothing, NULL, 0, &again), CORO_OK);
			CHECK(again != old[i]);
		}
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	}
}

/* A coroutine that has ended and is not joined yet is stale for wakers anywhere. */
TEST(handle_of_an_ended_one_is_stale_for_wakers)
{
	coro_scheduler *s = start_with(2, 0);
	coro_handle h;

	CHECK_EQ(coro_scheduler_spawn(s, JOINABLE(0), nothing, NULL, 0, &h), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(coro_wake(h), CORO_ESTALE);
	CHECK_EQ(coro_detach(h), CORO_OK);
	check_stale(h);
	finish(s);
}

static uint32_t step;

static void ends_with_remote_wake(void *arg, void *result)
{
	(void)arg;
	(void)result;
	__atomic_store_n(&step, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&step, __ATOMIC_SEQ_CST) < 2)
		sleep_us(50);
}

/* The coroutine ends detached while its record lies in an inbox. The record is free when that
 * remote wake has been taken, and not before. */
TEST(handle_of_one_that_ends_detached_with_a_remote_wake)
{
	for (int round = 0; round < 20; round++) {
		coro_scheduler *s = start_with(1, 0);
		coro_handle h;

		step = 0;
		CHECK_EQ(coro_scheduler_spawn(s, JOINABLE(0), ends_with_remote_wake, NULL, 0, &h),
			 CORO_OK);
		while (__atomic_load_n(&step, __ATOMIC_SEQ_CST) < 1)
			sleep_us(50);
		CHECK_EQ(coro_wake(h), CORO_OK);
		CHECK_EQ(coro_detach(h), CORO_OK);
		__atomic_store_n(&step, 2, __ATOMIC_SEQ_CST);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		check_stale(h);
		finish(s);
	}
}

/* ---------------------------------------------------------------------- destroyed during a wake */

static uint64_t near_misses;

static void parks_shown(void *arg, void *result)
{
	(void)arg;
	(void)result;
	exchange_handle(coro_self(), 0);
	CHECK_EQ(coro_park(), CORO_OK);
}

static void *wakes_what_is_shown(void *arg)
{
	uint64_t hits = 0;
	(void)arg;
	while (!at_load_acq(&stop)) {
		coro_handle h = __atomic_load_n(&shown[0], __ATOMIC_ACQUIRE);
		hits += h && coro_wake(h) == CORO_OK;
	}
	__atomic_add_fetch(&near_misses, hits, __ATOMIC_RELAXED);
	return NULL;
}

/* The first permit ends the coroutine. The second finds it ending, or the scheduler closing or
 * destroyed. */
TEST_LIMIT(handle_woken_while_its_scheduler_is_destroyed, 180)
{
	enum { WAKERS = 2 };
	pthread_t t[WAKERS];
	uint64_t n = scaled(2000);

	stop = 0;
	for (int i = 0; i < WAKERS; i++)
		thread_start(&t[i], wakes_what_is_shown, NULL);
	for (uint64_t i = 0; i < n; i++) {
		coro_scheduler *s = start_with(1, 0);
		spawn(s, parks_shown, NULL, 0);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	}
	at_store_rel(&stop, 1);
	for (int i = 0; i < WAKERS; i++)
		thread_join(t[i]);
	CHECK(near_misses >= n);
}

/* -------------------------------------------------------------------------- the last generation */

static void ends_at_once(void *arg, void *result)
{
	(void)arg;
	(void)result;
}

/* age - a fresh joinable coroutine that is in its last generation. */
static coro_handle age(coro_handle h)
{
	struct coroi_rec *r = coroi_at((uint32_t)h);
	uint64_t gen = (coroi_gen(r->wake) >> COROI_RANK_SHIFT) + 1;

	gen = (gen << COROI_RANK_SHIFT) - 1;

	r->wake = gen << COROI_GEN_SHIFT | COROI_ESCAPED;
	coroi_cold(r)->join = coroi_join_word((uint32_t)gen, COROI_JOIN_NOBODY, 0);
	return gen << COROI_GEN_SHIFT | (uint32_t)h;
}

/* A record whose generations are used up is never used again, whichever side frees it. Nor is its
 * chunk, by any scheduler. */
TEST(handle_of_the_last_generation)
{
	coro_scheduler *s = start_with(1, CORO_PAUSED);
	coro_handle h[4];

	for (int i = 0; i < 3; i++) {
		CHECK_EQ(coro_scheduler_spawn(s, JOINABLE(0), ends_at_once, NULL, 0, &h[i]),
			 CORO_OK);
		h[i] = age(h[i]);
	}
	CHECK_EQ(coro_detach(h[1]), CORO_OK); /* its end frees the record, not the detach */
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(coro_detach(h[0]), CORO_OK);
	CHECK_EQ(stats(s).records_retired, 2);
	CHECK_EQ(coro_wake(h[0]), CORO_ESTALE);
	CHECK_EQ(coro_wake(h[1]), CORO_ESTALE);
	for (int i = 0; i < 20000; i++) {
		CHECK_EQ(coro_scheduler_spawn(s, NULL, ends_at_once, NULL, 0, &h[3]), CORO_OK);
		CHECK((uint32_t)h[3] != (uint32_t)h[0] && (uint32_t)h[3] != (uint32_t)h[1]);
	}
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK); /* h[2] was never joined */
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(coro_wake(h[i]), CORO_ESTALE);
		CHECK_EQ(coro_detach(h[i]), CORO_ESTALE);
	}
	s = start_with(1, CORO_PAUSED);
	CHECK_EQ(coro_scheduler_spawn(s, NULL, ends_at_once, NULL, 0, &h[3]), CORO_OK);
	CHECK((uint32_t)h[3] >> COROI_CHUNK_INDEX_BITS != (uint32_t)h[0] >> COROI_CHUNK_INDEX_BITS);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	finish(s);
}
