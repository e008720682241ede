/*
 * t_nostack.c - those that await a stack end with CORO_ENOMEM when nothing else can happen any
 * more. Not before: a deadline, or a remote wake on its way, may free a stack. The cap: t_cap.c.
 */
#include "test.h"

#include "kernel/worker.h"

#include <string.h>

static uint64_t ran;

/* start_capped - with a cap of n stacks of STACK bytes. */
static coro_scheduler *start_capped(uint32_t workers, size_t stacks)
{
	coro_options o = options_capped(workers, stacks);
	return start(&o);
}

static void counts(void *arg, void *result)
{
	(void)arg;
	(void)result;
	add_one(&ran);
}

/* The only stack is a sleeper's. */
static void sleeps_while_one_awaits_a_stack(void *arg, void *result)
{
	coro_handle h;

	(void)arg;
	(void)result;
	CHECK_EQ(coro_spawn_attr(JOINABLE(0), counts, NULL, 0, &h), CORO_OK);
	CHECK_EQ(coro_sleep(2000000), CORO_OK);
	CHECK_EQ(coro_detach(h), CORO_OK); /* not ended: it awaits our stack */
}

TEST(awaits_stack_until_a_deadline)
{
	for (uint32_t workers = 1; workers <= 3; workers++) {
		coro_scheduler *s = start_capped(workers, 1);
		ran = 0;
		spawn(s, sleeps_while_one_awaits_a_stack, NULL, 0);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(ran, 1);
		finish(s);
	}
}

/* Two pinned coroutines on two workers, and a third that awaits a stack on the first. The two wait
 * for each other by turns. Whenever one wakes the other and waits, only a remote wake is left. The
 * first wake comes from the one that spawned both, as each reads the handle of the other. */
static coro_handle pair[2];

static void parks_often(void *arg, void *result)
{
	unsigned me = *(unsigned *)arg;
	(void)result;

	for (uint64_t n = scaled(2000); n; n--) {
		CHECK_EQ(coro_park(), CORO_OK);
		if (me == 0 || n > 1)
			CHECK_EQ(coro_wake(pair[!me]), CORO_OK);
	}
}

static void begins(void *arg, void *result)
{
	coro_handle third;
	coro_attr attr = *JOINABLE(0);
	unsigned me[2] = {0, 1};

	(void)arg;
	(void)result;
	for (unsigned i = 0; i < 2; i++) {
		attr.worker = i + 1;
		CHECK_EQ(coro_spawn_attr(&attr, parks_often, &me[i], sizeof me[i], &pair[i]),
			 CORO_OK);
	}
	attr.worker = 1;
	CHECK_EQ(coro_spawn_attr(&attr, counts, NULL, 0, &third), CORO_OK);
	CHECK_EQ(coro_wake(pair[0]), CORO_OK);
	CHECK_EQ(coro_join(third, NULL, 0), CORO_OK);
	CHECK_EQ(coro_join(pair[0], NULL, 0), CORO_OK);
	CHECK_EQ(coro_join(pair[1], NULL, 0), CORO_OK);
}

TEST(awaits_stack_while_others_wake_each_other)
{
	delays(20);
	coro_scheduler *s = start_capped(2, 3);
	ran = 0;
	spawn(s, begins, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(ran, 1);
	finish(s);
}

/* ---------------------------------------------------------------------------- told, or canceled */

static void cancels_some_that_await_a_stack(void *arg, void *result)
{
	coro_handle h[10];
	(void)arg;
	(void)result;

	for (int i = 0; i < 10; i++)
		CHECK_EQ(coro_spawn_attr(JOINABLE(0), never, NULL, 0, &h[i]), CORO_OK);
	CHECK_EQ(coro_yield(), CORO_OK);
	for (int i = 1; i < 10; i += 2)
		CHECK_EQ(coro_cancel(h[i]), CORO_OK);
	for (int i = 0; i < 10; i++)
		CHECK_EQ(coro_join(h[i], NULL, 0), i % 2 ? CORO_ECANCELED : CORO_ENOMEM);
	add_one(&ran);
}

/* Each ends for its own reason. */
TEST(awaits_stack_and_is_canceled)
{
	coro_scheduler *s = start_capped(1, 1);

	ran = 0;
	spawn(s, cancels_some_that_await_a_stack, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(ran, 1);
	finish(s);
}

static uint64_t others;

static void holds_until_cancel(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < 20; i++)
		spawn_in(never, NULL, 0);
	CHECK_EQ(coro_yield(), CORO_OK); /* all of them await a stack: we have the only one */
	add_one(&ran);
	while (!__atomic_load_n(&coroi_self()->cancel, __ATOMIC_SEQ_CST))
		;
	CHECK_EQ(coro_park(), CORO_ECANCELED);
	add_one(&others);
}

TEST(awaits_stack_until_a_close_with_cancel)
{
	coro_scheduler *s = start_capped(1, 1);

	ran = others = 0;
	spawn(s, holds_until_cancel, NULL, 0);
	sleep_until_seen(&ran, 1);
	CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
	CHECK_EQ(others, 1);
	CHECK_EQ(stats(s).live, 0);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
}

static void cancels_the_second(void *arg, void *result)
{
	coro_handle h[3];

	(void)arg;
	(void)result;
	for (int i = 0; i < 3; i++)
		CHECK_EQ(coro_spawn_attr(JOINABLE(0), never, NULL, 0, &h[i]), CORO_OK);
	CHECK_EQ(coro_yield(), CORO_OK);
	CHECK_EQ(coro_cancel(h[1]), CORO_OK);
	for (int i = 0; i < 3; i++) /* after the first join nobody can free a stack */
		CHECK_EQ(coro_join(h[i], NULL, 0), i == 1 ? CORO_ECANCELED : CORO_ENOMEM);
	add_one(&ran);
}

/* Each is told why it has not started. */
TEST(awaits_stack_while_one_is_canceled)
{
	coro_scheduler *s = start_capped(1, 1);

	ran = 0;
	spawn(s, cancels_the_second, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(ran, 1);
	finish(s);
}

/* Large frames of dense coroutines keep their stack, and the shared stack gets another one. Where
 * there is none, large frames are copied like small ones. */
#define SHARED_BYTES ((size_t)(SANITIZED ? 256 << 10 : 32 << 10))

static __attribute__((noinline)) void yields_over(size_t bytes, uint8_t with)
{
	volatile uint8_t frame[bytes];

	for (size_t i = 0; i < bytes; i++)
		frame[i] = with;
	CHECK_EQ(coro_yield(), CORO_OK);
	for (size_t i = 0; i < bytes; i++)
		CHECK_EQ(frame[i], with);
}

static void yields_over_much(void *arg, void *result)
{
	uint64_t id = *(uint64_t *)arg;
	(void)result;

	for (int i = 0; i < 5; i++)
		yields_over(SHARED_BYTES / 2 + SHARED_BYTES / 8, (uint8_t)(id + 1));
	add_one(&ran);
}

TEST(awaits_stack_for_large_dense_frames)
{
	coro_attr dense = {.size = sizeof dense, .flags = CORO_DENSE};

	/* one of the stacks is the copier's */
	for (uint64_t stacks = 3; stacks <= 13; stacks += 10) {
		coro_options o = {.size = sizeof o,
				  .workers = 1,
				  .shared_stacks = 2,
				  .shared_stack_bytes = SHARED_BYTES};
		o.stack_limit = stacks * (SHARED_BYTES + 4096);
		coro_scheduler *s = start(&o);
		ran = 0;
		for (uint64_t i = 0; i < 10; i++)
			CHECK_EQ(coro_scheduler_spawn(s, &dense, yields_over_much, &i, sizeof i,
						      NULL),
				 CORO_OK);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(ran, 10);
		CHECK_EQ(stats(s).dense_private > 0, stacks > 3);
		CHECK(stacks > 3 || stats(s).dense_copied_out > 0);
		finish(s);
	}
}
