/*
 * t_policy.c - pools of threads with a dispatcher each: what is woken goes on, wherever the wake
 * comes from, and what has ended is told apart from it.
 */
#include "test.h"

#include "dispatch/policy.h"

#include <stdlib.h>
#include <string.h>

static const uint32_t policies[] = {CORO_DISPATCH_RR, CORO_DISPATCH_LL};

static coro_dispatch_pool *pool;
static uint64_t done;

static uint64_t add(uint64_t *n, uint64_t k)
{
	return __atomic_add_fetch(n, k, __ATOMIC_SEQ_CST);
}

static coro_dispatch_pool *pool_new(uint32_t policy, uint32_t threads, uint32_t in_a_row)
{
	coro_dispatch_pool_options o = {.size = sizeof o,
					.policy = policy,
					.threads = threads,
					.in_a_row = policy == CORO_DISPATCH_RR ? in_a_row : 0};

	pool = NULL;
	CHECK_EQ(coro_dispatch_pool_new(&pool, &o), CORO_OK);
	done = 0;
	return pool;
}

static void each(uint32_t threads, void (*test)(uint32_t policy, uint32_t threads))
{
	for (unsigned i = 0; i < 2; i++)
		for (uint32_t n = 1; n <= threads; n *= 2)
			test(policies[i], n);
}

static coro_dispatch_id start_one(coro_dispatch_fn fn, void *arg, uint32_t group)
{
	coro_dispatch_id id = 0;

	CHECK_EQ(coro_dispatch_pool_spawn(pool, fn, arg, group, &id), CORO_OK);
	CHECK(id != 0);
	return id;
}

static void wait_and_free(void)
{
	CHECK_EQ(coro_dispatch_pool_wait(pool), CORO_OK);
	CHECK_EQ(coro_dispatch_pool_free(pool), CORO_OK);
}

/* A stretch of the stack with a pattern of its own, across a park. */
static __attribute__((noinline)) int park_with_pattern(unsigned words, uint64_t seed)
{
	volatile uint64_t at[words];
	uint64_t state = seed * 2 + 1;

	for (unsigned i = 0; i < words; i++)
		at[i] = rnd(&state);
	int status = coro_dispatch_park();
	state = seed * 2 + 1;
	for (unsigned i = 0; i < words; i++)
		CHECK(at[i] == rnd(&state));
	return status;
}

/* --------------------------------------------------------------------------------------------
 * ring */

#define ROUNDS 50

static coro_dispatch_id *ids;
static unsigned ring, members;

static void in_ring(void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg,
		 next = i % members == members - 1 ? i + 1 - members : i + 1;

	CHECK_EQ(coro_dispatch_id_self(), ids[i]);
	for (unsigned k = 0; k < ROUNDS; k++) {
		CHECK_EQ(park_with_pattern(i % 20 + 1, i), CORO_OK);
		CHECK_EQ(coro_dispatch_wake(pool, ids[next]), CORO_OK);
	}
	/* the last permit: nobody wakes one that has ended */
	CHECK_EQ(coro_dispatch_park(), CORO_OK);
	add(&done, 1);
}

static void rings(uint32_t policy, uint32_t threads)
{
	pool_new(policy, threads, 8);
	ring = (unsigned)scaled(FIBERS ? 400 : 4000);
	members = policy == CORO_DISPATCH_LL ? 8 : 10; /* those of rr are not all on one thread */
	ring -= ring % members;
	ids = calloc(ring + 1, sizeof *ids);
	for (unsigned i = 0; i < ring; i++)
		CHECK_EQ(coro_dispatch_pool_spawn(pool, in_ring, (void *)(uintptr_t)i,
						  policy == CORO_DISPATCH_LL ? i / members : 0,
						  &ids[i]),
			 CORO_OK);
	for (unsigned i = 0; i < ring; i++)
		CHECK_EQ(coro_dispatch_wake(pool, ids[i]), CORO_OK);
	CHECK_EQ(coro_dispatch_pool_wait(pool), CORO_OK);
	CHECK_EQ(seen(&done), ring);
	for (unsigned i = 0; i < ring; i++)
		CHECK_EQ(coro_dispatch_wake(pool, ids[i]), CORO_ESTALE);
	wait_and_free();
	free(ids);
}

TEST(dispatch_pool_rings)
{
	each(4, rings);
}

/* -------------------------------------------------------------------------------------- who is
 * where */

static pthread_t where[1000];

static void notes_thread(void *arg)
{
	where[(uintptr_t)arg] = pthread_self();
	CHECK_EQ(coro_dispatch_block(), CORO_OK);
	CHECK(pthread_equal(where[(uintptr_t)arg], pthread_self()));
	add(&done, 1);
}

TEST(dispatch_pool_spreads)
{
	pool_new(CORO_DISPATCH_RR, 3, 5);
	for (uintptr_t i = 0; i < 300; i++)
		start_one(notes_thread, (void *)i, 0);
	CHECK_EQ(coro_dispatch_pool_wait(pool), CORO_OK);
	for (unsigned i = 0; i < 300; i++)
		for (unsigned k = 0; k < 300; k++)
			CHECK_EQ(pthread_equal(where[i], where[k]) != 0, i / 5 % 3 == k / 5 % 3);
	wait_and_free();

	pool_new(CORO_DISPATCH_LL, 3, 0);
	for (uintptr_t i = 0; i < 300; i++)
		start_one(notes_thread, (void *)i, (uint32_t)(i * i));
	CHECK_EQ(coro_dispatch_pool_wait(pool), CORO_OK);
	for (unsigned i = 0; i < 300; i++)
		for (unsigned k = 0; k < 300; k++)
			CHECK_EQ(pthread_equal(where[i], where[k]) != 0, i * i % 3 == k * k % 3);
	CHECK_EQ(seen(&done), 300);
	wait_and_free();
}

/* ---------------------------------------------------------------------------------- who was woken
 * first */

static coro_dispatch_id first, second;
static uint64_t stop_it;

static void plays_with(coro_dispatch_id other)
{
	while (!seen(&stop_it)) {
		CHECK_EQ(coro_dispatch_park(), CORO_OK);
		int status = coro_dispatch_wake(pool, other);
		CHECK(status == CORO_OK || status == CORO_ESTALE);
	}
	add(&done, 1);
	coro_dispatch_wake(pool, other); /* to see it, too */
}

static void plays_first(void *arg)
{
	(void)arg;
	plays_with(second);
}

static void plays_second(void *arg)
{
	(void)arg;
	plays_with(first);
}

static void stops_them(void *arg)
{
	(void)arg;
	stop_it = 1;
}

static void starts_them(void *arg)
{
	(void)arg;
	first = start_one(plays_first, NULL, 0);
	second = start_one(plays_second, NULL, 0);
	CHECK_EQ(coro_dispatch_wake(pool, first), CORO_OK);
	start_one(stops_them, NULL, 0);
	start_one(stops_them, NULL, 0);
}

/* Two who wake each other for ever let a third have its turn. */
static void others_have_their_turn(uint32_t policy, uint32_t threads)
{
	pool_new(policy, threads, UINT32_MAX); /* all on one thread */
	stop_it = 0;
	start_one(starts_them, NULL, 0);
	CHECK_EQ(coro_dispatch_pool_wait(pool), CORO_OK);
	CHECK_EQ(seen(&done), 2);
	wait_and_free();
}

TEST(dispatch_pool_lets_all_have_their_turn)
{
	each(2, others_have_their_turn);
}

/* ------------------------------------------------------------------------- wakes from anywhere */

#define PARKERS 50u
#define WAKERS  3u

static uint64_t wakes_each;

static void takes_permits(void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg;

	for (uint64_t k = 0; k < WAKERS * wakes_each; k++)
		CHECK_EQ(park_with_pattern(i % 30 + 1, i), CORO_OK);
	add(&done, 1);
}

static void *wakes_all(void *arg)
{
	(void)arg;
	for (uint64_t k = 0; k < wakes_each; k++)
		for (unsigned i = 0; i < PARKERS; i++)
			CHECK_EQ(coro_dispatch_wake(pool, ids[i]), CORO_OK);
	return NULL;
}

static void wakes_from_inside(void *arg)
{
	wakes_all(arg);
}

/* Exactly as many permits as were given: the last park of each is served by the last wake, or it
 * would not end. */
static void wake_from_anywhere(uint32_t policy, uint32_t threads)
{
	pthread_t waker[WAKERS - 1];

	pool_new(policy, threads, 3);
	wakes_each = scaled(2000);
	ids = calloc(PARKERS, sizeof *ids);
	for (unsigned i = 0; i < PARKERS; i++)
		ids[i] = start_one(takes_permits, (void *)(uintptr_t)i,
				   policy == CORO_DISPATCH_LL ? i : 0);
	for (unsigned i = 0; i < WAKERS - 1; i++)
		thread_start(&waker[i], wakes_all, NULL);
	start_one(wakes_from_inside, NULL, policy == CORO_DISPATCH_LL);
	for (unsigned i = 0; i < WAKERS - 1; i++)
		thread_join(waker[i]);
	CHECK_EQ(coro_dispatch_pool_wait(pool), CORO_OK);
	CHECK_EQ(seen(&done), PARKERS);
	wait_and_free();
	free(ids);
}

TEST(dispatch_pool_wakes_from_anywhere)
{
	each(4, wake_from_anywhere);
}

/* ------------------------------------------------------------------------------- many come and
 * go */

static void ends_at_once(void *arg)
{
	(void)arg;
	add(&done, 1);
}

static void *spawns(void *arg)
{
	uint64_t n = scaled(20000);
	coro_dispatch_id before = 0, id;
	(void)arg;

	for (uint64_t i = 0; i < n; i++) {
		CHECK_EQ(coro_dispatch_pool_spawn(pool, ends_at_once, NULL, 0, &id), CORO_OK);
		CHECK(id != before);
		if (i % 16 == 0) { /* it may have ended, and then its place may be another's */
			int status = coro_dispatch_wake(pool, id);
			CHECK(status == CORO_OK || status == CORO_ESTALE);
		}
		before = id;
	}
	return NULL;
}

static void spawns_inside(void *arg)
{
	spawns(arg);
}

static void come_and_go(uint32_t policy, uint32_t threads)
{
	pthread_t t[2];

	pool_new(policy, threads, 0);
	for (unsigned i = 0; i < 2; i++)
		thread_start(&t[i], spawns, NULL);
	start_one(spawns_inside, NULL, 0);
	for (unsigned i = 0; i < 2; i++)
		thread_join(t[i]);
	CHECK_EQ(coro_dispatch_pool_wait(pool), CORO_OK);
	CHECK_EQ(seen(&done), 3 * scaled(20000));
	wait_and_free();
}

TEST(dispatch_pool_come_and_go)
{
	each(2, come_and_go);
}

/* -------------------------------------------------------------------------------------------
 * stop */

static uint64_t canceled, deferred, told;

static void tell(void *arg)
{
	add(arg, 1);
}

static void waits_for_the_stop(void *arg)
{
	CHECK_EQ(coro_defer(tell, &deferred), CORO_OK);
	add(&told, 1);
	CHECK_EQ(park_with_pattern(10, (uintptr_t)arg), CORO_ECANCELED);
	CHECK_EQ(coro_dispatch_park(), CORO_ECANCELED);
	CHECK_EQ(coro_dispatch_pool_spawn(pool, tell, &told, 0, NULL), CORO_ECLOSED);
	add(&canceled, 1);
	if ((uintptr_t)arg % 2)
		coro_abort();
}

static void has_a_permit(void *arg)
{
	(void)arg;
	CHECK_EQ(coro_dispatch_wake(pool, coro_dispatch_id_self()), CORO_OK);
	add(&told, 1);
	while (!seen(&stop_it))
		CHECK_EQ(coro_dispatch_block(), CORO_OK); /* a yield */
	CHECK_EQ(coro_dispatch_park(), CORO_OK);
	CHECK_EQ(coro_dispatch_park(), CORO_ECANCELED);
	add(&canceled, 1);
}

static void stop(uint32_t policy, uint32_t threads)
{
	unsigned n = 100;

	pool_new(policy, threads, 7);
	canceled = deferred = told = stop_it = 0;
	for (uintptr_t i = 0; i < n; i++)
		start_one(waits_for_the_stop, (void *)i,
			  policy == CORO_DISPATCH_LL ? (uint32_t)i : 0);
	start_one(has_a_permit, NULL, 0);
	while (seen(&told) < n + 1)
		sleep_us(100);
	CHECK_EQ(coro_dispatch_pool_stop(pool), CORO_OK);
	CHECK_EQ(coro_dispatch_pool_spawn(pool, tell, &told, 0, NULL), CORO_ECLOSED);
	add(&stop_it, 1);
	CHECK_EQ(coro_dispatch_pool_wait(pool), CORO_OK);
	CHECK_EQ(seen(&canceled), n + 1);
	CHECK_EQ(seen(&deferred), n);
	CHECK_EQ(seen(&told), n + 1);
	CHECK_EQ(coro_dispatch_pool_stop(pool), CORO_OK);
	wait_and_free();
}

TEST(dispatch_pool_stop)
{
	each(4, stop);
}

/* Those that have not started when it is stopped never do. */
static void stops_inside(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < 1000; i++)
		start_one(tell, &told, 0);
	CHECK_EQ(coro_dispatch_pool_stop(pool), CORO_OK);
	CHECK_EQ(coro_dispatch_pool_wait(pool), CORO_EPERM);
	CHECK_EQ(coro_dispatch_pool_free(pool), CORO_EPERM);
	CHECK_EQ(coro_dispatch_park(), CORO_ECANCELED);
}

static void parks_once(void *arg)
{
	add(arg, coro_dispatch_park() == CORO_ECANCELED);
}

static void stop_unstarted(uint32_t policy, uint32_t threads)
{
	pool_new(policy, threads, UINT32_MAX);
	told = canceled = 0;
	start_one(parks_once, &canceled, 0);
	start_one(stops_inside, NULL, 0);
	CHECK_EQ(coro_dispatch_pool_wait(pool), CORO_OK);
	CHECK_EQ(seen(&told), 0);
	CHECK_EQ(seen(&canceled), 1);
	wait_and_free();
}

TEST(dispatch_pool_stop_before_they_start)
{
	each(2, stop_unstarted);
}

/* Free alone does all of it. */
static void free_alone(uint32_t policy, uint32_t threads)
{
	pool_new(policy, threads, 0);
	canceled = 0;
	for (unsigned i = 0; i < 100; i++)
		start_one(parks_once, &canceled, 0);
	CHECK_EQ(coro_dispatch_pool_free(pool), CORO_OK);
	CHECK(seen(&canceled) <= 100);
	pool_new(policy, threads, 0);
	CHECK_EQ(coro_dispatch_pool_free(pool), CORO_OK);
}

TEST(dispatch_pool_free_stops)
{
	each(4, free_alone);
}

/* ------------------------------------------------------------------------------------------
 * errors */

TEST(dispatch_pool_wrong_arguments)
{
	coro_dispatch_pool_options good = {.size = sizeof good,
					   .policy = CORO_DISPATCH_RR,
					   .threads = 1},
				   bad;

	CHECK_EQ(coro_dispatch_pool_new(NULL, &good), CORO_EINVAL);
	CHECK_EQ(coro_dispatch_pool_new(&pool, NULL), CORO_EINVAL);
	bad = good, bad.size++;
	CHECK_EQ(coro_dispatch_pool_new(&pool, &bad), CORO_EINVAL);
	bad = good, bad.policy = 0;
	CHECK_EQ(coro_dispatch_pool_new(&pool, &bad), CORO_EINVAL);
	bad = good, bad.policy = 3;
	CHECK_EQ(coro_dispatch_pool_new(&pool, &bad), CORO_EINVAL);
	bad = good, bad.threads = CORO_WORKERS_MAX + 1;
	CHECK_EQ(coro_dispatch_pool_new(&pool, &bad), CORO_EINVAL);
	bad = good, bad.stack_bytes = 1;
	CHECK_EQ(coro_dispatch_pool_new(&pool, &bad), CORO_EINVAL);
	bad = good, bad.policy = CORO_DISPATCH_LL, bad.in_a_row = 1;
	CHECK_EQ(coro_dispatch_pool_new(&pool, &bad), CORO_EINVAL);

	pool_new(CORO_DISPATCH_RR, 1, 0);
	CHECK_EQ(coro_dispatch_pool_spawn(NULL, tell, NULL, 0, NULL), CORO_EINVAL);
	CHECK_EQ(coro_dispatch_pool_spawn(pool, NULL, NULL, 0, NULL), CORO_EINVAL);
	CHECK_EQ(coro_dispatch_pool_spawn(pool, tell, NULL, 1, NULL), CORO_EINVAL);
	CHECK_EQ(coro_dispatch_wake(NULL, 1), CORO_EINVAL);
	CHECK_EQ(coro_dispatch_wake(pool, 0), CORO_ESTALE);
	CHECK_EQ(coro_dispatch_wake(pool, UINT64_MAX), CORO_ESTALE);
	CHECK_EQ(coro_dispatch_wake(pool, UINT64_C(1) << 32), CORO_ESTALE);
	CHECK_EQ(coro_dispatch_park(), CORO_EPERM);
	CHECK_EQ(coro_dispatch_id_self(), 0);
	CHECK_EQ(coro_dispatch_pool_wait(NULL), CORO_EINVAL);
	CHECK_EQ(coro_dispatch_pool_stop(NULL), CORO_EINVAL);
	CHECK_EQ(coro_dispatch_pool_free(NULL), CORO_OK);
	wait_and_free();
}

/* As many permits as there may be: the last of them by hand. */
static void is_full(void *arg)
{
	struct coroi_member *me = (struct coroi_member *)coro_dispatch_self();
	(void)arg;

	at_store_rlx(&me->permits, COROI_MEMBER_PERMITS - 1);
	CHECK_EQ(coro_dispatch_wake(pool, coro_dispatch_id_self()), CORO_OK);
	CHECK_EQ(coro_dispatch_wake(pool, coro_dispatch_id_self()), CORO_EOVERFLOW);
	CHECK_EQ(coro_dispatch_park(), CORO_OK);
	CHECK_EQ(coro_dispatch_wake(pool, coro_dispatch_id_self()), CORO_OK);
	add(&done, 1);
	while (!seen(&stop_it))
		CHECK_EQ(coro_dispatch_block(), CORO_OK);
}

static void overflow(uint32_t policy, uint32_t threads)
{
	pool_new(policy, threads, 0);
	stop_it = 0;
	coro_dispatch_id id = start_one(is_full, NULL, 0);
	while (!seen(&done))
		sleep_us(100);
	CHECK_EQ(coro_dispatch_wake(pool, id), CORO_EOVERFLOW);
	add(&stop_it, 1);
	CHECK_EQ(coro_dispatch_pool_wait(pool), CORO_OK);
	CHECK_EQ(coro_dispatch_wake(pool, id), CORO_ESTALE);
	wait_and_free();
}

TEST(dispatch_pool_counts_permits)
{
	each(1, overflow);
}

static intptr_t by_hand(void *arg, intptr_t value)
{
	(void)arg;
	CHECK_EQ(coro_dispatch_park(), CORO_EPERM);
	CHECK_EQ(coro_dispatch_id_self(), 0);
	return value + 1;
}

static void misuses(void *arg)
{
	coro_t *co;
	intptr_t got;
	(void)arg;

	CHECK_EQ(coro_new(&co, by_hand, NULL, STACK), CORO_OK);
	CHECK_EQ(coro_resume(co, 4, &got), CORO_FINISHED);
	CHECK_EQ(got, 5);
	CHECK_EQ(coro_free(co), CORO_OK);
	CHECK_EQ(coro_park(), CORO_EPERM);
	CHECK_EQ(coro_dispatch_drop(coro_dispatch_self()), CORO_EBUSY);
	add(&done, 1);
}

static void misuse(uint32_t policy, uint32_t threads)
{
	pool_new(policy, threads, 0);
	start_one(misuses, NULL, 0);
	CHECK_EQ(coro_dispatch_pool_wait(pool), CORO_OK);
	CHECK_EQ(seen(&done), 1);
	wait_and_free();
}

TEST(dispatch_pool_what_is_not_allowed_inside)
{
	each(1, misuse);
}

/* --------------------------------------------------------------------------------------- no
 * memory */

static void new_fails(uint32_t policy, uint32_t threads)
{
	coro_dispatch_pool_options o = {.size = sizeof o, .policy = policy, .threads = threads};
	int *faults[] = {&fail_alloc, &fail_map, &fail_guard, &fail_thread};

	for (unsigned f = 0; f < 4; f++) {
		for (int k = 0;; k++) {
			CHECK(k < 1000);
			*faults[f] = k;
			pool = NULL;
			int status = coro_dispatch_pool_new(&pool, &o);
			bool came = *faults[f] < 0;
			*faults[f] = -1;
			if (status == CORO_OK)
				CHECK_EQ(coro_dispatch_pool_free(pool), CORO_OK);
			else
				CHECK_EQ(status, f == 3 ? CORO_EAGAIN : CORO_ENOMEM);
			CHECK_EQ(status != CORO_OK, came);
			if (!came)
				break;
		}
	}
}

TEST(dispatch_pool_no_memory_to_begin_with)
{
	each(4, new_fails);
}

static void spawn_fails(uint32_t policy, uint32_t threads)
{
	coro_dispatch_id id = 7;

	pool_new(policy, threads, 0);
	fail_alloc = 0;
	CHECK_EQ(coro_dispatch_pool_spawn(pool, tell, &done, 0, &id), CORO_ENOMEM);
	CHECK_EQ(id, 7);
	CHECK_EQ(fail_alloc, -1);
	start_one(tell, &done, 0);
	CHECK_EQ(coro_dispatch_pool_wait(pool), CORO_OK);
	CHECK_EQ(seen(&done), 1);
	wait_and_free();
}

TEST(dispatch_pool_no_memory_to_spawn)
{
	each(1, spawn_fails);
}

/* No memory for its frames: it has not waited, and whatever permit comes is still there. */
static void cannot_park(void *arg)
{
	fail_block = 0;
	fail_blocks = 1;
	CHECK_EQ(park_with_pattern(20, (uintptr_t)arg), CORO_ENOMEM);
	CHECK_EQ(fail_blocks, 0);
	add(&told, 1);
	CHECK_EQ(park_with_pattern(20, (uintptr_t)arg), CORO_OK);
	fail_block = 0;
	fail_blocks = 1;
	CHECK_EQ(park_with_pattern(200, (uintptr_t)arg), CORO_ENOMEM); /* its buffer is too small */
	add(&done, 1);
	CHECK_EQ(coro_dispatch_park(), CORO_ECANCELED);
}

static void park_fails(uint32_t policy, uint32_t threads)
{
	pool_new(policy, threads, 0);
	told = 0;
	ids = calloc(10, sizeof *ids);
	for (unsigned i = 0; i < 10; i++)
		ids[i] = start_one(cannot_park, (void *)(uintptr_t)i, 0);
	while (seen(&told) < 10)
		sleep_us(100);
	for (unsigned i = 0; i < 10; i++)
		CHECK_EQ(coro_dispatch_wake(pool, ids[i]), CORO_OK);
	while (seen(&done) < 10)
		sleep_us(100);
	CHECK_EQ(coro_dispatch_pool_free(pool), CORO_OK);
	free(ids);
}

TEST(dispatch_pool_no_memory_to_park)
{
	each(2, park_fails);
}

/* A wake that comes while a park is about to fail is a permit all the same: as many parks succeed
 * as there are wakes. */
static void parks_without_memory(void *arg)
{
	uint64_t n = *(uint64_t *)arg, taken = 0;

	fail_block = 0;
	while (taken < n) {
		fail_blocks = 1;
		int status = coro_dispatch_park();
		CHECK(status == CORO_OK || status == CORO_ENOMEM);
		taken += status == CORO_OK;
	}
	fail_blocks = 0;
	add(&done, 1);
}

static void *wakes_one(void *arg)
{
	coro_dispatch_id *id = arg;

	for (uint64_t i = 0; i < id[1]; i++)
		CHECK_EQ(coro_dispatch_wake(pool, id[0]), CORO_OK);
	return NULL;
}

static void wake_while_a_park_fails(uint32_t policy, uint32_t threads)
{
	uint64_t n = scaled(3000);
	pthread_t t;

	pool_new(policy, threads, 0);
	coro_dispatch_id id[2] = {start_one(parks_without_memory, &n, 0), n};
	thread_start(&t, wakes_one, id);
	thread_join(t);
	CHECK_EQ(coro_dispatch_pool_wait(pool), CORO_OK);
	CHECK_EQ(seen(&done), 1);
	wait_and_free();
}

TEST(dispatch_pool_wakes_while_a_park_fails)
{
	each(1, wake_while_a_park_fails);
}

/* ------------------------------------------------------------------------------------------
 * stress */

/* Everybody wakes himself, and somebody at random, so often. */
static void wakes_at_random(void *arg)
{
	uint64_t state = (uintptr_t)arg * 2 + 1;

	for (unsigned k = 0; k < 100; k++) {
		uint64_t to = rnd(&state) % ring;
		CHECK_EQ(coro_dispatch_wake(pool, ids[(uintptr_t)arg]), CORO_OK);
		if (rnd(&state) % 4 == 0)
			CHECK_EQ(coro_dispatch_block(), CORO_OK);
		int status = coro_dispatch_wake(pool, ids[to]);
		CHECK(status == CORO_OK || status == CORO_ESTALE);
		CHECK_EQ(park_with_pattern((unsigned)(rnd(&state) % 60 + 1), state), CORO_OK);
	}
	add(&done, 1);
}

static uint64_t go;

static void waits_to_begin(void *arg)
{
	while (!seen(&go))
		CHECK_EQ(coro_dispatch_block(), CORO_OK);
	wakes_at_random(arg);
}

static void stress(uint32_t policy, uint32_t threads)
{
	pool_new(policy, threads, 1);
	go = 0;
	ring = (unsigned)scaled(FIBERS ? 200 : 1000);
	ids = calloc(ring, sizeof *ids);
	for (unsigned i = 0; i < ring; i++)
		CHECK_EQ(coro_dispatch_pool_spawn(pool, waits_to_begin, (void *)(uintptr_t)i,
						  policy == CORO_DISPATCH_LL ? i : 0, &ids[i]),
			 CORO_OK);
	add(&go, 1);
	CHECK_EQ(coro_dispatch_pool_wait(pool), CORO_OK);
	CHECK_EQ(seen(&done), ring);
	wait_and_free();
	free(ids);
}

TEST(dispatch_pool_stress)
{
	each(4, stress);
}
