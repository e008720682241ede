/*
 * t_latency.c - a coroutine that computes for long must not strand what it has spawned or woken, or
 * what was sent to its worker.
 */
#include "test.h"

#include "kernel/idle.h"

#include <sched.h>
#include <time.h>

/* A coroutine computes until what it left behind has run, and measures its own CPU time, not the
 * clock's: on a core that many share, the clock goes on while nothing of the test runs. */
/* A machine with other work may miss this now and then. */
#define LATE_NS     20000000u
#define STRANDED_NS 2000000000u /* no machine misses this */
#define TRIES       10

static uint32_t ran;    /* how many of those left behind have run */
static uint64_t waited; /* the longest time of computing until they had run */
static coro_handle partner;

static uint64_t own_time_ns(void)
{
	struct timespec t;
	CHECK_EQ(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t), 0);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* compute - until n of those left behind have run. */
static void compute(uint32_t want)
{
	uint64_t began = own_time_ns(), took = 0;

	while (at_load_acq(&ran) < want && took < STRANDED_NS) {
		for (int i = 0; i < 100; i++)
			at_relax();
		took = own_time_ns() - began;
	}
	if (took > waited)
		waited = took;
}

static bool in_time(void)
{
	if (waited >= STRANDED_NS)
		test_fail(__FILE__, __LINE__, "stranded: %u have run", at_load_acq(&ran));
	return waited < LATE_NS;
}

static void child(void *arg, void *result)
{
	(void)arg;
	(void)result;
	at_add(&ran, 1);
}

static void parks(void *arg, void *result)
{
	CHECK_EQ(coro_park(), CORO_OK);
	child(arg, result);
}

#define REMOTE_WAKES 64

static uint32_t sent;

static void computes(void *arg, void *result)
{
	(void)arg;
	(void)result;
	/* First, so that the partner has parked here: it is then in our `next`, not in the queue.
	 * Unless we are stolen meanwhile; so the partner does not tell its handle itself. */
	CHECK_EQ(coro_spawn_first(NULL, parks, NULL, 0, &partner), CORO_OK);
	spawn_in(child, NULL, 0);
	CHECK_EQ(coro_wake(partner), CORO_OK);
	compute(2);
	at_store_rel(&sent, 1);
	while (at_load_acq(&sent) != 2)
		at_relax();
	compute(2 + REMOTE_WAKES);
}

static bool asleep(coro_scheduler *s, uint64_t n)
{
	return (uint32_t)__builtin_popcountll(at_load_seq(&s->sleepers[0])) >= n;
}

static bool three_run(uint32_t flags)
{
	coro_scheduler *s = start_with(2, flags);

	ran = sent = 0;
	waited = 0;
	spawn(s, computes, NULL, 0);
	while (at_load_acq(&sent) != 1 || !asleep(s, 1))
		sleep_us(50);
	/* to both workers, wherever the first coroutine computes */
	for (int i = 0; i < REMOTE_WAKES; i++)
		spawn(s, child, NULL, 0);
	at_store_rel(&sent, 2);
	finish(s);
	return in_time();
}

TEST_LIMIT(latency_of_what_a_long_one_left_behind, 180)
{
	for (int i = 0; i < 2; i++) {
		int tries = 1;
		while (!three_run(i ? CORO_NO_MEMBARRIER : 0))
			CHECK(tries++ < TRIES);
	}
}

/* ------------------------------------------------------------- ways of leaving something behind */

enum { BY_SPAWN, BY_SPAWN_FIRST, BY_SWITCH, BY_WAKE, WAYS };
static int way;

static void computes_for_one(void *arg, void *result)
{
	(void)arg;
	(void)result;
	compute(1);
}

static void is_woken(void *arg, void *result)
{
	partner = coro_self();
	CHECK_EQ(coro_park(), CORO_OK);
	if (*(int *)arg == BY_SWITCH)
		compute(1);
	else
		child(arg, result);
}

static void leaves_one(void *arg, void *result)
{
	switch (way) {
	case BY_SPAWN:
		spawn_in(child, NULL, 0);
		compute(1);
		break;
	case BY_SPAWN_FIRST: /* ourselves */
		CHECK_EQ(coro_spawn_first(NULL, computes_for_one, NULL, 0, NULL), CORO_OK);
		child(arg, result);
		break;
	case BY_SWITCH:
		CHECK_EQ(coro_switch_to(partner), CORO_OK);
		child(arg, result);
		break;
	case BY_WAKE:
		CHECK_EQ(coro_wake(partner), CORO_OK);
		compute(1);
		break;
	}
}

static void nothing(void *arg, void *result)
{
	(void)arg;
	(void)result;
}

static uint64_t counted;

static void count_one(void *arg, void *result)
{
	(void)arg;
	(void)result;
	__atomic_add_fetch(&counted, 1, __ATOMIC_RELAXED);
}

static void burst(void *arg, void *result)
{
	(void)result;
	for (int i = 0; i < *(int *)arg; i++)
		spawn_in(nothing, NULL, 0);
}

/* What is left behind must run during the computation. A late try is repeated from the same state.
 * Workers and standby are in that state after a burst of short work, which is not repeated. */
static bool left_behind(coro_scheduler *s, uint64_t *seed)
{
	int size = (int)(rnd(seed) % 200);

	if (way == BY_SWITCH || way == BY_WAKE) {
		spawn(s, is_woken, &way, sizeof way);
		while (coro_scheduler_blocked(s, NULL, 0) == 0)
			sleep_us(20);
	}
	if (rnd(seed) % 4)
		spawn(s, burst, &size, sizeof size);
	sleep_us((unsigned)(rnd(seed) % 300));
	ran = 0;
	waited = 0;
	spawn(s, leaves_one, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	return in_time();
}

TEST_LIMIT(latency_is_bounded_however_it_was_left, 180)
{
	uint64_t seed = 3;
	coro_scheduler *s = start_with(2, 0);

	for (int round = 0; round < 20; round++) {
		for (way = 0; way < WAYS; way++) {
			int tries = 1;
			while (!left_behind(s, &seed))
				if (tries++ == TRIES)
					test_fail(__FILE__, __LINE__, "late, way %d, round %d", way,
						  round);
		}
	}
	finish(s);
}

static uint32_t arrived;

/* All end at the same moment, each on a worker of its own, so all workers go to sleep at once. */
static void rendezvous(void *arg, void *result)
{
	uint32_t n = *(uint32_t *)arg;

	(void)result;
	if (__atomic_fetch_add(&arrived, 1, __ATOMIC_SEQ_CST) == 0)
		for (uint32_t i = 1; i < n; i++)
			spawn_in(rendezvous, &n, sizeof n);
	for (uint64_t until = now_ns() + 20000000;
	     __atomic_load_n(&arrived, __ATOMIC_SEQ_CST) < n && now_ns() < until;)
		;
}

/* While all workers sleep, one that queues something must be told to wake another, or a sleeper
 * must have a time-out. Otherwise what it queues is stranded. */
TEST_LIMIT(latency_somebody_is_to_look_around, 180)
{
	uint64_t seed = 9;

	for (uint32_t workers = 2; workers <= 4; workers++) {
		coro_scheduler *s = start_with(workers, 0);
		for (uint64_t i = 0; i < scaled(workers == 2 ? 2000 : 100); i++) {
			int size = (int)(rnd(&seed) % 400);
			arrived = 0;
			if (i % 4)
				spawn(s, rendezvous, &workers, sizeof workers);
			else
				spawn(s, burst, &size, sizeof size);
			CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
			while (!at_load_seq(&s->standby) &&
			       !(at_load_seq(&s->hungry) & COROI_HUNGRY_ALONE))
				sleep_us(20); /* the last worker is about to sleep */
		}
		finish(s);
	}
}

/* ------------------------------------------------------------ the standby's role is handed over */

static uint32_t spinning, released;

static void spins(void *arg, void *result)
{
	(void)arg;
	(void)result;
	at_store_rel(&spinning, 1);
	while (!at_load_acq(&released))
		at_relax();
}

static void spawns_as_told(void *arg, void *result)
{
	(void)arg;
	(void)result;
	spawn_in(spins, NULL, 0);
	while (!at_load_acq(&spinning)) /* on another worker */
		at_relax();
	spawn_in(child, NULL, 0);
	compute(1);
	at_store_rel(&released, 1);
}

/* Two of three workers compute. The second was woken for what the first had spawned, and at that
 * time there was no standby. What the first spawns now is for the third. */
TEST(latency_of_a_third_worker)
{
	for (int i = 0; i < 10; i++) {
		coro_scheduler *s = start_with(3, 0);
		while (!asleep(s, 3))
			sleep_us(50);
		spinning = released = ran = 0;
		waited = 0;
		spawn(s, spawns_as_told, NULL, 0);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		in_time();
		finish(s);
	}
}

/* A worker on its waker's CPU takes the CPU from it, runs what there is, and coalesces while the
 * waker pushes more. */
TEST_LIMIT(latency_beside_a_waker_on_the_same_cpu, 60)
{
	uint64_t spawned = scaled(20000) * 10;
	coro_scheduler *s = start_on_this_cpu();

	for (uint64_t i = 0; i < spawned; i++) {
		spawn(s, count_one, NULL, 0);
		if (i % 10 == 9 && i % 1000 < 200)
			sleep_us(100);
	}
	finish(s);
	CHECK_EQ(counted, spawned);
}
