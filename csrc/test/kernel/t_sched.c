/*
 * t_sched.c - scheduling: order and fairness, both modes, arguments, many workers, effects of the
 * options.
 */
#include "test.h"

#include <string.h>

static uint64_t done;

static void bump(void *arg, void *result)
{
	(void)arg;
	(void)result;
	__atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
}

/* -------------------------------------------------------------------------- order on one worker */

static char order[4096];

static void write_order(void *arg, void *result)
{
	(void)result;
	strncat(order, arg, 1);
}

static void yields_and_writes(void *arg, void *result)
{
	(void)result;
	for (int i = 0; i < 3; i++) {
		strncat(order, arg, 1);
		CHECK_EQ(coro_yield(), CORO_OK);
	}
}

TEST(sched_is_first_in_first_out)
{
	coro_scheduler *s = start_with(1, CORO_PAUSED);

	for (int i = 0; i < 26; i++)
		spawn(s, yields_and_writes, &"abcdefghijklmnopqrstuvwxyz"[i], 1);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK(strcmp(order,
		     "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz") ==
	      0);
	finish(s);
}

static void spawns_first(void *arg, void *result)
{
	(void)arg;
	(void)result;
	strcat(order, "p");
	spawn_in(write_order, "1", 1);
	/* the child runs now; we come after 1 */
	CHECK_EQ(coro_spawn_first(NULL, write_order, "2", 1, NULL), CORO_OK);
	strcat(order, "q");
	coro_handle h;
	CHECK_EQ(coro_spawn_first(JOINABLE(0), write_order, "3", 1, &h), CORO_OK);
	strcat(order, "r");
	CHECK_EQ(coro_join(h, NULL, 0), CORO_OK);
	spawn_in(write_order, "4", 1);
	strcat(order, "s"); /* a spawned child runs later, its parent goes on */
}

TEST(sched_spawn_first)
{
	coro_scheduler *s = start_with(1, 0);
	spawn(s, spawns_first, NULL, 0);
	finish(s);
	CHECK(strcmp(order, "p21q3rs4") == 0);
}

/* ------------------------------------------------------------ fairness and the hand-over budget */

static coro_handle partner[2];
static uint64_t handovers, yields;
static uint64_t handovers_wanted, takes_ns; /* for each of the two */
static bool over;

static void hands_over(void *arg, void *result)
{
	int me = *(int *)arg;

	(void)result;
	partner[me] = coro_self();
	while (!partner[!me])
		CHECK_EQ(coro_yield(), CORO_OK);
	while (handovers < handovers_wanted) {
		handovers++;
		for (uint64_t began = now_ns(); takes_ns && now_ns() - began < takes_ns;)
			;
		CHECK_EQ(coro_wake(partner[!me]), CORO_OK);
		CHECK_EQ(coro_park(), CORO_OK);
	}
	over = true;
	coro_wake(partner[!me]);
}

static void counts_yields(void *arg, void *result)
{
	(void)arg;
	(void)result;
	while (!over) {
		yields++;
		CHECK_EQ(coro_yield(), CORO_OK);
	}
}

/* turns_beside - how many turns a bystander has while two others wake each other n times. */
static uint64_t turns_beside(int32_t budget, uint64_t wakes)
{
	coro_options o = options(1, CORO_PAUSED);
	int who[2] = {0, 1};

	o.handover_budget = budget;
	coro_scheduler *s = start(&o);
	partner[0] = partner[1] = 0;
	handovers = yields = 0;
	handovers_wanted = wakes;
	over = false;
	spawn(s, hands_over, &who[0], sizeof(int));
	spawn(s, hands_over, &who[1], sizeof(int));
	spawn(s, counts_yields, NULL, 0);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(handovers, wakes);
	finish(s);
	return yields;
}

TEST(sched_handover_budget)
{
	/* Pure FIFO: a turn of the bystander for each of the two, or for both of them; and the
	 * start and the end. */
	uint64_t fifo = turns_beside(-1, 10000);
	CHECK(fifo >= 10000 / 2 && fifo <= 10000 + 10);
	/* A budget of b: one turn in about b hand-overs. All have their turns, and hand-overs go
	 * first. */
	for (int32_t budget = 1; budget <= 64; budget *= 4) {
		uint64_t turns = turns_beside(budget, 10000);
		CHECK(turns >= 10000 / (2 * ((uint64_t)budget + 1)) &&
		      turns <= 10000 / (uint64_t)budget + 10);
	}
}

/* By default a chain lasts for 10 to 40 us: up to 4096 short hand-overs, or one that takes
 * longer. */
TEST(sched_handover_budget_follows_the_clock)
{
	uint64_t began = now_ns();
	uint64_t usual = turns_beside(0, 100000);
	uint64_t took = now_ns() - began;
	CHECK(usual >= 100000 / 4200);
	/* Chains grow where hand-overs are short. On a slow machine none is. */
	CHECK(usual <= 100000 / 16 || usual <= took / 10000);
	report("a turn for the queue each %.0f hand-overs", 100000.0 / (double)usual);
	takes_ns = 50000;
	usual = turns_beside(0, 2000);
	takes_ns = 0;
	report("and each %.1f that take 50 us", 2000.0 / (double)usual);
	CHECK(usual >= 2000 / 8); /* a permit for a queued one lets it go round twice */
}

static uint64_t turns[50];

static void takes_turns(void *arg, void *result)
{
	uint64_t me = *(uint64_t *)arg;
	(void)result;
	for (int i = 0; i < 1000; i++) {
		turns[me]++;
		for (int k = 0; k < 50; k++)
			CHECK(turns[k] + 1 >= turns[me] && turns[k] <= turns[me] + 1);
		CHECK_EQ(coro_yield(), CORO_OK);
	}
	turns[me] = 1000;
	done++;
	while (done < 50) /* so that the others still have somebody to compare with */
		CHECK_EQ(coro_yield(), CORO_OK);
}

/* Nobody is ever more than one turn ahead. */
TEST(sched_yield_is_fair)
{
	coro_scheduler *s = start_with(1, CORO_PAUSED);
	for (uint64_t i = 0; i < 50; i++)
		spawn(s, takes_turns, &i, sizeof i);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	finish(s);
}

/* ------------------------------------------------------------------------------------ arguments */

static void checks_arg(void *arg, void *result)
{
	uint8_t *bytes = arg;

	(void)result;
	CHECK(bytes && ((uintptr_t)arg & 15) == 0);
	uint8_t n = bytes[0];
	for (uint8_t i = 1; i < n; i++)
		CHECK_EQ(bytes[i], (uint8_t)(n + i));
	memset(bytes, 0, n); /* the copy is ours */
	CHECK_EQ(coro_yield(), CORO_OK);
	for (uint8_t i = 0; i < n; i++)
		CHECK_EQ(bytes[i], 0);
	__atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
}

static void no_arg(void *arg, void *result)
{
	CHECK(arg == NULL && result != NULL);
	__atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
}

static void fill_arg(uint8_t *bytes, uint8_t n)
{
	bytes[0] = n;
	for (uint8_t i = 1; i < n; i++)
		bytes[i] = (uint8_t)(n + i);
}

static void spawns_every_size(void *arg, void *result)
{
	uint8_t bytes[CORO_INLINE_BYTES];

	(void)arg;
	(void)result;
	for (uint8_t n = 0; n <= CORO_INLINE_BYTES; n++) {
		fill_arg(bytes, n);
		coro_fn fn = n ? checks_arg : no_arg;
		spawn_in(fn, bytes, n);
		CHECK_EQ(coro_spawn_attr(NULL, fn, bytes, n, NULL), CORO_OK);
		CHECK_EQ(coro_spawn_first(NULL, fn, bytes, n, NULL), CORO_OK);
	}
	__atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
}

TEST(sched_arguments_of_every_size)
{
	coro_scheduler *s = start_with(2, 0);
	uint8_t bytes[CORO_INLINE_BYTES];

	for (uint8_t n = 0; n <= CORO_INLINE_BYTES; n++) {
		fill_arg(bytes, n);
		spawn(s, n ? checks_arg : no_arg, bytes, n);
	}
	spawn(s, spawns_every_size, NULL, 0);
	finish(s);
	CHECK_EQ(done, 4 * (CORO_INLINE_BYTES + 1) + 1);
}

/* A body may write its result, whether or not somebody has asked for it: it is zeros first, and the
 * coroutine's own until it ends. */
static void writes_result(void *arg, void *result)
{
	unsigned char *bytes = result, mine = *(unsigned char *)arg;

	CHECK(result && ((uintptr_t)result & 15) == 0);
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < CORO_INLINE_BYTES; i++) {
			CHECK_EQ(bytes[i], round ? mine : 0);
			bytes[i] = mine;
		}
		CHECK_EQ(coro_yield(), CORO_OK);
	}
	CHECK_EQ(*(unsigned char *)arg, mine);
	__atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
}

static void spawns_writers(void *arg, void *result)
{
	coro_attr dense = {.flags = CORO_DENSE};
	coro_handle h[50];

	(void)arg;
	(void)result;
	for (unsigned char i = 0; i < 50; i++) {
		unsigned char n = i + 1, got[CORO_INLINE_BYTES];
		CHECK_EQ(coro_spawn(writes_result, &n, 1), CORO_OK);
		CHECK_EQ(coro_spawn_attr(&dense, writes_result, &n, 1, NULL), CORO_OK);
		CHECK_EQ(coro_spawn_attr(JOINABLE(sizeof got), writes_result, &n, 1, &h[i]),
			 CORO_OK);
	}
	for (unsigned char i = 0; i < 50; i++) {
		unsigned char got[CORO_INLINE_BYTES];
		CHECK_EQ(coro_join(h[i], got, sizeof got), CORO_OK);
		CHECK_EQ(got[0], i + 1);
		CHECK_EQ(got[CORO_INLINE_BYTES - 1], i + 1);
	}
}

TEST(sched_results_that_nobody_wants)
{
	coro_scheduler *s = start_with(2, 0);

	spawn(s, spawns_writers, NULL, 0);
	finish(s);
	CHECK_EQ(done, 150);
}

/* ---------------------------------------------------------------------- modes, workers, threads */

TEST(sched_options_of_zeros)
{
	coro_options o = {.workers = 3};
	coro_scheduler *s = start(&o);

	CHECK_EQ(stats(s).workers, 3);
	spawn(s, bump, NULL, 0);
	finish(s);
	CHECK_EQ(done, 1);
}

static void fans_out(void *arg, void *result)
{
	uint32_t depth;

	(void)result;
	memcpy(&depth, arg, sizeof depth);
	if (depth--) {
		spawn_in(fans_out, &depth, sizeof depth);
		spawn_in(fans_out, &depth, sizeof depth);
	}
	__atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
}

TEST_LIMIT(sched_many_workers, 180)
{
	uint32_t depth = SANITIZED ? 11 : 14;

	for (uint32_t workers = 1; workers <= 16; workers++) {
		coro_options o = options(workers, workers % 3 ? 0 : CORO_NO_MEMBARRIER);
		o.steal_batch = workers % 4 == 1 ? 1 : workers % 4 == 2 ? 64 : 0;
		o.stack_cache = workers % 2 ? 1 : 0;
		coro_scheduler *s = start(&o);
		done = 0;
		spawn(s, fans_out, &depth, sizeof depth);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(done, (2u << depth) - 1);
		coro_worker_stats w[16];
		coro_stats t;
		CHECK_EQ(coro_scheduler_stats(s, &t, w, 16), CORO_OK);
		CHECK_EQ(t.workers, workers);
		for (uint32_t i = 0; i < workers; i++) {
			CHECK(w[i].tid > 0);
			CHECK(w[i].stolen >= w[i].steals);
			CHECK(w[i].served + w[i].forced == w[i].steals);
			if (o.steal_batch == 1)
				CHECK_EQ(w[i].stolen, w[i].steals);
		}
		finish(s);
	}
}

TEST(sched_workers_of_the_machine)
{
	coro_scheduler *s = start_with(0, 0);
	CHECK(stats(s).workers >= 1);
	spawn(s, bump, NULL, 0);
	finish(s);
	CHECK_EQ(done, 1);
	if (SANITIZED) /* a thread's own stack costs much more there */
		return;
	s = start_with(CORO_WORKERS_MAX, 0);
	CHECK_EQ(stats(s).workers, CORO_WORKERS_MAX);
	for (int i = 0; i < 30000; i++)
		spawn(s, bump, NULL, 0);
	finish(s);
	CHECK_EQ(done, 30001);
}

TEST(sched_paused_runs_nothing_before_run)
{
	coro_scheduler *s = start_with(2, CORO_PAUSED);

	for (int i = 0; i < 1000; i++)
		spawn(s, bump, NULL, 0);
	sleep_us(20000);
	CHECK_EQ(done, 0);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(done, 1000);
	for (int i = 0; i < 1000; i++) /* paused again */
		spawn(s, bump, NULL, 0);
	sleep_us(20000);
	CHECK_EQ(done, 1000);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(done, 2000);
	finish(s);
}

static coro_scheduler *shared;

static void *spawns_from_outside(void *arg)
{
	for (uint64_t i = 0; i < scaled(20000); i++)
		spawn(shared, (coro_fn)(uintptr_t)arg, NULL, 0);
	return NULL;
}

static void spawns_through_the_front_door(void *arg, void *result)
{
	(void)arg;
	(void)result;
	spawn(shared, bump, NULL, 0); /* the call for any thread, made by a worker */
}

TEST(sched_spawn_from_many_threads)
{
	for (uint32_t workers = 1; workers <= 3; workers++) {
		pthread_t t[4];
		shared = start_with(workers, 0);
		done = 0;
		for (int i = 0; i < 4; i++)
			thread_start(&t[i], spawns_from_outside,
				     (void *)(uintptr_t)(i ? bump : spawns_through_the_front_door));
		for (int i = 0; i < 4; i++)
			thread_join(t[i]);
		finish(shared);
		CHECK_EQ(done, 4 * scaled(20000));
	}
}

static void *waits(void *s)
{
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK(__atomic_load_n(&done, __ATOMIC_RELAXED) >= 1000);
	return NULL;
}

static void slow(void *arg, void *result)
{
	for (int i = 0; i < 20; i++)
		CHECK_EQ(coro_yield(), CORO_OK);
	bump(arg, result);
}

TEST(sched_several_wait)
{
	for (int round = 0; round < 20; round++) {
		coro_scheduler *s = start_with(2, 0);
		pthread_t t[3];
		done = 0;
		for (int i = 0; i < 1000; i++)
			spawn(s, slow, NULL, 0);
		for (int i = 0; i < 3; i++)
			thread_start(&t[i], waits, s);
		for (int i = 0; i < 3; i++)
			thread_join(t[i]);
		finish(s);
	}
}
