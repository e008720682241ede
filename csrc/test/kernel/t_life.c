/*
 * t_life.c - a scheduler that is inspected and closed from outside while it works: running and
 * blocked coroutines, a close that meets a run.
 */
#include "test.h"

#include "kernel/life.h"
#include "kernel/spawn.h"
#include "kernel/runnable.h"
#include "kernel/worker.h"

#include <string.h>

static uint32_t phase;
static uint64_t canceled;

static void reach(uint32_t n)
{
	__atomic_store_n(&phase, n, __ATOMIC_SEQ_CST);
}

static void await(uint32_t n)
{
	while (__atomic_load_n(&phase, __ATOMIC_SEQ_CST) < n)
		sleep_us(50);
}

static void holds(void *arg, void *result)
{
	(void)arg;
	(void)result;
	reach(1);
	await(2);
}

static void waits(void *arg, void *result)
{
	(void)arg;
	(void)result;
	int status = coro_park();
	CHECK(status == CORO_OK || status == CORO_ECANCELED);
	if (status == CORO_ECANCELED)
		__atomic_add_fetch(&canceled, 1, __ATOMIC_RELAXED);
}

TEST(life_what_was_sent_is_present_before_it_enters)
{
	coro_scheduler *s = start_with(2, CORO_PAUSED);

	CHECK_EQ(coroi_present(s), 0);
	for (uint64_t i = 1; i <= 100; i++) {
		spawn(s, waits, NULL, 0);
		CHECK_EQ(coroi_present(s), i);
	}
	CHECK_EQ(coroi_live(s), 0);
	CHECK_EQ(coro_scheduler_run(s), CORO_EDEADLK);
	CHECK_EQ(coroi_present(s), 100);
	CHECK_EQ(coroi_live(s), 100);
	spawn(s, waits, NULL, 0);
	CHECK_EQ(coroi_present(s), 101);
	CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
	CHECK_EQ(coroi_present(s), 0);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
}

#define ALIKE 300

static void *runs_it(void *arg)
{
	CHECK_EQ(coro_scheduler_run(arg), CORO_OK);
	return NULL;
}

static uint64_t began;

/* The first of many still runs when all others have come: some are queued, the rest is not taken
 * out yet. */
static void begins(void *arg, void *result)
{
	(void)arg;
	(void)result;
	if (__atomic_fetch_add(&began, 1, __ATOMIC_SEQ_CST) == 0) {
		reach(1);
		await(2);
	}
}

TEST(life_what_has_half_entered_is_present)
{
	coro_scheduler *s = start_with(1, CORO_PAUSED);
	struct coroi_fill q = {.fn = begins, .class = s->class};
	coro_handle parked;

	began = phase = 0;
	CHECK_EQ(coro_scheduler_spawn(s, NULL, waits, NULL, 0, &parked), CORO_OK);
	CHECK_EQ(coro_scheduler_run(s), CORO_EDEADLK);
	CHECK_EQ(coroi_spawn_many(s, &q, NULL, ALIKE, 0), ALIKE);
	spawn(s, begins, NULL, 0);
	pthread_t t;
	thread_start(&t, runs_it, s);
	await(1);
	CHECK(s->worker[0].undelivered.first);
	CHECK_EQ(coroi_present(s), 1 + ALIKE + 1);
	CHECK(coroi_live(s) < 1 + ALIKE + 1);
	CHECK_EQ(coro_wake(parked), CORO_OK); /* a remote wake is no new coroutine */
	CHECK_EQ(coroi_present(s), 1 + ALIKE + 1);
	reach(2);
	thread_join(t);
	CHECK_EQ(began, ALIKE + 1);
	finish(s);
}

TEST(life_what_runs_is_told)
{
	coro_scheduler *s = start_with(3, 0);
	coro_fn list[4] = {NULL};

	CHECK_EQ(coroi_running(s, list, 4), 0);
	spawn(s, holds, NULL, 0);
	await(1);
	CHECK_EQ(coroi_running(s, list, 0), 0);
	CHECK_EQ(coroi_running(s, list, 4), 1);
	CHECK(list[0] == holds);
	reach(2);
	CHECK_EQ(coro_scheduler_close(s, 0), CORO_OK);
	CHECK_EQ(coroi_running(s, list, 4), 0);
	CHECK_EQ(coro_scheduler_trim(s), 0); /* all has been given back already */
	CHECK_EQ(coro_scheduler_blocked(s, NULL, 0), 0);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
}

TEST(life_blocked_ones_are_all_counted)
{
	coro_scheduler *s = start_with(2, CORO_PAUSED);
	coro_blocked list[3];

	memset(list, 0, sizeof list);
	for (int i = 0; i < 5; i++)
		spawn(s, waits, NULL, 0);
	CHECK_EQ(coro_scheduler_run(s), CORO_EDEADLK);
	CHECK_EQ(coro_scheduler_blocked(s, NULL, 3), 5);
	CHECK_EQ(coro_scheduler_blocked(s, list, 2), 5);
	CHECK(list[0].fn == waits && list[1].fn == waits && list[2].fn == NULL);
	CHECK_EQ(list[0].waits, CORO_WAIT_PARK);
	CHECK_EQ(strcmp(coro_wait_name(list[0].waits), "park"), 0);
	CHECK_EQ(strcmp(coro_wait_name(0), "unknown"), 0);
	CHECK(list[0].handle != list[1].handle && list[0].worker < 2);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	CHECK_EQ(canceled, 5);
}

static void *runs(void *s)
{
	CHECK_EQ(coro_scheduler_run(s), CORO_EDEADLK);
	return NULL;
}

static void *closes(void *s)
{
	CHECK_EQ(coro_scheduler_close(s, 0), CORO_OK);
	/* not before the run could end */
	CHECK_EQ(__atomic_load_n(&phase, __ATOMIC_SEQ_CST), 2);
	return NULL;
}

/* is_set - read a flag that the life lock protects. */
static bool is_set(coro_scheduler *s, const uint8_t *flag)
{
	pthread_mutex_lock(&s->life_lock);
	bool set = *flag;
	pthread_mutex_unlock(&s->life_lock);
	return set;
}

/* A close without cancel lets the run come to its end, and then cancels what is left. */
static bool refuses(coro_scheduler *s)
{
	pthread_mutex_lock(&s->outside.lock);
	bool yes = s->outside.refusing;
	pthread_mutex_unlock(&s->outside.lock);
	return yes;
}

TEST(life_close_waits_for_a_run)
{
	coro_scheduler *s = start_with(2, CORO_PAUSED);
	pthread_t runner, closer;

	spawn(s, holds, NULL, 0);
	spawn(s, waits, NULL, 0);
	thread_start(&runner, runs, s);
	await(1);
	thread_start(&closer, closes, s);
	while (!is_set(s, &s->closing) || !refuses(s))
		sleep_us(50);
	sleep_us(20000);
	CHECK(!is_set(s, &s->closed));
	CHECK_EQ(coro_scheduler_spawn(s, NULL, waits, NULL, 0, NULL), CORO_ECLOSED);
	reach(2);
	thread_join(runner);
	thread_join(closer);
	CHECK_EQ(canceled, 1);
	CHECK_EQ(stats(s).live, 0);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
}

/* ------------------------------------------------------------------------------- names, figures */

static void reads_name(void *arg, void *result)
{
	(void)result;
	CHECK_EQ(pthread_getname_np(pthread_self(), *(char **)arg, 16), 0);
}

static void yields_often(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < 100; i++)
		CHECK_EQ(coro_yield(), CORO_OK);
}

static void *waits_for_the_end(void *s)
{
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	return NULL;
}

/* A wait returns whether it sees the end itself, or comes when the threads have stopped already. */
TEST(life_wait_ends_with_a_close)
{
	for (uint64_t n = scaled(300); n; n--) {
		coro_scheduler *s = start_with(2, 0);
		pthread_t t[2];
		spawn(s, yields_often, NULL, 0);
		for (int i = 0; i < 2; i++)
			thread_start(&t[i], waits_for_the_end, s);
		CHECK_EQ(coro_scheduler_close(s, 0), CORO_OK);
		waits_for_the_end(s);
		for (int i = 0; i < 2; i++)
			thread_join(t[i]);
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	}
}

TEST(life_threads_have_names)
{
	static const char *const given[] = {NULL, "short", "a_name_that_is_too_long"};
	static const char *const want[] = {"coro/0", "short/0", "a_name_tha/0"};

	for (int i = 0; i < 3; i++) {
		char name[16] = "", *at = name;
		coro_options o = options(1, 0);
		o.name = given[i];
		coro_scheduler *s = start(&o);
		spawn(s, reads_name, &at, sizeof at);
		finish(s);
		CHECK(strcmp(name, want[i]) == 0);
	}
}

TEST(life_figures_of_some_workers)
{
	coro_scheduler *s = start_with(3, 0);
	coro_worker_stats w[3];
	coro_stats t;

	memset(w, 0xff, sizeof w);
	CHECK_EQ(coro_scheduler_stats(s, &t, w, 2), CORO_OK);
	CHECK_EQ(t.workers, 3);
	CHECK(w[0].tid > 0 && w[1].tid > 0 && w[0].tid != w[1].tid);
	CHECK_EQ(w[2].tid, -1); /* there was no room for this worker */
	finish(s);
}
