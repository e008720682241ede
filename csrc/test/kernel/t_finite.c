/*
 * t_finite.c - finite-wait sections: a coroutine may wait in one, where the wait has a bound.
 */
#include "gostand.h"

#include <string.h>

static _Thread_local coro_nowait_report last;
static uint64_t reports, holding, done;

static void notes(const coro_nowait_report *r)
{
	last = *r;
	add_one(&reports);
}

/* was_refused - the call before was refused in that section. The report was made on this thread. */
static bool was_refused(int status, const char *call, const char *where, bool finite)
{
	return status == CORO_ENOWAIT && !strcmp(last.call, call) && !strcmp(last.where, where) &&
	       last.finite == finite && (int)last.worker == coro_worker();
}

#define REFUSED(name, made) CHECK(was_refused(made, name, "here", true))

static struct {
	coro_sem sem;
	coro_mutex mutex, held;
	coro_rwlock written;
	coro_cond cond;
	coro_latch latch;
	coro_chan *chan;
	coro_handle other;
} here;

static void nothing(void *arg)
{
	(void)arg;
	CHECK(!"called");
}

static void ends(void *arg, void *result)
{
	(void)arg;
	(void)result;
}

static void holds(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_mutex_lock(&here.held, CORO_FOREVER), CORO_OK);
	CHECK_EQ(coro_rwlock_write(&here.written, CORO_FOREVER), CORO_OK);
	add_one(&holding);
	CHECK_EQ(coro_park(), CORO_OK);
	CHECK_EQ(coro_rwlock_unlock(&here.written), CORO_OK);
	CHECK_EQ(coro_mutex_unlock(&here.held), CORO_OK);
}

static void without_a_bound(void)
{
	coro_case k = {.chan = here.chan, .recv = &(uint64_t){0}};
	coro_scope *scope;
	uint64_t v;

	REFUSED("coro_park", coro_park());
	REFUSED("coro_park", coro_park_until(CORO_FOREVER));
	REFUSED("coro_sleep_until", coro_sleep_until(CORO_FOREVER));
	REFUSED("coro_join", coro_join(here.other, NULL, 0));
	REFUSED("coro_join_until", coro_join_until(here.other, NULL, 0, CORO_FOREVER));
	REFUSED("coro_sem_acquire", coro_sem_acquire(&here.sem, CORO_FOREVER));
	REFUSED("coro_mutex_lock", coro_mutex_lock(&here.held, CORO_FOREVER));
	REFUSED("coro_rwlock_read", coro_rwlock_read(&here.written, CORO_FOREVER));
	REFUSED("coro_rwlock_write", coro_rwlock_write(&here.written, CORO_FOREVER));
	REFUSED("coro_latch_wait", coro_latch_wait(&here.latch, CORO_FOREVER));
	REFUSED("coro_chan_recv", coro_chan_recv(here.chan, &v, CORO_FOREVER));
	REFUSED("coro_select", coro_select(&k, 1, CORO_FOREVER));
	CHECK_EQ(coro_mutex_lock(&here.mutex, CORO_FOREVER), CORO_OK); /* no wait is needed */
	REFUSED("coro_cond_wait", coro_cond_wait(&here.cond, &here.mutex, CORO_FOREVER));
	CHECK_EQ(coro_mutex_unlock(&here.mutex), CORO_OK);
	REFUSED("coro_blocking", coro_blocking(nothing, NULL));
	REFUSED("coro_thread_begin", coro_thread_begin());
	REFUSED("coro_call_go", coro_call_go(1, NULL, 0, NULL, 0, NULL));
	REFUSED("coro_call_go_inline", coro_call_go_inline(1, NULL, 0, NULL, 0, NULL));
	CHECK_EQ(coro_scope_new(&scope), CORO_OK);
	REFUSED("coro_scope_wait", coro_scope_wait(scope));
}

static uint64_t soon(void)
{
	return coro_now() + MS / 10;
}

static void with_a_bound(void)
{
	coro_case k = {.chan = here.chan, .recv = &(uint64_t){0}};
	coro_ticker ticker;
	uint64_t v, was = seen(&reports);

	CHECK_EQ(coro_yield(), CORO_OK);
	CHECK_EQ(coro_sleep(MS / 10), CORO_OK);
	CHECK_EQ(coro_ticker_init(&ticker, MS / 10), CORO_OK);
	CHECK_EQ(coro_ticker_wait(&ticker, NULL), CORO_OK);
	CHECK_EQ(coro_park_until(soon()), CORO_ETIMEDOUT);
	CHECK_EQ(coro_join_until(here.other, NULL, 0, soon()), CORO_ETIMEDOUT);
	CHECK_EQ(coro_sem_acquire(&here.sem, soon()), CORO_ETIMEDOUT);
	CHECK_EQ(coro_mutex_lock(&here.held, soon()), CORO_ETIMEDOUT);
	CHECK_EQ(coro_rwlock_read(&here.written, soon()), CORO_ETIMEDOUT);
	CHECK_EQ(coro_latch_wait(&here.latch, soon()), CORO_ETIMEDOUT);
	CHECK_EQ(coro_chan_recv(here.chan, &v, soon()), CORO_ETIMEDOUT);
	CHECK_EQ(coro_select(&k, 1, soon()), CORO_ETIMEDOUT);
	CHECK_EQ(coro_mutex_lock(&here.mutex, CORO_FOREVER), CORO_OK);
	CHECK_EQ(coro_cond_wait(&here.cond, &here.mutex, soon()), CORO_ETIMEDOUT);
	CHECK_EQ(coro_mutex_unlock(&here.mutex), CORO_OK);
	CHECK_EQ(coro_spawn_first(NULL, ends, NULL, 0, NULL), CORO_OK);
	CHECK_EQ(coro_pin(1 - (uint32_t)coro_worker()), CORO_OK);
	CHECK_EQ(coro_unpin(), CORO_OK);
	CHECK_EQ(seen(&reports), was);
}

static void prepares(void *arg, void *result)
{
	coro_attr at_home = *JOINABLE(0);
	(void)arg;
	(void)result;

	at_home.worker = CORO_HERE;
	CHECK_EQ(coro_chan_new(&here.chan, 8, 0, 0), CORO_OK);
	CHECK_EQ(coro_latch_init(&here.latch, 1, 0), CORO_OK);
	CHECK_EQ(coro_finite_end(), CORO_EPERM);
	CHECK_EQ(coro_finite_begin(NULL), CORO_EINVAL);
	CHECK_EQ(coro_spawn_attr(&at_home, holds, NULL, 0, &here.other), CORO_OK);
	while (!seen(&holding))
		CHECK_EQ(coro_yield(), CORO_OK);
	CHECK_EQ(coro_finite_begin("here"), CORO_OK);
	for (int i = 0; i < 3; i++) {
		without_a_bound();
		with_a_bound();
	}
	CHECK_EQ(coro_finite_begin("inner"), CORO_OK);
	CHECK_EQ(coro_finite_end(), CORO_OK);
	REFUSED("coro_park", coro_park());
	CHECK_EQ(coro_finite_end(), CORO_OK);
	CHECK_EQ(coro_finite_end(), CORO_EPERM);
	CHECK_EQ(coro_wake(here.other), CORO_OK);
	CHECK_EQ(coro_join(here.other, NULL, 0), CORO_OK);
	CHECK_EQ(coro_chan_free(here.chan), CORO_OK);
	add_one(&done);
}

TEST(finite_waits_without_a_bound_are_refused)
{
	CHECK_EQ(coro_finite_begin("outside"), CORO_EPERM);
	CHECK_EQ(coro_finite_end(), CORO_EPERM);
	CHECK(coro_nowait_on_error(notes) == NULL);
	run_alone(start_with(2, 0), NULL, prepares);
	CHECK_EQ(seen(&done), 1);
}

/* ----------------------------------------------------------- the section goes with the coroutine */

static const char *const names[] = {"0", "1", "2", "3", "4", "5", "6", "7"};

static void is_free(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_wake(coro_self()), CORO_OK);
	CHECK_EQ(coro_park(), CORO_OK);
	CHECK_EQ(coro_sem_acquire(&here.sem, 0), CORO_ETIMEDOUT);
	CHECK_EQ(coro_finite_end(), CORO_EPERM);
	CHECK_EQ(coro_nowait_end(), CORO_EPERM);
	add_one(&done);
}

static void waits(uint64_t i)
{
	switch (i % 5) {
	case 0:
		CHECK_EQ(coro_yield(), CORO_OK);
		break;
	case 1:
		CHECK_EQ(coro_sleep(MS / 100), CORO_OK);
		break;
	case 2:
		CHECK_EQ(coro_spawn_first(NULL, is_free, NULL, 0, NULL), CORO_OK);
		break;
	case 3:
		CHECK_EQ(coro_sem_acquire(&here.sem, coro_now() + MS / 100), CORO_ETIMEDOUT);
		break;
	case 4:
		CHECK_EQ(coro_switch_to(coro_self()), CORO_OK);
		CHECK_EQ(coro_park(), CORO_OK); /* the permit */
		break;
	}
}

static void is_inside(void *arg, void *result)
{
	uint64_t n;
	(void)result;

	memcpy(&n, arg, sizeof n);
	const char *mine = names[n % 8];
	CHECK_EQ(coro_finite_begin(mine), CORO_OK);
	for (uint64_t i = 0; i < 20; i++) {
		waits(n + i);
		CHECK(was_refused(coro_park(), "coro_park", mine, true));
		if (i % 7 == 3 && n % 2)
			CHECK_EQ(coro_pin((uint32_t)(n + i) % 3), CORO_OK);
	}
	CHECK_EQ(coro_finite_end(), CORO_OK);
	add_one(&done);
}

static void many(const coro_attr *attr)
{
	coro_scheduler *s = start_with(3, CORO_PAUSED);
	uint64_t n = 60;

	done = 0;
	coro_nowait_on_error(notes);
	for (uint64_t i = 0; i < n; i++) {
		/* a dense coroutine stays where it is */
		uint64_t which = attr ? 2 * i : i;
		CHECK_EQ(coro_scheduler_spawn(s, attr, is_inside, &which, sizeof which, NULL),
			 CORO_OK);
		spawn(s, is_free, NULL, 0);
	}
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(seen(&done), 2 * n + 4 * n);
	finish(s);
}

TEST(finite_sections_go_with_their_coroutines)
{
	many(NULL);
}

TEST(finite_sections_of_dense_coroutines)
{
	many(&(coro_attr){.size = sizeof(coro_attr), .worker = CORO_ANYWHERE, .flags = CORO_DENSE});
}

/* ------------------------------------------------------------------------------- levels; the end */

static void nests(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_finite_begin("finite"), CORO_OK);
	CHECK_EQ(coro_nowait_begin("none"), CORO_OK);
	CHECK(was_refused(coro_yield(), "coro_yield", "none", false));
	CHECK_EQ(coro_finite_end(), CORO_OK);
	CHECK(was_refused(coro_sleep(1), "coro_sleep", "none", false));
	CHECK_EQ(coro_finite_begin("finite again"), CORO_OK);
	CHECK(was_refused(coro_park(), "coro_park", "none", false));
	CHECK_EQ(coro_nowait_end(), CORO_OK);
	CHECK_EQ(coro_yield(), CORO_OK);
	CHECK(was_refused(coro_park(), "coro_park", "finite again", true));
	CHECK_EQ(coro_cancel(coro_self()), CORO_OK);
	CHECK(was_refused(coro_park(), "coro_park", "finite again", true));
	CHECK_EQ(coro_sleep(MS), CORO_ECANCELED);
	CHECK(was_refused(coro_park(), "coro_park", "finite again", true));
	reports = 0; /* and ends in the section */
}

static void comes_next(void *arg, void *result)
{
	is_free(arg, result);
	CHECK_EQ(seen(&reports), 1);
	CHECK_EQ(strcmp(last.call, "the end"), 0);
	CHECK_EQ(strcmp(last.where, "finite again"), 0);
	CHECK_EQ(last.finite, 1);
	CHECK(last.fn == nests);
}

TEST(finite_and_nowait_nest)
{
	coro_scheduler *s = start_with(1, CORO_PAUSED);

	coro_nowait_on_error(notes);
	spawn(s, nests, NULL, 0);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	spawn(s, comes_next, NULL, 0);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(seen(&done), 1);
	finish(s);
}

/* -------------------------------------------------------------- the mutex of a condition; lending */

static void keeps_the_mutex(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_mutex_lock(&here.mutex, CORO_FOREVER), CORO_OK);
	CHECK_EQ(coro_sleep(5 * MS), CORO_OK);
	CHECK_EQ(coro_mutex_unlock(&here.mutex), CORO_OK);
}

/* The wait is over long before the mutex is free: it is locked all the same. */
static void waits_at_a_condition(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_mutex_lock(&here.mutex, CORO_FOREVER), CORO_OK);
	CHECK_EQ(coro_spawn(keeps_the_mutex, NULL, 0), CORO_OK);
	CHECK_EQ(coro_finite_begin("here"), CORO_OK);
	CHECK_EQ(coro_cond_wait(&here.cond, &here.mutex, soon()), CORO_ETIMEDOUT);
	CHECK_EQ(coro_mutex_unlock(&here.mutex), CORO_OK);
	REFUSED("coro_park", coro_park());
	CHECK_EQ(coro_finite_end(), CORO_OK);
	CHECK_EQ(seen(&reports), 1);
}

TEST(finite_wait_at_a_condition)
{
	coro_nowait_on_error(notes);
	run_alone(start_with(1, 0), NULL, waits_at_a_condition);
}

static void is_lent(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_finite_begin("here"), CORO_OK);
	for (uint64_t i = 0; i < 10; i++) {
		waits(i);
		REFUSED("coro_park", coro_park());
	}
	CHECK_EQ(coro_finite_end(), CORO_OK);
	CHECK_EQ(coro_yield(), CORO_OK);
	CHECK_EQ(coro_finite_end(), CORO_EPERM);
}

TEST(finite_section_on_a_thread_that_is_lent)
{
	coro_scheduler *s = start_go(1, 0);

	coro_nowait_on_error(notes);
	for (int i = 0; i < 20; i++) {
		struct coroi_lend l = lend_of(s, is_lent, NULL, 0, 0);
		CHECK_EQ(lend_to_end(&l), CORO_OK);
	}
	CHECK_EQ(seen(&reports), 200);
	finish(s);
}
