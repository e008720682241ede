/*
 * t_policy.c - pools of dispatchers: a woken coroutine goes on, wherever the wake comes from; an
 * ended one is stale; each has its turn. The end of a pool: t_policy_stop.c; misuse:
 * t_policy_misuse.c; no memory: t_policy_nomemory.c.
 */
#include "pools.h"

#include "base/sys.h"
#include "dispatch/policy.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------------------------------- rings */

#define ROUNDS 50

static coro_dispatch_id *ids;
static unsigned ring, members;

static void in_ring(void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg,
		 next = i % members == members - 1 ? i + 1 - members : i + 1;

	CHECK_EQ(coro_dispatch_id_self(), ids[i]);
	for (unsigned k = 0; k < ROUNDS; k++) {
		CHECK_EQ(pattern_across(i % 20 + 1, i, coro_dispatch_park), CORO_OK);
		CHECK_EQ(coro_dispatch_wake(pool, ids[next]), CORO_OK);
	}
	/* the last permit: an ended one is not woken */
	CHECK_EQ(coro_dispatch_park(), CORO_OK);
	add_one(&pool_done);
}

static void rings(uint32_t policy, uint32_t threads)
{
	pool_new(policy, threads, 8);
	ring = (unsigned)scaled(FIBERS ? 400 : 4000);
	members = policy == CORO_DISPATCH_LL ? 8 : 10; /* else they are on several threads */
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
	CHECK_EQ(seen(&pool_done), ring);
	for (unsigned i = 0; i < ring; i++)
		CHECK_EQ(coro_dispatch_wake(pool, ids[i]), CORO_ESTALE);
	pool_end(pool);
	free(ids);
}

TEST(dispatch_pool_rings)
{
	pool_each(4, rings);
}

/* -------------------------------------------------------------------------------------- threads */

static pthread_t where[1000];

static void notes_thread(void *arg)
{
	where[(uintptr_t)arg] = pthread_self();
	CHECK_EQ(coro_dispatch_block(), CORO_OK);
	CHECK(pthread_equal(where[(uintptr_t)arg], pthread_self()));
	add_one(&pool_done);
}

TEST(dispatch_pool_spreads)
{
	pool_new(CORO_DISPATCH_RR, 3, 5);
	for (uintptr_t i = 0; i < 300; i++)
		pool_spawn(notes_thread, (void *)i, 0);
	CHECK_EQ(coro_dispatch_pool_wait(pool), CORO_OK);
	for (unsigned i = 0; i < 300; i++)
		for (unsigned k = 0; k < 300; k++)
			CHECK_EQ(pthread_equal(where[i], where[k]) != 0, i / 5 % 3 == k / 5 % 3);
	pool_end(pool);

	pool_new(CORO_DISPATCH_LL, 3, 0);
	for (uintptr_t i = 0; i < 300; i++)
		pool_spawn(notes_thread, (void *)i, (uint32_t)(i * i));
	CHECK_EQ(coro_dispatch_pool_wait(pool), CORO_OK);
	for (unsigned i = 0; i < 300; i++)
		for (unsigned k = 0; k < 300; k++)
			CHECK_EQ(pthread_equal(where[i], where[k]) != 0, i * i % 3 == k * k % 3);
	CHECK_EQ(seen(&pool_done), 300);
	pool_end(pool);
}

static void tells_its_thread(void *arg)
{
	CHECK_EQ(pthread_getname_np(pthread_self(), arg, 16), 0);
}

/* As many threads as CPUs, with a name of the caller's that may be too long. */
TEST(dispatch_pool_of_the_usual_size)
{
	static const char *const names[] = {"mine", "a-name-of-more-than-sixteen", NULL};
	static const char *const told[] = {"mine/0", "a-name-of-/0", "dispatch/0"};
	uint32_t cpus = coroi_cpus() < CORO_WORKERS_MAX ? coroi_cpus() : CORO_WORKERS_MAX;

	for (int i = 0; i < 3; i++) {
		coro_dispatch_pool_options o = {
			.size = sizeof o, .policy = CORO_DISPATCH_RR, .name = names[i]};
		char name[16] = "";
		CHECK_EQ(coro_dispatch_pool_new(&pool, &o), CORO_OK);
		CHECK_EQ(pool->threads, cpus);
		pool_spawn(tells_its_thread, name, 0);
		pool_end(pool);
		CHECK_EQ(strcmp(name, told[i]), 0);
	}
}

static void tells_its_cpus(void *arg)
{
	CHECK_EQ(sched_getaffinity(0, sizeof(cpu_set_t), arg), 0);
	CHECK_EQ(coro_dispatch_park(),
		 CORO_OK); /* so that each thread has one, in whatever policy */
}

static void is_pinned(uint32_t policy, const uint16_t *cpus, uint32_t count, const cpu_set_t *told)
{
	coro_dispatch_pool_options o = {.size = sizeof o,
					.policy = policy,
					.threads = 3,
					.in_a_row = policy == CORO_DISPATCH_RR,
					.cpus = cpus,
					.cpu_count = count};
	cpu_set_t set[3];
	coro_dispatch_id id[3];

	CHECK_EQ(coro_dispatch_pool_new(&pool, &o), CORO_OK);
	for (uint32_t i = 0; i < 3; i++)
		id[i] = pool_spawn(tells_its_cpus, &set[i], policy == CORO_DISPATCH_LL ? i : 0);
	for (uint32_t i = 0; i < 3; i++)
		CHECK_EQ(coro_dispatch_wake(pool, id[i]), CORO_OK);
	pool_end(pool);
	for (uint32_t i = 0; i < 3; i++)
		CHECK(CPU_EQUAL(&set[i], &told[i % count]));
}

/* Thread i runs on CPU i of the list, the list taken round and round; where there is no such CPU,
 * it runs anywhere. */
TEST(dispatch_pool_on_cpus)
{
	cpu_set_t told[2];
	uint16_t cpus[2] = {0, CPU_SETSIZE - 1};

	CHECK_EQ(sched_getaffinity(0, sizeof told[1], &told[1]), 0);
	while (!CPU_ISSET(cpus[0], &told[1]))
		cpus[0]++;
	while (!CPU_ISSET(cpus[1], &told[1]))
		cpus[1]--;
	for (unsigned i = 0; i < 2; i++) {
		CPU_ZERO(&told[i]);
		CPU_SET(cpus[i], &told[i]);
	}
	for (unsigned i = 0; i < 2; i++)
		is_pinned(pool_policies[i], cpus, 2, told);
	CHECK_EQ(sched_getaffinity(0, sizeof told[1], &told[1]), 0);
	cpus[1] = 60000;
	for (unsigned i = 0; i < 2; i++)
		is_pinned(pool_policies[i], cpus, 2, told);
}

/* ---------------------------------------------------------------------------------------- turns */

static coro_dispatch_id first, second;
static uint64_t stop_it;

/* The other's id is there when the first permit has come. */
static void plays_with(const coro_dispatch_id *other)
{
	while (!seen(&stop_it)) {
		CHECK_EQ(coro_dispatch_park(), CORO_OK);
		int status = coro_dispatch_wake(pool, *other);
		CHECK(status == CORO_OK || status == CORO_ESTALE);
	}
	add_one(&pool_done);
	coro_dispatch_wake(pool, *other); /* so that the other sees the stop */
}

static void plays_first(void *arg)
{
	(void)arg;
	plays_with(&second);
}

static void plays_second(void *arg)
{
	(void)arg;
	plays_with(&first);
}

static void stops_them(void *arg)
{
	(void)arg;
	add_one(&stop_it);
}

static void starts_them(void *arg)
{
	(void)arg;
	first = pool_spawn(plays_first, NULL, 0);
	second = pool_spawn(plays_second, NULL, 0);
	CHECK_EQ(coro_dispatch_wake(pool, first), CORO_OK);
	pool_spawn(stops_them, NULL, 0);
	pool_spawn(stops_them, NULL, 0);
}

/* Two that wake each other on and on let a third have its turn. */
static void others_have_their_turn(uint32_t policy, uint32_t threads)
{
	pool_new(policy, threads, UINT32_MAX); /* all on one thread, but of gq */
	stop_it = 0;
	pool_spawn(starts_them, NULL, 0);
	CHECK_EQ(coro_dispatch_pool_wait(pool), CORO_OK);
	CHECK_EQ(seen(&pool_done), 2);
	pool_end(pool);
}

TEST(dispatch_pool_lets_all_have_their_turn)
{
	pool_each(2, others_have_their_turn);
}

/* -------------------------------------------------------------------------- wakes from anywhere */

#define PARKERS 50u
#define WAKERS  3u

static uint64_t wakes_each;

static void takes_permits(void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg;

	for (uint64_t k = 0; k < WAKERS * wakes_each; k++)
		CHECK_EQ(pattern_across(i % 30 + 1, i, coro_dispatch_park), CORO_OK);
	add_one(&pool_done);
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

/* Exactly as many permits as were given: the last wake serves the last park, or the coroutine would
 * not end. */
static void wake_from_anywhere(uint32_t policy, uint32_t threads)
{
	pthread_t waker[WAKERS - 1];

	pool_new(policy, threads, 3);
	wakes_each = scaled(2000);
	ids = calloc(PARKERS, sizeof *ids);
	for (unsigned i = 0; i < PARKERS; i++)
		ids[i] = pool_spawn(takes_permits, (void *)(uintptr_t)i,
				    policy == CORO_DISPATCH_LL ? i : 0);
	for (unsigned i = 0; i < WAKERS - 1; i++)
		thread_start(&waker[i], wakes_all, NULL);
	pool_spawn(wakes_from_inside, NULL, policy == CORO_DISPATCH_LL);
	for (unsigned i = 0; i < WAKERS - 1; i++)
		thread_join(waker[i]);
	CHECK_EQ(coro_dispatch_pool_wait(pool), CORO_OK);
	CHECK_EQ(seen(&pool_done), PARKERS);
	pool_end(pool);
	free(ids);
}

TEST(dispatch_pool_wakes_from_anywhere)
{
	pool_each(4, wake_from_anywhere);
}

/* ------------------------------------------------------------------------ many that come and go */

static void ends_at_once(void *arg)
{
	(void)arg;
	add_one(&pool_done);
}

static void *spawns(void *arg)
{
	uint64_t n = scaled(20000);
	coro_dispatch_id before = 0, id;
	(void)arg;

	for (uint64_t i = 0; i < n; i++) {
		CHECK_EQ(coro_dispatch_pool_spawn(pool, ends_at_once, NULL, 0, &id), CORO_OK);
		CHECK(id != before);
		/* the coroutine may have ended, and another may have its number */
		if (i % 16 == 0) {
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
	pool_spawn(spawns_inside, NULL, 0);
	for (unsigned i = 0; i < 2; i++)
		thread_join(t[i]);
	CHECK_EQ(coro_dispatch_pool_wait(pool), CORO_OK);
	CHECK_EQ(seen(&pool_done), 3 * scaled(20000));
	pool_end(pool);
}

TEST(dispatch_pool_come_and_go)
{
	pool_each(2, come_and_go);
}

/* --------------------------------------------------------------------------------------- stress */

/* n times, each wakes itself and a random other. */
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
		CHECK_EQ(
			pattern_across((unsigned)(rnd(&state) % 60 + 1), state, coro_dispatch_park),
			CORO_OK);
	}
	add_one(&pool_done);
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
	add_one(&go);
	CHECK_EQ(coro_dispatch_pool_wait(pool), CORO_OK);
	CHECK_EQ(seen(&pool_done), ring);
	pool_end(pool);
	free(ids);
}

TEST(dispatch_pool_stress)
{
	pool_each(4, stress);
}
