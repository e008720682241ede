/*
 * t_nowait.c - no-wait sections: a coroutine must not wait in one.
 */
#include "test.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static coro_nowait_report last;
static uint64_t reports, done;

static void notes(const coro_nowait_report *r)
{
	last = *r;
	__atomic_add_fetch(&reports, 1, __ATOMIC_RELAXED);
}

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

static void waits_in_a_section(void *, void *);

#define REFUSED(name, made)                               \
	do {                                              \
		uint64_t before = reports;                \
		CHECK_EQ(made, CORO_ENOWAIT);             \
		CHECK_EQ(reports, before + 1);            \
		CHECK_EQ(strcmp(last.call, name), 0);     \
		CHECK_EQ(strcmp(last.where, "outer"), 0); \
		CHECK_EQ(last.worker, coro_worker());     \
		CHECK(last.fn == waits_in_a_section);     \
	} while (0)

static struct {
	coro_sem sem;
	coro_mutex mutex, held;
	coro_rwlock written;
	coro_cond cond;
	coro_latch latch;
	coro_once once;
	coro_chan *chan;
	coro_handle other;
} here;

static bool holding; /* both locks: a lock that is free may yield first (budget.h) */

static void is_doing_it(void *arg)
{
	(void)arg;
	CHECK_EQ(coro_mutex_lock(&here.held, CORO_FOREVER), CORO_OK);
	CHECK_EQ(coro_rwlock_write(&here.written, CORO_FOREVER), CORO_OK);
	holding = true;
	CHECK_EQ(coro_park(), CORO_OK);
	CHECK_EQ(coro_rwlock_unlock(&here.written), CORO_OK);
	CHECK_EQ(coro_mutex_unlock(&here.held), CORO_OK);
}

static void holds(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_once_do(&here.once, is_doing_it, NULL, CORO_FOREVER), CORO_OK);
}

/* No call that would have to wait waits, and its object is unchanged. */
static void all_are_refused(void)
{
	uint64_t v = 1, soon = coro_now() + UINT64_C(3600000000000);
	coro_case k = {.chan = here.chan, .recv = &v};
	coro_ticker ticker;
	coro_scope *scope;

	REFUSED("coro_yield", coro_yield());
	REFUSED("coro_switch_to", coro_switch_to(here.other));
	REFUSED("coro_spawn_first", coro_spawn_first(NULL, ends, NULL, 0, NULL));
	REFUSED("coro_park", coro_park());
	REFUSED("coro_park_until", coro_park_until(soon));
	REFUSED("coro_sleep", coro_sleep(1));
	CHECK_EQ(coro_ticker_init(&ticker, 1), CORO_OK);
	REFUSED("coro_sleep_until", coro_sleep_until(soon));
	REFUSED("coro_ticker_wait", coro_ticker_wait(&ticker, NULL));
	REFUSED("coro_join", coro_join(here.other, NULL, 0));
	REFUSED("coro_join_until", coro_join_until(here.other, NULL, 0, soon));
	REFUSED("coro_join_until", coro_join_until(here.other, NULL, 0, CORO_FOREVER));
	REFUSED("coro_sem_acquire", coro_sem_acquire(&here.sem, CORO_FOREVER));
	REFUSED("coro_mutex_lock", coro_mutex_lock(&here.held, soon));
	REFUSED("coro_rwlock_read", coro_rwlock_read(&here.written, soon));
	REFUSED("coro_rwlock_write", coro_rwlock_write(&here.written, CORO_FOREVER));
	REFUSED("coro_latch_wait", coro_latch_wait(&here.latch, CORO_FOREVER));
	REFUSED("coro_once_do", coro_once_do(&here.once, nothing, NULL, CORO_FOREVER));
	CHECK_EQ(coro_mutex_lock(&here.mutex, CORO_FOREVER), CORO_OK); /* no wait is needed */
	REFUSED("coro_cond_wait", coro_cond_wait(&here.cond, &here.mutex, CORO_FOREVER));
	CHECK_EQ(coro_mutex_unlock(&here.mutex), CORO_OK);
	REFUSED("coro_chan_recv", coro_chan_recv(here.chan, &v, CORO_FOREVER));
	REFUSED("coro_select", coro_select(&k, 1, soon));
	CHECK_EQ(coro_chan_send(here.chan, &v, CORO_FOREVER), CORO_OK);
	REFUSED("coro_chan_send", coro_chan_send(here.chan, &v, soon));
	CHECK_EQ(coro_select(&k, 1, soon), 0);
	REFUSED("coro_pin", coro_pin(1 - (uint32_t)coro_worker()));
	REFUSED("coro_blocking", coro_blocking(nothing, NULL));
	REFUSED("coro_thread_begin", coro_thread_begin());
	REFUSED("coro_call_go", coro_call_go(1, NULL, 0, NULL, 0, NULL));
	REFUSED("coro_call_go_inline", coro_call_go_inline(1, NULL, 0, NULL, 0, NULL));
	CHECK_EQ(coro_scope_new(&scope), CORO_OK);
	REFUSED("coro_scope_wait", coro_scope_wait(scope));
}

static void those_that_do_not_wait_work(void)
{
	uint64_t v;

	CHECK_EQ(coro_park_until(0), CORO_ETIMEDOUT);
	CHECK_EQ(coro_join_until(here.other, NULL, 0, 0), CORO_ETIMEDOUT);
	CHECK_EQ(coro_sem_acquire(&here.sem, 0), CORO_ETIMEDOUT);
	CHECK_EQ(coro_mutex_lock(&here.held, 0), CORO_ETIMEDOUT);
	CHECK_EQ(coro_chan_recv(here.chan, &v, 0), CORO_ETIMEDOUT);
	CHECK_EQ(coro_wake(coro_self()), CORO_OK);
	CHECK_EQ(coro_park(), CORO_OK);
	CHECK_EQ(coro_sem_release(&here.sem, 1), CORO_OK);
	CHECK_EQ(coro_sem_acquire(&here.sem, CORO_FOREVER), CORO_OK);
	CHECK_EQ(coro_spawn(ends, NULL, 0), CORO_OK);
	CHECK_EQ(coro_pin((uint32_t)coro_worker()), CORO_OK);
	CHECK_EQ(coro_unpin(), CORO_OK);
}

static intptr_t by_hand(void *arg, intptr_t first)
{
	(void)arg;
	CHECK_EQ(coro_yield(), CORO_EPERM); /* as always in a coroutine by hand */
	CHECK_EQ(coro_nowait_begin("by hand"), CORO_EPERM);
	CHECK_EQ(coro_nowait_end(), CORO_EPERM);
	CHECK_EQ(coro_yield_value(first, NULL), CORO_OK);
	return first;
}

static void waits_in_a_section(void *arg, void *result)
{
	coro_t *co;
	uint64_t began;
	(void)arg;
	(void)result;

	while (!holding)
		CHECK_EQ(coro_yield(), CORO_OK);
	CHECK_EQ(coro_nowait_begin(NULL), CORO_EINVAL);
	CHECK_EQ(coro_nowait_end(), CORO_EPERM);
	CHECK_EQ(coro_nowait_begin("outer"), CORO_OK);
	CHECK_EQ(coro_nowait_begin("inner"), CORO_OK);
	CHECK_EQ(coro_nowait_end(), CORO_OK);
	all_are_refused();
	began = reports;
	those_that_do_not_wait_work();
	CHECK_EQ(coro_new(&co, by_hand, NULL, STACK), CORO_OK);
	CHECK_EQ(coro_resume(co, 1, NULL), CORO_MAY_RESUME);
	CHECK_EQ(coro_resume(co, 1, NULL), CORO_FINISHED);
	CHECK_EQ(coro_free(co), CORO_OK);
	CHECK_EQ(coro_nowait_end(), CORO_OK);
	CHECK_EQ(coro_nowait_end(), CORO_EPERM);
	CHECK_EQ(coro_yield(), CORO_OK);
	CHECK_EQ(coro_wake(here.other), CORO_OK);
	CHECK_EQ(coro_join(here.other, NULL, 0), CORO_OK);
	CHECK_EQ(reports, began);
	__atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
}

/* On one of two workers, while the other waits. */
static void prepares(void *arg, void *result)
{
	coro_attr at_home = {.size = sizeof at_home, .worker = CORO_HERE};
	coro_attr joined = {.size = sizeof joined, .worker = CORO_HERE, .flags = CORO_JOINABLE};
	(void)arg;
	(void)result;

	CHECK_EQ(coro_chan_new(&here.chan, 8, 1, 0), CORO_OK);
	CHECK_EQ(coro_latch_init(&here.latch, 1, 0), CORO_OK);
	CHECK_EQ(coro_spawn_attr(&joined, holds, NULL, 0, &here.other), CORO_OK);
	CHECK_EQ(coro_spawn_attr(&at_home, waits_in_a_section, NULL, 0, NULL), CORO_OK);
}

TEST(nowait_what_would_wait_is_refused)
{
	coro_scheduler *s = start_with(2, 0);
	coro_attr first = {.size = sizeof first, .worker = 1};

	CHECK_EQ(coro_nowait_begin("outside"), CORO_EPERM);
	CHECK_EQ(coro_nowait_end(), CORO_EPERM);
	CHECK(coro_nowait_on_error(notes) == NULL);
	CHECK_EQ(coro_scheduler_spawn(s, &first, prepares, NULL, 0, NULL), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(done, 1);
	CHECK_EQ(coro_chan_free(here.chan), CORO_OK);
	finish(s);
	CHECK(coro_nowait_on_error(NULL) == notes);
	CHECK(coro_nowait_on_error(NULL) == NULL);
}

/* -------------------------------------------------------------------------- an end in a section */

static void may_wait(void *arg)
{
	(void)arg;
	CHECK_EQ(reports & 1, 1); /* the report has been made by now */
	CHECK_EQ(coro_yield(), CORO_OK);
	done++;
}

enum { RETURNS, EXITS, ABORTS, WAYS };

static void ends_inside(void *arg, void *result)
{
	int how;
	(void)result;

	memcpy(&how, arg, sizeof how);
	if (how >= WAYS)
		CHECK_EQ(coro_defer(may_wait, NULL), CORO_OK);
	CHECK_EQ(coro_nowait_begin("ends"), CORO_OK);
	CHECK_EQ(coro_nowait_begin("and again"), CORO_OK);
	if (how % WAYS == EXITS)
		coro_exit();
	if (how % WAYS == ABORTS)
		coro_abort();
}

static void comes_next(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_nowait_end(), CORO_EPERM);
	CHECK_EQ(coro_yield(), CORO_OK);
	CHECK_EQ(reports, 1);
	CHECK_EQ(strcmp(last.call, "the end"), 0);
	CHECK_EQ(strcmp(last.where, "ends"), 0);
	CHECK(last.fn == ends_inside);
}

TEST(nowait_the_end_inside_is_told)
{
	coro_nowait_on_error(notes);
	for (int how = 0; how < 2 * WAYS; how++) {
		coro_scheduler *s = start_with(1, CORO_PAUSED);
		done = reports = 0;
		spawn(s, ends_inside, &how, sizeof how);
		spawn(s, comes_next, NULL, 0);
		CHECK_EQ(coro_scheduler_run(s), CORO_OK);
		CHECK_EQ(reports, 1);
		CHECK_EQ(done, how >= WAYS);
		finish(s);
	}
}

/* ------------------------------------------------------------------------ cancel; many sections */

static void is_canceled_inside(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_nowait_begin("canceled"), CORO_OK);
	CHECK_EQ(coro_cancel(coro_self()), CORO_OK);
	CHECK_EQ(coro_canceled(), 1);
	CHECK_EQ(coro_park(), CORO_ENOWAIT);
	CHECK_EQ(coro_nowait_end(), CORO_OK);
	CHECK_EQ(coro_park(), CORO_ECANCELED);
	done++;
}

TEST(nowait_and_canceled)
{
	coro_scheduler *s = start_with(1, CORO_PAUSED);

	coro_nowait_on_error(notes);
	spawn(s, is_canceled_inside, NULL, 0);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(done, 1);
	finish(s);
}

static uint64_t inside[4];

/* The purpose of a section: between begin and end nothing else runs on this worker, whatever is
 * called. */
static void counts(void *arg, void *result)
{
	uint64_t n;
	(void)result;

	memcpy(&n, arg, sizeof n);
	for (uint64_t i = 0; i < n; i++) {
		CHECK_EQ(coro_nowait_begin("counts"), CORO_OK);
		int w = coro_worker();
		uint64_t was = ++inside[w];
		CHECK_EQ(coro_yield(), CORO_ENOWAIT);
		CHECK_EQ(coro_park(), CORO_ENOWAIT);
		CHECK_EQ(coro_worker(), w);
		CHECK_EQ(inside[w], was);
		CHECK_EQ(coro_nowait_end(), CORO_OK);
		CHECK_EQ(coro_yield(), CORO_OK);
	}
	__atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
}

static void counts_only(const coro_nowait_report *r)
{
	(void)r;
	__atomic_add_fetch(&reports, 1, __ATOMIC_RELAXED);
}

TEST(nowait_nobody_else_runs_there)
{
	coro_scheduler *s = start_with(4, CORO_PAUSED);
	uint64_t n = scaled(2000), all = 0;

	coro_nowait_on_error(counts_only);
	for (int i = 0; i < 40; i++)
		spawn(s, counts, &n, sizeof n);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(done, 40);
	for (int i = 0; i < 4; i++)
		all += inside[i];
	CHECK_EQ(all, 40 * n);
	CHECK_EQ(reports, 2 * 40 * n);
	finish(s);
}

/* ------------------------------------------------------------------------------- without a hook */

static const char *where;

static void parks_in_a_section(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_nowait_begin(where), CORO_OK);
	CHECK_EQ(coro_park(), CORO_ENOWAIT);
	CHECK_EQ(coro_nowait_end(), CORO_OK);
}

/* what_is_said - what a park in the section `in` writes to stderr. */
static void what_is_said(const char *in, char *text, size_t bytes)
{
	int said = memfd_create("said", 0), before = dup(2);

	where = in;
	memset(text, 0, bytes);
	CHECK(said >= 0 && before >= 0);
	CHECK_EQ(dup2(said, 2), 2);
	coro_scheduler *s = start_with(1, 0);
	spawn(s, parks_in_a_section, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(dup2(before, 2), 2);
	CHECK(pread(said, text, bytes - 1, 0) > 0);
	close(said);
	close(before);
	finish(s);
}

TEST(nowait_is_said_on_stderr)
{
	char text[4000], want[200];

	CHECK(coro_nowait_on_error(notes) == NULL);
	CHECK(coro_nowait_on_error(NULL) == notes);
	what_is_said("somewhere", text, sizeof text);
	snprintf(want, sizeof want,
		 "coro: coro_park in the no-wait section somewhere, "
		 "in the coroutine of function 0x%llx on worker 0\n",
		 (unsigned long long)(uintptr_t)parks_in_a_section);
	CHECK_EQ(strcmp(text, want), 0);
	CHECK_EQ(reports, 0);
}

/* What does not fit into a line is cut off, at any point. */
TEST(nowait_says_what_fits)
{
	static const size_t lengths[] = {3000, 940, 960};
	static char long_name[3001], text[4000];

	for (int i = 0; i < 3; i++) {
		memset(long_name, 'x', lengths[i]);
		long_name[lengths[i]] = 0;
		what_is_said(long_name, text, sizeof text);
		CHECK_EQ(strlen(text), sizeof((struct coroi_text *)0)->at);
		CHECK_EQ(strncmp(text, "coro: coro_park in the no-wait section xxx", 42), 0);
	}
}

/* -------------------------------------------------------------------------- a join in a section */

static void returns_three(void *arg, void *result)
{
	(void)arg;
	*(uint64_t *)result = 3;
}

/* A coroutine that may not wait can join what has ended. */
static void joins_in_a_section(void *arg, void *result)
{
	coro_handle h;
	uint64_t got = 0;
	(void)arg;
	(void)result;

	CHECK_EQ(coro_spawn_attr(JOINABLE(8), returns_three, NULL, 0, &h), CORO_OK);
	CHECK_EQ(coro_nowait_begin("here"), CORO_OK);
	CHECK_EQ(coro_join_until(h, &got, 8, 0), CORO_ETIMEDOUT);
	CHECK_EQ(coro_nowait_end(), CORO_OK);
	CHECK_EQ(coro_yield(), CORO_OK);
	CHECK_EQ(coro_nowait_begin("here"), CORO_OK);
	CHECK_EQ(coro_join(h, &got, 8), CORO_OK);
	CHECK_EQ(coro_nowait_end(), CORO_OK);
	CHECK_EQ(got, 3);
	CHECK_EQ(coro_join(h, &got, 8), CORO_ESTALE);
	add_one(&done);
}

TEST(waits_that_are_none_in_a_section)
{
	done = 0;
	run_alone(start_with(1, 0), NULL, joins_in_a_section);
	CHECK_EQ(seen(&done), 1);
}
