/*
 * t_daemon.c - daemons: the end of the others, a run and a close with daemons, their children, and
 * what is counted.
 */
#include "test.h"

#include "kernel/idle.h"
#include "border/goworker.h"
#include "kernel/life.h"
#include "kernel/wait.h"

static const coro_attr daemon_attr = {.size = sizeof daemon_attr, .flags = CORO_DAEMON};

static uint64_t ran, ended, served;

static uint64_t get(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}

static void count(uint64_t *p)
{
	__atomic_add_fetch(p, 1, __ATOMIC_SEQ_CST);
}

static void counts(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < 3; i++)
		coro_yield();
	count(&ran);
}

/* For each permit it spawns a child, which is no daemon. */
static void serves(void *arg, void *result)
{
	(void)arg;
	(void)result;
	while (coro_park() == CORO_OK) {
		spawn_in(counts, NULL, 0);
		count(&served);
	}
	count(&ended);
}

static void ticks(void *arg, void *result)
{
	(void)arg;
	(void)result;
	while (coro_sleep(200000) == CORO_OK)
		count(&served);
	count(&ended);
}

static coro_handle start_daemon(coro_scheduler *s, coro_fn fn)
{
	coro_handle h;

	CHECK_EQ(coro_scheduler_spawn(s, &daemon_attr, fn, NULL, 0, &h), CORO_OK);
	return h;
}

/* What a daemon was asked for before the wait has ended when the wait returns. */
TEST(daemon_wait_is_exact)
{
	for (uint32_t workers = 1; workers <= 4; workers++) {
		coro_options o = {.size = sizeof o, .workers = workers};
		coro_scheduler *s = start(&o);
		coro_handle h[3];
		uint64_t n = 0;

		ran = ended = served = 0;
		for (int i = 0; i < 3; i++)
			h[i] = start_daemon(s, serves);
		for (uint64_t i = 0; i < scaled(2000); i++) {
			for (int k = 0; k < 3; k++, n++)
				CHECK_EQ(coro_wake(h[k]), CORO_OK);
			spawn(s, counts, NULL, 0);
			CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
			CHECK_EQ(get(&served), n);
			CHECK_EQ(get(&ran), n + i + 1);
		}
		CHECK_EQ(stats(s).daemons, 3);
		CHECK_EQ(stats(s).live, 3);
		CHECK_EQ(coro_scheduler_close(s, 0), CORO_OK);
		CHECK_EQ(ended, 3);
		CHECK_EQ(stats(s).daemons, 0);
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	}
}

/* Neither time nor what comes from outside for a daemon keeps a wait waiting. */
TEST(daemon_that_sleeps_is_not_waited_for)
{
	for (uint32_t workers = 1; workers <= 3; workers++) {
		coro_options o = {.size = sizeof o, .workers = workers};
		coro_scheduler *s = start(&o);

		ran = ended = served = 0;
		start_daemon(s, ticks);
		coro_handle holder = start_daemon(s, serves);
		coroi_pending_begin(s, 1); /* as for a call into Go that the daemon makes */
		for (uint64_t i = 1; i <= 50; i++) {
			spawn(s, counts, NULL, 0);
			CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
			CHECK_EQ(get(&ran), i);
		}
		coroi_pending_end(s);
		CHECK_EQ(coro_wake(holder), CORO_OK);
		CHECK_EQ(coro_scheduler_close(s, 0), CORO_OK);
		CHECK_EQ(ended, 2);
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	}
}

/* One that is no daemon, and is never woken, keeps a wait waiting, whatever daemons do. */
static void parks_once(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_park(), CORO_OK);
	count(&ran);
}

static void *wakes_later(void *arg)
{
	sleep_us(3000);
	CHECK_EQ(get(&ran), 0);
	CHECK_EQ(coro_wake(*(coro_handle *)arg), CORO_OK);
	return NULL;
}

static void ends_at_once(void *arg, void *result)
{
	(void)arg;
	(void)result;
}

TEST(daemon_does_not_hide_the_others)
{
	for (uint64_t i = 0; i < scaled(50); i++) {
		coro_options o = {.size = sizeof o, .workers = 2};
		coro_scheduler *s = start(&o);
		coro_handle h;
		pthread_t t;

		ran = ended = served = 0;
		start_daemon(s, ticks);
		CHECK_EQ(coro_scheduler_spawn(s, NULL, parks_once, NULL, 0, &h), CORO_OK);
		for (int k = 0; k < 20; k++) /* daemons come and go */
			CHECK_EQ(coro_scheduler_spawn(s, &daemon_attr, ends_at_once, NULL, 0, NULL),
				 CORO_OK);
		thread_start(&t, wakes_later, &h);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(get(&ran), 1);
		thread_join(t);
		CHECK_EQ(coro_scheduler_close(s, 0), CORO_OK);
		CHECK_EQ(ended, 1);
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	}
}

/* A daemon starts daemons in each way, which end in each way: joined, or not. */
static void starts_daemons(void *arg, void *result)
{
	coro_attr attr = daemon_attr;
	coro_handle h;

	(void)arg;
	(void)result;
	for (uint32_t worker = 0; worker <= 2; worker++) {
		attr.worker = worker;
		attr.flags = CORO_DAEMON;
		CHECK_EQ(coro_spawn_attr(&attr, counts, NULL, 0, NULL), CORO_OK);
		CHECK_EQ(coro_spawn_attr(&attr, counts, NULL, 0, &h), CORO_OK);
		attr.flags |= CORO_JOINABLE;
		CHECK_EQ(coro_spawn_attr(&attr, counts, NULL, 0, &h), CORO_OK);
		CHECK_EQ(coro_join(h, NULL, 0), CORO_OK);
		attr.flags |= CORO_DENSE;
		CHECK_EQ(coro_spawn_attr(&attr, counts, NULL, 0, &h), CORO_OK);
		CHECK_EQ(coro_join(h, NULL, 0), CORO_OK);
	}
	CHECK_EQ(coro_spawn_first(&daemon_attr, counts, NULL, 0, NULL), CORO_OK);
}

TEST(daemon_counts_are_exact)
{
	for (uint64_t i = 0; i < scaled(200); i++) {
		coro_options o = {.size = sizeof o, .workers = 2};
		coro_scheduler *s = start(&o);

		ran = 0;
		start_daemon(s, starts_daemons);
		while (get(&ran) != 13 || !coroi_at_rest(s))
			sleep_us(20);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(stats(s).daemons, 0);
		CHECK_EQ(stats(s).live, 0);
		CHECK_EQ(stats(s).spawned, 14);
		CHECK_EQ(stats(s).ended, 14);
		uint64_t daemons = 0;
		for (uint32_t w = 0; w < 2; w++) {
			CHECK(s->worker[w].daemons.spawned <= s->worker[w].spawned);
			daemons += s->worker[w].daemons.spawned;
		}
		CHECK_EQ(daemons, 14);
		finish(s);
	}
}

/* A run ends when daemons alone are left, and tells a deadlock of the others alone. */
TEST(daemon_is_no_deadlock_of_a_run)
{
	coro_options o = {.size = sizeof o, .workers = 2, .flags = CORO_PAUSED};
	coro_scheduler *s = start(&o);
	coro_blocked list[4];
	coro_handle h;

	ran = ended = served = 0;
	coro_handle d = start_daemon(s, serves);
	spawn(s, counts, NULL, 0);
	CHECK_EQ(coro_wake(d), CORO_OK);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(ran, 2);
	CHECK_EQ(coro_scheduler_spawn(s, NULL, parks_once, NULL, 0, &h), CORO_OK);
	CHECK_EQ(coro_scheduler_run(s), CORO_EDEADLK);
	CHECK_EQ(coro_scheduler_blocked(s, list, 4), 2);
	CHECK(list[0].fn == parks_once && !list[0].daemon);
	CHECK(list[1].fn == serves && list[1].daemon);
	CHECK_EQ(coro_wake(h), CORO_OK);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(ran, 3);
	CHECK_EQ(coro_scheduler_close(s, 0), CORO_OK);
	CHECK_EQ(ended, 1);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
}

/* A close without cancel waits for the others, then cancels the daemons, and with them what they
 * spawn. */
static void spawns_at_its_end(void *arg, void *result)
{
	coro_attr attr = {.size = sizeof attr};

	(void)arg;
	(void)result;
	CHECK_EQ(coro_park(), CORO_ECANCELED);
	CHECK_EQ(get(&ran), 1);
	CHECK_EQ(coro_spawn_attr(&attr, counts, NULL, 0, NULL), CORO_OK);
	count(&ended);
}

static void sleeps_once(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_sleep(2000000), CORO_OK);
	count(&ran);
}

TEST(daemon_ends_with_a_close)
{
	for (uint64_t i = 0; i < scaled(50); i++) {
		coro_options o = {.size = sizeof o, .workers = 1 + (uint32_t)i % 3};
		coro_scheduler *s = start(&o);

		ran = ended = served = 0;
		start_daemon(s, spawns_at_its_end);
		start_daemon(s, ticks);
		spawn(s, sleeps_once, NULL, 0);
		CHECK_EQ(coro_scheduler_close(s, 0), CORO_OK);
		CHECK_EQ(ran, 1);
		CHECK_EQ(ended, 2);
		CHECK_EQ(stats(s).unstarted_closed, 1);
		CHECK_EQ(stats(s).ended, 4);
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	}
}
