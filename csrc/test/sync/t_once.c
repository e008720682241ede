/*
 * t_once.c - once: one does it, the others wait until it is done.
 */
#include "test.h"

static coro_once once;
static uint64_t begun, done, total;

static coro_handle doer;

static void add_one_to(void *count)
{
	add_one(count);
}

static void happens_later(void *arg)
{
	doer = coro_self();
	CHECK_EQ(coro_park(), CORO_OK);
	add_one(arg);
}

static void does_it(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_once_do(&once, happens_later, &begun, CORO_FOREVER), CORO_OK);
	CHECK_EQ(begun, 1);
	add_one(&done);
}

static void is_impatient(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_once_do(&once, happens_later, &begun, 0), CORO_ETIMEDOUT);
	CHECK_EQ(coro_once_do(&once, happens_later, &begun, coro_now() + 1000), CORO_ETIMEDOUT);
	add_one(&total);
}

TEST(sync_once_is_waited_for)
{
	coro_scheduler *s = start_with(2, 0);
	coro_blocked b[6];
	uint32_t waiting = 0;

	begun = done = total = 0;
	spawn(s, does_it, NULL, 0);
	while (coro_scheduler_blocked(s, b, 1) != 1 || b[0].waits != CORO_WAIT_PARK)
		sleep_us(50);
	spawn(s, is_impatient, NULL, 0);
	for (int i = 0; i < 5; i++)
		spawn(s, does_it, NULL, 0);
	while (waiting != 5) {
		waiting = 0;
		for (size_t i = 0, n = coro_scheduler_blocked(s, b, 6); i < n && i < 6; i++)
			waiting += b[i].waits == CORO_WAIT_ONCE && b[i].handle != doer;
		waiting = stats(s).live == 6 ? waiting : 0;
		sleep_us(50);
	}
	CHECK_EQ(done, 0);
	CHECK_EQ(total, 1);
	CHECK_EQ(coro_wake(doer), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(begun, 1);
	CHECK_EQ(done, 6);
	finish(s);
}

static void ends_inside(void *arg)
{
	add_one(arg);
	coro_park();
	coro_exit();
}

static void begins_it(void *arg, void *result)
{
	(void)arg;
	(void)result;
	doer = coro_self();
	coro_once_do(&once, ends_inside, &begun, CORO_FOREVER);
	CHECK(false); /* coro_exit does not return */
}

static void does_it_at_once(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_once_do(&once, add_one_to, &total, CORO_FOREVER), CORO_OK);
	CHECK_EQ(total, 1);
	add_one(&done);
}

/* The owner ends inside: the first that waits does it instead, or else the next that comes. */
TEST(sync_once_left_by_its_owner)
{
	coro_scheduler *s = start_with(2, 0);

	for (int waiters = 0; waiters < 4; waiters++) {
		once = (coro_once){{0}};
		begun = done = total = 0;
		spawn(s, begins_it, NULL, 0);
		until_waiting(s, 1);
		for (int i = 0; i < waiters; i++)
			spawn(s, does_it_at_once, NULL, 0);
		until_waiting(s, 1 + (uint32_t)waiters);
		CHECK_EQ(coro_wake(doer), CORO_OK);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(begun, 1);
		CHECK_EQ(done, waiters);
		CHECK_EQ(coro_once_do(&once, add_one_to, &total, 0), CORO_OK);
		CHECK_EQ(total, 1);
	}
	finish(s);
}
