/*
 * t_lend.c - a thread that is no worker calls a coroutine, as a worker that sleeps (lend.h). Ends,
 * waits, children, cancels, and when no worker is lent. Calls into Go and brief functions:
 * t_lend_brief.c. Many at once: t_lend_stress.c.
 */
#include "gostand.h"

#include "base/sys.h"
#include "kernel/dense.h"
#include "kernel/idle.h"
#include "kernel/wait.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static uint64_t counted, gate;
static pid_t lender, ran_on; /* threads */
static coro_handle target;

#define KINDS 3

/* start_kind - schedulers of several kinds. */
static coro_scheduler *start_kind(int kind)
{
	return start_go(kind == 0 ? 1 : 3, kind == 2 ? CORO_NO_MEMBARRIER : 0);
}

static void counts(void *arg, void *result)
{
	(void)arg;
	(void)result;
	add_one(&counted);
}

static void computes(uint64_t ns)
{
	for (uint64_t until = now_ns() + ns; now_ns() < until;)
		;
}

/* ----------------------------------------------------------------------------------------- ends */

static void doubles(void *arg, void *result)
{
	CHECK_EQ(gettid(), lender);
	*(int64_t *)result = *(int64_t *)arg * 2;
}

TEST(lend_call_ends_at_once_on_the_calling_thread)
{
	lender = gettid();
	for (int kind = 0; kind < KINDS; kind++) {
		coro_scheduler *s = start_kind(kind);
		until_asleep(s);
		uint64_t parks = at_load_rlx(&s->worker[0].count.parks), lends = 0;
		for (int64_t i = 0; i < 200; i++) {
			struct coroi_lend l = lend_of(s, doubles, &i, 8, 8);
			errno = 4711;
			CHECK_EQ(lend(&l), COROI_LEND_ENDED);
			CHECK_EQ(errno, 4711); /* the thread's own */
			CHECK_EQ(l.status, CORO_OK);
			CHECK_EQ(*(int64_t *)l.payload, 2 * i);
			CHECK_EQ(coro_wake(l.handle), CORO_ESTALE);
			CHECK(!coroi_self());
		}
		for (uint32_t i = 0; i < s->workers; i++)
			lends += at_load_rlx(&s->worker[i].lends.n);
		CHECK_EQ(lends, 200);
		if (kind == 0) /* no thread was woken */
			CHECK_EQ(at_load_rlx(&s->worker[0].count.parks), parks);
		CHECK_EQ(stats(s).spawned, 200);
		CHECK_EQ(stats(s).ended, 200);
		finish(s);
	}
}

static void aborts(void *arg, void *result)
{
	(void)arg;
	*(int64_t *)result = 5;
	coro_abort();
}

static void fails(void *arg, void *result)
{
	(void)arg;
	(void)result;
	coro_fail(7, "it broke");
}

static void fails_silently(void *arg, void *result)
{
	(void)arg;
	(void)result;
	coro_fail(-3, NULL);
}

static void exits(void *arg, void *result)
{
	(void)arg;
	*(int64_t *)result = 5;
	coro_exit();
}

static void exits_deep(void *result)
{
	CHECK(coro_stack_left() > 64 << 10);
	exits(NULL, result);
}

static void calls_and_exits(void *arg, void *result)
{
	(void)arg;
	CHECK_EQ(coro_call_on_stack(256 << 10, exits_deep, result), CORO_OK);
	never(arg, result);
}

static void returns_deep(void *result)
{
	*(int64_t *)result = 5;
	CHECK_EQ(gettid(), lender);
}

static void calls_and_returns(void *arg, void *result)
{
	(void)arg;
	CHECK_EQ(coro_call_on_stack(256 << 10, returns_deep, result), CORO_OK);
}

static void is_told(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_cancel(coro_self()), CORO_OK);
	CHECK_EQ(coro_park(), CORO_ECANCELED);
}

static void finishes_all_the_same(void *arg, void *result)
{
	is_told(arg, result);
	*(int64_t *)result = 5;
	coro_exit_finished();
}

static void counts_deferred(void *by)
{
	CHECK_EQ(coro_yield(), CORO_OK);
	add_to(&counted, (uintptr_t)by);
}

static void defers(void *arg, void *result)
{
	(void)arg;
	*(int64_t *)result = 5;
	memset(coro_malloc(100), 1, 100);
	memset(coro_malloc(10000), 1, 10000);
	CHECK_EQ(strcmp(coro_strdup("text"), "text"), 0);
	CHECK_EQ(coro_defer(counts_deferred, (void *)1), CORO_OK);
	CHECK_EQ(coro_defer(counts_deferred, (void *)100), CORO_OK);
	CHECK_EQ(counted, 0);
}

static void refuses_to_wait(void *arg, void *result)
{
	(void)arg;
	CHECK_EQ(coro_nowait_begin("t_lend"), CORO_OK);
	CHECK_EQ(coro_park_until(0), CORO_ETIMEDOUT);
	CHECK_EQ(coro_spawn(counts, NULL, 0), CORO_OK);
	CHECK_EQ(coro_nowait_end(), CORO_OK);
	CHECK_EQ(coro_yield(), CORO_OK);
	*(int64_t *)result = 5;
}

static void is_shielded(void *arg, void *result)
{
	(void)arg;
	CHECK_EQ(coro_cancel(coro_self()), CORO_OK);
	CHECK_EQ(coro_shield_begin(CORO_FOREVER), CORO_OK);
	CHECK_EQ(coro_wake(coro_self()), CORO_OK);
	CHECK_EQ(coro_park(), CORO_OK);
	CHECK_EQ(coro_sleep(1000), CORO_OK);
	CHECK_EQ(coro_shield_end(), CORO_OK);
	*(int64_t *)result = 5;
}

static const struct {
	coro_fn fn;
	int status, code;
	const char *text;
	int64_t result;
	uint64_t counts;
} ends[] = {
	{aborts, CORO_EABORTED, 0, NULL, 0, 0},
	{fails, CORO_EFAILED, 7, "it broke", 0, 0},
	{fails_silently, CORO_EFAILED, -3, NULL, 0, 0},
	{exits, CORO_OK, 0, NULL, 5, 0},
	{calls_and_exits, CORO_OK, 0, NULL, 5, 0},
	{calls_and_returns, CORO_OK, 0, NULL, 5, 0},
	{is_told, CORO_ECANCELED, 0, NULL, 0, 0},
	{finishes_all_the_same, CORO_OK, 0, NULL, 5, 0},
	{defers, CORO_OK, 0, NULL, 5, 101},
	{refuses_to_wait, CORO_OK, 0, NULL, 5, 1},
	{is_shielded, CORO_OK, 0, NULL, 5, 0},
};

TEST(lend_call_tells_how_the_coroutine_ended)
{
	lender = gettid();
	for (int kind = 0; kind < KINDS; kind++) {
		coro_scheduler *s = start_kind(kind);
		for (unsigned i = 0; i < 10 * sizeof ends / sizeof *ends; i++) {
			unsigned k = i % (sizeof ends / sizeof *ends);
			struct coroi_lend l = lend_of(s, ends[k].fn, NULL, 0, 8);
			counted = 0;
			CHECK_EQ(lend_to_end(&l), ends[k].status);
			if (l.status == CORO_OK)
				CHECK_EQ(*(int64_t *)l.payload, ends[k].result);
			if (l.status == CORO_EFAILED) {
				char *text = (char *)(uintptr_t)l.text;
				CHECK_EQ(l.code, ends[k].code);
				CHECK(ends[k].text ? strcmp(text, ends[k].text) == 0 : !text);
				coroi_release(text);
			}
			CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
			CHECK_EQ(counted, ends[k].counts);
		}
		CHECK(!coroi_self());
		finish(s);
	}
}

/* ---------------------------------------------------------------------------------------- waits */

/* The lender takes an end as Go does, and the coroutine goes on on the worker's own thread. */
static void parks(void *arg, void *result)
{
	CHECK_EQ(gettid(), lender);
	add_one(&gate);
	CHECK_EQ(coro_park(), CORO_OK);
	ran_on = gettid();
	*(int64_t *)result = *(int64_t *)arg + 1;
}

TEST(lend_call_suspends_and_its_end_is_the_lenders)
{
	lender = gettid();
	for (int kind = 0; kind < KINDS; kind++) {
		coro_scheduler *s = start_kind(kind);
		for (int64_t i = 0; i < 20; i++) {
			struct coroi_lend l = lend_of(s, parks, &i, 8, 8);
			CHECK_EQ(lend(&l), COROI_LEND_SUSPENDED);
			until_waiting(s, 1);
			CHECK_EQ(coro_detach(l.handle), CORO_EBUSY);
			CHECK_EQ(coro_wake(l.handle), CORO_OK);
			CHECK_EQ(take_end(&l), CORO_OK);
			CHECK_EQ(*(int64_t *)l.payload, i + 1);
			CHECK(ran_on != lender);
			CHECK_EQ(coro_wake(l.handle), CORO_ESTALE);
		}
		finish(s);
	}
}

enum wait { JOINS, ACQUIRES, RECEIVES, LOCKS, PARKS, SLEEPS, YIELDS, BLOCKS, RIDES, SCOPE, WAITS };

static coro_sem sem;
static coro_mutex mutex;
static coro_chan *chan;

static void ends_a_wait(void *arg, void *result)
{
	int64_t kind = *(int64_t *)arg, value = 5;

	(void)result;
	if (kind == ACQUIRES)
		CHECK_EQ(coro_sem_release(&sem, 1), CORO_OK);
	else if (kind == RECEIVES)
		CHECK_EQ(coro_chan_send(chan, &value, CORO_FOREVER), CORO_OK);
	else if (kind == PARKS)
		CHECK_EQ(coro_wake(target), CORO_OK);
	if (kind != LOCKS)
		return;
	CHECK_EQ(coro_mutex_lock(&mutex, CORO_FOREVER), CORO_OK);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(coro_yield(), CORO_OK);
	CHECK_EQ(coro_mutex_unlock(&mutex), CORO_OK);
}

static void blocks(void *arg)
{
	CHECK(gettid() != lender);
	*(int64_t *)arg = 5;
}

static void waits(void *arg, void *result)
{
	int64_t kind = *(int64_t *)arg, value = 0;
	coro_scope *scope;
	coro_handle child;

	target = coro_self();
	if (kind == SCOPE) {
		CHECK_EQ(coro_scope_new(&scope), CORO_OK);
		for (int i = 0; i < 5; i++)
			CHECK_EQ(coro_scope_spawn(scope, NULL, counts, NULL, 0), CORO_OK);
		CHECK_EQ(coro_scope_wait(scope), CORO_OK);
	} else if (kind == LOCKS) {
		CHECK_EQ(coro_spawn_first(NULL, ends_a_wait, arg, 8, NULL), CORO_OK);
		CHECK_EQ(coro_mutex_lock(&mutex, CORO_FOREVER), CORO_OK);
		CHECK_EQ(coro_mutex_unlock(&mutex), CORO_OK);
	} else if (kind < SLEEPS) {
		CHECK_EQ(coro_spawn_attr(JOINABLE(0), ends_a_wait, arg, 8, &child), CORO_OK);
	}
	if (kind == ACQUIRES) {
		CHECK_EQ(coro_sem_acquire(&sem, CORO_FOREVER), CORO_OK);
	} else if (kind == RECEIVES) {
		CHECK_EQ(coro_chan_recv(chan, &value, CORO_FOREVER), CORO_OK);
		CHECK_EQ(value, 5);
	} else if (kind == PARKS) {
		CHECK_EQ(coro_park(), CORO_OK);
	} else if (kind == SLEEPS) {
		uint64_t began = now_ns();
		CHECK_EQ(coro_sleep(MS), CORO_OK);
		CHECK(now_ns() - began >= MS);
		CHECK_EQ(coro_park_until(coroi_now_ns() + 1000), CORO_ETIMEDOUT);
	} else if (kind == YIELDS) {
		for (int i = 0; i < 100; i++)
			CHECK_EQ(coro_yield(), CORO_OK);
	} else if (kind == BLOCKS) {
		int64_t *set = coro_malloc(8);
		CHECK_EQ(coro_blocking(blocks, set), CORO_OK);
		CHECK_EQ(*set, 5);
	} else if (kind == RIDES) {
		CHECK_EQ(coro_thread_begin(), CORO_OK);
		CHECK(gettid() != lender);
		CHECK_EQ(coro_thread_end(), CORO_OK);
	}
	if (kind < SLEEPS && kind != LOCKS)
		CHECK_EQ(coro_join(child, NULL, 0), CORO_OK);
	*(int64_t *)result = kind + 1;
}

TEST(lend_call_may_wait_in_every_way)
{
	lender = gettid();
	CHECK_EQ(coro_sem_init(&sem, 0, 0), CORO_OK);
	CHECK_EQ(coro_mutex_init(&mutex, 0), CORO_OK);
	for (int kind = 0; kind < KINDS; kind++) {
		coro_scheduler *s = start_kind(kind);
		chan = channel(8, (size_t)kind);
		for (int64_t i = 0; i < 10 * WAITS; i++) {
			int64_t how = i % WAITS;
			struct coroi_lend l = lend_of(s, waits, &how, 8, 8);
			CHECK_EQ(lend_to_end(&l), CORO_OK);
			CHECK_EQ(*(int64_t *)l.payload, how + 1);
			CHECK(!coroi_self());
		}
		finish(s);
		CHECK_EQ(coro_chan_free(chan), CORO_OK);
	}
}

/* ------------------------------------------------------------------------------------- children */

static void leaves_children(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < 1000; i++)
		spawn_in(counts, NULL, 0);
}

static void waits_for_children(void *arg, void *result)
{
	coro_handle child[100];

	(void)arg;
	for (int i = 0; i < 100; i++)
		CHECK_EQ(coro_spawn_attr(JOINABLE(0), counts, NULL, 0, &child[i]), CORO_OK);
	for (int i = 0; i < 100; i++)
		CHECK_EQ(coro_join(child[i], NULL, 0), CORO_OK);
	*(uint64_t *)result = seen(&counted);
}

TEST(lend_call_leaves_children_or_waits_for_them)
{
	for (int kind = 0; kind < KINDS; kind++) {
		coro_scheduler *s = start_kind(kind);
		for (int i = 0; i < 20; i++) {
			counted = 0;
			struct coroi_lend l = lend_of(s, leaves_children, NULL, 0, 0);
			CHECK_EQ(lend(&l), COROI_LEND_ENDED);
			CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
			CHECK_EQ(counted, 1000);

			counted = 0;
			l = lend_of(s, waits_for_children, NULL, 0, 8);
			CHECK_EQ(lend_to_end(&l), CORO_OK);
			CHECK_EQ(*(uint64_t *)l.payload, 100);
		}
		finish(s);
	}
}

/* A child computes on the lender's thread, or is left behind on the worker's. The coroutine itself
 * is stolen meanwhile, and ends elsewhere. That it still has children without a record must not
 * matter: they take no record from it (succeed_locked in run.c). */
static void computes_for_long(void *arg, void *result)
{
	(void)result;
	computes(*(uint64_t *)arg);
	add_one(&counted);
}

static void is_stolen(void *arg, void *result)
{
	uint64_t ns = 5 * MS, first = *(uint64_t *)arg;

	if (first) {
		CHECK_EQ(coro_spawn_first(NULL, computes_for_long, &ns, 8, NULL), CORO_OK);
	} else {
		spawn_in(computes_for_long, &ns, 8);
		CHECK_EQ(coro_yield(), CORO_OK);
	}
	for (int i = 0; i < 3; i++)
		spawn_in(counts, NULL, 0);
	*(uint64_t *)result = 7;
}

TEST_LIMIT(lend_call_is_stolen_and_ends_elsewhere, 20)
{
	coro_scheduler *s = start_go(2, 0);

	for (uint64_t i = 0; i < 20; i++) {
		uint64_t first = i % 2;
		struct coroi_lend l = lend_of(s, is_stolen, &first, 8, 8);
		counted = 0;
		CHECK_EQ(lend_to_end(&l), CORO_OK);
		CHECK_EQ(*(uint64_t *)l.payload, 7);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(counted, 4);
	}
	finish(s);
}

/* --------------------------------------------------------------------------------------- pinned */

static void pins_itself(void *arg, void *result)
{
	uint64_t away = *(uint64_t *)arg;

	CHECK_EQ(coro_pin(away ? 1 : CORO_HERE), CORO_OK);
	CHECK_EQ(coro_worker(), away);
	for (int i = 0; i < 3; i++)
		spawn_in(counts, NULL, 0);
	*(uint64_t *)result = 7;
}

/* spins - keep a worker awake. */
static void spins(void *arg, void *result)
{
	(void)arg;
	(void)result;
	while (!seen(&gate))
		coro_yield();
}

/* The coroutine moves to a worker that is awake, and ends there at once. */
TEST_LIMIT(lend_call_moves_to_another_worker, 20)
{
	coro_attr there = on(2);
	uint64_t away = 1;
	coro_scheduler *s = start_go(2, 0);

	counted = gate = 0;
	CHECK_EQ(coro_scheduler_spawn(s, &there, spins, NULL, 0, NULL), CORO_OK);
	for (uint64_t i = 1; i <= 100; i++) {
		struct coroi_lend l = lend_of(s, pins_itself, &away, 8, 8);
		CHECK_EQ(lend(&l), COROI_LEND_SUSPENDED);
		CHECK_EQ(take_end(&l), CORO_OK);
		CHECK_EQ(*(uint64_t *)l.payload, 7);
		sleep_until_seen(&counted, 3 * i);
	}
	add_one(&gate);
	finish(s);
}

TEST(lend_is_never_of_a_worker_that_was_pinned_to)
{
	coro_scheduler *s = start_go(1, 0);
	uint64_t away = 0;
	struct coroi_lend l = lend_of(s, pins_itself, &away, 8, 8);

	CHECK_EQ(lend(&l), COROI_LEND_ENDED);
	CHECK_EQ(l.status, CORO_OK);
	for (int i = 0; i < 20; i++) {
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		until_asleep(s);
		CHECK_EQ(coroi_lend_call(&l), COROI_LEND_NONE);
	}
	finish(s);
}
