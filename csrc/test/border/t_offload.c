/*
 * t_offload.c - offloaded calls into Go, and calls of both kinds by dense coroutines, with a
 * stand-in for Go.
 */
#include "gostand.h"

#include "border/gobell.h"
#include "border/gocall.h"
#include "border/state.h"
#include "kernel/run.h"

#include <string.h>
#include <unistd.h>

static uint64_t ended, refused;
static coro_handle caller;

static void offloads(void *arg, void *result)
{
	int64_t n = *(int64_t *)arg, number = 0;

	(void)result;
	while (number < n) {
		int64_t before = number;
		size_t got = 0;
		CHECK_EQ(coro_call_go(1, &number, sizeof number, &number, sizeof number, &got),
			 CORO_OK);
		CHECK_EQ(number, before + 1);
		CHECK_EQ(got, sizeof number);
		if (number % 3 == 0)
			CHECK_EQ(coro_yield(), CORO_OK);
		if (number % 5 == 0)
			CHECK_EQ(coro_call_go_inline(1, &number, sizeof number, &number,
						     sizeof number, NULL),
				 CORO_OK);
	}
	__atomic_add_fetch(&ended, 1, __ATOMIC_RELAXED);
}

/* sleeper - a clerk that the callers wake: OFF8. */
static uint64_t sleeper_ended, sleeps;

static void *sleeper(void *arg)
{
	struct coro_scheduler *s = arg;

	while (!at_load_seq(&clerks_stop)) {
		if (clerk_once(s))
			continue;
		at_xchg(&coroi_border(s)->calls.unwatched, COROI_CALLS_UNWATCHED); /* OFF5 */
		if (!at_load_seq(&coroi_border(s)->calls.first) && coroi_calls_sleep(s))
			sleeps++;
	}
	at_xchg(&sleeper_ended, 1);
	return NULL;
}

static void offload_in_turns(void *(*clerk)(void *), uint32_t workers, uint32_t flags,
			     uint32_t callers, int64_t each)
{
	pthread_t t;

	stand_in(adds);
	ended = clerks_stop = sleeper_ended = 0;
	coro_scheduler *s = start_go(workers, flags);
	thread_start(&t, clerk, s);
	for (uint32_t i = 0; i < callers; i++)
		spawn(s, offloads, &each, sizeof each);
	if (flags & CORO_PAUSED)
		CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	else
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(ended, callers); /* not before: each call is pending work */
	at_xchg(&clerks_stop, 1);
	for (; clerk == sleeper && !at_load_seq(&sleeper_ended); sleep_us(50))
		coroi_calls_rouse(s); /* again: the sleep may begin after the first */
	thread_join(t);
	finish(s);
}

static void many_offload(void *(*clerk)(void *))
{
	for (uint32_t workers = 1; workers <= 4; workers *= 2) {
		offload_in_turns(clerk, workers, 0, 1, (int64_t)scaled(300));
		offload_in_turns(clerk, workers, CORO_NO_STANDBY, 10, (int64_t)scaled(300));
		offload_in_turns(clerk, workers, CORO_NO_MEMBARRIER | CORO_NO_STANDBY, 100,
				 (int64_t)scaled(100));
		offload_in_turns(clerk, workers, CORO_PAUSED, 50, (int64_t)scaled(100));
	}
}

TEST(offload_by_many)
{
	many_offload(clerk);
}

TEST(offload_wakes_the_sleeper)
{
	sleeps = 0;
	many_offload(sleeper);
	CHECK(sleeps > 0);
}

/* OFF8 after a call, and a sleep that is ended although there is no call. */
TEST(offload_sleep_does_not_begin_after_a_call)
{
	coro_scheduler *s = start_go(1, 0);
	pthread_t t;

	CHECK_EQ(coroi_calls_sleep(s), 0); /* watched */
	at_xchg(&coroi_border(s)->calls.unwatched, COROI_CALLS_UNWATCHED);
	coroi_calls_rouse(s);
	CHECK_EQ(coroi_calls_sleep(s), 0);
	clerks_stop = sleeper_ended = sleeps = 0;
	thread_start(&t, sleeper, s);
	while (at_load_seq(&coroi_border(s)->calls.unwatched) != COROI_CALLS_ASLEEP)
		sleep_us(50);
	at_xchg(&clerks_stop, 1);
	coroi_calls_rouse(s);
	thread_join(t);
	CHECK_EQ(sleeps, 1);
	CHECK_EQ(coroi_border(s)->calls.unwatched, COROI_CALLS_WATCHED);
	finish(s);
}

/* adds_to_4 - a call, by the coroutine that others know as the caller. */
static int adds_to_4(void)
{
	int64_t number = 4;

	caller = coro_self();
	int status = coro_call_go(1, &number, sizeof number, &number, sizeof number, NULL);
	CHECK_EQ(number, status ? 4 : 5);
	return status;
}

/* A wake during the call gives a permit. A canceled caller's call is finished. The caller is
 * listed. */
static void offloads_once(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(adds_to_4(), CORO_OK);
	CHECK_EQ(coro_park(), CORO_OK);
	CHECK_EQ(coro_park(), CORO_OK);
	CHECK_EQ(adds_to_4(), CORO_ECANCELED);
	refused++;
}

static void *closes(void *s)
{
	CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
	return NULL;
}

TEST(offload_is_woken_and_canceled_meanwhile)
{
	coro_blocked b;
	pthread_t t;

	coro_scheduler *s = start_go(2, 0);
	spawn(s, offloads_once, NULL, 0);
	while (!at_load_seq(&coroi_border(s)->calls.first) || coro_scheduler_blocked(s, &b, 1) != 1)
		sleep_us(50);
	CHECK_EQ(b.waits, CORO_WAIT_CALL);
	CHECK_EQ(b.handle, caller);
	CHECK_EQ(coro_wake(caller), CORO_OK);
	CHECK_EQ(coro_wake(caller), CORO_OK);
	while (stats(s).awake)
		sleep_us(50);
	CHECK(!coroi_at_rest(s));
	thread_start(&t, closes, s);
	while (!at_load_rlx(&s->worker[0].cancel) || !at_load_rlx(&s->worker[1].cancel))
		sleep_us(50);
	CHECK_EQ(refused, 0);
	CHECK_EQ(clerk_once(s), 1);
	thread_join(t);
	CHECK_EQ(refused, 1);
	coro_scheduler_destroy(s);
}

static void offloads_and_parks(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(adds_to_4(), CORO_OK);
	CHECK_EQ(coro_park(), CORO_ECANCELED);
	refused++;
}

/* OFF7: Go is told that one of the callers is canceled. */
TEST(offload_is_canceled_alone)
{
	coro_blocked b;
	uint64_t rung;

	refused = 0;
	coro_scheduler *s = start_go(1, 0);
	int bell = coroi_bell_open(s);
	CHECK(bell >= 0);
	spawn(s, offloads_and_parks, NULL, 0);
	while (!at_load_seq(&coroi_border(s)->calls.first) ||
	       coro_scheduler_blocked(s, &b, 1) != 1 || b.waits != CORO_WAIT_CALL)
		sleep_us(50);
	at_xchg(&coroi_border(s)->bell.go_sleeps, 1);
	CHECK_EQ(coroi_border(s)->calls.canceled, 0);
	CHECK_EQ(coro_cancel(caller), CORO_OK);
	while (!at_load_seq(&coroi_border(s)->calls.canceled) ||
	       at_load_seq(&coroi_border(s)->bell.go_sleeps))
		sleep_us(50);
	while (read(bell, &rung, sizeof rung) != sizeof rung) /* some time later */
		sleep_us(50);
	CHECK_EQ(refused, 0);
	CHECK_EQ(clerk_once(s), 1);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(refused, 1);
	finish(s);
}

static void offload_errors(void *arg, void *result)
{
	int64_t number = 1;

	(void)arg;
	(void)result;
	CHECK_EQ(coro_call_go(0, NULL, 0, NULL, 0, NULL), CORO_EINVAL);
	CHECK_EQ(coro_call_go(1, NULL, 8, &number, 8, NULL), CORO_EINVAL);
	CHECK_EQ(coro_call_go(1, &number, 8, NULL, 8, NULL), CORO_EINVAL);
	CHECK_EQ(coro_call_go(2, NULL, 0, NULL, 0, NULL), CORO_EFAILED);
	CHECK_EQ(coro_call_error(NULL, 0), 9);
	ended++;
}

TEST(offload_errors_come_back)
{
	pthread_t t;
	int64_t number = 1;
	coro_scheduler *s = start_go(1, 0);

	CHECK_EQ(coro_call_go(1, &number, 8, &number, 8, NULL), CORO_EPERM);
	thread_start(&t, clerk, s);
	spawn(s, offload_errors, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(ended, 1);
	at_xchg(&clerks_stop, 1);
	thread_join(t);
	finish(s);
}

/* -------------------------------------------------------------------------- by dense coroutines */

/* What Go reads and writes while a dense caller waits does not lie on the shared stack. */
static coro_scheduler *dense_gos(uint32_t workers)
{
	coro_options o = options(workers, 0);

	o.shared_stacks = 2;
	coro_scheduler *s = start(&o);
	coroi_border(s)->bell.go_id = 1;
	return s;
}

static const coro_attr dense = {.size = sizeof(coro_attr), .flags = CORO_DENSE};

TEST(gocall_by_dense_coroutines)
{
	int64_t each = 50;
	pthread_t t;

	stand_in(adds);
	for (uint32_t workers = 1; workers <= 2; workers++) {
		ended = clerks_stop = 0;
		coro_scheduler *s = dense_gos(workers);
		thread_start(&t, clerk, s);
		for (int i = 0; i < 100; i++)
			CHECK_EQ(
				coro_scheduler_spawn(s, &dense, offloads, &each, sizeof each, NULL),
				CORO_OK);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(ended, 100);
		CHECK(stats(s).dense_copied_out > 0);
		at_xchg(&clerks_stop, 1);
		thread_join(t);
		finish(s);
	}
}

static void dense_errors(void *arg, void *result)
{
	int64_t number = 1;
	char text[20];
	size_t got = 9;
	(void)arg;
	(void)result;

	CHECK_EQ(coro_call_go_inline(2, NULL, 0, NULL, 0, &got), CORO_EFAILED);
	CHECK_EQ(coro_call_error(text, sizeof text), 9);
	CHECK_EQ(memcmp(text, "it failed", 10), 0);
	CHECK_EQ(coro_call_go_inline(1, NULL, 8, &number, 8, NULL), CORO_EINVAL);
	CHECK_EQ(coro_call_go_inline(1, &number, 8, NULL, 8, NULL), CORO_EINVAL);
	CHECK_EQ(coro_call_go_inline(1, &number, SIZE_MAX - 7, &number, 8, NULL), CORO_ENOMEM);
	CHECK_EQ(coro_call_go_inline(1, &number, 8, &number, SIZE_MAX / 2, NULL), CORO_ENOMEM);
	for (int k = 0; k < 2; k++) { /* a block for the values; one for the call */
		fail_block = k;
		fail_blocks = 1;
		CHECK_EQ(coro_call_go(1, &number, 8, &number, 8, NULL), CORO_ENOMEM);
		CHECK_EQ(fail_blocks, 0);
	}
	fail_block = 0;
	fail_blocks = 1;
	CHECK_EQ(coro_call_go_inline(1, &number, 8, &number, 8, NULL), CORO_ENOMEM);
	fail_block = -1;
	CHECK_EQ(number, 1);
	CHECK_EQ(coro_call_go_inline(1, &number, 8, &number, 8, &got), CORO_OK);
	CHECK_EQ(number, 2);
	CHECK_EQ(got, 8);
	ended++;
}

TEST(gocall_by_dense_coroutines_fails)
{
	stand_in(adds);
	ended = 0;
	coro_scheduler *s = dense_gos(1);
	CHECK_EQ(coro_scheduler_spawn(s, &dense, dense_errors, NULL, 0, NULL), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(ended, 1);
	finish(s);
}
