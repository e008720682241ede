/*
 * t_lend_inside.c - calls of coroutines from within an inline call: they run on the worker that
 * makes the inline call, on its own thread.
 */
#include "gostand.h"

#include "border/gocall.h"
#include "border/state.h"
#include "kernel/life.h"

#include <string.h>
#include <unistd.h>

static uint64_t counted;
static coro_fn inside_fn; /* what function 7 calls */
static uint64_t inline_thread;
static uint64_t suspended; /* calls of function 7 whose coroutine has suspended */

static void serve_call(coro_scheduler *s, struct coroi_call *c);

/* call_to_end - the call of inside_fn, by a thread that makes an inline call. Returns: its status,
 * or an error. */
static int call_to_end(struct coroi_lend *l)
{
	coro_scheduler *s = (coro_scheduler *)(uintptr_t)l->sched;
	struct coroi_worker *w = coroi_self();
	uint32_t n = w->calls.count;

	for (l->outcome = coroi_lend_call(l); l->outcome == COROI_LEND_CALLS;) {
		struct coroi_call *c = (struct coroi_call *)(uintptr_t)l->call;
		serve_call(s, c);
		l->outcome = coroi_lend_on(l);
		if (l->outcome != COROI_LEND_NONE)
			continue;
		complete(s, c);
		l->outcome = COROI_LEND_SUSPENDED;
	}
	CHECK(coroi_self() == w && !w->current && !w->lent && !w->lender && !w->busy);
	CHECK_EQ(w->calls.count, n);
	if (l->outcome < 0 || l->outcome > COROI_LEND_SUSPENDED)
		return l->outcome;
	add_one(&counted);
	if (l->outcome == COROI_LEND_ENDED)
		return l->status;
	add_one(&suspended);
	return take_end(l);
}

/* serve_call - make a call into Go. Function 7 calls inside_fn, with its own argument and
 * result. */
static void serve_call(coro_scheduler *s, struct coroi_call *c)
{
	if (c->id != 7) {
		make_call(c);
		return;
	}
	struct coroi_lend l = lend_of(s, inside_fn, c->arg, 8, 8);
	c->status = call_to_end(&l);
	c->got = 8;
	memcpy(c->result, l.payload, 8);
}

static void serves(struct coroi_worker *w)
{
	at_store_rlx(&inline_thread, (uint64_t)gettid());
	for (uint32_t i = 0, n = w->calls.count; i < n; i++)
		serve_call(w->sched, &coroi_calls_of(w)[i]);
}

static void ask(coro_go_id id, int64_t *number)
{
	CHECK_EQ(coro_call_go_inline(id, number, 8, number, 8, NULL), CORO_OK);
}

/* asks - call function 7 inline, with *arg, which gets the result. asks_plainly - function 1. */
static void asks(void *arg, void *result)
{
	(void)result;
	ask(7, *(int64_t **)arg);
}

static void asks_plainly(void *arg, void *result)
{
	(void)result;
	ask(1, *(int64_t **)arg);
}

static void spawn_asks(coro_scheduler *s, int64_t *number)
{
	spawn(s, asks, &number, sizeof number);
}

/* -------------------------------------------------------------------------------- nested calls */

#define NESTED 100

static void asks_deeper(void *arg, void *result)
{
	int64_t depth = *(int64_t *)arg;

	CHECK_EQ(at_load_rlx(&inline_thread), gettid());
	CHECK_EQ(coro_call_go_inline(1, &depth, 8, &depth, 8, NULL), CORO_OK);
	if (depth < NESTED)
		CHECK_EQ(coro_call_go_inline(7, &depth, 8, &depth, 8, NULL), CORO_OK);
	*(int64_t *)result = depth;
}

/* However deep, one worker is enough. With two, the outermost may be anywhere. */
TEST(lend_inside_nests)
{
	stand_in(serves);
	inside_fn = asks_deeper;
	for (uint32_t workers = 1; workers <= 2; workers++) {
		coro_scheduler *s = start_go(workers, 0);
		int64_t depth = 0;
		counted = 0;
		spawn_asks(s, &depth);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(depth, NESTED);
		CHECK_EQ(counted, NESTED);
		finish(s);
	}
}

/* ----------------------------------------------------------------- children, and what is queued */

static uint64_t ran;

/* A child's inline calls are offloaded: the list of calls is the outer one's. */
static void child(void *arg, void *result)
{
	int64_t n = 1;

	(void)arg;
	(void)result;
	CHECK_EQ(coro_call_go_inline(1, &n, 8, &n, 8, NULL), CORO_OK);
	CHECK_EQ(n, 2);
	add_one(&ran);
}

static void has_children(void *arg, void *result)
{
	coro_handle h[10];

	for (int i = 0; i < 10; i++)
		CHECK_EQ(coro_spawn_attr(JOINABLE(0), child, NULL, 0, &h[i]), CORO_OK);
	for (int i = 0; i < 10; i++)
		CHECK_EQ(coro_join(h[i], NULL, 0), CORO_OK);
	*(int64_t *)result = *(int64_t *)arg + 1;
}

TEST(lend_inside_offloads_the_inline_calls_of_children)
{
	stand_in(serves);
	inside_fn = has_children;
	for (int i = 0; i < 50; i++) {
		coro_scheduler *s = start_go(2, 0);
		pthread_t t;
		int64_t n = 1;
		ran = clerks_stop = 0;
		thread_start(&t, clerk, s);
		spawn_asks(s, &n);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(n, 2);
		CHECK_EQ(ran, 10);
		add_one(&clerks_stop);
		thread_join(t);
		finish(s);
	}
}

/* ----------------------------------------------------------------------------- other coroutines */

static uint64_t gate;

/* What came from outside is not run inside. */
static void stranger(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK(!coroi_self()->lent);
	add_one(&ran);
}

static void yields(void *arg, void *result)
{
	for (int i = 0; i < 10; i++)
		CHECK(coro_yield() == CORO_OK);
	CHECK_EQ(coro_sleep(MS / 10), CORO_OK);
	*(int64_t *)result = *(int64_t *)arg + 1;
}

static void serves_behind_the_gate(struct coroi_worker *w)
{
	add_one(&gate);
	sleep_until_seen(&gate, 2);
	serves(w);
}

/* The coroutine of the call goes on behind the strangers, or on the other worker. */
TEST(lend_inside_runs_no_strangers)
{
	stand_in(serves_behind_the_gate);
	inside_fn = yields;
	for (int i = 0; i < 50; i++) {
		coro_scheduler *s = start_go(2, 0);
		int64_t n = 1;
		gate = ran = 0;
		spawn_asks(s, &n);
		sleep_until_seen(&gate, 1);
		for (int k = 0; k < 10; k++)
			spawn(s, stranger, NULL, 0);
		add_one(&gate);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(n, 2);
		CHECK_EQ(ran, 10);
		finish(s);
	}
	CHECK(suspended > 0);
}

static int64_t answers[COROI_CALLS_AT_ONCE];

/* When the list of calls is full, it is made while others are queued. One of them holds its worker
 * until another worker has run its coroutine. */
static void fills_the_list(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < COROI_CALLS_AT_ONCE; i++) {
		int64_t *n = &answers[i];
		*n = i;
		spawn_in(i ? asks_plainly : asks, &n, sizeof n);
	}
	for (int i = 0; i < 10; i++)
		spawn_in(stranger, NULL, 0);
}

static void counts(void *arg, void *result)
{
	(void)arg;
	(void)result;
	add_one(&ran);
}

static void has_a_child(void *arg, void *result)
{
	spawn_in(counts, NULL, 0); /* behind the strangers, if those are there */
	CHECK_EQ(coro_yield(), CORO_OK);
	*(int64_t *)result = *(int64_t *)arg + 1;
}

TEST(lend_inside_runs_nothing_that_was_queued)
{
	stand_in(serves);
	inside_fn = has_a_child;
	for (int k = 0; k < 20; k++) {
		coro_scheduler *s = start_go(2, 0);
		ran = 0;
		spawn(s, fills_the_list, NULL, 0);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		for (int i = 0; i < COROI_CALLS_AT_ONCE; i++)
			CHECK_EQ(answers[i], i + 1);
		CHECK_EQ(ran, 11);
		finish(s);
	}
}

/* ---------------------------------------------------------------------------------- where not */

static int outcome_inside;
static coro_scheduler *others;

static void serves_outcome(struct coroi_worker *w)
{
	int64_t n = 1;

	for (uint32_t i = 0; i < w->calls.count; i++) {
		struct coroi_lend l = lend_of(others ? others : w->sched, yields, &n, 8, 8);
		l.brief = coroi_calls_of(w)[i].id == 8;
		outcome_inside = coroi_lend_call(&l);
		coroi_calls_of(w)[i].status = CORO_OK;
	}
}

static void asks_for_brief(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_call_go_inline(8, NULL, 0, NULL, 0, NULL), CORO_OK);
}

static int outcome_of(coro_scheduler *s, const coro_attr *attr)
{
	outcome_inside = -1;
	CHECK_EQ(coro_scheduler_spawn(s, attr, asks_for_brief, NULL, 0, NULL), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	finish(s);
	return outcome_inside;
}

TEST(lend_inside_is_never_where_no_worker_is_lent)
{
	stand_in(serves_outcome);
	/* a wake's lend */
	CHECK_EQ(outcome_of(start_go(1, 0), NULL), COROI_LEND_NONE);
	/* no lending */
	CHECK_EQ(outcome_of(start_go(1, CORO_NO_LENDING), NULL), COROI_LEND_NONE);
	/* a dedicated worker */
	coro_options o = options(1, 0);
	o.dedicated = 1;
	coro_scheduler *s = start(&o);
	coroi_border(s)->bell.go_id = 1;
	CHECK_EQ(outcome_of(s, &(coro_attr){.size = sizeof(coro_attr), .worker = 2}),
		 COROI_LEND_NONE);
	/* another scheduler's worker */
	others = start_go(1, 0);
	until_asleep(others);
	CHECK_EQ(outcome_of(start_go(1, 0), NULL), COROI_LEND_NONE);
	finish(others);
}
