/* scenarios_io.c - calls that block, on threads of the scheduler's pool. */
#include "ledger.h"

#include <unistd.h>

static coro_scheduler *begin_blocking(uint32_t workers)
{
	coro_options o = options(workers, 0);

	o.blocking_threads = 2;
	return begin_with(&o);
}

/* ------------------------------------------------------------------------ calls */

static uint64_t called;
static uint32_t gate;

static void waits_for_gate(void *arg)
{
	while (!__atomic_load_n(&gate, __ATOMIC_SEQ_CST))
		sleep_us(20);
	count(arg);
}

static void calls(void *arg, void *result)
{
	uint64_t mine = 0;
	int status;

	(void)arg;
	(void)result;
	for (int try = 0; try < 2; try++) {
		status = coro_blocking(waits_for_gate, &mine);
		CHECK_EQ(mine, status == CORO_OK);
		if (status != CORO_EAGAIN)
			break;
		CHECK(!went_well(status, CORO_EAGAIN) && (lasting || !try));
	}
	CHECK(status == CORO_OK || status == CORO_ECANCELED || status == CORO_EAGAIN);
	CHECK_EQ(coro_canceled() || status != CORO_ECANCELED, 1);
	called += mine; /* one worker */
	count(&ran);
	coro_exit_finished(); /* although it may have been canceled */
}

#define CALLS 6

/* More calls than threads: the others queue. Two calls are taken back from the queue. */
static void calls_in_turn(void *arg, void *result)
{
	coro_handle h[CALLS];

	(void)arg;
	(void)result;
	for (int i = 0; i < CALLS; i++)
		inside(JOINABLE(0), calls, NULL, 0, &h[i]);
	CHECK_EQ(coro_sleep(100000), CORO_OK);
	for (int i = CALLS - 2; i < CALLS; i++)
		if (h[i]) /* stale: its call was refused */
			went_well(coro_cancel(h[i]), CORO_ESTALE);
	CHECK_EQ(coro_yield(), CORO_OK);
	__atomic_store_n(&gate, 1, __ATOMIC_SEQ_CST);
	for (int i = 0; i < CALLS; i++)
		joined(h[i]);
	count(&ran);
}

SCENARIO(blocking)
{
	coro_scheduler *s = begin_blocking(1);

	if (!s)
		return;
	called = gate = 0;
	outside(s, calls_in_turn, NULL, 0);
	CHECK_EQ(QUIET(coro_scheduler_wait(s)), CORO_OK);
	CHECK(may_fail() || called == CALLS - 2);
	end(s);
}

/* ------------------------------------------------------------------------ stretches */

static void on_a_thread(void *arg, void *result)
{
	uint64_t id = *(uint64_t *)arg;
	long worker = gettid();
	char frame[2000];

	(void)result;
	frames_filled(frame, sizeof frame);
	if (again(coro_thread_begin(), CORO_EAGAIN)) {
		CHECK(gettid() != worker);
		CHECK_EQ(coro_sleep(1), CORO_EPERM);
		sleep_us(30);
		frames_kept(frame, sizeof frame);
		if (id % 2) { /* the others end there */
			CHECK_EQ(coro_thread_end(), CORO_OK);
			CHECK_EQ(coro_sleep(1000), CORO_OK);
		}
	} else {
		CHECK_EQ(coro_thread_end(), CORO_EPERM);
		CHECK_EQ(coro_sleep(1000), CORO_OK);
	}
	count(&ran);
}

/* Coroutines go on on threads of the pool, and come back. */
SCENARIO(threads)
{
	coro_scheduler *s = begin_blocking(2);

	if (!s)
		return;
	for (uint64_t id = 0; id < 6; id++)
		outside(s, on_a_thread, &id, sizeof id);
	end(s);
}
