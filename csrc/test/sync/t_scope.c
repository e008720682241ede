/*
 * t_scope.c - scopes: children end before their parent, and together. Tickers.
 */
#include "test.h"

#include <string.h>

static uint64_t began, returned, canceled, refused;

/* --------------------------------------------------------------------------------------
 * children */

static void works(void *arg, void *result)
{
	uint64_t k[4];

	CHECK(result && !*(uint64_t *)result); /* scratch */
	memcpy(k, arg, sizeof k);
	CHECK(k[0] == 1 && k[3] == 4);
	add_one(&began);
	coro_yield();
	add_one(&returned);
}

static void waits(void *arg, void *result)
{
	(void)arg;
	(void)result;
	add_one(&began);
	if (coro_park() == CORO_ECANCELED)
		add_one(&canceled);
	coro_yield();
	add_one(&returned);
}

static void fails(void *arg, void *result)
{
	(void)arg;
	(void)result;
	coro_sleep(MS);
	coro_abort();
}

static uint64_t all_spawned;

/* fails_in_time - fails when its parent has spawned all. */
static void fails_in_time(void *arg, void *result)
{
	do
		coro_sleep(MS);
	while (!seen(&all_spawned));
	fails(arg, result);
}

static coro_scope *open_scope(void)
{
	coro_scope *s;
	CHECK_EQ(coro_scope_new(&s), CORO_OK);
	return s;
}

static void waits_for_all(void *arg, void *result)
{
	uint64_t k[4] = {1, 2, 3, 4};
	coro_scope *s = open_scope();
	(void)arg;
	(void)result;

	for (int round = 1; round <= 3; round++) {
		for (int i = 0; i < 100; i++)
			CHECK_EQ(coro_scope_spawn(s, NULL, works, k, sizeof k), CORO_OK);
		CHECK_EQ(coro_scope_wait(s), CORO_OK);
		CHECK_EQ(returned, 100 * round);
	}
	CHECK_EQ(coro_scope_wait(s), CORO_OK); /* there are no children */
}

TEST(scope_waits_for_its_children)
{
	coro_scheduler *s = start_with(3, CORO_PAUSED);
	spawn(s, waits_for_all, NULL, 0);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	finish(s);
}

static void has_one_that_waits(void *arg, void *result)
{
	(void)arg;
	(void)result;
	coro_scope *s = open_scope();
	CHECK_EQ(coro_scope_spawn(s, NULL, waits, NULL, 0), CORO_OK);
	CHECK_EQ(coro_scope_wait(s), CORO_ECANCELED);
}

TEST(scope_child_is_reported_by_its_own_function)
{
	coro_scheduler *s = start_with(1, CORO_PAUSED);
	coro_blocked b[2];

	spawn(s, has_one_that_waits, NULL, 0);
	CHECK_EQ(coro_scheduler_run(s), CORO_EDEADLK);
	CHECK_EQ(coro_scheduler_blocked(s, b, 2), 2);
	bool first = b[0].fn == waits;
	CHECK(b[!first].fn == waits && b[!first].waits == CORO_WAIT_PARK);
	CHECK(b[first].fn == has_one_that_waits && b[first].waits == CORO_WAIT_FORK);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
}

static void first_failure(void *arg, void *result)
{
	coro_scope *s = open_scope();
	(void)arg;
	(void)result;

	for (int i = 0; i < 50; i++)
		CHECK_EQ(coro_scope_spawn(s, NULL, waits, NULL, 0), CORO_OK);
	CHECK_EQ(coro_scope_spawn(s, NULL, fails_in_time, NULL, 0), CORO_OK);
	for (int i = 0; i < 50; i++)
		CHECK_EQ(coro_scope_spawn(s, NULL, waits, NULL, 0), CORO_OK);
	add_one(&all_spawned);
	CHECK_EQ(coro_scope_wait(s), CORO_EABORTED);
	CHECK_EQ(canceled, began);
	CHECK_EQ(returned, began);
	/* the scope can be used again */
	CHECK_EQ(coro_scope_spawn(s, NULL, waits, NULL, 0), CORO_OK);
	CHECK_EQ(coro_scope_cancel(s), CORO_OK);
	CHECK_EQ(coro_scope_spawn(s, NULL, waits, NULL, 0), CORO_ECANCELED);
	int status = coro_scope_wait(s);
	/* the child may have begun, and returned */
	CHECK(status == CORO_OK || status == CORO_ECANCELED);
	add_one(&refused);
}

TEST(scope_first_failure_cancels_the_others)
{
	for (uint32_t workers = 1; workers <= 3; workers++) {
		coro_scheduler *s = start_with(workers, CORO_PAUSED);
		began = returned = canceled = all_spawned = 0;
		spawn(s, first_failure, NULL, 0);
		CHECK_EQ(coro_scheduler_run(s), CORO_OK);
		CHECK_EQ(refused, workers);
		finish(s);
	}
}

/* ----------------------------------------------------------------------------- the parent's end */

static void ends_by_itself(void *arg, void *result)
{
	int64_t how;
	coro_scope *s = open_scope();
	(void)result;

	memcpy(&how, arg, sizeof how);
	for (int i = 0; i < 20; i++)
		CHECK_EQ(coro_scope_spawn(s, NULL, waits, NULL, 0), CORO_OK);
	if (how & 1)
		coro_yield();
	if (how & 2)
		coro_exit();
	if (how & 4)
		coro_abort();
}

static void outlives(void *arg, void *result)
{
	coro_handle h;
	(void)arg;
	(void)result;

	for (int64_t how = 0; how < 8; how++) {
		began = returned = 0;
		CHECK_EQ(coro_spawn_attr(JOINABLE(0), ends_by_itself, &how, sizeof how, &h),
			 CORO_OK);
		CHECK_EQ(coro_join(h, NULL, 0), how & 2   ? CORO_OK
						: how & 4 ? CORO_EABORTED
							  : CORO_OK);
		CHECK_EQ(returned, began); /* no child is left */
	}
	add_one(&refused);
}

TEST(scope_children_do_not_outlive_it)
{
	coro_scheduler *s = start_with(2, CORO_PAUSED);
	spawn(s, outlives, NULL, 0);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(refused, 1);
	finish(s);
}

static coro_handle owner;

static void owner_waits(void *arg, void *result)
{
	coro_scope *s = open_scope();
	(void)arg;
	(void)result;

	for (int i = 0; i < 20; i++)
		CHECK_EQ(coro_scope_spawn(s, NULL, waits, NULL, 0), CORO_OK);
	__atomic_store_n(&owner, coro_self(), __ATOMIC_RELEASE);
	CHECK_EQ(coro_scope_wait(s), CORO_ECANCELED);
	CHECK_EQ(returned, began);
	add_one(&refused);
}

TEST(scope_a_cancel_of_its_owner_is_one_of_all)
{
	coro_scheduler *s = start_with(2, 0);
	coro_handle h;

	spawn(s, owner_waits, NULL, 0);
	while (!(h = __atomic_load_n(&owner, __ATOMIC_ACQUIRE)))
		sleep_us(50);
	CHECK_EQ(coro_cancel(h), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(refused, 1);
	finish(s);
}

static void misuses(void *arg, void *result)
{
	coro_scope *s = NULL, *other = *(coro_scope **)arg;
	coro_attr with_result = {.size = sizeof with_result,
				 .flags = CORO_JOINABLE,
				 .result_bytes = 8},
		  here = on(CORO_HERE), carries = {.size = sizeof carries, .arg_buffers = 1};
	char large[CORO_SCOPE_BYTES + 1] = {0};
	(void)result;

	CHECK_EQ(coro_scope_new(NULL), CORO_EINVAL);
	fail_alloc = 0;
	CHECK_EQ(coro_scope_new(&s), CORO_ENOMEM);
	fail_alloc = -1;
	s = open_scope();
	CHECK_EQ(coro_scope_spawn(NULL, NULL, waits, NULL, 0), CORO_EINVAL);
	CHECK_EQ(coro_scope_spawn(s, NULL, NULL, NULL, 0), CORO_EINVAL);
	CHECK_EQ(coro_scope_spawn(s, NULL, waits, large, sizeof large), CORO_EINVAL);
	CHECK_EQ(coro_scope_spawn(s, NULL, waits, NULL, 1), CORO_EINVAL);
	CHECK_EQ(coro_scope_spawn(s, &carries, waits, large, 8), CORO_EINVAL);
	CHECK_EQ(coro_scope_spawn(s, &with_result, waits, NULL, 0), CORO_EINVAL);
	CHECK_EQ(coro_scope_spawn(other, NULL, waits, NULL, 0), CORO_EPERM);
	CHECK_EQ(coro_scope_wait(other), CORO_EPERM);
	CHECK_EQ(coro_scope_wait(NULL), CORO_EINVAL);
	CHECK_EQ(coro_scope_cancel(NULL), CORO_EINVAL);
	fail_alloc = 0;
	CHECK_EQ(coro_scope_spawn(s, NULL, waits, NULL, 0), CORO_ENOMEM);
	fail_alloc = -1;
	CHECK_EQ(coro_scope_wait(s), CORO_OK);
	CHECK_EQ(coro_scope_spawn(s, &here, waits, NULL, 0), CORO_OK);
	CHECK_EQ(coro_scope_cancel(s), CORO_OK);
	CHECK_EQ(coro_scope_cancel(s), CORO_OK);      /* allowed */
	CHECK_EQ(coro_scope_wait(s), CORO_ECANCELED); /* the child had not begun */
	add_one(&refused);
}

static void misused(void *arg, void *result)
{
	coro_scope *s = open_scope();
	coro_handle h;
	(void)arg;
	(void)result;

	CHECK_EQ(coro_spawn_attr(JOINABLE(0), misuses, &s, sizeof s, &h), CORO_OK);
	CHECK_EQ(coro_join(h, NULL, 0), CORO_OK);
}

TEST(scope_refusals)
{
	coro_scheduler *s = start_with(1, 0);
	coro_scope *none;

	CHECK_EQ(coro_scope_new(&none), CORO_EPERM);
	spawn(s, misused, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(refused, 1);
	finish(s);
}

/* Of several failures, the first child's is told. A child that was only canceled counts as a
 * failure if no other failed. */
static void told_of_the_first(void *arg, void *result)
{
	coro_scope *s = open_scope();
	/* all that there can be */
	coro_attr large = {.size = sizeof large, .stack_bytes = 8 * STACK};
	(void)arg;
	(void)result;

	CHECK_EQ(coro_scope_spawn(s, NULL, fails, NULL, 0), CORO_OK);
	CHECK_EQ(coro_scope_spawn(s, NULL, fails, NULL, 0), CORO_OK);
	/* both have begun; one that is canceled in its sleep fails, too */
	CHECK_EQ(coro_yield(), CORO_OK);
	CHECK_EQ(coro_scope_wait(s), CORO_EABORTED);
	CHECK_EQ(coro_scope_spawn(s, &large, waits, NULL, 0), CORO_OK);
	CHECK_EQ(coro_scope_spawn(s, NULL, fails, NULL, 0), CORO_OK);
	CHECK_EQ(coro_scope_wait(s), CORO_EABORTED); /* the first ends canceled, unstarted */
	CHECK_EQ(coro_scope_spawn(s, &large, waits, NULL, 0), CORO_OK);
	CHECK_EQ(coro_scope_wait(s), CORO_ENOMEM);
	add_one(&refused);
}

TEST(scope_tells_of_the_first_failure)
{
	coro_options o = options(1, 0);
	o.stack_limit = 8 * STACK + 4096;
	coro_scheduler *s = start(&o);

	refused = 0;
	spawn(s, told_of_the_first, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(refused, 1);
	finish(s);
}

/* The arena ends before the scope, or between the scope and what the scope has deferred. */
static void opens_without_memory(void *arg, void *result)
{
	coro_scope *s;
	unsigned opened = 0;
	(void)arg;
	(void)result;

	for (int i = 0; i < 400; i++) {
		CHECK(coro_malloc(16 * (1 + (size_t)i % 5)));
		fail_alloc = 0;
		int status = coro_scope_new(&s);
		CHECK(status == (fail_alloc ? CORO_ENOMEM : CORO_OK));
		fail_alloc = -1;
		opened += status == CORO_OK;
		refused += status != CORO_OK;
	}
	CHECK(opened > 0);
}

TEST(scope_opened_without_memory)
{
	coro_scheduler *s = start_with(1, 0);

	refused = 0;
	spawn(s, opens_without_memory, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK(refused > 0);
	finish(s);
}

static void has_no_memory_for_it(void *arg, void *result)
{
	coro_scope *s = open_scope();
	(void)arg;
	(void)result;

	CHECK_EQ(coro_scope_spawn(s, NULL, waits, NULL, 0), CORO_OK);
	CHECK_EQ(coro_yield(), CORO_OK); /* the child has begun */
	CHECK_EQ(coro_scope_spawn(s, NULL, waits, NULL, 0), CORO_OK);
	fail_alloc = 0;
	CHECK_EQ(coro_yield(), CORO_OK);
	CHECK_EQ(fail_alloc, -1);
	CHECK_EQ(coro_scope_wait(s), CORO_EABORTED);
	add_one(&refused);
}

/* A child that could not tell of its end does not begin, and the others are canceled. */
TEST(scope_child_without_memory)
{
	coro_scheduler *s = start_with(1, 0);

	began = returned = canceled = refused = 0;
	spawn(s, has_no_memory_for_it, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(refused, 1);
	CHECK_EQ(began, 1);
	CHECK_EQ(canceled, 1);
	finish(s);
}

/* ----------------------------------------------------------------------------- scopes in scopes */

static void tree(void *arg, void *result)
{
	int64_t depth;
	coro_scope *s;
	(void)result;

	memcpy(&depth, arg, sizeof depth);
	add_one(&began);
	if (!depth--) {
		if (coro_park() == CORO_ECANCELED)
			add_one(&canceled);
		add_one(&returned);
		return;
	}
	s = open_scope();
	for (int i = 0; i < 3; i++)
		if (coro_scope_spawn(s, NULL, tree, &depth, sizeof depth))
			break;
	if (depth == 3) {
		coro_sleep(MS);
		CHECK_EQ(coro_scope_cancel(s), CORO_OK);
	}
	coro_scope_wait(s);
	add_one(&returned);
}

TEST(scope_a_cancel_reaches_the_whole_tree)
{
	for (int i = 0; i < 10; i++) {
		coro_scheduler *s = start_with(3, i % 2 ? CORO_PAUSED : 0);
		int64_t depth = 4;
		began = returned = canceled = 0;
		spawn(s, tree, &depth, sizeof depth);
		CHECK_EQ(i % 2 ? coro_scheduler_run(s) : coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(returned, began);
		finish(s);
	}
}

/* ---------------------------------------------------------------------------------------
 * tickers */

static void ticks(void *arg, void *result)
{
	coro_ticker t;
	uint64_t n, all = 0, start = coro_now();
	(void)arg;
	(void)result;

	CHECK_EQ(coro_ticker_init(&t, 0), CORO_EINVAL);
	CHECK_EQ(coro_ticker_init(NULL, 1), CORO_EINVAL);
	CHECK_EQ(coro_ticker_init(&t, UINT64_MAX), CORO_EINVAL);
	CHECK_EQ(coro_ticker_init(&t, MS), CORO_OK);
	for (int i = 0; i < 10; i++) {
		CHECK_EQ(coro_ticker_wait(&t, &n), CORO_OK);
		CHECK(n >= 1);
		all += n;
		CHECK(coro_now() - start >= all * MS);
	}
	coro_sleep(3 * MS);
	CHECK_EQ(coro_ticker_wait(&t, &n), CORO_OK);
	CHECK(n >= 3); /* ticks during the sleep are counted */
	CHECK_EQ(coro_ticker_wait(&t, NULL), CORO_OK);
	CHECK_EQ(coro_cancel(coro_self()), CORO_OK);
	CHECK_EQ(coro_ticker_wait(&t, &n), CORO_ECANCELED);
	add_one(&returned);
}

TEST(ticker_ticks)
{
	coro_scheduler *s = start_with(1, 0);
	coro_ticker t = {0, 0};

	CHECK_EQ(coro_ticker_wait(&t, NULL), CORO_EINVAL);
	CHECK_EQ(coro_ticker_wait(NULL, NULL), CORO_EINVAL);
	CHECK_EQ(coro_ticker_init(&t, MS), CORO_OK);
	CHECK_EQ(coro_ticker_wait(&t, NULL), CORO_EPERM);
	spawn(s, ticks, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(returned, 1);
	finish(s);
}
