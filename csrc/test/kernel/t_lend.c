/*
 * t_lend.c - a thread that lends itself to a worker (kernel/lend.h): what becomes of a call's
 * coroutine that goes on elsewhere. The explorer has the protocol, Go's tests have Call.
 */
#include "test.h"

#include "kernel/lend.h"
#include "kernel/wait.h"

static uint64_t ran;

static void adds_one(void *arg, void *result)
{
	(void)arg;
	(void)result;
	add_one(&ran);
}

/* The coroutine leaves its worker before it has told anybody of itself, and ends there. */
static void moves(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_pin((uint32_t)!coro_worker()), CORO_OK);
	add_one(&ran);
}

/* The coroutine lies behind what it has spawned, when a thief comes. */
static void yields(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < 8; i++)
		CHECK_EQ(coro_spawn(adds_one, NULL, 0), CORO_OK);
	for (int i = 0; i < 8; i++)
		coro_yield();
	add_one(&ran);
}

/* lend_until_ended - a call of fn, whose end is taken as Go does. False: no worker could be lent. */
static bool lend_until_ended(coro_scheduler *s, coro_fn fn)
{
	struct coroi_lend l = {
		.sched = (uint64_t)(uintptr_t)s,
		.fn = (uint64_t)(uintptr_t)fn,
		.class = s->class,
		.id = COROI_JOIN_LENDER,
	};
	int outcome = coroi_lend_call(&l);

	if (outcome == COROI_LEND_SUSPENDED) {
		struct coroi_rec *r = (struct coroi_rec *)(uintptr_t)l.rec;
		uint64_t end = coroi_join_word(coroi_gen(l.gen), COROI_JOIN_FINAL,
					       COROI_FINAL_FOR_GO);
		while (at_load_acq(&coroi_cold(r)->join) != end)
			at_relax();
		CHECK_EQ(coroi_join_status(r), CORO_OK);
		coroi_join_free(r);
		return true;
	}
	CHECK(outcome == COROI_LEND_ENDED || outcome == COROI_LEND_NONE);
	return outcome == COROI_LEND_ENDED;
}

static void end_is_told(coro_fn fn, uint64_t each, uint64_t workers_kept)
{
	coro_options o = {.size = sizeof o, .workers = 2};
	coro_scheduler *s;
	uint64_t lent = 0;

	CHECK_EQ(coro_scheduler_init(&s, &o), CORO_OK);
	ran = 0;
	for (int i = 0; i < 2000; i++) {
		lent += lend_until_ended(s, fn);
		for (unsigned k = 0; workers_kept && k < s->workers; k++)
			at_store_rlx(&s->worker[k].kept, 0); /* what was pinned has ended */
	}
	CHECK_EQ(coro_scheduler_close(s, 0), CORO_OK);
	CHECK(lent > 0);
	CHECK_EQ(ran, lent * each);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
}

TEST(lend_end_of_one_that_moves)
{
	end_is_told(moves, 1, 1);
}

TEST(lend_end_of_one_that_yields)
{
	end_is_told(yields, 9, 0);
}
