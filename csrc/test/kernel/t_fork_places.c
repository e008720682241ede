/*
 * t_fork_places.c - forks in sections, of pinned coroutines, with calls into Go, on lent workers and
 * threads of their own, beside other switches, without stacks and records.
 */
#include "gostand.h"

#include "kernel/worker.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

static uint64_t done, counted, begun;

static void counts(void *arg, void *result)
{
	(void)arg;
	(void)result;
	add_one(&counted);
}

static void run_in(uint32_t workers, coro_fn fn)
{
	coro_scheduler *s = start_with(workers, 0);

	done = counted = begun = 0;
	run_alone(s, NULL, fn);
	CHECK_EQ(done, 1);
}

/* ------------------------------------------------------------------------------------- sections */

static coro_nowait_report last;
static uint64_t reports;

static void notes(const coro_nowait_report *r)
{
	last = *r;
	add_one(&reports);
}

/* was_reported - the next report, and no other one. */
static void was_reported(const char *call, const char *where, coro_fn fn, bool finite)
{
	static uint64_t before;

	CHECK_EQ(reports, ++before);
	CHECK_EQ(strcmp(last.call, call), 0);
	CHECK_EQ(strcmp(last.where, where), 0);
	CHECK(last.fn == fn);
	CHECK_EQ(last.finite, finite);
}

static void is_in_the_section(void *arg, void *result)
{
	(void)result;
	CHECK_EQ(coro_yield(), CORO_ENOWAIT);
	was_reported("coro_yield", arg, is_in_the_section, false);
}

static void leaves_one_open(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_nowait_begin("left open"), CORO_OK);
}

static void leaves_one_open_by_exit(void *arg, void *result)
{
	leaves_one_open(arg, result);
	coro_exit();
}

static void ends_its_parents(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_nowait_end(), CORO_OK);
	CHECK_EQ(coro_nowait_end(), CORO_EPERM);
	CHECK_EQ(coro_yield(), CORO_OK);
}

static void waits_finitely(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_yield(), CORO_OK);
	CHECK_EQ(coro_sleep(1000), CORO_OK);
	CHECK_EQ(coro_park(), CORO_ENOWAIT);
	was_reported("coro_park", "bounded", waits_finitely, true);
}

static void join_of(coro_fn fn, void *arg)
{
	coro_fork f;

	coro_fork_begin(&f, fn, arg, NULL);
	CHECK_EQ(coro_fork_join(&f), CORO_OK);
}

static void has_sections(void *arg, void *result)
{
	coro_fork f;
	(void)arg;
	(void)result;

	/* begun before the section, joined inside; and begun inside */
	coro_fork_begin(&f, is_in_the_section, "here", NULL);
	CHECK_EQ(coro_nowait_begin("here"), CORO_OK);
	join_of(is_in_the_section, "here");
	CHECK_EQ(coro_fork_join(&f), CORO_OK);

	/* left open inside a section, and in none */
	join_of(leaves_one_open, NULL);
	was_reported("the end", "here", leaves_one_open, false);
	join_of(leaves_one_open_by_exit, NULL);
	was_reported("the end", "here", leaves_one_open_by_exit, false);
	CHECK_EQ(coro_nowait_end(), CORO_OK);
	CHECK_EQ(coro_nowait_end(), CORO_EPERM);
	join_of(leaves_one_open, NULL);
	was_reported("the end", "left open", leaves_one_open, false);
	CHECK_EQ(coro_nowait_end(), CORO_EPERM);

	/* the section is the parent's, whatever the child does to it */
	CHECK_EQ(coro_nowait_begin("here"), CORO_OK);
	join_of(ends_its_parents, NULL);
	CHECK_EQ(coro_yield(), CORO_ENOWAIT);
	was_reported("coro_yield", "here", has_sections, false);
	CHECK_EQ(coro_nowait_end(), CORO_OK);

	CHECK_EQ(coro_finite_begin("bounded"), CORO_OK);
	join_of(waits_finitely, NULL);
	join_of(leaves_one_open, NULL);
	was_reported("the end", "left open", leaves_one_open, false);
	CHECK_EQ(coro_park(), CORO_ENOWAIT);
	was_reported("coro_park", "bounded", has_sections, true);
	CHECK_EQ(coro_finite_end(), CORO_OK);
	CHECK_EQ(coro_yield(), CORO_OK);
	done++;
}

TEST(fork_in_sections)
{
	coro_nowait_on_error(notes);
	run_in(1, has_sections);
}

static uint64_t gate;

static void waits_at_the_gate(void *arg, void *result)
{
	(void)arg;
	add_one(&begun);
	while (!seen(&gate))
		sched_yield();
	*(int *)result = 4;
}

static void must_not_wait_for_it(void *arg, void *result)
{
	int got = 0;
	coro_fork f;
	(void)arg;
	(void)result;

	coro_fork_begin(&f, waits_at_the_gate, NULL, &got);
	sleep_until_seen(&begun, 1);
	CHECK_EQ(coro_nowait_begin("here"), CORO_OK);
	CHECK_EQ(coro_fork_join(&f), CORO_ENOWAIT);
	CHECK_EQ(strcmp(last.call, "coro_fork_join"), 0);
	CHECK_EQ(coro_nowait_end(), CORO_OK);
	CHECK_EQ(coro_finite_begin("here"), CORO_OK);
	CHECK_EQ(coro_fork_join(&f), CORO_ENOWAIT);
	CHECK_EQ(coro_finite_end(), CORO_OK);
	CHECK_EQ(reports, 2);
	add_one(&gate);
	CHECK_EQ(coro_fork_join(&f), CORO_OK);
	CHECK_EQ(got, 4);
	done++;
}

TEST(fork_join_must_not_wait_in_a_section)
{
	coro_nowait_on_error(notes);
	run_in(2, must_not_wait_for_it);
}

/* ----------------------------------------------------------------------------------------- pins */

static void stays_with_its_parent(void *arg, void *result)
{
	int home = *(int *)arg;

	CHECK_EQ(coro_worker(), home);
	CHECK_EQ(coro_pin(1 - (uint32_t)home), CORO_EPERM);
	CHECK_EQ(coro_pin((uint32_t)home), CORO_OK);
	CHECK_EQ(coro_pin(CORO_HERE), CORO_OK);
	CHECK_EQ(coro_unpin(), CORO_OK);
	for (int i = 0; i < 20; i++)
		CHECK_EQ(coro_yield(), CORO_OK);
	CHECK_EQ(coro_sleep(1000), CORO_OK);
	CHECK_EQ(coro_worker(), home);
	if (!result)
		return;
	coro_fork f; /* its child stays, too */
	coro_fork_begin(&f, stays_with_its_parent, arg, NULL);
	usleep(500);
	CHECK_EQ(coro_fork_join(&f), CORO_OK);
}

static void is_pinned(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < 4; i++) {
		coro_fork f;
		int home = i & 1;
		CHECK_EQ(coro_pin((uint32_t)home), CORO_OK);
		coro_fork_begin(&f, stays_with_its_parent, &home, &home);
		usleep(500); /* another worker that takes forks could take it */
		CHECK_EQ(coro_fork_join(&f), CORO_OK);
	}
	CHECK_EQ(coro_unpin(), CORO_OK);
	done++;
}

TEST(fork_of_a_pinned_parent_stays)
{
	run_in(2, is_pinned);
}

static void goes_away(void *arg, void *result)
{
	uint32_t to = 1 - (uint32_t)coro_worker();

	(void)arg;
	CHECK_EQ(coro_pin(to), CORO_OK);
	CHECK_EQ(coro_worker(), (int)to);
	*(uint32_t *)result = to;
}

static void goes_with_its_child(void *arg, void *result)
{
	int depth = *(int *)arg, less = depth - 1;
	coro_handle me = coro_self();
	uint32_t to = 77;
	coro_fork f;

	coro_fork_begin(&f, depth ? goes_with_its_child : goes_away, &less, &to);
	CHECK_EQ(coro_fork_join(&f), CORO_OK);
	CHECK(coro_self() == me);
	if (depth == 0)
		CHECK_EQ(coro_worker(), (int)to);
	CHECK_EQ(coro_wake(me), CORO_OK); /* at home */
	CHECK_EQ(coro_park(), CORO_OK);
	if (result)
		*(uint32_t *)result = to;
}

static void moves_with_children(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < 100; i++) {
		int depth = i % 5;
		goes_with_its_child(&depth, NULL);
		CHECK_EQ(coro_yield(), CORO_OK);
	}
	done++;
}

TEST(fork_parents_move_with_the_child)
{
	run_in(2, moves_with_children);
}

/* A chain that waits is stolen as one. */
static void moves_in_its_sleep(void *arg, void *result)
{
	int depth = *(int *)arg, less = depth - 1;
	coro_handle me = coro_self();
	coro_fork f;

	if (depth == 0) {
		for (int i = 0; i < 50; i++)
			CHECK_EQ(coro_yield(), CORO_OK);
		return;
	}
	coro_fork_begin(&f, moves_in_its_sleep, &less, result);
	CHECK_EQ(coro_fork_join(&f), CORO_OK);
	CHECK(coro_self() == me);
	CHECK_EQ(coro_wake(me), CORO_OK);
	CHECK_EQ(coro_park(), CORO_OK);
}

TEST(fork_chains_are_stolen)
{
	for (uint32_t workers = 2; workers <= 4; workers++) {
		coro_scheduler *s = start_with(workers, 0);
		for (int i = 0; i < 200; i++) {
			int depth = i % 90; /* those with most parents stay */
			spawn(s, moves_in_its_sleep, &depth, sizeof depth);
		}
		finish(s);
	}
}

/* ------------------------------------------------------------------------- Go, and other threads */

static void calls_go(void *arg, void *result)
{
	int64_t number = *(int64_t *)arg, got = 0;
	size_t bytes;

	CHECK_EQ(coro_call_go_inline(1, &number, 8, &got, 8, &bytes), CORO_OK);
	CHECK_EQ(got, number + 1);
	*(int64_t *)result = got;
}

static void calls_go_in_children(void *arg, void *result)
{
	int64_t in[8], got[8];
	coro_fork f[8];
	(void)arg;
	(void)result;

	for (int round = 0; round < 50; round++) {
		for (int i = 0; i < 8; i++) {
			in[i] = round + i;
			coro_fork_begin(&f[i], calls_go, &in[i], &got[i]);
		}
		int64_t number = 5;
		calls_go(&number, &number); /* with forks that are not joined */
		for (int i = 0; i < 8; i++) {
			int k = round & 1 ? i : 7 - i;
			CHECK_EQ(coro_fork_join(&f[k]), CORO_OK);
			CHECK_EQ(got[k], in[k] + 1);
		}
	}
	add_one(&done);
}

TEST(fork_children_call_go)
{
	stand_in(adds);
	for (uint32_t workers = 1; workers <= 3; workers++) {
		coro_scheduler *s = start_go(workers, 0);
		done = go_made.served = 0;
		for (int i = 0; i < 4; i++)
			spawn(s, calls_go_in_children, NULL, 0);
		finish(s);
		CHECK_EQ(done, 4);
		CHECK_EQ(go_made.served, 4 * 50 * 9);
	}
}

static pid_t lender;

static void is_taken(void *arg, void *result)
{
	(void)arg;
	add_one(&begun);
	*(pid_t *)result = gettid();
}

static void computes_when_called(void *arg, void *result)
{
	int64_t number = *(int64_t *)arg;
	pid_t by = 0;
	coro_fork f;

	CHECK_EQ(gettid(), lender);
	coro_fork_begin(&f, is_taken, NULL, &by);
	if (number & 1)
		sleep_until_seen(&begun, seen(&counted) + 1);
	CHECK_EQ(coro_fork_join(&f), CORO_OK);
	CHECK(number & 1 ? by != lender && by : by != 0);
	counted = begun;
	*(int64_t *)result = 2 * number;
}

static void suspends_when_called(void *arg, void *result)
{
	int64_t number = *(int64_t *)arg;
	coro_fork f[2];

	coro_fork_begin(&f[0], calls_go, &number, &number);
	coro_fork_begin(&f[1], counts, NULL, NULL);
	CHECK_EQ(coro_fork_join(&f[0]), CORO_OK);
	CHECK_EQ(coro_sleep(1000), CORO_OK);
	CHECK_EQ(coro_fork_join(&f[1]), CORO_OK);
	*(int64_t *)result = number;
}

/* On a thread that lends itself: another worker takes the forks. */
TEST(fork_on_a_lent_worker)
{
	stand_in(adds);
	lender = gettid();
	for (uint32_t workers = 1; workers <= 3; workers++) {
		coro_scheduler *s = start_go(workers, 0);
		begun = counted = 0;
		for (int64_t i = 0; i < 100; i++) {
			int64_t in = workers == 1 ? 2 * i : i;
			struct coroi_lend l = lend_of(s, computes_when_called, &in, 8, 8);
			CHECK_EQ(lend_to_end(&l), CORO_OK);
			CHECK_EQ(*(int64_t *)l.payload, 2 * in);
		}
		counted = 0;
		for (int64_t i = 0; i < 100; i++) {
			struct coroi_lend l = lend_of(s, suspends_when_called, &i, 8, 8);
			CHECK_EQ(lend_to_end(&l), CORO_OK);
			CHECK_EQ(*(int64_t *)l.payload, i + 1);
		}
		CHECK_EQ(counted, 100);
		finish(s);
	}
}

static void notes_thread(void *arg)
{
	*(pid_t *)arg = gettid();
	CHECK_EQ(coro_worker(), -1);
}

static void goes_to_a_thread(void *arg, void *result)
{
	int how = *(int *)arg;
	pid_t by = 0;

	*(int *)result = how;
	CHECK_EQ(coro_blocking(notes_thread, &by), CORO_OK);
	CHECK(by && by != gettid());
	CHECK_EQ(coro_thread_begin(), CORO_OK);
	CHECK_EQ(coro_worker(), -1);
	if (how == 0)
		return; /* between begin and end */
	CHECK_EQ(coro_thread_end(), CORO_OK);
	CHECK(coro_worker() >= 0);
	if (how == 2)
		coro_exit();
}

static void has_children_on_threads(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < 60; i++) {
		int how = i % 3, got = 7;
		coro_fork f[2];
		coro_fork_begin(&f[0], counts, NULL, NULL);
		coro_fork_begin(&f[1], goes_to_a_thread, &how, &got);
		if (i % 2)
			CHECK_EQ(coro_yield(), CORO_OK);
		CHECK_EQ(coro_fork_join(&f[1]), CORO_OK);
		CHECK(coro_worker() >= 0);
		CHECK_EQ(got, how);
		CHECK_EQ(coro_fork_join(&f[0]), CORO_OK);
	}
	/* plain calls there, and those begun before are another's */
	coro_fork mine, f;
	coro_fork_begin(&mine, counts, NULL, NULL);
	CHECK_EQ(coro_thread_begin(), CORO_OK);
	CHECK_EQ(coro_fork_join(&mine), CORO_EPERM);
	coro_fork_begin(&f, counts, NULL, NULL);
	CHECK_EQ(coro_fork_join(&f), CORO_OK);
	CHECK_EQ(coro_thread_end(), CORO_OK);
	CHECK_EQ(coro_fork_join(&mine), CORO_OK);
	CHECK_EQ(counted, 62);
	done++;
}

TEST(fork_children_go_to_threads)
{
	for (uint32_t workers = 1; workers <= 3; workers++)
		run_in(workers, has_children_on_threads);
}

/* ------------------------------------------------------------------------------- other switches */

static coro_handle other;

static void parks(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_park(), CORO_OK);
	add_one(&counted);
}

/* Each switch lets what is pending begin, and forks go on to work after it. */
static void switches_with_forks(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < 40; i++) {
		coro_fork f[3];
		uint64_t before = counted;
		CHECK_EQ(coro_spawn_attr(NULL, parks, NULL, 0, &other), CORO_OK);
		CHECK_EQ(coro_yield(), CORO_OK);
		for (int k = 0; k < 2; k++)
			coro_fork_begin(&f[k], counts, NULL, NULL);
		switch (i % 4) {
		case 0:
			CHECK_EQ(coro_switch_to(other), CORO_OK);
			break;
		case 1:
			CHECK_EQ(coro_spawn_first(NULL, counts, NULL, 0, NULL), CORO_OK);
			CHECK_EQ(coro_wake(other), CORO_OK);
			break;
		case 2:
			CHECK_EQ(coro_pin(CORO_HERE), CORO_OK);
			CHECK_EQ(coro_wake(other), CORO_OK);
			CHECK_EQ(coro_yield(), CORO_OK);
			CHECK_EQ(coro_unpin(), CORO_OK);
			break;
		case 3:
			CHECK_EQ(coro_wake(other), CORO_OK);
			CHECK_EQ(coro_sleep(100000), CORO_OK);
			break;
		}
		coro_fork_begin(&f[2], counts, NULL, NULL);
		for (int k = 0; k < 3; k++)
			CHECK_EQ(coro_fork_join(&f[k]), CORO_OK);
		while (seen(&counted) < before + 4 + (i % 4 == 1))
			CHECK_EQ(coro_yield(), CORO_OK);
		CHECK_EQ(counted, before + 4 + (i % 4 == 1));
	}
	done++;
}

TEST(fork_beside_other_switches)
{
	for (uint32_t workers = 1; workers <= 3; workers++)
		run_in(workers, switches_with_forks);
}

/* A daemon's child is no daemon: what was asked for is waited for. */
static void sleeps_a_while(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_sleep(2 * MS), CORO_OK);
	add_one(&counted);
}

static void serves(void *arg, void *result)
{
	coro_fork f;

	coro_fork_begin(&f, sleeps_a_while, arg, result);
	CHECK_EQ(coro_fork_join(&f), CORO_OK);
	add_one(&begun);
	CHECK_EQ(coro_park(), CORO_ECANCELED);
}

TEST(fork_of_a_daemon)
{
	coro_attr daemon = {.size = sizeof daemon, .flags = CORO_DAEMON};

	for (uint32_t workers = 1; workers <= 2; workers++) {
		coro_scheduler *s = start_with(workers, 0);
		counted = begun = 0;
		CHECK_EQ(coro_scheduler_spawn(s, &daemon, serves, NULL, 0, NULL), CORO_OK);
		sleep_until_seen(&begun, 1);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(counted, 1);
		CHECK_EQ(coro_scheduler_close(s, 0), CORO_OK);
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	}
}

/* ----------------------------------------------------------------------- few stacks, no records */

static void waits_a_moment(void *arg, void *result)
{
	(void)arg;
	*(int *)result = 1;
	CHECK_EQ(coro_yield(), CORO_OK);
	*(int *)result = 2;
}

/* What never gets a stack of its own has its parent's in the end. */
static void has_few_stacks(void *arg, void *result)
{
	int got[4] = {0};
	coro_fork f[4];
	(void)arg;
	(void)result;

	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < 4; i++)
			coro_fork_begin(&f[i], waits_a_moment, NULL, &got[i]);
		if (round & 1)
			CHECK_EQ(coro_yield(), CORO_OK);
		for (int k = 3; k >= 0; k--) {
			int i = round & 2 ? 3 - k : k;
			CHECK_EQ(coro_fork_join(&f[i]), CORO_OK);
			CHECK_EQ(got[i], 2);
			got[i] = 0;
		}
	}
	done++;
}

TEST(fork_without_stacks)
{
	for (uint32_t workers = 1; workers <= 2; workers++) {
		for (int stacks = 1; stacks <= 2; stacks++) {
			coro_options o = options_capped(workers, (size_t)stacks);
			coro_scheduler *s = start(&o);
			done = 0;
			run_alone(s, NULL, has_few_stacks);
			CHECK_EQ(done, 1);
		}
	}
}

static void recurses(void *arg, void *result)
{
	int64_t n = *(int64_t *)arg, less = n - 1, got = 0;
	coro_fork f;
	int status = CORO_OK;

	CHECK(coro_stack_left() > STACK / 4);
	if (n) {
		coro_fork_begin(&f, recurses, &less, &got);
		status = coro_fork_join(&f);
		CHECK(status == CORO_OK || status == CORO_ENOMEM);
	}
	*(int64_t *)result = status ? -1 : got < 0 ? got : got + 1;
}

static void recurses_too_deep(void *arg, void *result)
{
	int64_t n = FIBERS ? 2000 : 10000, got;
	(void)arg;
	(void)result;

	recurses(&n, &got);
	CHECK_EQ(got, -1);
	done++;
}

/* Where there is no stack any more to go on on, the innermost is told. */
TEST(fork_recursion_needs_stacks)
{
	coro_options o = options_capped(1, 4);
	coro_scheduler *s = start(&o);

	run_alone(s, NULL, recurses_too_deep);
	CHECK_EQ(done, 1);
}
