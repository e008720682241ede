/*
 * t_stress.c - everything at once, for long, with sums that must come out: no coroutine is lost, run twice, or woken
 * once too often. CORO_TEST_SCALE makes it longer.
 */
#include "test.h"

#include <string.h>

#define MODES 4

static const uint32_t modes[MODES] = {0, CORO_NO_MEMBARRIER, CORO_NO_STANDBY, CORO_NO_MEMBARRIER | CORO_NO_STANDBY};

/* ------------------------------------------------------------------------ queues and steals */

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
	uint32_t yields, children, spins;
};

/* Its name goes into the sum once, whoever runs it; between yields it may move. */
static void item(void *arg, void *result)
{
	struct item in;

	(void)result;
	memcpy(&in, arg, sizeof in);
	for (uint32_t i = 0; i < in.children; i++) {
		struct item child = {in.name + 1 + i, in.yields, 0, in.spins};
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

static void count_up(coro_scheduler *s, uint64_t *switches, uint64_t *steals)
{
	coro_worker_stats w[16];
	coro_stats t;

	CHECK_EQ(coro_scheduler_stats(s, &t, w, 16), CORO_OK);
	*switches = *steals = 0;
	for (uint32_t i = 0; i < t.workers; i++) {
		*switches += w[i].switches;
		*steals += w[i].steals;
	}
}

/* Roots in one worker's inbox, so that the others must steal. */
static void round_of_items(coro_scheduler *s, uint64_t round, uint32_t roots, uint32_t children, uint32_t yields,
			   uint32_t spins)
{
	uint64_t want = 0;

	sum = count = 0;
	for (uint64_t r = 0; r < roots; r++) {
		struct item root = {(round * roots + r) * (children + 1), yields, children, spins};
		for (uint64_t k = 0; k <= children; k++)
			want += mix(root.name + k);
		spawn(s, item, &root, sizeof root);
	}
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(count, (uint64_t)roots * (children + 1));
	CHECK(sum == want);
}

/* 10^7 turns, each a push and a pop, in each mode with a steal's size of its own. */
TEST_LIMIT(stress_queues, 60)
{
	for (int m = 0; m < MODES; m++) {
		coro_options o = options(2 + (uint32_t)m % 2 * 2, modes[m]);
		uint64_t switches = 0, steals;
		o.steal_batch = 1u << 2 * m;
		coro_scheduler *s = start(&o);
		for (uint64_t round = 0; switches < scaled(10000000); round++) {
			round_of_items(s, round, 16, 100, (uint32_t)(round % 3 * 20), 100);
			count_up(s, &switches, &steals);
		}
		finish(s);
	}
}

/* 10^5 steals with doors of each kind, of one coroutine each, and each coroutine short. Without a standby a sleeper may
 * stay asleep beside a surplus: then it is so many rounds, with whatever steals there are. */
TEST_LIMIT(stress_steals, 60)
{
	for (int m = 0; m < MODES; m++) {
		coro_options o = options(2 + (uint32_t)m % 3, modes[m]);
		uint64_t switches, steals = 0;
		o.steal_batch = 1;
		coro_scheduler *s = start(&o);
		for (uint64_t round = 0; modes[m] & CORO_NO_STANDBY ? round < scaled(300) : steals < scaled(100000); round++) {
			round_of_items(s, round, 1, 1000, 0, 2000);
			count_up(s, &switches, &steals);
		}
		finish(s);
	}
}

/* ------------------------------------------------------------------------ park and wake, from each side */

#define RING 16

struct ring {
	coro_handle member[RING];
	uint64_t token, laps, ended;
};

static struct ring rings[64];

/* A token goes round: each member has it in turn, by a wake. */
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
		CHECK_EQ(coro_park(), CORO_OK); /* the last lap's */
	__atomic_add_fetch(&r->ended, 1, __ATOMIC_SEQ_CST);
}

static void run_rings(uint32_t workers, uint32_t flags, uint32_t n, uint64_t laps)
{
	coro_scheduler *s = start_with(workers, flags);

	memset(rings, 0, sizeof rings);
	for (uint32_t i = 0; i < n; i++)
		rings[i].laps = laps;
	for (uint32_t k = 0; k < RING; k++) /* so that a ring's members come to different workers */
		for (uint32_t i = 0; i < n; i++) {
			uint32_t in[2] = {i, k};
			spawn(s, member, in, sizeof in);
		}
	finish(s);
	for (uint32_t i = 0; i < n; i++) {
		CHECK_EQ(rings[i].token, laps * RING);
		CHECK_EQ(rings[i].ended, RING);
	}
}

TEST_LIMIT(stress_wakes_at_home, 60)
{
	for (int m = 0; m < MODES; m++)
		run_rings(1, modes[m], 64, scaled(1000)); /* 10^6 each */
}

TEST_LIMIT(stress_wakes_across_workers, 60)
{
	for (int m = 0; m < MODES; m++)
		for (uint32_t workers = 2; workers <= 4; workers++)
			run_rings(workers, modes[m], 64, scaled(100)); /* 10^5 each */
}

/* A foreign thread and a coroutine wake each other: each round is a wake from outside, and most find the worker on
 * its way to sleep. */
static coro_handle partner;
static uint64_t asked, answered;

static void answers(void *arg, void *result)
{
	uint64_t rounds = *(uint64_t *)arg;

	(void)result;
	__atomic_store_n(&partner, coro_self(), __ATOMIC_RELEASE);
	for (uint64_t i = 1; i <= rounds; i++) {
		CHECK_EQ(coro_park(), CORO_OK);
		CHECK_EQ(__atomic_load_n(&asked, __ATOMIC_ACQUIRE), i);
		__atomic_store_n(&answered, i, __ATOMIC_RELEASE);
	}
}

TEST_LIMIT(stress_wakes_from_outside, 120)
{
	for (int m = 0; m < MODES; m++) {
		uint64_t seed = 1, rounds = scaled(100000);
		coro_scheduler *s = start_with(1 + (uint32_t)m % 2, modes[m]);
		partner = asked = answered = 0;
		spawn(s, answers, &rounds, sizeof rounds);
		while (!__atomic_load_n(&partner, __ATOMIC_ACQUIRE))
			sleep_us(20);
		for (uint64_t i = 1; i <= rounds; i++) {
			uint64_t pause = rnd(&seed) % 25000, until = now_ns() + pause;
			if (pause < 100)
				sleep_us(40); /* fast asleep */
			else if (i % 2)
				while (now_ns() < until) /* at every moment of its way to sleep */
					;
			__atomic_store_n(&asked, i, __ATOMIC_RELEASE);
			CHECK_EQ(coro_wake(partner), CORO_OK);
			while (__atomic_load_n(&answered, __ATOMIC_ACQUIRE) != i)
				;
		}
		finish(s);
	}
}

/* ------------------------------------------------------------------------ all of it */

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
			memset(coro_malloc(rnd(&seed) % 600), 1, 1);
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

/* With a thread that trims, lists and counts all the while. */
TEST_LIMIT(stress_mixed, 120)
{
	for (int m = 0; m < MODES; m++) {
		for (uint32_t workers = 1; workers <= 4; workers++) {
			coro_scheduler *s = start_with(workers, modes[m]);
			pthread_t t;
			uint64_t n = scaled(4000);
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
