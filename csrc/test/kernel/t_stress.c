/*
 * t_stress.c - everything at once, for long, and counted: no coroutine is lost, run twice, or woken
 * once too often. CORO_TEST_SCALE makes it longer.
 */
#include "test.h"

#include <inttypes.h>
#include <sched.h>
#include <string.h>

#define MODES 4

static const uint32_t modes[MODES] = {0, CORO_NO_MEMBARRIER, CORO_NO_STANDBY,
				      CORO_NO_MEMBARRIER | CORO_NO_STANDBY};

/* ---------------------------------------------------------------------------- queues and steals */

static uint64_t sum, count;

static uint64_t mix(uint64_t x)
{
	x *= UINT64_C(0x9e3779b97f4a7c15);
	return x ^ x >> 29;
}

static void work(uint64_t n)
{
	for (volatile uint64_t i = 0; i < n; i++)
		;
}

struct item {
	uint64_t name;
	uint32_t yields, children, spins, spare; /* no padding: all bytes are compared */
};

/* The name goes into the sum once, whichever worker runs the coroutine. Between yields it may
 * move. */
static void item(void *arg, void *result)
{
	struct item in;

	(void)result;
	memcpy(&in, arg, sizeof in);
	for (uint32_t i = 0; i < in.children; i++) {
		struct item child = {in.name + 1 + i, in.yields, 0, in.spins, 0};
		spawn_in(item, &child, sizeof child);
	}
	for (uint32_t i = 0; i <= in.yields; i++) {
		if (i % 8 == 0)
			work(in.spins);
		CHECK_EQ(coro_yield(), CORO_OK);
	}
	struct item again;
	memcpy(&again, arg, sizeof again);
	CHECK(memcmp(&in, &again, sizeof in) == 0);
	__atomic_add_fetch(&sum, mix(in.name), __ATOMIC_RELAXED);
	__atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
}

/* What the workers of all schedulers so far have done. */
struct tally {
	/* how often a runnable was taken from the front of a queue, after it was put at the back */
	uint64_t turns;
	uint64_t stolen; /* taken from the back of one queue, and put at the back of another */
	uint64_t steals, served, forced, remote_wakes;
};

static void add_up(struct tally *t, coro_scheduler *s)
{
	static coro_worker_stats w[CORO_WORKERS_MAX];
	coro_stats all;

	CHECK_EQ(coro_scheduler_stats(s, &all, w, CORO_WORKERS_MAX), CORO_OK);
	for (uint32_t i = 0; i < all.workers; i++) {
		t->turns += w[i].switches;
		t->stolen += w[i].stolen;
		t->steals += w[i].steals;
		t->served += w[i].served;
		t->forced += w[i].forced;
		t->remote_wakes += w[i].remote_wakes;
	}
}

/* tally_with - t and what the workers of s have done up to now. */
static struct tally tally_with(struct tally t, coro_scheduler *s)
{
	add_up(&t, s);
	return t;
}

static uint64_t operations(const struct tally *t)
{
	return 2 * t->turns + 2 * t->stolen;
}

/* All roots come into one worker's inbox, so the others must steal. */
static void round_of_items(coro_scheduler *s, uint64_t round, uint32_t roots, uint32_t children,
			   uint32_t yields, uint32_t spins)
{
	uint64_t want = 0;

	sum = count = 0;
	for (uint64_t r = 0; r < roots; r++) {
		struct item root = {(round * roots + r) * (children + 1), yields, children, spins,
				    0};
		for (uint64_t k = 0; k <= children; k++)
			want += mix(root.name + k);
		spawn(s, item, &root, sizeof root);
	}
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(count, (uint64_t)roots * (children + 1));
	CHECK(sum == want);
}

/* wants_operations - whether more of one kind is still wanted. */
static bool wants_operations(const struct tally *t, const struct tally *want)
{
	return operations(t) < operations(want);
}

static bool wants_steals(const struct tally *t, const struct tally *want)
{
	return t->steals < want->steals || t->served < want->served || t->forced < want->forced;
}

/* rounds_until - rounds until `want` has happened. Short coroutines: the worker comes to its door
 * while a thief waits there, and serves the thief. That happens even if both share a core, if
 * thieves are delayed often enough. Longer ones: the thief forces the door. */
static void rounds_until(coro_scheduler *s, struct tally *t, const struct tally *want)
{
	struct tally before = *t;
	uint64_t round = 0;

	for (; wants_operations(t, want); *t = tally_with(before, s))
		round_of_items(s, round++, 64, 7, 2000, 0);
	for (; wants_steals(t, want); *t = tally_with(before, s)) {
		bool serve = t->served * want->forced <= t->forced * want->served;
		delays(serve ? 100 : DELAYS_USUAL);
		round_of_items(s, round++, 2, 2000, 0, serve ? 700 : 4000);
	}
	delays(DELAYS_USUAL);
}

/* 10^7 operations on queues and 10^5 steals, of which 10^4 are served and 10^4 forced, with
 * CORO_TEST_SCALE=100 a hundred times as many. A quarter each with 2, 4, 16 and 64 workers; with
 * doors of both kinds. */
TEST_LIMIT(stress_queues_and_steals, 360)
{
	static const uint32_t workers[] = {2, 4, 16, 64};
	struct tally all = {0};

	for (uint32_t i = 0; i < 4; i++) {
		for (int exchange = 0; exchange < 2; exchange++) {
			struct tally t = {0}, want = {.turns = scaled(10000000) / 16 + 1,
						      .steals = scaled(100000) / 8 + 1};
			if (DELAYED) /* other builds depend on luck */
				want.served = want.forced = scaled(10000) / 8 + 1;
			coro_options o = options(workers[i], exchange ? CORO_NO_MEMBARRIER : 0);
			o.steal_batch = i % 2 ? 2 : 1;
			coro_scheduler *s = start(&o);
			uint64_t began = now_ns();
			rounds_until(s, &t, &want);
			report("%u workers%s: %" PRIu64 " operations, %" PRIu64 " steals, %" PRIu64
			       " served, %" PRIu64 " forced, %" PRIu64 " ms",
			       workers[i], exchange ? ", exchange" : "", operations(&t), t.steals,
			       t.served, t.forced, (now_ns() - began) / 1000000);
			all = tally_with(all, s);
			finish(s);
		}
	}
	report("%" PRIu64 " operations, %" PRIu64 " steals, %" PRIu64 " served, %" PRIu64 " forced",
	       operations(&all), all.steals, all.served, all.forced);
	CHECK(operations(&all) >= scaled(10000000) && all.steals >= scaled(100000));
	CHECK(!DELAYED || (all.served >= scaled(10000) && all.forced >= scaled(10000)));
}

/* -------------------------------------------------------------- parks and wakes, from each side */

#define RING 16

struct ring {
	coro_handle member[RING];
	uint64_t token, laps, ended;
};

static struct ring rings[64];

/* A token goes round: a wake passes it on. */
static void member(void *arg, void *result)
{
	uint32_t in[2];

	(void)result;
	memcpy(in, arg, sizeof in);
	struct ring *r = &rings[in[0]];
	uint32_t me = in[1];
	__atomic_store_n(&r->member[me], coro_self(), __ATOMIC_RELEASE);
	while (!__atomic_load_n(&r->member[(me + 1) % RING], __ATOMIC_ACQUIRE))
		CHECK_EQ(coro_yield(), CORO_OK);
	for (uint64_t lap = 0; lap < r->laps; lap++) {
		if (me || lap)
			CHECK_EQ(coro_park(), CORO_OK);
		CHECK_EQ(__atomic_load_n(&r->token, __ATOMIC_RELAXED), lap * RING + me);
		__atomic_store_n(&r->token, lap * RING + me + 1, __ATOMIC_RELAXED);
		CHECK_EQ(coro_wake(r->member[(me + 1) % RING]), CORO_OK);
	}
	if (me == 0)
		CHECK_EQ(coro_park(), CORO_OK); /* for the wake of the last lap */
	__atomic_add_fetch(&r->ended, 1, __ATOMIC_SEQ_CST);
}

/* run_rings - *rounds counts the rounds, each a park that a wake ends; *remote_wakes counts wakes
 * from other threads. */
static void run_rings(uint32_t workers, uint32_t flags, uint32_t n, uint64_t laps, uint64_t *rounds,
		      uint64_t *remote_wakes)
{
	coro_scheduler *s = start_with(workers, flags);
	struct tally t = {0};

	memset(rings, 0, sizeof rings);
	for (uint32_t i = 0; i < n; i++)
		rings[i].laps = laps;
	/* so that a ring's members start on different workers */
	for (uint32_t k = 0; k < RING; k++)
		for (uint32_t i = 0; i < n; i++) {
			uint32_t in[2] = {i, k};
			spawn(s, member, in, sizeof in);
		}
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	add_up(&t, s);
	*rounds += n * laps * RING;
	*remote_wakes += t.remote_wakes;
	finish(s);
	for (uint32_t i = 0; i < n; i++) {
		CHECK_EQ(rings[i].token, laps * RING);
		CHECK_EQ(rings[i].ended, RING);
	}
}

/* 10^5 rounds without a standby, and some with one. */
TEST_LIMIT(stress_wakes_at_home, 180)
{
	uint64_t rounds = 0, with_standby = 0, remote_wakes = 0;

	for (int m = 0; m < MODES; m++)
		if (modes[m] & CORO_NO_STANDBY)
			run_rings(1, modes[m], 64, scaled(100000) / (64 * RING * 2) + 1, &rounds,
				  &remote_wakes);
		else
			run_rings(1, modes[m], 64, scaled(100), &with_standby, &remote_wakes);
	report("%" PRIu64 " rounds of park and wake on one worker, no standby", rounds);
	CHECK(rounds >= scaled(100000) && remote_wakes == 0);
}

/* The same, counted by remote wakes: with many rings, where remote wakes come in crowds, and with
 * one, where each finds its worker asleep or about to be. */
TEST_LIMIT(stress_wakes_across_workers, 180)
{
	uint64_t rounds = 0, remote_wakes = 0, unused = 0;

	for (uint32_t i = 0; remote_wakes < scaled(100000); i++)
		run_rings(2 + i % 3, CORO_NO_STANDBY | (i & 1 ? CORO_NO_MEMBARRIER : 0),
			  i % 4 ? 64 : 1, i % 4 ? 50 : 400, &rounds, &remote_wakes);
	for (uint32_t i = 0; i < 6; i++)
		run_rings(2 + i % 3, modes[i % 2], 64, scaled(20), &unused, &unused);
	report("%" PRIu64 " wakes from other workers in %" PRIu64
	       " rounds of park and wake, no standby",
	       remote_wakes, rounds);
}

/* Threads and coroutines wake each other: a thread wakes at least one of its coroutines, and waits
 * until each has answered. Many wakes find the workers about to sleep. */
#define CALLERS 4
#define EACH    16

static struct caller {
	uint64_t seed, rounds;
	struct {
		coro_handle handle;
		uint64_t asked, answered;
	} of[EACH];
	uint32_t over;
} callers[CALLERS];

static void answers(void *arg, void *result)
{
	uint32_t in[2];

	(void)result;
	memcpy(in, arg, sizeof in);
	struct caller *c = &callers[in[0]];
	__atomic_store_n(&c->of[in[1]].handle, coro_self(), __ATOMIC_RELEASE);
	for (uint64_t i = 1;; i++) {
		CHECK_EQ(coro_park(), CORO_OK);
		if (__atomic_load_n(&c->over, __ATOMIC_ACQUIRE))
			break;
		CHECK_EQ(__atomic_load_n(&c->of[in[1]].asked, __ATOMIC_ACQUIRE), i);
		__atomic_store_n(&c->of[in[1]].answered, i, __ATOMIC_RELEASE);
	}
}

static void await_answer(struct caller *c, uint64_t k)
{
	for (int spins = 0;
	     __atomic_load_n(&c->of[k].answered, __ATOMIC_ACQUIRE) != c->of[k].asked;)
		if (++spins % 200 == 0)
			sched_yield(); /* the others may have no other core */
}

/* A pause now and then finds the workers asleep, or at any point before. */
static void *calls(void *arg)
{
	struct caller *c = arg;

	for (uint64_t turn = 0, left = c->rounds; left; turn++) {
		uint64_t pause = turn % 32 ? 0 : 1 + rnd(&c->seed) % 25000,
			 until = now_ns() + pause;
		uint64_t some = 1 + rnd(&c->seed) % EACH;
		if (pause && pause < 100)
			sleep_us(40);
		else
			while (pause && now_ns() < until)
				;
		some = some > left ? left : some;
		left -= some;
		for (uint64_t k = 0; k < some; k++) {
			__atomic_store_n(&c->of[k].asked, c->of[k].asked + 1, __ATOMIC_RELEASE);
			CHECK_EQ(coro_wake(c->of[k].handle), CORO_OK);
		}
		for (uint64_t k = 0; k < some; k++)
			await_answer(c, k);
	}
	__atomic_store_n(&c->over, 1, __ATOMIC_RELEASE);
	for (uint64_t k = 0; k < EACH; k++)
		CHECK_EQ(coro_wake(c->of[k].handle), CORO_OK);
	return NULL;
}

/* wake_from_here - returns the number of rounds. */
static uint64_t wake_from_here(uint32_t workers, uint32_t flags, uint64_t rounds)
{
	coro_scheduler *s = start_with(workers, flags);
	pthread_t t[CALLERS];

	memset(callers, 0, sizeof callers);
	for (uint32_t i = 0; i < CALLERS; i++) {
		callers[i].seed = i + 1;
		callers[i].rounds = rounds / CALLERS + 1;
		for (uint32_t k = 0; k < EACH; k++) {
			uint32_t in[2] = {i, k};
			spawn(s, answers, in, sizeof in);
			while (!__atomic_load_n(&callers[i].of[k].handle, __ATOMIC_ACQUIRE))
				sleep_us(20);
		}
	}
	for (int i = 0; i < CALLERS; i++)
		thread_start(&t[i], calls, &callers[i]);
	for (int i = 0; i < CALLERS; i++)
		thread_join(t[i]);
	finish(s);
	return CALLERS * (rounds / CALLERS + 1);
}

/* 10^5 rounds without a standby, and some with one. */
TEST_LIMIT(stress_wakes_from_outside, 360)
{
	uint64_t rounds = 0;

	for (int m = 0; m < MODES; m++) {
		bool counts = modes[m] & CORO_NO_STANDBY;
		uint64_t n = wake_from_here(1 + (uint32_t)m % 2, modes[m],
					    counts ? scaled(100000) / 2 + 1 : scaled(5000));
		rounds += counts ? n : 0;
	}
	report("%" PRIu64 " rounds of park and a thread's wake, no standby", rounds);
	CHECK(rounds >= scaled(100000));
}

/* ----------------------------------------------------------------------------------- everything */

static uint64_t mixed_done;

static void quick(void *arg, void *result)
{
	memcpy(result, arg, 8);
	if (*(uint64_t *)arg & 1)
		coro_yield();
}

static void counts(void *arg)
{
	__atomic_add_fetch((uint64_t *)arg, 1, __ATOMIC_RELAXED);
}

static uint64_t deferred_ran;

static void deep(void *arg)
{
	CHECK_EQ(coro_yield(), CORO_OK);
	*(uint64_t *)arg += coro_stack_left() > STACK;
}

static void mixed(void *arg, void *result)
{
	uint64_t seed = *(uint64_t *)arg, in, out, on_large = 0;
	coro_handle h;

	(void)result;
	CHECK_EQ(coro_defer(counts, &deferred_ran), CORO_OK);
	for (int i = 0; i < 50; i++) {
		switch (rnd(&seed) % 8) {
		case 0:
			CHECK_EQ(coro_yield(), CORO_OK);
			break;
		case 1:
		case 2:
			in = rnd(&seed);
			CHECK_EQ(coro_spawn_attr(JOINABLE(8), quick, &in, 8, &h), CORO_OK);
			if (rnd(&seed) & 1)
				CHECK_EQ(coro_yield(), CORO_OK);
			CHECK_EQ(coro_join(h, &out, 8), CORO_OK);
			CHECK(in == out);
			break;
		case 3:
			CHECK_EQ(coro_wake(coro_self()), CORO_OK);
			CHECK_EQ(coro_yield(), CORO_OK);
			CHECK_EQ(coro_park(), CORO_OK);
			break;
		case 4:
			CHECK_EQ(coro_call_on_stack(4 * STACK, deep, &on_large), CORO_OK);
			break;
		case 5:
			in = rnd(&seed);
			CHECK_EQ(coro_spawn_attr(JOINABLE(8), quick, &in, 8, &h), CORO_OK);
			CHECK_EQ(coro_detach(h), CORO_OK);
			break;
		case 6:
			memset(coro_malloc(1 + rnd(&seed) % 600), 1, 1);
			break;
		case 7:
			work(rnd(&seed) % 2000);
			break;
		}
	}
	__atomic_add_fetch(&mixed_done, 1, __ATOMIC_SEQ_CST);
	if (seed & 1)
		coro_exit();
}

static uint32_t trimming;

static void *trims(void *s)
{
	coro_blocked list[8];
	while (__atomic_load_n(&trimming, __ATOMIC_SEQ_CST)) {
		coro_scheduler_trim(s);
		coro_scheduler_blocked(s, list, 8);
		stats(s);
		sleep_us(200);
	}
	return NULL;
}

#define MIXED_MOST 40000 /* large counts are not needed here */

/* Beside a thread that trims, lists and counts all the time. */
TEST_LIMIT(stress_mixed, 360)
{
	for (int m = 0; m < MODES; m++) {
		for (uint32_t workers = 1; workers <= 4; workers++) {
			coro_scheduler *s = start_with(workers, modes[m]);
			pthread_t t;
			uint64_t n = scaled(4000) < MIXED_MOST ? scaled(4000) : MIXED_MOST;
			mixed_done = deferred_ran = 0;
			trimming = 1;
			thread_start(&t, trims, s);
			for (uint64_t i = 1; i <= n; i++)
				spawn(s, mixed, &i, sizeof i);
			CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
			__atomic_store_n(&trimming, 0, __ATOMIC_SEQ_CST);
			thread_join(t);
			CHECK_EQ(mixed_done, n);
			CHECK_EQ(deferred_ran, n);
			finish(s);
		}
	}
}
