/*
 * t_policy.c - what policies of kernel/policy.h do, seen on one worker. Each test but that of
 * succeed fails where its policy is not compiled in (docs/rent.md).
 */
#include "test.h"

#include "kernel/driver.h"
#include "kernel/idle.h"
#include "kernel/run.h"
#include "kernel/steal.h"

static void does_nothing(void *arg, void *result)
{
	(void)arg;
	(void)result;
}

/* searches - the worker's last loot came that many ns and turns ago, and it searches again. */
static void searches(struct coroi_worker *w, uint64_t ns, uint32_t turns)
{
	w->steal.began = coroi_now_ns() - ns;
	w->steal.turn = coroi_turns(w) - turns;
	CHECK(!coroi_search(w));
	CHECK_EQ(w->steal.began, 0); /* it is judged */
}

static void steals(void *arg, void *result)
{
	struct coroi_worker *w = coroi_self();

	(void)arg;
	(void)result;
	CHECK(!coroi_holds_off(w, coroi_now_ns()));
	searches(w, 1000 * MS, 1); /* it took longer than to move it */
	CHECK(!coroi_holds_off(w, coroi_now_ns()));
	CHECK_EQ(w->steal.doubled, 0);
	for (uint32_t i = 1; i <= COROI_HOLD_OFF_MOST + 1; i++) {
		uint64_t before = coroi_now_ns();
		searches(w, 1, 1u << 30);
		CHECK_EQ(w->steal.doubled, i < COROI_HOLD_OFF_MOST ? i : COROI_HOLD_OFF_MOST);
		CHECK(coroi_holds_off(w, before + COROI_HOLD_OFF_NS));
	}
	searches(w, 1000 * MS, 1);
	CHECK_EQ(w->steal.doubled, COROI_HOLD_OFF_MOST - 1);
	CHECK(!coroi_holds_off(w, coroi_now_ns()));
}

/* hold-off: a thief whose loot took less time to run than to move steals less often. */
TEST(policy_hold_off)
{
	run_alone(start_with(1, 0), NULL, steals);
}

static uint64_t computes, have_come;

static void finds_spawns(void *arg, void *result)
{
	struct coroi_worker *w = coroi_self();

	(void)arg;
	(void)result;
	add_one(&computes);
	while (!seen(&have_come))
		at_relax();
	coroi_door_enter(w);
	coroi_drain_locked(w); /* into `undelivered`, as turns of the queue do */
	bool undelivered = w->undelivered.first;
	coroi_door_leave(w);
	CHECK(undelivered);
	CHECK_EQ(w->spawns.streams, 0);
	CHECK(coroi_search(w));
	CHECK_EQ(w->spawns.streams, 1);
}

/* coalesce-spawns: a worker to which many spawns come in one look waits longer for the next. */
TEST(policy_coalesce_spawns)
{
	coro_scheduler *s = start_with(1, 0);

	spawn(s, finds_spawns, NULL, 0);
	while (!seen(&computes))
		at_relax();
	for (uint32_t i = 0; i < 4 * COROI_STREAM_WORDS; i++)
		spawn(s, does_nothing, NULL, 0);
	add_one(&have_come);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	finish(s);
}

/* shares - how many others may take, after the driver has brought what there is, and then one more
 * has come. Again, if the thread has lost its CPU meanwhile. */
static uint32_t shares(struct coroi_worker *w, uint32_t one)
{
	uint32_t n;

	do {
		coroi_door_enter(w);
		coroi_fed_locked(w);
		coroi_door_leave(w);
		at_store_rlx(&w->fed.to, w->fed.to - one);
		n = coroi_to_share(w);
	} while (coroi_now_ns() - w->fed.at >= COROI_FED_NS);
	return n;
}

static void is_fed(void *arg, void *result)
{
	struct coroi_worker *w = coroi_self();

	(void)arg;
	(void)result;
	for (int i = 0; i < 4; i++)
		spawn_in(does_nothing, NULL, 0);
	CHECK_EQ(shares(w, 0), 0);
	CHECK_EQ(shares(w, 1), 1);
	w->fed.at = coroi_now_ns() - COROI_FED_NS;
	CHECK_EQ(coroi_to_share(w), 4);
}

/* fed: what the driver has brought is for the worker alone, for a moment. */
TEST(policy_fed)
{
	run_alone(start_with(1, 0), NULL, is_fed);
}

static __attribute__((noinline)) void looks_ahead(const struct coroi_deque *d)
{
	coroi_deque_look_ahead(d);
}

/* look-ahead: a prefetch changes nothing but time, so this looks for the instruction in the code of
 * the function above, PREFETCHW or PRFM. */
TEST(policy_look_ahead)
{
	const unsigned char *code = (const unsigned char *)(uintptr_t)looks_ahead;
	bool found = false;

#ifndef __OPTIMIZE__
	return; /* it is in a function of its own */
#endif

	for (int i = 0; i < 512 && !found; i++)
#ifdef __x86_64__
		found = code[i] == 0x0f && code[i + 1] == 0x0d;
#else
		found = i % 4 == 0 && code[i + 3] == 0xf9 && (code[i + 2] & 0xc0) == 0x80;
#endif
	CHECK(found);
}

static struct coroi_rec *record[4];
static uint64_t runs;

static void notes_its_record(void *arg, void *result)
{
	CHECK_EQ(runs, *(uint64_t *)arg);
	CHECK_EQ(*(uint64_t *)result, 0);
	record[runs++] = coroi_self()->current;
	*(uint64_t *)result = 1;
}

static void has_no_argument(void *arg, void *result)
{
	(void)result;
	CHECK(!arg);
	record[runs++] = coroi_self()->current;
}

static void spawns_four(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (uint64_t i = 0; i < 3; i++)
		spawn_in(notes_its_record, &i, sizeof i);
	spawn_in(has_no_argument, NULL, 0);
}

/* succeed: the fresh coroutine that comes after one that ends takes over its record, and nothing of
 * what was in it. */
TEST(policy_succeed)
{
	run_alone(start_with(1, 0), NULL, spawns_four);
	CHECK_EQ(runs, 4);
	for (int i = 1; i < 4; i++)
		CHECK(record[i] == record[0]);
}

#define QUEUED 100

#define NEWCOMERS 10

static uint64_t turns, newcomers, soonest = UINT64_MAX;

static void has_long_turns(void *arg, void *result)
{
	(void)arg;
	(void)result;
	while (seen(&newcomers) < NEWCOMERS) {
		add_one(&turns);
		for (uint64_t until = coroi_now_ns() + 50000; coroi_now_ns() < until;)
			at_relax();
		CHECK_EQ(coro_yield(), CORO_OK);
	}
}

static void comes_from_outside(void *arg, void *result)
{
	uint64_t waited = seen(&turns) - *(uint64_t *)arg;

	(void)result;
	soonest = waited < soonest ? waited : soonest;
	add_one(&newcomers);
}

/* favors: where turns are long, what comes from outside goes ahead of the queue. */
TEST(policy_favors)
{
	coro_scheduler *s = start_with(1, 0);

	for (int i = 0; i < QUEUED; i++)
		spawn(s, has_long_turns, NULL, 0);
	sleep_until_seen(&turns, 3 * QUEUED);
	for (uint64_t n = 0; n < NEWCOMERS; n++) {
		uint64_t before = seen(&turns);
		spawn(s, comes_from_outside, &before, sizeof before);
		sleep_until_seen(&newcomers, n + 1);
	}
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK(soonest < QUEUED / 2);
	finish(s);
}

static void spins(void *arg, void *result)
{
	struct coroi_worker *w = coroi_self();

	(void)arg;
	(void)result;
	for (int i = 0; i < 20; i++) {
		uint64_t began = coroi_now_ns();
		w->spin.ns = COROI_SPIN_NS;
		CHECK(!coroi_search(w));
		CHECK(coroi_now_ns() - began >= COROI_SPIN_NS);
		CHECK_EQ(w->spin.ns, COROI_SPIN_NS / 2);
	}
}

/* spin: a worker looks for work for a while before it sleeps. */
TEST(policy_spin)
{
	run_alone(start_with(1, 0), NULL, spins);
}

static bool looks(void *n)
{
	return ++*(unsigned *)n == 4;
}

static void spins_before_it_waits(void *arg, void *result)
{
	struct coroi_worker *w = coroi_self();
	unsigned n = 0;

	(void)arg;
	(void)result;
	w->spin.ns = COROI_SPIN_NS;
	CHECK(coroi_idle_spin(w, looks, &n, 10));
	CHECK_EQ(n, 4);
	w->spin.ns = COROI_SPIN_NS / 2; /* spinning was of no use lately */
	CHECK(!coroi_idle_spin(w, looks, &n, 10));
	CHECK_EQ(n, 4);
}

/* wait-spin: a coroutine alone on its worker looks a few times before it waits. */
TEST(policy_wait_spin)
{
	run_alone(start_with(1, 0), NULL, spins_before_it_waits);
}

static bool polls_in_vain(struct coroi_worker *w)
{
	(void)w;
	return false;
}

static const struct coroi_driver in_vain = {
	.sleep = coroi_futex_sleep, .kick = coroi_futex_kick, .poll = polls_in_vain};

static uint64_t is_spawned, watches, left_out;
static coro_handle woken;

/* is_woken - the worker was idle before each turn, and polled its driver in vain, or did not. The
 * driver is set where no other thread uses one. */
static void is_woken(void *arg, void *result)
{
	struct coroi_worker *w = coroi_self();

	(void)arg;
	(void)result;
	while (!seen(&is_spawned))
		at_relax();
	w->sched->driver = &in_vain;
	woken = coro_self();
	coroi_watch(w, 1);
	add_one(&watches);
	for (int i = 0; i < 8; i++) {
		CHECK_EQ(coro_park_until(coroi_now_ns() + 60000 * MS), CORO_OK);
		left_out += w->polling.skips < w->polling.most;
	}
	coroi_watch(w, -1);
}

/* poll-less: an idle worker does not poll each time a driver that had nothing lately. */
TEST(policy_poll_less)
{
	coro_scheduler *s = start_with(1, 0);

	spawn(s, is_woken, NULL, 0);
	add_one(&is_spawned);
	sleep_until_seen(&watches, 1);
	for (int i = 0; i < 8; i++) {
		while (!coroi_sleeps(s, 0))
			sleep_us(100);
		CHECK_EQ(coro_wake(woken), CORO_OK);
		sleep_us(1000); /* it has risen */
	}
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK(left_out >= 4);
	finish(s);
}
