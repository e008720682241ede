/*
 * t_shield.c - shield sections: every wait in one, its deadline, nested ones, a close; and how a
 * body that was told of its cancel has ended.
 */
#include "test.h"

#include "kernel/wait.h"

#include <string.h>

#define MS UINT64_C(1000000)

static coro_sem sem;
static coro_chan *chan;

static void nothing(void *arg)
{
	(void)arg;
}

static void wakes(void *arg, void *result)
{
	coro_handle h;
	int64_t v = 4;
	(void)result;

	memcpy(&h, arg, 8);
	coro_sleep(MS);
	CHECK_EQ(coro_wake(h), CORO_OK);
	CHECK_EQ(coro_sem_release(&sem, 1), CORO_OK);
	CHECK_EQ(coro_chan_send(chan, &v, CORO_FOREVER), CORO_OK);
}

/* Every wait goes on although the coroutine is canceled, before and during the wait. */
static void waits_all(void *arg, void *result)
{
	coro_handle me = coro_self(), child;
	coro_case recv = {.chan = chan};
	int64_t v = 0;
	(void)arg;
	(void)result;

	recv.recv = &v;
	CHECK_EQ(coro_cancel(me), CORO_OK);
	CHECK_EQ(coro_park(), CORO_ECANCELED);
	for (int i = 0; i < 3; i++) {
		uint64_t until = i ? coro_now() + 10000 * MS : CORO_FOREVER;
		CHECK_EQ(coro_shield_begin(until), CORO_OK);
		CHECK_EQ(coro_canceled(), 1);
		CHECK_EQ(coro_spawn_attr(JOINABLE(0), wakes, &me, 8, &child), CORO_OK);
		CHECK_EQ(coro_park(), CORO_OK);
		CHECK_EQ(coro_sem_acquire(&sem, CORO_FOREVER), CORO_OK);
		v = 0;
		if (i < 2)
			CHECK_EQ(coro_chan_recv(chan, &v, CORO_FOREVER), CORO_OK);
		else
			CHECK_EQ(coro_select(&recv, 1, CORO_FOREVER), 0);
		CHECK_EQ(v, 4);
		CHECK_EQ(coro_join(child, NULL, 0), CORO_OK);
		CHECK_EQ(coro_sleep(MS), CORO_OK);
		/* deadlines of one's own are kept */
		CHECK_EQ(coro_park_until(coro_now() + MS), CORO_ETIMEDOUT);
		CHECK_EQ(coro_sem_acquire(&sem, coro_now() + MS), CORO_ETIMEDOUT);
		CHECK_EQ(coro_park_until(0), CORO_ETIMEDOUT);
		CHECK_EQ(coro_blocking(nothing, NULL), CORO_OK);
		CHECK_EQ(coro_shield_end(), CORO_OK);
		CHECK_EQ(coro_park(), CORO_ECANCELED);
		CHECK_EQ(coro_sem_acquire(&sem, CORO_FOREVER), CORO_ECANCELED);
		CHECK_EQ(coro_blocking(nothing, NULL), CORO_ECANCELED);
	}
	CHECK_EQ(coro_shield_end(), CORO_EPERM);
}

TEST(shield_holds_a_cancel_off)
{
	for (uint32_t workers = 1; workers <= 2; workers++) {
		coro_scheduler *s = start_with(workers, 0);
		CHECK_EQ(coro_sem_init(&sem, 0, 0), CORO_OK);
		CHECK_EQ(coro_chan_new(&chan, sizeof(int64_t), 0, 0), CORO_OK);
		spawn(s, waits_all, NULL, 0);
		finish(s);
		CHECK_EQ(coro_sem_destroy(&sem), CORO_OK);
		CHECK_EQ(coro_chan_free(chan), CORO_OK);
	}
	CHECK_EQ(coro_shield_begin(CORO_FOREVER), CORO_EPERM);
	CHECK_EQ(coro_shield_end(), CORO_EPERM);
}

/* The cancel comes during the wait: it ends at the deadline of the section, not before, and not
 * later. how: the wait. */
static void is_over(void *arg, void *result)
{
	uint8_t how = *(uint8_t *)arg;
	uint64_t end = coro_now() + 20 * MS;
	int status;

	CHECK_EQ(coro_shield_begin(end), CORO_OK);
	switch (how) {
	case 0:
		status = coro_park();
		break;
	case 1:
		status = coro_park_until(end + 100000 * MS);
		break;
	case 2:
		status = coro_sem_acquire(&sem, CORO_FOREVER);
		break;
	case 3:
		status = coro_sem_acquire(&sem, end + 100000 * MS);
		break;
	default:
		status = coro_sleep(100000 * MS);
	}
	CHECK_EQ(status, CORO_ECANCELED);
	CHECK(coro_now() >= end);
	CHECK_EQ(coro_park(), CORO_ECANCELED);
	CHECK_EQ(coro_shield_end(), CORO_OK);
	CHECK_EQ(coro_park(), CORO_ECANCELED);
	memset(result, 1, 1);
	coro_exit_finished();
}

static void cancels_each(void *arg, void *result)
{
	uint64_t begun = coro_now();
	(void)arg;
	(void)result;

	for (uint8_t how = 0; how < 5; how++) {
		coro_handle child;
		uint8_t got = 0;
		CHECK_EQ(coro_spawn_first(JOINABLE(1), is_over, &how, 1, &child), CORO_OK);
		CHECK_EQ(coro_cancel(child), CORO_OK);
		CHECK_EQ(coro_join(child, &got, 1), CORO_OK);
		CHECK_EQ(got, 1);
	}
	CHECK(coro_now() - begun < 50000 * MS);
}

TEST(shield_ends_at_its_deadline)
{
	coro_scheduler *s = start_with(1, 0);
	CHECK_EQ(coro_sem_init(&sem, 0, 0), CORO_OK);
	spawn(s, cancels_each, NULL, 0);
	finish(s);
	CHECK_EQ(coro_sem_destroy(&sem), CORO_OK);
}

/* A section that is over ends no wait of one that is not canceled. */
static void is_not_canceled(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_shield_begin(coro_now() + 2 * MS), CORO_OK);
	CHECK_EQ(coro_park_until(coro_now() + 20 * MS), CORO_ETIMEDOUT);
	CHECK_EQ(coro_sleep(MS), CORO_OK);
	CHECK_EQ(coro_shield_begin(0), CORO_OK);
	CHECK_EQ(coro_sem_acquire(&sem, coro_now() + 5 * MS), CORO_ETIMEDOUT);
	CHECK_EQ(coro_shield_end(), CORO_OK);
	CHECK_EQ(coro_shield_end(), CORO_OK);
	CHECK_EQ(coro_shield_end(), CORO_EPERM);
}

/* Nested sections: none lasts longer than the one around it, and that goes on after the inner
 * one. */
static void nests(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_cancel(coro_self()), CORO_OK);
	for (int i = 0; i < 100; i++) {
		CHECK_EQ(coro_shield_begin(coro_now() + 10000 * MS), CORO_OK);
		CHECK_EQ(coro_shield_begin(coro_now() - 1), CORO_OK);
		CHECK_EQ(coro_park(), CORO_ECANCELED);
		CHECK_EQ(coro_shield_begin(CORO_FOREVER), CORO_OK); /* in one that is over */
		CHECK_EQ(coro_park(), CORO_ECANCELED);
		CHECK_EQ(coro_shield_end(), CORO_OK);
		CHECK_EQ(coro_shield_end(), CORO_OK);
		CHECK_EQ(coro_wake(coro_self()), CORO_OK);
		CHECK_EQ(coro_park(), CORO_OK);
		CHECK_EQ(coro_sem_acquire(&sem, coro_now() + 1000), CORO_ETIMEDOUT);
		CHECK_EQ(coro_shield_end(), CORO_OK);
		CHECK_EQ(coro_sem_acquire(&sem, coro_now() + 1000), CORO_ECANCELED);
	}
}

/* A section that is open at the end is not one of the record's next user. */
static void ends_inside(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_shield_begin(CORO_FOREVER), CORO_OK);
	CHECK_EQ(coro_shield_begin(CORO_FOREVER), CORO_OK);
}

static void is_next(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_shield_end(), CORO_EPERM);
	CHECK_EQ(coro_cancel(coro_self()), CORO_OK);
	CHECK_EQ(coro_park(), CORO_ECANCELED);
}

TEST(shield_sections_nest_and_end)
{
	coro_scheduler *s = start_with(1, 0);
	CHECK_EQ(coro_sem_init(&sem, 0, 0), CORO_OK);
	spawn(s, is_not_canceled, NULL, 0);
	spawn(s, nests, NULL, 0);
	for (int i = 0; i < 50; i++) {
		spawn(s, ends_inside, NULL, 0);
		spawn(s, is_next, NULL, 0);
	}
	finish(s);
	CHECK_EQ(coro_sem_destroy(&sem), CORO_OK);
}

/* A close with cancel waits for the sections, and they are bounded. */
static uint64_t cleaned;

static void cleans_up(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_park(), CORO_ECANCELED);
	/* long beside the sleep, also where an emulator runs beside other work */
	CHECK_EQ(coro_shield_begin(coro_now() + 300 * MS), CORO_OK);
	CHECK_EQ(coro_sleep(MS), CORO_OK);
	__atomic_add_fetch(&cleaned, 1, __ATOMIC_SEQ_CST);
	CHECK_EQ(coro_park(), CORO_ECANCELED);
	CHECK_EQ(coro_shield_end(), CORO_OK);
}

static void shielded_before(void *arg, void *result)
{
	uint64_t end = coro_now() + 30 * MS;
	(void)arg;
	(void)result;
	CHECK_EQ(coro_shield_begin(end), CORO_OK);
	CHECK_EQ(coro_sem_acquire(&sem, CORO_FOREVER), CORO_ECANCELED);
	CHECK(coro_now() >= end);
	__atomic_add_fetch(&cleaned, 1, __ATOMIC_SEQ_CST);
}

TEST(shield_in_a_close_with_cancel)
{
	for (uint32_t workers = 1; workers <= 2; workers++) {
		coro_scheduler *s = start_with(workers, 0);
		CHECK_EQ(coro_sem_init(&sem, 0, 0), CORO_OK);
		cleaned = 0;
		for (int i = 0; i < 10; i++) {
			spawn(s, cleans_up, NULL, 0);
			spawn(s, shielded_before, NULL, 0);
		}
		until_waiting(s, 20);
		CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
		CHECK_EQ(cleaned, 20);
		CHECK_EQ(coro_sem_destroy(&sem), CORO_OK);
	}
}

/* ------------------------------------------------------------------------- told, and then ended */

enum { RETURNS, EXITS, FINISHED, ABORTS, FAILS, NOT_TOLD, ASKS, IN_DEFERRED, DEFERS, WAYS };

static void parks_deferred(void *arg)
{
	CHECK_EQ(coro_park(), CORO_ECANCELED);
	(void)arg;
}

static void ends(void *arg, void *result)
{
	uint8_t how = *(uint8_t *)arg;

	CHECK_EQ(coro_cancel(coro_self()), CORO_OK);
	memset(result, 9, 1);
	if (how == IN_DEFERRED || how == DEFERS)
		CHECK_EQ(coro_defer(parks_deferred, NULL), CORO_OK);
	if (how == ASKS)
		CHECK_EQ(coro_canceled(), 1);
	else if (how != NOT_TOLD && how != IN_DEFERRED)
		CHECK_EQ(coro_park(), CORO_ECANCELED);
	switch (how) {
	case EXITS:
		coro_exit();
		break;
	case FINISHED:
		coro_exit_finished();
		break;
	case ABORTS:
		coro_abort();
		break;
	case FAILS:
		coro_fail(1, NULL);
	}
}

static void joins_each(void *arg, void *result)
{
	static const int want[WAYS] = {
		[RETURNS] = CORO_ECANCELED, [EXITS] = CORO_ECANCELED, [FINISHED] = CORO_OK,
		[ABORTS] = CORO_EABORTED,   [FAILS] = CORO_EFAILED,   [NOT_TOLD] = CORO_OK,
		[ASKS] = CORO_ECANCELED,    [IN_DEFERRED] = CORO_OK,  [DEFERS] = CORO_ECANCELED,
	};
	(void)arg;
	(void)result;

	for (uint8_t how = 0; how < WAYS; how++) {
		coro_handle child;
		uint8_t got = 0;
		CHECK_EQ(coro_spawn_attr(JOINABLE(1), ends, &how, 1, &child), CORO_OK);
		CHECK_EQ(coro_join(child, &got, 1), want[how]);
		CHECK_EQ(got, want[how] == CORO_OK || want[how] == CORO_EABORTED ? 9 : 0);
	}
}

TEST(cancel_that_a_body_was_told_is_its_end)
{
	coro_scheduler *s = start_with(2, 0);
	spawn(s, joins_each, NULL, 0);
	finish(s);
}
