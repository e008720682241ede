/*
 * t_latency.c - a coroutine that computes for long must not strand what it spawned, woke or was sent.
 */
#include "test.h"

#include "../idle.h"

#include <string.h>

#define LATE_NS 20000000u
#define TRIES 4

static uint64_t began, child_ran, partner_ran, mail_ran, computed; /* times, ns; 0: not yet */
static coro_handle partner;

static void mark(uint64_t *when)
{
	__atomic_store_n(when, now_ns(), __ATOMIC_SEQ_CST);
}

static uint64_t marked(const uint64_t *when)
{
	return __atomic_load_n(when, __ATOMIC_SEQ_CST);
}

static void compute(uint64_t ns)
{
	volatile uint64_t spins = 0;
	for (uint64_t until = now_ns() + ns; now_ns() < until;)
		for (int i = 0; i < 1000; i++)
			spins++;
	mark(&computed);
}

static void child(void *arg, void *result)
{
	(void)arg;
	(void)result;
	mark(&child_ran);
}

static void mailed(void *arg, void *result)
{
	(void)arg;
	(void)result;
	mark(&mail_ran);
}

static void partner_body(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_park(), CORO_OK);
	mark(&partner_ran);
}

static void computes(void *arg, void *result)
{
	(void)arg;
	(void)result;
	/* First, so that the partner has parked, here: it is then in our next slot, not in the queue. (Unless we are stolen
	 * meanwhile; so it does not tell us its handle itself.) */
	CHECK_EQ(coro_spawn_first(NULL, partner_body, NULL, 0, &partner), CORO_OK);
	spawn_in(child, NULL, 0);
	CHECK_EQ(coro_wake(partner), CORO_OK);
	mark(&began);
	compute(2000000000);
}

static bool in_time(const uint64_t *when, uint64_t from)
{
	return marked(when) && marked(when) - from < LATE_NS;
}

static bool three_run(uint32_t flags)
{
	coro_scheduler *s = start_with(2, flags);

	began = child_ran = partner_ran = mail_ran = computed = 0;
	spawn(s, computes, NULL, 0);
	while (!marked(&began))
		sleep_us(50);
	sleep_us(50000);
	uint64_t sent = now_ns();
	/* To both workers, wherever the first one computes. */
	for (int i = 0; i < 64; i++)
		spawn(s, mailed, NULL, 0);
	finish(s);
	CHECK(child_ran && partner_ran && mail_ran);
	return in_time(&child_ran, began) && in_time(&partner_ran, began) && in_time(&mail_ran, sent);
}

TEST_LIMIT(latency_of_what_a_long_one_left_behind, 60)
{
	for (int i = 0; i < 2; i++) {
		int tries = 1;
		while (!three_run(i ? CORO_NO_MEMBARRIER : 0))
			CHECK(tries++ < TRIES);
	}
}

/* ------------------------------------------------------------------------ however it was left behind */

enum { BY_SPAWN, BY_SPAWN_FIRST, BY_SWITCH, BY_WAKE, WAYS };
static int way;

static void long_child(void *arg, void *result)
{
	(void)arg;
	(void)result;
	compute(40000000);
}

static void parks_then_computes(void *arg, void *result)
{
	(void)result;
	partner = coro_self();
	CHECK_EQ(coro_park(), CORO_OK);
	if (*(int *)arg == BY_SWITCH)
		compute(40000000);
	else
		mark(&child_ran);
}

static void leaves_one(void *arg, void *result)
{
	(void)arg;
	(void)result;
	switch (way) {
	case BY_SPAWN:
		spawn_in(child, NULL, 0);
		compute(40000000);
		break;
	case BY_SPAWN_FIRST: /* it is ourselves */
		CHECK_EQ(coro_spawn_first(NULL, long_child, NULL, 0, NULL), CORO_OK);
		mark(&child_ran);
		break;
	case BY_SWITCH:
		CHECK_EQ(coro_switch_to(partner), CORO_OK);
		mark(&child_ran);
		break;
	case BY_WAKE:
		CHECK_EQ(coro_wake(partner), CORO_OK);
		compute(40000000);
		break;
	}
}

static void nothing(void *arg, void *result)
{
	(void)arg;
	(void)result;
}

static void burst(void *arg, void *result)
{
	(void)result;
	for (int i = 0; i < *(int *)arg; i++)
		spawn_in(nothing, NULL, 0);
}

/* What was left must run before the long one has ended. A try is repeated as it is; the state that workers and
 * standby were in before it, made by a burst of short work, is not made anew. */
static void left_behind(coro_scheduler *s, uint64_t *seed)
{
	int size = (int)(rnd(seed) % 200);

	if (way == BY_SWITCH || way == BY_WAKE) {
		spawn(s, parks_then_computes, &way, sizeof way);
		while (coro_scheduler_blocked(s, NULL, 0) == 0)
			sleep_us(20);
	}
	if (rnd(seed) % 4)
		spawn(s, burst, &size, sizeof size);
	sleep_us((unsigned)(rnd(seed) % 300));
	child_ran = computed = 0;
	spawn(s, leaves_one, NULL, 0);
	while (!marked(&child_ran) || !marked(&computed))
		sleep_us(100);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
}

TEST_LIMIT(latency_is_bounded_however_it_was_left, 60)
{
	uint64_t seed = 3;
	coro_scheduler *s = start_with(2, 0);

	for (int round = 0; round < 20; round++) {
		for (way = 0; way < WAYS; way++) {
			int tries = 1;
			for (left_behind(s, &seed); marked(&child_ran) > marked(&computed); left_behind(s, &seed))
				if (tries++ == TRIES)
					test_fail(__FILE__, __LINE__, "stranded, way %d, round %d", way, round);
		}
	}
	finish(s);
}

static uint32_t arrived;

/* All end at the same moment, each on a worker of its own, and so all go to sleep at once. */
static void rendezvous(void *arg, void *result)
{
	uint32_t n = *(uint32_t *)arg;

	(void)result;
	if (__atomic_fetch_add(&arrived, 1, __ATOMIC_SEQ_CST) == 0)
		for (uint32_t i = 1; i < n; i++)
			spawn_in(rendezvous, &n, sizeof n);
	for (uint64_t until = now_ns() + 20000000; __atomic_load_n(&arrived, __ATOMIC_SEQ_CST) < n && now_ns() < until;)
		;
}

/* While everybody sleeps, the next one who queues something is told to wake another, or a sleeper has a time-out:
 * or what it queues is stranded. */
TEST(latency_somebody_is_to_look_around)
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
			bool told = false;
			for (int k = 0; k < 200 && !told; k++) {
				if (k)
					sleep_us(100);
				told = __atomic_load_n(&s->standby, __ATOMIC_SEQ_CST) ||
				       __atomic_load_n(&s->hungry, __ATOMIC_SEQ_CST) & COROI_HUNGRY_ALONE;
			}
			CHECK(told);
		}
		finish(s);
	}
}

/* ------------------------------------------------------------------------ the standby's role is handed over */

static uint32_t let_go;

static void spins(void *arg, void *result)
{
	(void)arg;
	(void)result;
	while (!at_load_acq(&let_go))
		at_relax();
}

static void spawns_as_told(void *arg, void *result)
{
	(void)arg;
	(void)result;
	spawn_in(spins, NULL, 0);
	compute(20000000); /* another worker has it by now */
	mark(&began);
	spawn_in(child, NULL, 0);
	spins(NULL, NULL);
}

/* Two of three compute; the second was woken for what the first had spawned, and nobody was the standby then. What the
 * first spawns now is for the third. */
TEST(latency_of_a_third_worker)
{
	for (int i = 0; i < 10; i++) {
		coro_scheduler *s = start_with(3, 0);
		sleep_us(2000); /* all sleep */
		let_go = 0;
		child_ran = 0;
		spawn(s, spawns_as_told, NULL, 0);
		for (int wait = 0; wait < 4000 && !marked(&child_ran); wait++)
			sleep_us(500);
		bool late = !marked(&child_ran);
		at_store_rel(&let_go, 1);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK(!late);
		finish(s);
	}
}
