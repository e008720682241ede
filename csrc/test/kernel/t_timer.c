/*
 * t_timer.c - deadlines: no wait ends early or is forgotten, at whatever distance, and whatever
 * else may end the wait.
 */
#include "test.h"

#include "base/extras.h"
#include "kernel/life.h"
#include "kernel/run.h"
#include "kernel/runnable.h"
#include "kernel/timer.h"
#include "kernel/worker.h"

#include <stdlib.h>
#include <string.h>

static uint64_t early, woken, timed_out, canceled;

static void add(uint64_t *n)
{
	__atomic_add_fetch(n, 1, __ATOMIC_RELAXED);
}

/* ------------------------------------------------------------------------------ the wheel alone */

/* chunk - records that no slab has, up to the last id there is. */
static struct coroi_rec *chunk(struct coro_scheduler *s)
{
	struct coroi_chunk *c = coroi_map(COROI_CHUNK_BYTES, COROI_CHUNK_BYTES, "test");

	CHECK(c != NULL);
	c->owner = s;
	c->id = COROI_CHUNKS_MAX - 1;
	coroi_chunk_dir[c->id] = c;
	return (struct coroi_rec *)c;
}

/* linked - the lists of the wheel's slots hold each armed record once, linked in both
 * directions. */
static uint64_t linked(const struct coroi_wheel *wheel)
{
	uint64_t n = 0;

	for (uint32_t head = 0; head < COROI_WHEEL_HEADS; head++) {
		uint32_t before = COROI_TIMER_HEAD | head;
		CHECK_EQ(wheel->first[head] != 0,
			 wheel->filled[head / COROI_WHEEL_SLOTS] >> head % COROI_WHEEL_SLOTS & 1);
		for (uint32_t at = wheel->first[head], next; at; at = next, n++) {
			struct coroi_rec *r = coroi_known(at);
			CHECK((r->more & COROI_M_ARMED));
			CHECK_EQ(coroi_timer_links(r)[COROI_TIMER_BEFORE], before);
			next = coroi_timer_links(r)[COROI_TIMER_NEXT];
			before = at;
		}
	}
	return n;
}

/* The wheel is compared with a plain list. Random deadlines, near and far, are armed, disarmed and
 * fired, on the fast path where it applies. Every third coroutine has extras. */
TEST(timer_wheel_fires_each_in_its_tick)
{
	enum { N = 400 };
	static struct coro_scheduler s;
	static struct coroi_worker w;
	static struct coroi_wheel wheel;
	static uint64_t extras[N]; /* only their first word is used */
	uint64_t quick = 0;
	static uint64_t ring[2048], deadline[N];
	uint64_t seed = 0x51ed270b, fired = 0, disarmed = 0;
	/* an empty wheel looks at the clock, which never gets there */
	uint64_t now = coroi_now_ns() + 3600 * 1000 * MS;

	struct coroi_rec *rec = chunk(&s) + 1;
	for (int i = 0; i < N; i += 3) {
		rec[i].flags = COROI_F_EXTRAS;
		coroi_cold(&rec[i])->extras = (struct coroi_extras *)(void *)&extras[i];
	}
	s.worker = &w;
	s.workers = 1;
	w.sched = &s;
	w.timers = &wheel;
	w.due = COROI_NEVER;
	w.queue.ring = ring;
	w.queue.mask = 1023;
	w.queue.room = 1024;
	for (uint64_t round = 0; round < scaled(400000); round++) {
		int i = (int)(rnd(&seed) % N);
		if ((rec[i].more & COROI_M_ARMED) && rnd(&seed) % 4 == 0) {
			if (rnd(&seed) % 2 || !coroi_timer_disarmed_locked(&w, &rec[i]))
				coroi_timer_disarm_locked(&w, &rec[i]);
			CHECK(!(rec[i].more & COROI_M_ARMED));
			disarmed++;
		} else if (!(rec[i].more & COROI_M_ARMED)) {
			deadline[i] = now + 1 + (rnd(&seed) >> (8 + rnd(&seed) % 50));
			rec[i].state = COROI_WAITING;
			rec[i].code = CORO_OK;
			bool short_way = rnd(&seed) % 2 &&
					 coroi_timer_armed_locked(&w, &rec[i], deadline[i]);
			CHECK(short_way || coroi_timer_arm_locked(&w, &rec[i], deadline[i]));
			quick += short_way;
		}
		if (rnd(&seed) % 8)
			continue;
		/* Sometimes the time jumps to where the wheel says something is due: nothing may be
		 * due before. */
		uint64_t due = w.due;
		uint64_t then = now + (rnd(&seed) >> (20 + rnd(&seed) % 30));
		now = due != COROI_NEVER && rnd(&seed) % 2 && due > now ? due : then;
		bool again;
		do {
			coroi_timers_fire_locked(&w, now);
			again = w.queue.count > 0;
			for (; w.queue.count; w.queue.count--, w.queue.head++) {
				struct coroi_rec *r = coroi_runnable_record(
					ring[w.queue.head & 1023]);
				CHECK(r >= rec && r < rec + N);
				CHECK(deadline[r - rec] <= now && !(r->more & COROI_M_ARMED) &&
				      r->code == CORO_ETIMEDOUT);
				fired++;
			}
		} while (again || coroi_timers_are_due(&w, now));
		uint64_t any = 0;
		for (int k = 0; k < N; k++) {
			any += (rec[k].more & COROI_M_ARMED);
			CHECK(!(rec[k].more & COROI_M_ARMED) ||
			      deadline[k] + (UINT64_C(1) << COROI_TICK_SHIFT) > now);
			CHECK(!(rec[k].more & COROI_M_ARMED) ||
			      w.due <= deadline[k] + (UINT64_C(1) << COROI_TICK_SHIFT));
		}
		CHECK((any != 0) == (w.due != COROI_NEVER));
		CHECK_EQ(linked(&wheel), any);
	}
	report("%llu fired, %llu disarmed, %llu armed the short way", (unsigned long long)fired,
	       (unsigned long long)disarmed, (unsigned long long)quick);
	CHECK(fired > 100 && disarmed > 100 && quick > 100);
}

/* --------------------------------------------------------------------------------------
 * sleeping */

static void sleeps(void *arg, void *result)
{
	uint64_t ns, until = coro_now();
	(void)result;

	memcpy(&ns, arg, 8);
	until += ns;
	uint64_t *own = ns % 3 ? NULL : coro_malloc(8);
	if (own)
		*own = ns;
	int status = coro_sleep(ns);
	CHECK(!own || *own == ns);
	if (status == CORO_ECANCELED) {
		add(&canceled);
		return;
	}
	CHECK_EQ(status, CORO_OK);
	if (coro_now() < until)
		add(&early);
	add(&woken);
}

static void sleep_many(uint32_t workers, uint32_t flags, uint64_t n)
{
	coro_scheduler *s = start_with(workers, flags);
	uint64_t seed = workers + 77;

	woken = 0;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t ns = rnd(&seed) % (100 * MS);
		spawn(s, sleeps, &ns, 8);
	}
	if (flags & CORO_PAUSED)
		CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	else
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(woken, n);
	CHECK_EQ(early, 0);
	finish(s);
}

TEST(timer_sleeps_end_and_never_early)
{
	for (uint32_t workers = 1; workers <= 4; workers++) {
		sleep_many(workers, 0, scaled(2000));
		sleep_many(workers, CORO_PAUSED, scaled(2000));
		sleep_many(workers, CORO_NO_MEMBARRIER | CORO_NO_STANDBY, scaled(500));
	}
}

/* All sleep: that is neither the end nor a deadlock. */
TEST(timer_that_is_armed_is_not_the_end)
{
	coro_scheduler *s = start_with(2, CORO_PAUSED);

	for (int i = 0; i < 3; i++) {
		uint64_t ns = 20 * MS, began = now_ns();
		spawn(s, sleeps, &ns, 8);
		CHECK_EQ(coro_scheduler_run(s), CORO_OK);
		CHECK(now_ns() - began >= ns);
	}
	CHECK_EQ(woken, 3);
	finish(s);
}

TEST(timer_close_with_cancel_ends_sleeps)
{
	coro_scheduler *s = start_with(2, 0);
	uint64_t hour = 3600 * 1000 * MS;

	for (int i = 0; i < 1000; i++)
		spawn(s, sleeps, &hour, 8);
	until_waiting(s, 1000);
	coro_blocked b;
	CHECK_EQ(coro_scheduler_blocked(s, &b, 1), 1000);
	CHECK_EQ(b.waits, CORO_WAIT_SLEEP);
	CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
	CHECK_EQ(canceled, 1000);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
}

static void outside(void)
{
	CHECK_EQ(coro_sleep(1), CORO_EPERM);
	CHECK_EQ(coro_park_until(1), CORO_EPERM);
	CHECK_EQ(coro_join_until(1, NULL, 0, 1), CORO_EPERM);
}

static void past(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < 100; i++) {
		CHECK_EQ(coro_park_until(0), CORO_ETIMEDOUT);
		CHECK_EQ(coro_park_until(coro_now() - 1), CORO_ETIMEDOUT);
		CHECK_EQ(coro_sleep_until(0), CORO_OK);
		CHECK_EQ(coro_sleep(0), CORO_OK);
	}
	CHECK_EQ(coro_wake(coro_self()), CORO_OK);
	CHECK_EQ(coro_park_until(0), CORO_OK); /* a permit is taken all the same */
	CHECK_EQ(coro_park_until(0), CORO_ETIMEDOUT);
	add(&woken);
}

TEST(timer_deadlines_of_the_past)
{
	coro_scheduler *s = start_with(2, 0);

	outside();
	spawn(s, past, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(woken, 1);
	finish(s);
}

/* ------------------------------------------------------------------- deadlines against wake-ups */

static uint64_t permits;

static void waits_with_deadlines(void *arg, void *result)
{
	coro_handle *mine;
	uint64_t seed = (uintptr_t)&arg | 1;
	(void)result;

	memcpy(&mine, arg, 8);
	__atomic_store_n(mine, coro_self(), __ATOMIC_RELEASE);
	for (;;) {
		int status = coro_park_until(coro_now() + rnd(&seed) % (MS / 2));
		if (status == CORO_ETIMEDOUT) {
			add(&timed_out);
			continue;
		}
		if (status == CORO_ECANCELED)
			break;
		CHECK_EQ(status, CORO_OK);
		__atomic_add_fetch(&permits, 1, __ATOMIC_RELAXED);
	}
	while (coro_park() == CORO_OK)
		__atomic_add_fetch(&permits, 1, __ATOMIC_RELAXED);
}

static uint64_t given;
static coro_handle handles[64];

static void wakes(void *arg, void *result)
{
	uint64_t seed = (uintptr_t)&seed | 1, n;
	(void)result;

	memcpy(&n, arg, 8);
	for (uint64_t i = 0; i < n; i++) {
		coro_handle h = __atomic_load_n(&handles[rnd(&seed) % 64], __ATOMIC_ACQUIRE);
		if (h && coro_wake(h) == CORO_OK)
			__atomic_add_fetch(&given, 1, __ATOMIC_RELAXED);
		if (i % 16 == 0)
			coro_sleep(rnd(&seed) % (MS / 4));
	}
	add(&woken);
}

/* Between wake-ups and deadlines no permit is lost, and none is counted twice. */
TEST(timer_permits_are_conserved)
{
	coro_scheduler *s = start_with(3, 0);
	uint64_t n = scaled(20000);

	for (int i = 0; i < 64; i++) {
		coro_handle *h = &handles[i];
		spawn(s, waits_with_deadlines, &h, 8);
	}
	for (int i = 0; i < 8; i++)
		spawn(s, wakes, &n, 8);
	while (__atomic_load_n(&woken, __ATOMIC_RELAXED) < 8)
		sleep_us(1000);
	CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
	CHECK_EQ(permits, given);
	CHECK(timed_out > 0 && given > 0);
	report("%llu permits, %llu deadlines", (unsigned long long)given,
	       (unsigned long long)timed_out);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
}

/* -------------------------------------------------------------------------------------- joining */

static void ends_late(void *arg, void *result)
{
	uint64_t ns;

	memcpy(&ns, arg, 8);
	coro_sleep(ns);
	memcpy(result, &ns, 8);
}

static void joins_with_deadlines(void *arg, void *result)
{
	uint64_t seed = (uintptr_t)&arg | 1;
	(void)arg;
	(void)result;

	for (int i = 0; i < 50; i++) {
		uint64_t ns = rnd(&seed) % (2 * MS), got = 0;
		coro_handle h;
		int status;
		CHECK_EQ(coro_spawn_attr(JOINABLE(8), ends_late, &ns, 8, &h), CORO_OK);
		while ((status = coro_join_until(h, &got, 8, coro_now() + rnd(&seed) % MS)) ==
		       CORO_ETIMEDOUT)
			add(&timed_out);
		CHECK_EQ(status, CORO_OK);
		CHECK_EQ(got, ns);
		add(&woken);
	}
}

TEST(timer_joins_may_time_out_and_be_tried_again)
{
	coro_scheduler *s = start_with(3, 0);

	for (int i = 0; i < 20; i++)
		spawn(s, joins_with_deadlines, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(woken, 1000);
	CHECK(timed_out > 0);
	finish(s);
}

/* ------------------------------------------------------------------------ a worker that is busy */

static uint32_t go_on;

static void computes(void *arg, void *result)
{
	(void)arg;
	(void)result;
	while (!__atomic_load_n(&go_on, __ATOMIC_RELAXED))
		;
}

static void sleeps_beside(void *arg, void *result)
{
	(void)arg;
	(void)result;
	coro_spawn(computes, NULL, 0); /* behind us, here or elsewhere */
	CHECK_EQ(coro_sleep(5 * MS), CORO_OK);
	add(&woken);
}

/* A worker computes without end: the other worker fires its timer. */
TEST(timer_of_a_busy_worker_is_fired_by_another)
{
	coro_scheduler *s = start_with(2, 0);

	for (uint32_t round = 1; round <= 20; round++) {
		go_on = 0;
		spawn(s, sleeps_beside, NULL, 0);
		while (__atomic_load_n(&woken, __ATOMIC_RELAXED) < round)
			sleep_us(100);
		__atomic_store_n(&go_on, 1, __ATOMIC_RELAXED);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	}
	finish(s);
}

static coro_handle computer;

static void is_woken_and_computes(void *arg, void *result)
{
	CHECK_EQ(coro_pin(0), CORO_OK);
	__atomic_store_n(&computer, coro_self(), __ATOMIC_RELEASE);
	CHECK_EQ(coro_park(), CORO_OK);
	computes(arg, result);
}

static void sleeps_at_first(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_pin(0), CORO_OK);
	CHECK_EQ(coro_unpin(), CORO_OK);
	CHECK_EQ(coro_sleep(20 * MS), CORO_OK);
	add(&woken);
}

/* The same where all are asleep when something comes that computes: nobody looked for work, and
 * nothing is queued. */
TEST(timer_of_one_that_is_woken_to_compute_is_fired_by_another)
{
	for (uint32_t workers = 2; workers <= 3; workers++) {
		coro_scheduler *s = start_with(workers, 0);

		for (uint32_t round = 0; round < 5; round++) {
			go_on = woken = 0;
			computer = 0;
			spawn(s, is_woken_and_computes, NULL, 0);
			while (!__atomic_load_n(&computer, __ATOMIC_ACQUIRE) || stats(s).awake)
				sleep_us(100);
			spawn(s, sleeps_at_first, NULL, 0);
			while (coro_scheduler_blocked(s, NULL, 0) != 2 || stats(s).awake)
				if (__atomic_load_n(&woken, __ATOMIC_RELAXED))
					break; /* a slow machine */
				else
					sleep_us(100);
			CHECK_EQ(coro_wake(computer), CORO_OK);
			while (!__atomic_load_n(&woken, __ATOMIC_RELAXED))
				sleep_us(100);
			__atomic_store_n(&go_on, 1, __ATOMIC_RELAXED);
			CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		}
		finish(s);
	}
}

/* ------------------------------------------------------------------------------------- very far */

static void sleeps_far(void *arg, void *result)
{
	uint64_t until;
	(void)result;

	memcpy(&until, arg, 8);
	CHECK_EQ(until ? coro_sleep_until(until) : coro_sleep(UINT64_MAX), CORO_ECANCELED);
	CHECK_EQ(until ? coro_park_until(until) : coro_sleep(UINT64_MAX - 1), CORO_ECANCELED);
	add(&canceled);
}

/* The end of time is a deadline like others. */
TEST(timer_deadlines_of_the_far_future)
{
	coro_scheduler *s = start_with(2, 0);
	uint64_t until[] = {0,
			    UINT64_MAX,
			    UINT64_MAX - 1,
			    UINT64_MAX - 65536,
			    UINT64_MAX >> 1,
			    (UINT64_MAX >> 1) + 1};
	uint64_t n = sizeof until / sizeof *until, ns = MS;

	for (uint64_t i = 0; i < n; i++)
		spawn(s, sleeps_far, &until[i], 8);
	for (int i = 0; i < 10; i++) /* others are fired meanwhile */
		spawn(s, sleeps, &ns, 8);
	while (__atomic_load_n(&woken, __ATOMIC_RELAXED) < 10 ||
	       coro_scheduler_blocked(s, NULL, 0) != n)
		sleep_us(100);
	CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
	CHECK_EQ(canceled, n);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
}

/* The same when the wheel already turns: deadlines beyond its end are not lost. */
static void parks_far(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (uint64_t until = UINT64_MAX - 1; until > UINT64_MAX - 3; until--)
		CHECK_EQ(coro_park_until(until), CORO_ECANCELED);
	add(&canceled);
}

TEST(timer_parks_until_the_far_future)
{
	coro_scheduler *s = start_with(1, 0);
	uint64_t ns = 3600 * 1000 * MS;

	spawn(s, sleeps, &ns, 8);
	spawn(s, parks_far, NULL, 0);
	until_waiting(s, 2);
	CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
	CHECK_EQ(canceled, 2);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
}

/* A worker that has not looked at deadlines for half of its turns looks at the first one. */
static void yields_until_woken(void *arg, void *result)
{
	uint64_t n = 0;
	(void)arg;
	(void)result;

	while (!woken && n < UINT64_C(1) << 27) {
		coro_yield();
		n++;
	}
	CHECK_EQ(woken, 1);
}

TEST(timer_first_one_for_long)
{
	coro_scheduler *s = start_with(1, CORO_PAUSED);
	uint64_t ns = MS;

	s->worker[0].clock.at = coroi_turns(&s->worker[0]) + (1u << 30);
	spawn(s, yields_until_woken, NULL, 0);
	spawn(s, sleeps, &ns, 8);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	finish(s);
}

/* ------------------------------------------------------------------------------------ very many */

/* More timers at one moment than are fired without a pause: all are fired, and coroutines that are
 * ready run in between. */
static void sleeps_until(void *arg, void *result)
{
	uint64_t until;
	(void)result;

	memcpy(&until, arg, 8);
	CHECK_EQ(coro_sleep_until(until), CORO_OK);
	CHECK(coro_now() >= until);
	add(&woken);
}

TEST(timer_many_at_one_moment)
{
	coro_scheduler *s = start_with(1, CORO_PAUSED);
	uint64_t until = coro_now() + 50 * MS, n = 2000;

	for (uint64_t i = 0; i < n; i++)
		spawn(s, sleeps_until, &until, 8);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(woken, n);
	finish(s);
}

TEST(timer_very_many_at_once)
{
	coro_options o = options(2, 0);
	o.stack_bytes = SANITIZED ? STACK : CORO_STACK_MIN;
	coro_scheduler *s = start(&o);
	uint64_t n = FIBERS ? 1000 : scaled(20000);

	for (uint64_t i = 0; i < n; i++) {
		uint64_t ns = 20 * MS + i % 7 * MS;
		spawn(s, sleeps, &ns, 8);
	}
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(woken, n);
	CHECK_EQ(early, 0);
	finish(s);
}
