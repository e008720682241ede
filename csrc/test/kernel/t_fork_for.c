/*
 * t_fork_for.c - coro_for: every number once, and in order where nobody takes; ranges of all kinds;
 * cancels and ends in a part.
 */
#include "test.h"

#include <sched.h>
#include <string.h>

static uint64_t done, parts, numbers;
static uint8_t times[1 << 16];

struct range {
	int64_t begin, end, grain;
	int64_t next; /* in order: the number that comes next */
};

static void run_in(uint32_t workers, coro_fn fn)
{
	coro_scheduler *s = start_with(workers, 0);

	done = 0;
	run_alone(s, NULL, fn);
	CHECK_EQ(done, 1);
}

/* ---------------------------------------------------------------------------------- each number */

static void marks(int64_t from, int64_t to, void *arg)
{
	const struct range *r = arg;

	CHECK(from < to && from >= r->begin && to <= r->end);
	CHECK(to - from <= (r->grain < 1 ? 1 : r->grain));
	for (int64_t i = from; i < to; i++)
		CHECK_EQ(__atomic_add_fetch(&times[i - r->begin], 1, __ATOMIC_RELAXED), 1);
	add_to(&numbers, (uint64_t)(to - from));
	if (from % 64 == 0 && coro_self())
		CHECK_EQ(coro_yield(), CORO_OK);
}

static void each_once(int64_t begin, int64_t end, int64_t grain)
{
	struct range r = {begin, end, grain, begin};
	int64_t n = end > begin ? end - begin : 0;

	memset(times, 0, (size_t)n);
	numbers = 0;
	CHECK_EQ(coro_for(begin, end, grain, marks, &r), CORO_OK);
	CHECK_EQ(numbers, n);
	for (int64_t i = 0; i < n; i++)
		CHECK_EQ(times[i], 1);
}

static void all_ranges(void)
{
	static const int64_t grains[] = {INT64_MIN, -1, 0, 1, 2, 7, 1000, INT64_MAX};

	for (int i = 0; i < 8; i++) {
		each_once(0, (int64_t)scaled(5000), grains[i]);
		each_once(-300, 200, grains[i]);
		each_once(-20, -13, grains[i]);
		each_once(5, 6, grains[i]);
		each_once(5, 5, grains[i]);
		each_once(6, 5, grains[i]);
		each_once(INT64_MAX, INT64_MIN, grains[i]);
		each_once(INT64_MIN, INT64_MIN + 100, grains[i]);
		each_once(INT64_MAX - 100, INT64_MAX, grains[i]);
	}
	each_once(0, 1 << 16, 10);
}

static void loops(void *arg, void *result)
{
	(void)arg;
	(void)result;
	all_ranges();
	CHECK_EQ(coro_for(0, 1, 1, NULL, NULL), CORO_EINVAL);
	done++;
}

TEST(fork_for_each_number_once)
{
	for (uint32_t workers = 1; workers <= 4; workers++)
		run_in(workers, loops);
	all_ranges(); /* on a plain thread */
	CHECK_EQ(coro_for(0, 1, 1, NULL, NULL), CORO_EINVAL);
}

static void sums_parts(int64_t from, int64_t to, void *arg)
{
	(void)arg;
	CHECK(from < to);
	add_to(&numbers, (uint64_t)to - (uint64_t)from);
	add_one(&parts);
	sched_yield();
}

static void loops_over_all(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int64_t grain = INT64_MAX; grain > INT64_MAX / 100; grain /= 3) {
		numbers = parts = 0;
		CHECK_EQ(coro_for(INT64_MIN, INT64_MAX, grain, sums_parts, NULL), CORO_OK);
		CHECK(numbers == UINT64_MAX);
		CHECK(parts >= UINT64_MAX / (uint64_t)grain);
	}
	done++;
}

TEST(fork_for_all_numbers)
{
	for (uint32_t workers = 1; workers <= 3; workers++)
		run_in(workers, loops_over_all);
}

static void in_order(int64_t from, int64_t to, void *arg)
{
	struct range *r = arg;

	CHECK_EQ(from, r->next);
	CHECK(to - from == r->grain || to == r->end);
	r->next = to;
	parts++;
}

static void loops_in_order(void *arg, void *result)
{
	struct range r = {-1000, 1000, 7, -1000};
	(void)arg;
	(void)result;

	parts = 0;
	CHECK_EQ(coro_for(r.begin, r.end, r.grain, in_order, &r), CORO_OK);
	CHECK_EQ(r.next, 1000);
	CHECK_EQ(parts, (2000 + 6) / 7);
	done++;
}

static intptr_t by_hand(void *arg, intptr_t first)
{
	loops_in_order(arg, NULL);
	return first;
}

TEST(fork_for_in_order_where_nobody_takes)
{
	coro_attr dense = {.size = sizeof dense, .flags = CORO_DENSE}, pinned = on(1);
	coro_t *co;

	run_in(1, loops_in_order);
	done = 0;
	loops_in_order(NULL, NULL);
	run_alone(start_with(2, 0), &dense, loops_in_order);
	run_alone(start_with(2, 0), &pinned, loops_in_order);
	CHECK_EQ(coro_new(&co, by_hand, NULL, STACK), CORO_OK);
	CHECK_EQ(coro_resume(co, 0, NULL), CORO_FINISHED);
	CHECK_EQ(coro_free(co), CORO_OK);
	CHECK_EQ(done, 4);
}

static uint64_t others_run;

/* The first part goes on until another has run beside it. */
static void waits_for_others(int64_t from, int64_t to, void *arg)
{
	(void)arg;
	add_to(&numbers, (uint64_t)(to - from));
	if (from == 0)
		while (!seen(&others_run))
			sched_yield();
	else
		add_one(&others_run);
}

static void loops_beside(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < 50; i++) {
		others_run = numbers = 0;
		CHECK_EQ(coro_for(0, 100, 10, waits_for_others, NULL), CORO_OK);
		CHECK_EQ(numbers, 100);
	}
	done++;
}

TEST(fork_for_is_split_for_an_idle_worker)
{
	run_in(2, loops_beside);
}

/* ----------------------------------------------------------------------------- cancels and ends */

static void cancels_at(int64_t from, int64_t to, void *arg)
{
	(void)to;
	add_one(&parts);
	if (from == *(int64_t *)arg)
		CHECK_EQ(coro_cancel(coro_self()), CORO_OK);
}

static void loops_until_canceled(void *arg, void *result)
{
	int64_t at = 30;
	(void)arg;
	(void)result;

	parts = 0;
	CHECK_EQ(coro_for(0, 100, 10, cancels_at, &at), CORO_ECANCELED);
	CHECK_EQ(parts, 4);
	CHECK_EQ(coro_canceled(), 1);
	CHECK_EQ(coro_for(0, 100, 10, cancels_at, &at), CORO_ECANCELED);
	CHECK_EQ(parts, 4);
	done++;
}

TEST(fork_for_is_canceled_between_parts)
{
	run_in(1, loops_until_canceled);
}

static coro_handle looping;

static void goes_on_until_canceled(int64_t from, int64_t to, void *arg)
{
	(void)from;
	(void)to;
	(void)arg;
	if (add_one(&parts) == 100)
		CHECK_EQ(coro_cancel(looping), CORO_OK);
	sched_yield();
}

static void loops_for_ever(void *arg, void *result)
{
	(void)arg;
	(void)result;
	looping = coro_self();
	CHECK_EQ(coro_for(INT64_MIN, INT64_MAX, 1, goes_on_until_canceled, NULL), CORO_ECANCELED);
	CHECK_EQ(coro_canceled(), 1);
	done++;
}

/* By whichever part: those that others run are canceled, too. */
TEST(fork_for_is_canceled_as_a_whole)
{
	/* a thousand parts wait where they are slow, each on a fiber */
	for (uint32_t workers = 1; workers <= (FIBERS ? 1 : 3); workers++) {
		parts = 0;
		run_in(workers, loops_for_ever);
	}
}

static void ends_at(int64_t from, int64_t to, void *arg)
{
	int how = *(int *)arg;

	(void)to;
	add_one(&parts);
	if (from < 500)
		return;
	if (how == 0)
		coro_abort();
	if (how == 1)
		coro_fail((int)from, "here");
}

static void loops_until_an_end(void *arg, void *result)
{
	coro_for(0, 1000, 1, ends_at, arg);
	*(int *)result = 1; /* the end was in a part that another ran: see the next test */
}

static void has_loops_that_end(void *arg, void *result)
{
	static const int want[] = {CORO_EABORTED, CORO_EFAILED};
	(void)arg;
	(void)result;

	for (int how = 0; how < 2; how++) {
		int got = 0;
		coro_fork f;
		parts = 0;
		coro_fork_begin(&f, loops_until_an_end, &how, &got);
		CHECK_EQ(coro_fork_join(&f), want[how]);
		CHECK_EQ(got, 0);
		CHECK_EQ(parts, 501);
	}
	done++;
}

/* In the caller's part, the caller ends. */
TEST(fork_for_ends_with_its_caller)
{
	run_in(1, has_loops_that_end);
}

/* The upper half is taken while the first part waits for that, and two of its parts fail. */
static void fails_in_upper_parts(int64_t from, int64_t to, void *arg)
{
	(void)to;
	(void)arg;
	if (from == 0) {
		while (!seen(&others_run))
			sched_yield();
		return;
	}
	if (from >= 50) {
		add_one(&others_run);
		coro_fail((int)from, NULL);
	}
}

static void loops_with_failures(void *arg, void *result)
{
	int code = 0;
	(void)arg;
	(void)result;

	others_run = 0;
	CHECK_EQ(coro_for(0, 100, 10, fails_in_upper_parts, NULL), CORO_EFAILED);
	CHECK_EQ(coro_join_error(&code, NULL, 0), 0);
	CHECK_EQ(code, 50);
	CHECK_EQ(coro_canceled(), 0);
	done++;
}

TEST(fork_for_tells_how_a_taken_part_has_ended)
{
	run_in(2, loops_with_failures);
}
