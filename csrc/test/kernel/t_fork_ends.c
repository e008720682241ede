/*
 * t_fork_ends.c - children, and parents with forks, that end by coro_exit, coro_abort and coro_fail:
 * what the join returns, and what becomes of the forks.
 */
#include "test.h"

#include <sched.h>
#include <string.h>

static uint64_t done, counted, begun;

enum how { RETURNS, EXITS, ABORTS, FAILS, FAILS_SILENTLY, HOWS };
/* Where a child runs: in its join; as a coroutine in the same worker; on another. */
enum where { INLINED, PROMOTED, STOLEN, WHERES };

static const int status_of[HOWS] = {CORO_OK, CORO_OK, CORO_EABORTED, CORO_EFAILED, CORO_EFAILED};

static void ends_by(enum how how)
{
	switch (how) {
	case EXITS:
		coro_exit();
		break;
	case ABORTS:
		coro_abort();
		break;
	case FAILS:
		coro_fail(7, "it broke");
		break;
	case FAILS_SILENTLY:
		coro_fail(-3, NULL);
		break;
	default:
		break;
	}
}

static void ends_by_deep(void *how)
{
	CHECK(coro_stack_left() > 64 << 10);
	ends_by(*(enum how *)how);
}

/* in_schedulers - run fn for each place: one worker; the last place wants two. */
static void in_schedulers(coro_fn fn)
{
	for (enum where where = 0; where < WHERES; where++) {
		coro_scheduler *s = start_with(where == STOLEN ? 2 : 1, 0);
		done = counted = begun = 0;
		spawn(s, fn, &where, sizeof where);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(done, 1);
		finish(s);
	}
}

/* place - the child of a fork that was just begun is to run there. It has called add_one(&begun) n
 * times by then. */
static void place(enum where where, uint64_t n)
{
	if (where == PROMOTED)
		CHECK_EQ(coro_yield(), CORO_OK);
	if (where == STOLEN)
		sleep_until_seen(&begun, n);
}

static void check_failure(enum how how)
{
	char text[32] = "";
	int code = 0;

	size_t n = coro_join_error(&code, text, sizeof text);
	if (how == FAILS) {
		CHECK_EQ(code, 7);
		CHECK_EQ(strcmp(text, "it broke"), 0);
		CHECK_EQ(n, 8);
	}
	if (how == FAILS_SILENTLY) {
		CHECK_EQ(code, -3);
		CHECK_EQ(n, 0);
	}
}

/* ------------------------------------------------------------------------------------- children */

struct ending {
	enum how how;
	bool waits, defers, deep;
};

static void counts_deferred(void *arg)
{
	(void)arg;
	CHECK_EQ(coro_yield(), CORO_OK);
	add_one(&counted);
}

static void ends_deferred(void *how)
{
	add_one(&counted);
	ends_by((enum how)(uintptr_t)how);
}

static void ends(void *arg, void *result)
{
	const struct ending *e = arg;

	add_one(&begun);
	*(int *)result = 5;
	CHECK(coro_malloc(100) != NULL);
	if (e->defers) {
		CHECK_EQ(coro_defer(counts_deferred, NULL), CORO_OK);
		for (uintptr_t how = 0; how < HOWS; how++)
			CHECK_EQ(coro_defer(ends_deferred, (void *)how), CORO_OK);
	}
	if (e->waits)
		CHECK_EQ(coro_yield(), CORO_OK);
	if (e->deep)
		CHECK_EQ(coro_call_on_stack(256 << 10, ends_by_deep, arg), CORO_OK);
	ends_by(e->how);
}

/* The frames that a child leaves, and its parent's, are on one stack: that has nothing else. */
static __attribute__((noinline)) void joins_one(enum where where, struct ending *e)
{
	uint64_t before = counted, begun_before = begun;
	int around[8] = {1, 2, 3, 4, 5, 6, 7, 8}, got = 0;
	coro_fork other, f;

	coro_fork_begin(&other, ends, &(struct ending){.how = RETURNS}, &around[0]);
	coro_fork_begin(&f, ends, e, &got);
	place(where, begun_before + 2);
	CHECK_EQ(coro_fork_join(&f), status_of[e->how]);
	check_failure(e->how);
	CHECK_EQ(got, 5);
	CHECK_EQ(counted, before + (e->defers ? HOWS + 1 : 0));
	CHECK_EQ(coro_fork_join(&other), CORO_OK);
	CHECK_EQ(around[0], 5);
	for (int i = 1; i < 8; i++)
		CHECK_EQ(around[i], i + 1);
}

static void has_children_that_end(void *arg, void *result)
{
	enum where where = *(enum where *)arg;
	(void)result;

	for (unsigned kind = 0; kind < HOWS * 8; kind++) {
		struct ending e = {kind % HOWS, kind / HOWS & 1, kind / HOWS & 2, kind / HOWS & 4};
		joins_one(where, &e);
	}
	done++;
}

TEST(fork_child_ends_in_all_ways)
{
	in_schedulers(has_children_that_end);
}

/* Each in the frames of the one before. */
static void ends_in_a_chain(void *arg, void *result)
{
	int left = *(int *)arg, less = left - 1, got = 0;
	coro_fork f, unjoined;

	*(int *)result = left;
	if (left) {
		coro_fork_begin(&f, ends_in_a_chain, &less, &got);
		CHECK_EQ(coro_fork_join(&f), status_of[less % HOWS]);
		check_failure(less % HOWS);
		CHECK_EQ(got, less);
	}
	if (left % HOWS == RETURNS)
		return;
	coro_fork_begin(&unjoined, never, NULL, NULL);
	ends_by(left % HOWS);
}

static void has_a_chain(void *arg, void *result)
{
	int n = SANITIZED ? 50 : 500, got;
	coro_fork f;

	(void)arg;
	(void)result;
	coro_fork_begin(&f, ends_in_a_chain, &n, &got);
	CHECK_EQ(coro_fork_join(&f), CORO_OK);
	CHECK_EQ(got, n);
	done++;
}

TEST(fork_chain_ends_in_all_ways)
{
	coro_scheduler *s = start_with(1, 0);

	run_alone(s, NULL, has_a_chain);
	CHECK_EQ(done, 1);
}

/* -------------------------------------------------------------------------------------- parents */

static void is_canceled_asleep(void *arg, void *result)
{
	(void)arg;
	(void)result;
	add_one(&begun);
	CHECK_EQ(coro_park(), CORO_ECANCELED);
	CHECK_EQ(coro_canceled(), 1);
	for (int i = 0; i < 3; i++)
		coro_yield();
	add_one(&counted);
}

static void is_canceled_awake(void *arg, void *result)
{
	(void)arg;
	(void)result;
	add_one(&begun);
	while (!coro_canceled())
		sched_yield();
	add_one(&counted);
}

static void fails_meanwhile(void *arg, void *result)
{
	(void)arg;
	(void)result;
	add_one(&begun);
	if (coro_park() == CORO_ECANCELED)
		coro_fail(9, "nobody asks");
}

/* It ends with forks that wait, that run elsewhere, that have ended, and that have not begun. */
static void ends_with_forks(void *arg, void *result)
{
	struct ending e = *(struct ending *)arg;
	enum where where = e.waits ? STOLEN : PROMOTED;
	uint64_t before = begun;
	coro_fork f[5];
	int got;

	(void)result;
	coro_fork_begin(&f[0], is_canceled_asleep, NULL, NULL);
	coro_fork_begin(&f[1], fails_meanwhile, NULL, NULL);
	coro_fork_begin(&f[2], ends, &(struct ending){.how = FAILS}, &got);
	place(where, before + 3);
	if (where == STOLEN) {
		coro_fork_begin(&f[3], is_canceled_awake, NULL, NULL);
		sleep_until_seen(&begun, before + 4);
	}
	if (where == PROMOTED)
		coro_fork_begin(&f[4], never, NULL, NULL);
	if (e.defers)
		CHECK_EQ(coro_defer(counts_deferred, NULL), CORO_OK);
	if (e.deep)
		CHECK_EQ(coro_call_on_stack(256 << 10, ends_by_deep, &e), CORO_OK);
	ends_by(e.how);
}

static void has_parents_that_end(void *arg, void *result)
{
	enum where where = *(enum where *)arg;
	coro_fork f;

	(void)result;
	for (unsigned kind = 0; kind < 4 * (HOWS - 1); kind++) {
		struct ending e = {EXITS + kind % (HOWS - 1), where == STOLEN,
				   kind / (HOWS - 1) & 1, kind / (HOWS - 1) & 2};
		uint64_t all = (where == STOLEN ? 2 : 1) + e.defers;
		coro_handle h;
		counted = 0;
		CHECK_EQ(coro_spawn_attr(JOINABLE(0), ends_with_forks, &e, sizeof e, &h), CORO_OK);
		CHECK_EQ(coro_join(h, NULL, 0), status_of[e.how]);
		CHECK_EQ(counted, all);
		if (where != INLINED)
			continue;
		counted = 0;
		coro_fork_begin(&f, ends_with_forks, &e, NULL);
		CHECK_EQ(coro_fork_join(&f), status_of[e.how]);
		CHECK_EQ(counted, all);
	}
	done++;
}

/* Those that run are canceled and awaited. */
TEST(fork_parent_ends_with_forks)
{
	in_schedulers(has_parents_that_end);
}
