/*
 * t_select.c - select: one of several channels, and the others are unchanged.
 */
#include "dense_bodies.h"

static uint64_t done;
static void *const one = &(uint64_t){0};

/* --------------------------------------------------------------------------- a free and a close */

static coro_chan *two[2];

static void waits_for_one_of_two(void *arg, void *result)
{
	uint64_t v = 0, w = 0;
	coro_case cases[2] = {{.chan = two[0], .recv = &v}, {.chan = two[1], .recv = &w}};
	(void)arg;
	(void)result;

	CHECK_EQ(coro_select(cases, 2, CORO_FOREVER), 0);
	CHECK_EQ(v, 1);
	CHECK_EQ(w, 0);
	done++;
}

static void serves_and_frees(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_chan_free(two[1]), CORO_EBUSY);
	CHECK_EQ(coro_chan_send(two[0], &(uint64_t){1}, 0), CORO_OK);
	/* the waiter of this channel was served at the other one */
	CHECK_EQ(coro_chan_send(two[1], &(uint64_t){2}, 0), CORO_ETIMEDOUT);
	/* and the select is still in this queue */
	CHECK_EQ(coro_chan_free(two[1]), CORO_EBUSY);
	/* but not in that one */
	CHECK_EQ(coro_chan_free(two[0]), CORO_OK);
	coro_yield();
	CHECK_EQ(done, 1);
	CHECK_EQ(coro_chan_free(two[1]), CORO_OK);
}

TEST(chan_is_not_freed_under_a_select)
{
	coro_scheduler *s = start_with(1, CORO_PAUSED);

	two[0] = channel(8, 0);
	two[1] = channel(8, 0);
	spawn(s, waits_for_one_of_two, NULL, 0);
	spawn(s, serves_and_frees, NULL, 0);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	finish(s);
}

/* A select that ends by a close of its channel writes nothing to its buffers. */
static coro_chan *ways[2];

static void selects_until_closed(void *arg, void *result)
{
	uint64_t got = 11;
	coro_case cases[2] = {{.chan = ways[0], .recv = &got}, {.chan = ways[1], .recv = &got}};
	(void)arg;
	(void)result;

	CHECK_EQ(coro_select(cases, 2, CORO_FOREVER), 1);
	CHECK_EQ(cases[1].status, CORO_ECLOSED);
	CHECK_EQ(got, 11);
	add_one(&done);
}

TEST(waits_of_a_select_end_by_a_close)
{
	for (int k = 0; k < 2; k++) {
		coro_scheduler *s = dense_start(1, 2, 0);
		done = 0;
		for (int i = 0; i < 2; i++)
			CHECK_EQ(coro_chan_new(&ways[i], 8, 0, 0), CORO_OK);
		CHECK_EQ(coro_scheduler_spawn(s, k ? &dense_attr : NULL, selects_until_closed, NULL,
					      0, NULL),
			 CORO_OK);
		until_waiting(s, 1);
		CHECK_EQ(coro_chan_close(ways[1]), CORO_OK);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(seen(&done), 1);
		for (int i = 0; i < 2; i++)
			CHECK_EQ(coro_chan_free(ways[i]), CORO_OK);
		finish(s);
	}
}

/* ------------------------------------------------------------------ little of the stack is left */

static uint64_t refused, waited;

/* The call returns, or refuses because too little of the stack is left: it never touches the
 * guard. */
static __attribute__((noinline)) int select_at_depth(coro_case *cases, size_t left,
						     uint64_t deadline)
{
	volatile char spent[64];

	spent[0] = 0;
	int status = coro_stack_left() > left + 200 ? select_at_depth(cases, left, deadline)
						    : coro_select(cases, CORO_CASES_MAX, deadline);
	spent[1] = spent[0];
	return status;
}

static void selects_at_all_depths(void *arg, void *result)
{
	uint64_t v;
	coro_chan *c = channel(8, 0);
	coro_case cases[CORO_CASES_MAX];
	(void)arg;
	(void)result;

	for (int i = 0; i < CORO_CASES_MAX; i++)
		cases[i] = (coro_case){.chan = c, .recv = &v};
	for (size_t left = 600; left < 12000; left += 16) {
		/* the first call of the clock needs more */
		int status = select_at_depth(cases, left, coro_now() + 50000);
		CHECK(status == CORO_ENOMEM || status == CORO_ETIMEDOUT);
		(*(status == CORO_ENOMEM ? &refused : &waited))++;
	}
	CHECK_EQ(coro_chan_free(c), CORO_OK);
}

static intptr_t selects_by_hand(void *arg, intptr_t first)
{
	uint64_t v;
	coro_case *cases = arg;
	(void)first;

	CHECK_EQ(select_at_depth(cases, 3000, CORO_FOREVER), CORO_ENOMEM);
	CHECK_EQ(coro_select(cases, 1, CORO_FOREVER), CORO_EPERM);
	CHECK_EQ(coro_select(cases, 1, 0), CORO_ETIMEDOUT);
	CHECK_EQ(coro_chan_send(cases[0].chan, one, CORO_FOREVER), CORO_EPERM);
	CHECK_EQ(coro_chan_recv(cases[0].chan, &v, CORO_FOREVER), CORO_EPERM);
	return 0;
}

TEST(chan_select_with_little_stack)
{
	coro_options o = options(1, CORO_PAUSED);
	o.stack_bytes = 32 << 10;
	coro_scheduler *s = start(&o);
	uint64_t v;
	coro_t *co;

	if (SANITIZED) /* frames have other sizes there */
		return;
	spawn(s, selects_at_all_depths, NULL, 0);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK(refused > 0 && waited > 0);
	finish(s);

	coro_case cases[CORO_CASES_MAX] = {{.chan = channel(8, 0), .recv = &v}};
	for (int i = 1; i < CORO_CASES_MAX; i++)
		cases[i] = cases[0];
	CHECK_EQ(coro_new(&co, selects_by_hand, cases, CORO_STACK_MIN), CORO_OK);
	CHECK_EQ(coro_resume(co, 0, NULL), CORO_FINISHED);
	CHECK_EQ(coro_free(co), CORO_OK);
	CHECK_EQ(coro_chan_free(cases[0].chan), CORO_OK);
}
