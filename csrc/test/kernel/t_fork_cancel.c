/*
 * t_fork_cancel.c - a cancel of a parent, wherever its child is; of a child; in a shield section; a
 * close with cancel amid forks.
 */
#include "test.h"

static uint64_t done, counted, begun;
static coro_handle parent, child;

static void run_in(uint32_t workers, coro_fn fn)
{
	coro_scheduler *s = start_with(workers, 0);

	done = counted = begun = 0;
	run_alone(s, NULL, fn);
	CHECK_EQ(done, 1);
}

/* cancels - cancel the parent, after it has had its turn. */
static void cancels(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_cancel(parent), CORO_OK);
	add_one(&counted);
}

/* ----------------------------------------------------------------------------------- not begun */

static void joins_canceled(void *arg, void *result)
{
	coro_fork f[3];
	(void)arg;
	(void)result;

	CHECK_EQ(coro_cancel(coro_self()), CORO_OK);
	for (int i = 0; i < 3; i++)
		coro_fork_begin(&f[i], never, NULL, NULL);
	CHECK_EQ(coro_fork_join(&f[1]), CORO_ECANCELED);
	CHECK_EQ(coro_fork_join(&f[2]), CORO_ECANCELED);
	CHECK_EQ(coro_fork_join(&f[0]), CORO_ECANCELED);
	CHECK_EQ(coro_canceled(), 1);
	done++;
}

TEST(fork_that_has_not_begun_is_not_called_after_a_cancel)
{
	run_in(1, joins_canceled);
}

static void wakes_parent(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_wake(parent), CORO_OK);
}

/* begins_in_the_queue - begin f, which then lies in the queue: the parent goes on before it. */
static void begins_in_the_queue(coro_fork *f)
{
	parent = coro_self();
	spawn_in(wakes_parent, NULL, 0);
	coro_fork_begin(f, never, NULL, NULL);
	CHECK_EQ(coro_park(), CORO_OK);
}

static void joins_one_in_the_queue(void *arg, void *result)
{
	coro_fork f;
	(void)arg;
	(void)result;

	begins_in_the_queue(&f);
	CHECK_EQ(coro_cancel(parent), CORO_OK);
	CHECK_EQ(coro_fork_join(&f), CORO_ECANCELED);
	CHECK_EQ(coro_canceled(), 1);
	done++;
}

TEST(fork_in_the_queue_is_not_called_after_a_cancel)
{
	run_in(1, joins_one_in_the_queue);
}

static void ends_with_one_in_the_queue(void *arg, void *result)
{
	coro_fork f;
	(void)arg;
	(void)result;

	begins_in_the_queue(&f);
	done++;
	coro_abort();
}

TEST(fork_in_the_queue_is_not_called_after_its_parents_end)
{
	run_in(1, ends_with_one_in_the_queue);
}

/* ---------------------------------------------------------------------------------------- begun */

static void is_canceled(void *arg, void *result)
{
	(void)arg;
	(void)result;
	child = coro_self();
	add_one(&begun);
	CHECK_EQ(coro_park(), CORO_ECANCELED);
	CHECK_EQ(coro_canceled(), 1);
}

static void joins_and_is_canceled(void *arg, void *result)
{
	int depth = arg ? *(int *)arg - 1 : 0;
	coro_fork f;

	coro_fork_begin(&f, depth > 0 ? joins_and_is_canceled : is_canceled, &depth, result);
	CHECK_EQ(coro_fork_join(&f), CORO_ECANCELED);
	CHECK_EQ(coro_canceled(), 1);
}

/* By a coroutine, while the child waits. */
static void has_inlined_one_canceled(void *arg, void *result)
{
	(void)arg;
	parent = coro_self();
	spawn_in(cancels, NULL, 0);
	joins_and_is_canceled(NULL, result);
	CHECK_EQ(counted, 1);
	done++;
}

TEST(fork_child_on_its_parents_stack_is_canceled_with_it)
{
	run_in(1, has_inlined_one_canceled);
}

static void deep_is_canceled(void *arg, void *result)
{
	int depth = 30;
	(void)arg;

	parent = coro_self();
	joins_and_is_canceled(&depth, result);
	done++;
}

static void *cancels_from_outside(void *arg)
{
	(void)arg;
	sleep_until_seen(&begun, 1);
	CHECK_EQ(coro_cancel(parent), CORO_OK);
	return NULL;
}

TEST(fork_deep_chain_is_canceled_from_outside)
{
	for (uint32_t workers = 1; workers <= 3; workers++) {
		coro_scheduler *s = start_with(workers, 0);
		pthread_t t;
		done = begun = 0;
		thread_start(&t, cancels_from_outside, NULL);
		run_alone(s, NULL, deep_is_canceled);
		thread_join(t);
		CHECK_EQ(done, 1);
	}
}

static void has_stolen_one_canceled(void *arg, void *result)
{
	coro_fork f;
	(void)arg;

	parent = coro_self();
	coro_fork_begin(&f, is_canceled, NULL, result);
	sleep_until_seen(&begun, 1);
	coro_attr at = on(CORO_HERE);
	CHECK_EQ(coro_spawn_attr(&at, cancels, NULL, 0, NULL), CORO_OK);
	CHECK_EQ(coro_fork_join(&f), CORO_ECANCELED);
	CHECK_EQ(counted, 1);
	CHECK_EQ(coro_canceled(), 1);
	done++;
}

TEST(fork_stolen_child_is_canceled_with_its_parent)
{
	run_in(2, has_stolen_one_canceled);
}

static void ends_all_the_same(void *arg, void *result)
{
	(void)arg;
	add_one(&begun);
	CHECK_EQ(coro_cancel(parent), CORO_OK); /* that reaches this one */
	CHECK_EQ(coro_park(), CORO_ECANCELED);
	*(int *)result = 3;
	coro_exit_finished();
}

static void cancels_itself(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_cancel(coro_self()), CORO_OK);
	CHECK_EQ(coro_park(), CORO_ECANCELED);
}

static void has_some_that_cancel(void *arg, void *result)
{
	coro_fork f;
	int got = 0;
	(void)arg;
	(void)result;

	parent = coro_self();
	coro_fork_begin(&f, cancels_itself, NULL, NULL);
	CHECK_EQ(coro_fork_join(&f), CORO_ECANCELED);
	CHECK_EQ(coro_canceled(), 0);
	coro_fork_begin(&f, ends_all_the_same, NULL, &got);
	CHECK_EQ(coro_fork_join(&f), CORO_OK);
	CHECK_EQ(got, 3);
	CHECK_EQ(coro_canceled(), 1);
	done++;
}

TEST(fork_child_cancels_itself_and_its_parent)
{
	run_in(1, has_some_that_cancel);
}

/* --------------------------------------------------------------------------------------- shield */

static void waits_in_peace(void *arg, void *result)
{
	(void)arg;
	(void)result;
	add_one(&begun);
	while (seen(&counted) == 0)
		CHECK_EQ(coro_sleep(100000), CORO_OK);
	CHECK_EQ(coro_canceled(), 0);
}

static void joins_in_a_shield(void *arg, void *result)
{
	coro_fork f;
	(void)arg;
	(void)result;

	parent = coro_self();
	CHECK_EQ(coro_shield_begin(CORO_FOREVER), CORO_OK);
	coro_fork_begin(&f, waits_in_peace, NULL, NULL);
	spawn_in(cancels, NULL, 0);
	CHECK_EQ(coro_fork_join(&f), CORO_OK);
	coro_fork_begin(&f, waits_in_peace, NULL, NULL); /* after the cancel, too */
	CHECK_EQ(coro_fork_join(&f), CORO_OK);
	CHECK_EQ(coro_shield_end(), CORO_OK);
	coro_fork_begin(&f, never, NULL, NULL);
	CHECK_EQ(coro_fork_join(&f), CORO_ECANCELED);
	done++;
}

TEST(fork_child_of_a_shielded_parent_is_not_canceled)
{
	run_in(1, joins_in_a_shield);
}

static void joins_stolen_in_a_shield(void *arg, void *result)
{
	coro_fork f;
	(void)arg;
	(void)result;

	parent = coro_self();
	CHECK_EQ(coro_shield_begin(CORO_FOREVER), CORO_OK);
	coro_fork_begin(&f, waits_in_peace, NULL, NULL);
	sleep_until_seen(&begun, 1);
	spawn_in(cancels, NULL, 0);
	CHECK_EQ(coro_fork_join(&f), CORO_OK);
	CHECK_EQ(coro_shield_end(), CORO_OK);
	CHECK_EQ(coro_canceled(), 1);
	done++;
}

TEST(fork_stolen_child_of_a_shielded_parent_is_not_canceled)
{
	run_in(2, joins_stolen_in_a_shield);
}

/* ---------------------------------------------------------------------------------------- close */

static uint64_t ends_of_parents;

static void waits_for_long(void *arg, void *result)
{
	(void)arg;
	(void)result;
	add_one(&begun);
	CHECK_EQ(coro_park(), CORO_ECANCELED);
}

static void ends_later(void *arg, void *result)
{
	(void)arg;
	(void)result;
	add_one(&begun);
	while (coro_sleep(CORO_FOREVER / 2) != CORO_ECANCELED)
		;
	coro_abort();
}

/* One child waits on this stack, others elsewhere. */
static void is_closed_amid_forks(void *arg, void *result)
{
	coro_fork f[4];
	int status;

	(void)arg;
	(void)result;
	coro_fork_begin(&f[0], waits_for_long, NULL, NULL);
	coro_fork_begin(&f[1], ends_later, NULL, NULL);
	coro_fork_begin(&f[2], waits_for_long, NULL, NULL);
	CHECK_EQ(coro_fork_join(&f[2]), CORO_ECANCELED);
	coro_fork_begin(&f[3], never, NULL, NULL);
	CHECK_EQ(coro_fork_join(&f[3]), CORO_ECANCELED);
	status = coro_fork_join(&f[1]);
	CHECK(status == CORO_EABORTED || status == CORO_ECANCELED); /* or it had not begun */
	CHECK_EQ(coro_fork_join(&f[0]), CORO_ECANCELED);
	add_one(&ends_of_parents);
}

TEST(fork_close_with_cancel)
{
	for (uint32_t workers = 1; workers <= 3; workers++) {
		for (uint64_t i = 0; i < scaled(60); i++) {
			coro_scheduler *s = start_with(workers, 0);
			begun = ends_of_parents = 0;
			for (int k = 0; k < 3; k++)
				spawn(s, is_closed_amid_forks, NULL, 0);
			if (i % 3 != 2)
				sleep_until_seen(&begun, 1 + i % 8);
			coro_stats before = stats(s);
			CHECK(before.spawned >= before.ended);
			CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
			coro_stats after = stats(s);
			CHECK_EQ(after.spawned, after.ended);
			CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
			CHECK(i % 3 == 2 || ends_of_parents >= 1);
		}
	}
}
