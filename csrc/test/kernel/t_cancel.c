/*
 * t_cancel.c - cancel of one coroutine: in every state, by every kind of caller, at every moment.
 * No other coroutine is canceled. Counted under load: t_cancel_storm.c.
 */
#include "test.h"

#include "kernel/wait.h"

#include <string.h>

static uint64_t done, flag;

/* -------------------------------------------------------------------------------- one at a time */

/* Two waits in a row are canceled, a permit is taken between them, and coro_canceled tells of
 * it. */
static void parks(void *arg, void *result)
{
	(void)arg;
	CHECK_EQ(coro_canceled(), 0);
	CHECK_EQ(coro_park(), CORO_ECANCELED);
	CHECK_EQ(coro_canceled(), 1);
	CHECK_EQ(coro_park(), CORO_ECANCELED);
	CHECK_EQ(coro_wake(coro_self()), CORO_OK);
	CHECK_EQ(coro_park(), CORO_OK);
	CHECK_EQ(coro_park(), CORO_ECANCELED);
	CHECK_EQ(coro_yield(), CORO_OK);
	CHECK_EQ(coro_canceled(), 1);
	memset(result, 7, 1);
	add_one(&done);
}

static void joins(void *arg, void *result)
{
	coro_handle h;
	uint8_t got = 0;

	memcpy(&h, arg, sizeof h);
	int status = coro_join(h, &got, 1);
	CHECK_EQ(got, status == CORO_OK ? 7 : 0);
	*(int32_t *)result = status;
	add_one(&done);
}

static coro_handle spawn_joinable(coro_scheduler *s, coro_fn fn, const void *arg, size_t arg_bytes,
				  uint32_t result_bytes)
{
	coro_handle h;
	CHECK_EQ(coro_scheduler_spawn(s, JOINABLE(result_bytes), fn, arg, arg_bytes, &h), CORO_OK);
	return h;
}

static int32_t joined;

/* takes - join a joiner, for the threads of a test, which cannot join. */
static void takes(void *arg, void *result)
{
	coro_handle h;
	(void)result;
	memcpy(&h, arg, sizeof h);
	int status = coro_join(h, &joined, sizeof joined);
	if (status == CORO_ECANCELED) /* it was told so itself, and has just returned */
		joined = status;
	else
		CHECK_EQ(status, CORO_OK);
	add_one(&flag);
}

static int32_t status_of_join(coro_scheduler *s, coro_handle target)
{
	coro_handle h = spawn_joinable(s, joins, &target, sizeof target, sizeof(int32_t));

	flag = 0;
	spawn(s, takes, &h, sizeof h);
	sleep_until_seen(&flag, 1);
	return joined;
}

TEST(cancel_of_a_parked_one)
{
	for (uint32_t workers = 1; workers <= 3; workers++) {
		coro_scheduler *s = start_with(workers, workers == 2 ? CORO_NO_MEMBARRIER : 0);
		done = 0;
		for (uint64_t i = 0; i < 50; i++) {
			coro_handle h = spawn_joinable(s, parks, NULL, 0, 1);
			until_waiting(s, 1);
			CHECK_EQ(coro_cancel(h), CORO_OK);
			/* it was told, and has just returned */
			CHECK_EQ(status_of_join(s, h), CORO_ECANCELED);
			CHECK_EQ(coro_cancel(h), CORO_ESTALE);
		}
		finish(s);
		CHECK_EQ(done, 100);
	}
}

/* The same, from a coroutine on the same worker or on another. */
static void cancels(void *arg, void *result)
{
	coro_handle h;
	(void)result;
	memcpy(&h, arg, sizeof h);
	CHECK_EQ(coro_cancel(h), CORO_OK);
	CHECK_EQ(coro_canceled(), 0);
	CHECK_EQ(coro_cancel(0), CORO_ESTALE);
}

TEST(cancel_from_inside)
{
	for (uint32_t workers = 1; workers <= 3; workers++) {
		coro_scheduler *s = start_with(workers, 0), *t = start_with(1, 0);
		done = 0;
		for (uint64_t i = 0; i < 100; i++) {
			coro_handle h = spawn_joinable(s, parks, NULL, 0, 1);
			until_waiting(s, 1);
			spawn(i % 3 ? s : t, cancels, &h, sizeof h);
			CHECK_EQ(status_of_join(s, h), CORO_ECANCELED);
		}
		finish(t);
		finish(s);
		CHECK_EQ(done, 200);
	}
}

/* On one worker, in order: a coroutine that is canceled at home goes on with its code, although
 * others yield around it. */
static void cancels_at_home(void *arg, void *result)
{
	coro_handle h[20];
	uint8_t got;

	(void)arg;
	(void)result;
	for (int i = 0; i < 20; i++)
		CHECK_EQ(coro_spawn_first(JOINABLE(1), parks, NULL, 0, &h[i]), CORO_OK);
	CHECK_EQ(done, 0);
	for (int i = 0; i < 20; i++)
		CHECK_EQ(coro_cancel(h[i]), CORO_OK);
	for (int i = 0; i < 20; i++) {
		CHECK_EQ(coro_yield(), CORO_OK);
		CHECK_EQ(coro_cancel(h[19]), done < 20 ? CORO_OK : CORO_ESTALE);
	}
	CHECK_EQ(done, 20);
	for (int i = 0; i < 20; i++)
		CHECK_EQ(coro_join(h[i], &got, 1), CORO_ECANCELED);
}

TEST(cancel_at_home)
{
	coro_scheduler *s = start_with(1, 0);
	spawn(s, cancels_at_home, NULL, 0);
	finish(s);
}

static void cancels_itself(void *arg, void *result)
{
	uint64_t twice = *(uint64_t *)arg;
	CHECK_EQ(coro_cancel(coro_self()), CORO_OK);
	if (twice)
		CHECK_EQ(coro_cancel(coro_self()), CORO_OK);
	CHECK_EQ(coro_canceled(), 1);
	CHECK_EQ(coro_yield(), CORO_OK);
	CHECK_EQ(coro_park(), CORO_ECANCELED);
	memset(result, 7, 1);
	if (twice)
		coro_exit_finished();
}

TEST(cancel_of_itself)
{
	coro_scheduler *s = start_with(2, 0);
	for (uint64_t i = 0; i < 50; i++) {
		uint64_t twice = i & 1;
		CHECK_EQ(status_of_join(s,
					spawn_joinable(s, cancels_itself, &twice, sizeof twice, 1)),
			 twice ? CORO_OK : CORO_ECANCELED);
	}
	finish(s);
}

/* A coroutine that computes asks whether it is canceled. */
static void computes(void *arg, void *result)
{
	(void)arg;
	add_one(&flag);
	while (!coro_canceled())
		;
	CHECK_EQ(coro_canceled(), 1);
	CHECK_EQ(coro_park(), CORO_ECANCELED);
	memset(result, 7, 1);
}

TEST(cancel_of_a_running_one)
{
	coro_scheduler *s = start_with(2, 0);
	for (int i = 0; i < 50; i++) {
		flag = 0;
		coro_handle h = spawn_joinable(s, computes, NULL, 0, 1);
		sleep_until_seen(&flag, 1);
		CHECK_EQ(coro_cancel(h), CORO_OK);
		CHECK_EQ(status_of_join(s, h), CORO_ECANCELED);
	}
	finish(s);
	CHECK_EQ(coro_canceled(), 0);
}

static void count_end(void *arg)
{
	(void)arg;
	add_one(&done);
}

/* Deferred functions run. There is no result. */
static void exits(void *arg, void *result)
{
	(void)arg;
	memset(result, 7, 1);
	CHECK_EQ(coro_defer(count_end, NULL), CORO_OK);
	if (coro_park() == CORO_ECANCELED)
		coro_exit();
	CHECK(!"it went on");
}

static intptr_t by_hand(void *arg, intptr_t first)
{
	(void)arg;
	CHECK_EQ(coro_canceled(), 0);
	CHECK_EQ(coro_exit_finished(), CORO_EPERM);
	return first;
}

static void resumes(void *arg, void *result)
{
	coro_t *co;
	intptr_t got = 0;

	(void)arg;
	(void)result;
	CHECK_EQ(coro_cancel(coro_self()), CORO_OK);
	CHECK_EQ(coro_new(&co, by_hand, NULL, STACK), CORO_OK);
	CHECK_EQ(coro_resume(co, 5, &got), CORO_FINISHED);
	CHECK_EQ(got, 5);
	CHECK_EQ(coro_free(co), CORO_OK);
}

TEST(cancel_is_told_by_the_canceled)
{
	coro_scheduler *s = start_with(2, 0);

	done = 0;
	CHECK_EQ(coro_exit_finished(), CORO_EPERM);
	for (int i = 0; i < 20; i++) {
		coro_handle h = spawn_joinable(s, exits, NULL, 0, 1);
		until_waiting(s, 1);
		CHECK_EQ(coro_cancel(h), CORO_OK);
		CHECK_EQ(status_of_join(s, h), CORO_ECANCELED);
	}
	spawn(s, resumes, NULL, 0);
	finish(s);
	CHECK_EQ(done, 40);
}

/* ------------------------------------------------------------------------------------ unstarted */

TEST(cancel_before_the_start)
{
	coro_scheduler *s = start_with(2, CORO_PAUSED);
	coro_handle h[300], joiner[300];

	done = 0;
	for (int i = 0; i < 300; i++) {
		h[i] = spawn_joinable(s, i % 3 ? never : parks, NULL, 0, 1);
		joiner[i] = spawn_joinable(s, joins, &h[i], sizeof h[i], sizeof(int32_t));
		if (i % 3)
			CHECK_EQ(coro_cancel(h[i]), CORO_OK);
		CHECK_EQ(coro_detach(joiner[i]), CORO_OK);
	}
	CHECK_EQ(coro_scheduler_run(s), CORO_EDEADLK);
	CHECK_EQ(coro_scheduler_blocked(s, NULL, 0), 200); /* 100 that park, and their joiners */
	CHECK_EQ(done, 200);
	for (int i = 0; i < 300; i += 3)
		CHECK_EQ(coro_cancel(h[i]), CORO_OK);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(done, 400);
	finish(s);
}

/* From inside, on the same worker. */
static void cancels_children(void *arg, void *result)
{
	coro_handle h;
	uint8_t got = 1;

	(void)arg;
	(void)result;
	for (int i = 0; i < 100; i++) {
		CHECK_EQ(coro_spawn_attr(JOINABLE(1), never, NULL, 0, &h), CORO_OK);
		CHECK_EQ(coro_cancel(h), CORO_OK);
		CHECK_EQ(coro_join(h, &got, 1), CORO_ECANCELED);
		CHECK_EQ(got, 1); /* there is no result */
		CHECK_EQ(coro_cancel(h), CORO_ESTALE);
		CHECK_EQ(coro_spawn_attr(&(coro_attr){.size = sizeof(coro_attr)}, never, NULL, 0,
					 &h),
			 CORO_OK);
		CHECK_EQ(coro_cancel(h), CORO_OK); /* not joinable */
	}
	add_one(&done);
}

TEST(cancel_of_children)
{
	coro_scheduler *s = start_with(1, 0);
	done = 0;
	spawn(s, cancels_children, NULL, 0);
	finish(s);
	CHECK_EQ(done, 1);
}

/* A canceled coroutine that awaits a stack ends unstarted when a stack comes free, or when all else
 * is at rest. */
#define STACKS_LEFT 5
static void awaits_stacks(void *arg, void *result)
{
	coro_handle h[40];
	(void)arg;
	(void)result;
	for (int i = 0; i < 40; i++)
		CHECK_EQ(coro_spawn_attr(JOINABLE(1), i >= STACKS_LEFT ? never : parks, NULL, 0,
					 &h[i]),
			 CORO_OK);
	for (int i = 0; i < 3; i++)
		/* the first park on their stacks, the others wait for one */
		CHECK_EQ(coro_yield(), CORO_OK);
	for (int i = 39; i >= 0; i--)
		CHECK_EQ(coro_cancel(h[i]), CORO_OK);
	for (int i = 0; i < 40; i++) {
		uint8_t got = 0;
		CHECK_EQ(coro_join(h[i], &got, 1), CORO_ECANCELED);
		CHECK_EQ(got, 0);
	}
	add_one(&done);
}

static void is_canceled_without_a_stack(void *arg, void *result)
{
	coro_handle h[20];
	(void)arg;
	(void)result;
	for (int i = 0; i < 20; i++) {
		CHECK_EQ(coro_spawn_attr(JOINABLE(1), never, NULL, 0, &h[i]), CORO_OK);
		CHECK_EQ(coro_cancel(h[i]), CORO_OK);
	}
	for (int i = 0; i < 20; i++)
		CHECK_EQ(coro_join(h[i], NULL, 0), CORO_ECANCELED);
	add_one(&done);
}

TEST(cancel_of_those_that_await_a_stack)
{
	coro_options o = options_capped(1, 1);
	coro_scheduler *s = start(&o);

	done = 0;
	spawn(s, is_canceled_without_a_stack, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(done, 1);
	finish(s);

	o = options_capped(1, 1 + STACKS_LEFT);
	s = start(&o);
	done = 0;
	spawn(s, awaits_stacks, NULL, 0);
	finish(s);
	CHECK_EQ(done, 1 + STACKS_LEFT);
}

/* -------------------------------------------------------------------------------------- joining */

TEST(cancel_of_a_joiner)
{
	for (uint32_t workers = 1; workers <= 2; workers++) {
		coro_scheduler *s = start_with(workers, 0);
		done = 0;
		for (int i = 0; i < 50; i++) {
			coro_handle target = spawn_joinable(s, parks, NULL, 0, 1);
			coro_handle joiner = spawn_joinable(s, joins, &target, sizeof target,
							    sizeof(int32_t));
			until_waiting(s, 2);
			CHECK_EQ(coro_cancel(joiner), CORO_OK);
			flag = 0;
			spawn(s, takes, &joiner, sizeof joiner);
			sleep_until_seen(&flag, 1);
			CHECK_EQ(joined, CORO_ECANCELED);
			CHECK_EQ(coro_cancel(target), CORO_OK); /* the target can still be joined */
			CHECK_EQ(status_of_join(s, target), CORO_ECANCELED);
		}
		finish(s);
		CHECK_EQ(done, 150);
	}
}

/* A result that is there is taken all the same. A canceled coroutine can wait for nothing else. */
static void quick(void *arg, void *result)
{
	(void)arg;
	memset(result, 7, 1);
}

static void joins_canceled(void *arg, void *result)
{
	coro_handle h;
	uint8_t got = 0;

	(void)arg;
	(void)result;
	CHECK_EQ(coro_cancel(coro_self()), CORO_OK);
	CHECK_EQ(coro_spawn_first(JOINABLE(1), quick, NULL, 0, &h), CORO_OK);
	CHECK_EQ(coro_join(h, &got, 1), CORO_OK);
	CHECK_EQ(got, 7);
	CHECK_EQ(coro_spawn_attr(JOINABLE(1), quick, NULL, 0, &h), CORO_OK);
	CHECK_EQ(coro_join(h, &got, 1), CORO_ECANCELED);
	CHECK_EQ(coro_yield(), CORO_OK);
	CHECK_EQ(coro_join(h, &got, 1), CORO_OK);
	add_one(&done);
}

TEST(cancel_of_a_joiner_loses_no_result)
{
	coro_scheduler *s = start_with(1, 0);
	done = 0;
	spawn(s, joins_canceled, NULL, 0);
	finish(s);
	CHECK_EQ(done, 1);
}

TEST(cancel_of_what_is_stale)
{
	coro_scheduler *s = start_with(1, 0);
	coro_handle h = spawn_joinable(s, quick, NULL, 0, 1);

	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(coro_cancel(h), CORO_ESTALE); /* ended, and not joined */
	CHECK_EQ(coro_detach(h), CORO_OK);
	CHECK_EQ(coro_cancel(h), CORO_ESTALE);
	CHECK_EQ(coro_cancel(h + (UINT64_C(1) << 32)), CORO_ESTALE);
	CHECK_EQ(coro_cancel(0), CORO_ESTALE);
	CHECK_EQ(coro_cancel(~UINT64_C(0)), CORO_ESTALE);
	finish(s);
}

/* coro_canceled tells of a close with cancel, too. */
static void asks(void *arg, void *result)
{
	(void)arg;
	(void)result;
	add_one(&flag);
	while (!coro_canceled())
		CHECK_EQ(coro_yield(), CORO_OK);
	add_one(&done);
}

TEST(cancel_by_a_close)
{
	coro_scheduler *s = start_with(2, 0);
	done = flag = 0;
	spawn(s, asks, NULL, 0);
	sleep_until_seen(&flag, 1);
	CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
	CHECK_EQ(done, 1);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
}

/* -------------------------------------------------------------------------- a close with cancel */

static void yields_after_cancel(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < 3; i++)
		spawn_in(never, NULL, 0);
	add_one(&flag);
	while (!__atomic_load_n(&coroi_self()->cancel, __ATOMIC_SEQ_CST))
		;
	/* our first suspension: the others end unstarted, we go on */
	CHECK_EQ(coro_yield(), CORO_OK);
	add_one(&done);
}

/* No stack is missing here: cancel alone leads to the same moment. */
TEST(cancel_spares_the_one_that_runs)
{
	coro_scheduler *s = start_with(1, 0);

	flag = done = 0;
	spawn(s, yields_after_cancel, NULL, 0);
	sleep_until_seen(&flag, 1);
	CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
	CHECK_EQ(done, 1);
	CHECK_EQ(stats(s).live, 0);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
}
