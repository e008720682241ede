/*
 * t_fair.c - nobody waits for ever beside those who keep each other busy: waits that all end at
 * once let others run, busy workers share, and what comes from outside comes in, but not alone.
 */
#include "test.h"

#include <string.h>

/* ------------------------------------------------------------------- waits that end at once */

static uint32_t over; /* atomic: the others have had their turn */

static bool is_over(void)
{
	return __atomic_load_n(&over, __ATOMIC_RELAXED);
}

static void ends_it(void *arg, void *result)
{
	(void)arg;
	(void)result;
	__atomic_store_n(&over, 1, __ATOMIC_RELAXED);
}

static uint32_t object_flags;

static void never_waits_for_value(void *arg, void *result)
{
	coro_chan *c;
	uint64_t value = 7, n = 0;

	(void)arg;
	(void)result;
	CHECK_EQ(coro_chan_new(&c, sizeof value, 500, object_flags), CORO_OK);
	for (; n < 400; n++)
		CHECK_EQ(coro_chan_send(c, &n, CORO_FOREVER), CORO_OK);
	/* All that is sent comes, in order, however often the loop has yielded meanwhile. */
	for (uint64_t next = 0; !is_over(); next++, n++) {
		CHECK_EQ(coro_chan_recv(c, &value, CORO_FOREVER), CORO_OK);
		CHECK_EQ(value, next);
		CHECK_EQ(coro_chan_send(c, &n, CORO_FOREVER), CORO_OK);
	}
	CHECK_EQ(coro_chan_free(c), CORO_OK);
}

static void never_waits_for_permit(void *arg, void *result)
{
	coro_sem s;

	(void)arg;
	(void)result;
	CHECK_EQ(coro_sem_init(&s, 1, object_flags), CORO_OK);
	while (!is_over()) {
		CHECK_EQ(coro_sem_acquire(&s, CORO_FOREVER), CORO_OK);
		CHECK_EQ(coro_sem_release(&s, 1), CORO_OK);
	}
	CHECK_EQ(coro_sem_destroy(&s), CORO_OK);
}

static void never_waits_for_lock(void *arg, void *result)
{
	coro_mutex m;

	(void)arg;
	(void)result;
	CHECK_EQ(coro_mutex_init(&m, object_flags), CORO_OK);
	while (!is_over()) {
		CHECK_EQ(coro_mutex_lock(&m, CORO_FOREVER), CORO_OK);
		CHECK_EQ(coro_mutex_unlock(&m), CORO_OK);
	}
	CHECK_EQ(coro_mutex_destroy(&m), CORO_OK);
}

static void never_waits_to_read(void *arg, void *result)
{
	coro_rwlock l;

	(void)arg;
	(void)result;
	CHECK_EQ(coro_rwlock_init(&l, object_flags), CORO_OK);
	while (!is_over()) {
		CHECK_EQ(coro_rwlock_read(&l, CORO_FOREVER), CORO_OK);
		CHECK_EQ(coro_rwlock_unlock(&l), CORO_OK);
		CHECK_EQ(coro_rwlock_write(&l, CORO_FOREVER), CORO_OK);
		CHECK_EQ(coro_rwlock_unlock(&l), CORO_OK);
	}
	CHECK_EQ(coro_rwlock_destroy(&l), CORO_OK);
}

static void never_waits_in_select(void *arg, void *result)
{
	coro_chan *c;
	uint64_t value = 7;
	coro_case cases[2];

	(void)arg;
	(void)result;
	CHECK_EQ(coro_chan_new(&c, sizeof value, 4, object_flags), CORO_OK);
	memset(cases, 0, sizeof cases);
	cases[0].chan = cases[1].chan = c;
	cases[0].send = &value;
	cases[1].recv = &value;
	while (!is_over())
		CHECK(coro_select(cases, 2, CORO_FOREVER) >= 0);
	CHECK_EQ(coro_chan_free(c), CORO_OK);
}

static void never_waits_in_park(void *arg, void *result)
{
	(void)arg;
	(void)result;
	while (!is_over()) {
		CHECK_EQ(coro_wake(coro_self()), CORO_OK);
		CHECK_EQ(coro_park(), CORO_OK);
		CHECK_EQ(coro_wake(coro_self()), CORO_OK);
		CHECK_EQ(coro_park_until(now_ns() + 10000 * MS), CORO_OK);
	}
}

static const struct {
	const char *name;
	coro_fn fn;
	bool dense; /* no object is on the stack */
} never_waits[] = {
	{"channel", never_waits_for_value, true}, {"semaphore", never_waits_for_permit, false},
	{"mutex", never_waits_for_lock, false},   {"rwlock", never_waits_to_read, false},
	{"select", never_waits_in_select, false}, {"park", never_waits_in_park, true},
};

static uint64_t asleep; /* that are to wake up before it is over */

static void ends_it_late(void *arg, void *result)
{
	(void)arg;
	(void)result;
	coro_sleep(MS);
	if (__atomic_sub_fetch(&asleep, 1, __ATOMIC_RELAXED) == 0)
		ends_it(NULL, NULL);
}

/* Of each kind, one a worker never finds a reason to wait. The other coroutine of that worker,
 * which comes after it, runs. */
static void others_run_beside(uint32_t objects, uint32_t flags, uint32_t workers, coro_fn other)
{
	object_flags = objects;
	for (unsigned i = 0; i < sizeof never_waits / sizeof *never_waits; i++) {
		if (flags & CORO_DENSE && !never_waits[i].dense)
			continue;
		test_context = never_waits[i].name;
		over = 0;
		asleep = workers;
		coro_scheduler *s = start_with(workers, CORO_PAUSED);
		for (uint32_t w = 1; w <= workers; w++) {
			coro_attr here = on(w);
			CHECK_EQ(coro_scheduler_spawn(s, &here, other, NULL, 0, NULL), CORO_OK);
			here.flags |= flags;
			CHECK_EQ(coro_scheduler_spawn(s, &here, never_waits[i].fn, NULL, 0, NULL),
				 CORO_OK);
		}
		CHECK_EQ(coro_scheduler_run(s), CORO_OK);
		finish(s);
	}
	test_context = NULL;
}

TEST(fair_waits_that_end_at_once_let_others_run)
{
	others_run_beside(0, 0, 1, ends_it);
}

TEST(fair_dense_ones_do_so_too)
{
	others_run_beside(0, CORO_DENSE, 1, ends_it);
}

TEST(fair_waits_that_end_at_once_at_home)
{
	others_run_beside(CORO_HOME, 0, 1, ends_it);
}

TEST(fair_sleepers_wake_up_beside_waits_that_end_at_once)
{
	for (uint32_t workers = 1; workers <= 2; workers++) {
		others_run_beside(0, 0, workers, ends_it_late);
		others_run_beside(0, CORO_DENSE, workers, ends_it_late);
		others_run_beside(CORO_HOME, 0, workers, ends_it_late);
	}
}

static void tries_only(void *arg, void *result)
{
	coro_chan *c = channel(8, 4);
	uint64_t value = 1;

	(void)arg;
	(void)result;
	/* What must not suspend does not, whatever the budget: nobody else has run. */
	for (uint64_t end = now_ns() + 20 * MS; now_ns() < end;) {
		CHECK_EQ(coro_chan_send(c, &value, 0), CORO_OK);
		CHECK_EQ(coro_chan_recv(c, &value, 0), CORO_OK);
	}
	CHECK(!is_over());
	CHECK_EQ(coro_chan_free(c), CORO_OK);
}

TEST(fair_what_must_not_wait_does_not_yield)
{
	coro_scheduler *s = start_with(1, CORO_PAUSED);

	spawn(s, tries_only, NULL, 0);
	spawn(s, ends_it, NULL, 0);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	finish(s);
}

/* ------------------------------------------------------------------------------ from outside */

static void compute_us(unsigned us)
{
	for (uint64_t end = now_ns() + us * 1000; now_ns() < end;)
		;
}

static uint64_t inside_turns, woken_turns;

static void yields_long(void *arg, void *result)
{
	(void)arg;
	(void)result;
	while (!is_over()) {
		compute_us(50);
		add_one(&inside_turns);
		coro_yield();
	}
}

static void parks_long(void *arg, void *result)
{
	(void)arg;
	(void)result;
	while (!is_over()) {
		coro_park();
		compute_us(50);
		add_one(&woken_turns);
	}
}

/* More wake-ups come from outside than there are turns, and turns are long. They go ahead of the
 * queue, and still the queue goes on. */
TEST(fair_wakes_from_outside_are_not_alone)
{
	enum { PARKED = 8 };
	coro_handle parked[PARKED];
	coro_scheduler *s = start_with(1, 0);

	over = 0;
	for (int i = 0; i < PARKED; i++)
		CHECK_EQ(coro_scheduler_spawn(s, NULL, parks_long, NULL, 0, &parked[i]), CORO_OK);
	for (int i = 0; i < 4; i++)
		spawn(s, yields_long, NULL, 0);
	while (seen(&inside_turns) < 100 || seen(&woken_turns) < 100)
		for (int i = 0; i < PARKED; i++)
			coro_wake(parked[i]);
	ends_it(NULL, NULL);
	for (int i = 0; i < PARKED; i++)
		coro_wake(parked[i]);
	finish(s);
}

/* The same of spawns. */
TEST(fair_spawns_from_outside_are_not_alone)
{
	coro_scheduler *s = start_with(1, 0);

	over = 0;
	for (int i = 0; i < 4; i++)
		spawn(s, yields_long, NULL, 0);
	for (uint64_t n = 0; seen(&inside_turns) < 200 && n < 1000000; n++)
		if (stats(s).live < 1000)
			spawn(s, yields_long, NULL, 0);
	CHECK(seen(&inside_turns) >= 200);
	ends_it(NULL, NULL);
	finish(s);
}

/* ------------------------------------------------------------------------------- two workers */

static uint64_t on_worker[2]; /* coroutines that have been on it */

static void goes_round(void *arg, void *result)
{
	bool been[2] = {false, false};

	(void)arg;
	(void)result;
	while (!is_over()) {
		int w = coro_worker();
		if (!been[w]) {
			been[w] = true;
			add_one(&on_worker[w]);
		}
		coro_yield();
	}
}

static uint64_t seats; /* workers that have a coroutine of their own */

static void keeps_busy(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (add_one(&seats); !is_over();)
		coro_yield();
}

static void spawns_many(void *arg, void *result)
{
	(void)arg;
	(void)result;
	while (seen(&seats) < 2)
		coro_yield();
	for (int i = 0; i < 200; i++)
		spawn_in(goes_round, NULL, 0);
	while (seen(&on_worker[0]) < 20 || seen(&on_worker[1]) < 20)
		coro_yield();
	ends_it(NULL, NULL);
}

/* Both workers always have something to do, and one has far more: the other takes of that. */
TEST(fair_busy_workers_share)
{
	coro_scheduler *s = start_with(2, CORO_PAUSED);

	over = 0;
	for (uint32_t i = 1; i <= 2; i++) {
		coro_attr a = on(i);
		CHECK_EQ(coro_scheduler_spawn(s, &a, keeps_busy, NULL, 0, NULL), CORO_OK);
	}
	spawn(s, spawns_many, NULL, 0);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	finish(s);
}
