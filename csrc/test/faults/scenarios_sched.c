/* scenarios_sched.c - spawning, queues, joining, ends, stealing, forks. */
#include "ledger.h"

#include "kernel/spawn.h"
#include "kernel/wait.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------ spawning */

SCENARIO(from_outside)
{
	coro_scheduler *s = begin(3, 0, 0);
	if (s)
		small(s);
}

static void grows(void *arg, void *result)
{
	coro_attr large = {.size = sizeof large, .stack_bytes = 2 << 20};
	uint64_t local = 12345;

	(void)arg;
	(void)result;
	for (int i = 0; i < 520; i++)
		inside(NULL, ends_at_once, &local, sizeof local, NULL);
	for (int i = 0; i < 40; i++)
		inside(&large, leaf, &local, sizeof local, NULL);
	CHECK_EQ(local, 12345);
	count(&ran);
}

/* The queue grows twice, and stacks are cut from three arenas. */
SCENARIO(growth)
{
	coro_scheduler *s = begin(1, 0, 0);
	if (!s)
		return;
	outside(s, grows, NULL, 0);
	end(s);
}

/* More records at once than a chunk has. */
SCENARIO(chunks)
{
	coro_scheduler *s = begin(2, CORO_PAUSED, 0);

	if (!s)
		return;
	int refused = 0;
	for (int i = 0; i < 17000 && refused < 100; i++)
		refused += !outside(s, ends_at_once, NULL, 0);
	/* 17000 stacks that the kernel refuses would take a while; other scenarios try that */
	if (refused && machine) {
		CHECK_EQ(QUIET(coro_scheduler_destroy(s)), CORO_OK);
		CHECK_EQ(ran, 0);
		return;
	}
	CHECK_EQ(QUIET(coro_scheduler_run(s)), CORO_OK);
	end(s);
}

/* As Go does it: submitters join the slab, and batches come as batches. */
SCENARIO(batches)
{
	coro_scheduler *s = begin(2, 0, 0);
	struct coroi_fill q = {.fn = ends_at_once, .arg_bytes = 8};
	uint64_t arg = 7, n = 1500;

	if (!s)
		return;
	q.class = s->class;
	again(QUIET(coroi_slab_join(&s->slab)), CORO_ENOMEM);
	accepted = QUIET(coroi_spawn_many(s, &q, &arg, n, 0));
	if (accepted < n) {
		CHECK(may_fail());
		uint64_t more = QUIET(coroi_spawn_many(s, &q, &arg, n - accepted, 1));
		accepted += more;
		CHECK(lasting || accepted == n);
	}
	uint32_t credit = QUIET(coroi_slab_grant(&s->slab, 64));
	CHECK(credit == 64 || may_fail());
	coroi_slab_refund(&s->slab, credit);
	struct coroi_batch *p;
	if (QUIET(coroi_batch_open(&s->slab, &p, 1)))
		coroi_batch_drop(&s->slab, p);
	else
		CHECK(may_fail());
	end(s);
}

/* ------------------------------------------------------------------------ joining */

#define CHILDREN 40

static void family(void *arg, void *result)
{
	coro_handle h[CHILDREN];

	(void)arg;
	(void)result;
	for (uint32_t i = 0; i < CHILDREN; i++)
		inside(JOINABLE(4), parks, &i, sizeof i, &h[i]);
	coro_yield();
	for (int i = 0; i < CHILDREN; i++)
		if (h[i])
			CHECK(went_well(coro_wake(h[i]), CORO_ESTALE) || lasting);
	for (uint32_t i = 0; i < CHILDREN; i++) {
		uint32_t got = 0;
		if (!h[i])
			continue;
		if (went_well(coro_join(h[i], &got, sizeof got), CORO_ENOMEM))
			CHECK_EQ(got, 3 * i);
		else
			CHECK(lasting);
	}
	count(&ran);
}

SCENARIO(joins)
{
	coro_scheduler *s = begin(2, 0, 0);
	if (!s)
		return;
	outside(s, family, NULL, 0);
	end(s);
}

static void family_and_a_large_one(void *arg, void *result)
{
	coro_attr large = *JOINABLE(0);
	coro_handle h;

	family(arg, result);
	large.stack_bytes = 4 * STACK;
	inside(&large, leaf, NULL, 0, &h);
	if (h)
		CHECK(went_well(coro_join(h, NULL, 0), CORO_ENOMEM) || lasting);
}

/* Six stacks for 41 coroutines: those without a stack wait for one. Then a stack of another size,
 * for which idle ones make room. */
SCENARIO(starvation)
{
	coro_scheduler *s = begin(2, 0, 6 * (STACK + 4096));
	if (!s)
		return;
	outside(s, family_and_a_large_one, NULL, 0);
	end(s);
}

static void parks_until_woken(void *arg, void *result)
{
	(void)result;
	*(coro_handle *)*(void **)arg = coro_self();
	int status = coro_park();
	CHECK(status == CORO_OK || status == CORO_ECANCELED);
	count(&ran);
}

/* An exact deadlock. Wakes from outside and a second run end it. */
SCENARIO(deadlock)
{
	coro_scheduler *s = begin(2, CORO_PAUSED, 0);
	coro_handle h[12] = {0}, *at[12];
	coro_blocked list[12];
	size_t n = 0;

	if (!s)
		return;
	for (int i = 0; i < 12; i++) {
		at[i] = &h[i];
		outside(s, parks_until_woken, &at[i], sizeof at[i]);
	}
	int status = QUIET(coro_scheduler_run(s));
	for (int i = 0; i < 12; i++)
		n += h[i] != 0;
	CHECK_EQ(status, n ? CORO_EDEADLK : CORO_OK);
	CHECK(lasting || n == accepted);
	CHECK_EQ(QUIET(coro_scheduler_blocked(s, list, 12)), n);
	for (int i = 0; i < 12; i++)
		if (h[i])
			CHECK_EQ(QUIET(coro_wake(h[i])), CORO_OK);
	CHECK_EQ(QUIET(coro_scheduler_run(s)), CORO_OK);
	end(s);
}

/* A scheduler is closed with cancel while coroutines wait, another before it has run. */
SCENARIO(closing)
{
	coro_scheduler *s = begin(2, 0, 0);
	coro_handle h[6] = {0}, *at[6];
	uint64_t waiting = 0;

	if (!s)
		return;
	for (int i = 0; i < 6; i++) {
		at[i] = &h[i];
		outside(s, parks_until_woken, &at[i], sizeof at[i]);
	}
	for (bool all = false; !all; sleep_us(20)) {
		waiting = QUIET(coro_scheduler_blocked(s, NULL, 0));
		all = waiting == accepted || (lasting && stats(s).awake == 0);
	}
	CHECK_EQ(QUIET(coro_scheduler_close(s, 1)), CORO_OK);
	CHECK(ran >= waiting && (lasting || ran == accepted));
	CHECK_EQ(stats(s).live, 0);
	CHECK_EQ(QUIET(coro_scheduler_destroy(s)), CORO_OK);
	s = begin(2, CORO_PAUSED, 0);
	if (!s)
		return;
	for (int i = 0; i < 6; i++)
		outside(s, ends_at_once, NULL, 0);
	CHECK_EQ(QUIET(coro_scheduler_destroy(s)), CORO_OK);
	CHECK_EQ(ran, 0);
}

/* A coroutine has ended and was never joined. Its handle is stale when the scheduler is gone, even
 * if its memory could not be given back. */
SCENARIO(unjoined)
{
	coro_scheduler *s = begin(1, 0, 0);
	coro_handle h = 0;

	if (!s)
		return;
	if (again(QUIET(coro_scheduler_spawn(s, JOINABLE(0), ends_at_once, NULL, 0, &h)),
		  CORO_ENOMEM))
		count(&accepted);
	CHECK_EQ(QUIET(coro_scheduler_wait(s)), CORO_OK);
	CHECK(ran == accepted || lasting);
	CHECK_EQ(QUIET(coro_scheduler_destroy(s)), CORO_OK);
	CHECK_EQ(coro_wake(h), CORO_ESTALE);
	CHECK_EQ(coro_detach(h), CORO_ESTALE);
	s = begin(1, 0, 0); /* with the same memory */
	if (!s)
		return;
	CHECK_EQ(coro_wake(h), CORO_ESTALE);
	small(s);
	CHECK_EQ(coro_wake(h), CORO_ESTALE);
}

/* ------------------------------------------------------------------------ stealing */

static void works(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < 3; i++) {
		for (uint64_t until = now_ns() + 2000; now_ns() < until;)
			;
		CHECK_EQ(coro_yield(), CORO_OK);
	}
	count(&ran);
}

static void gives_work(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < 60; i++)
		inside(NULL, works, NULL, 0, NULL);
	count(&ran);
}

/* Thieves, and a thread that stops all workers at their doors. */
SCENARIO(stealing)
{
	coro_scheduler *s = begin(3, 0, 0);
	if (!s)
		return;
	outside(s, gives_work, NULL, 0);
	for (int i = 0; i < 3; i++) {
		sleep_us(100);
		QUIET(coro_scheduler_trim(s));
	}
	end(s);
}

/* ------------------------------------------------------------------------ forks */

#define FORKS 1200 /* more than a worker keeps for others */

struct fork_of {
	uint32_t number, got;
};

static void triples(void *arg, void *result)
{
	struct fork_of *f = arg;

	(void)result;
	CHECK_EQ(f->got, 0);
	if (f->number % 100 == 3)
		coro_yield();
	f->got = 3 * f->number + 1;
}

static void fails_with_text(void *arg, void *result)
{
	(void)arg;
	(void)result;
	coro_yield();
	coro_fail(4, "a text");
}

/* The innermost that has no stack says so. */
static void recurses(void *arg, void *result)
{
	uint32_t n = *(uint32_t *)arg, less = n - 1, got = 0;
	coro_fork f;

	if (n) {
		coro_fork_begin(&f, recurses, &less, &got);
		if (!went_well(coro_fork_join(&f), CORO_ENOMEM))
			CHECK_EQ(got, 0);
	}
	*(uint32_t *)result = got + 1;
}

static void joins_forks(void *arg, void *result)
{
	struct fork_of *of = calloc(FORKS, sizeof *of);
	coro_fork *f = calloc(FORKS, sizeof *f);
	uint32_t depth = 300, got = 0;
	(void)arg;
	(void)result;

	for (uint32_t i = 0; i < FORKS; i++) {
		of[i].number = i;
		coro_fork_begin(&f[i], triples, &of[i], NULL);
	}
	for (uint32_t k = 0; k < FORKS; k++) {
		uint32_t i = k & 1 ? k : FORKS - 2 - k; /* every second one from each end */
		bool ok = went_well(coro_fork_join(&f[i]), CORO_ENOMEM);
		CHECK_EQ(of[i].got, ok ? 3 * i + 1 : 0);
	}
	free(f);
	free(of);

	coro_fork fails, deep;
	coro_fork_begin(&fails, fails_with_text, NULL, NULL);
	coro_fork_begin(&deep, recurses, &depth, &got);
	if (went_well(coro_fork_join(&deep), CORO_ENOMEM))
		CHECK(got == depth + 1 || (may_fail() && got));
	int code = 0, status = coro_fork_join(&fails);
	char text[16] = "";
	if (status != CORO_EFAILED) {
		went_well(status, CORO_ENOMEM);
		return;
	}
	coro_join_error(&code, text, sizeof text);
	CHECK_EQ(code, 4);
	CHECK(strcmp(text, "a text") == 0 || may_fail());
}

/* What has no record, or no stack, was not called. */
SCENARIO(forks)
{
	coro_scheduler *s = begin(2, 0, 0);

	if (!s)
		return;
	outside(s, joins_forks, NULL, 0);
	outside(s, joins_forks, NULL, 0);
	end_of_forks(s);
}
