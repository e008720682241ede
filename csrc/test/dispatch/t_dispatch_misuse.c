/*
 * t_dispatch_misuse.c - the manual dispatcher: each misuse is an error, and changes nothing.
 */
#include "fifo.h"

#include <stdlib.h>

/* ------------------------------------------------------------------------------------ arguments */

TEST(dispatch_wrong_arguments)
{
	coro_dispatcher *d;
	coro_dispatched c = {{0}};
	coro_dispatch_policy good = fifo_policy, bad;

	CHECK_EQ(coro_dispatch_new(NULL, &good), CORO_EINVAL);
	CHECK_EQ(coro_dispatch_new(&d, NULL), CORO_EINVAL);
	bad = good, bad.size--;
	CHECK_EQ(coro_dispatch_new(&d, &bad), CORO_EINVAL);
	bad = good, bad.flags = CORO_DISPATCH_GIVE_BACK << 1;
	CHECK_EQ(coro_dispatch_new(&d, &bad), CORO_EINVAL);
	bad = good, bad.next = NULL;
	CHECK_EQ(coro_dispatch_new(&d, &bad), CORO_EINVAL);
	bad = good, bad.alloc = NULL;
	CHECK_EQ(coro_dispatch_new(&d, &bad), CORO_EINVAL);
	bad = good, bad.free = NULL;
	CHECK_EQ(coro_dispatch_new(&d, &bad), CORO_EINVAL);
	bad = good, bad.stack_bytes = CORO_STACK_MIN - 1;
	CHECK_EQ(coro_dispatch_new(&d, &bad), CORO_EINVAL);
	bad = good, bad.stack_bytes = CORO_STACK_MAX + 1;
	CHECK_EQ(coro_dispatch_new(&d, &bad), CORO_EINVAL);
	bad = good, bad.stack_bytes = SIZE_MAX;
	CHECK_EQ(coro_dispatch_new(&d, &bad), CORO_EINVAL);

	CHECK_EQ(coro_dispatch_new(&d, &good), CORO_OK);
	CHECK_EQ(coro_dispatch_init(NULL, d, player_main, NULL), CORO_EINVAL);
	CHECK_EQ(coro_dispatch_init(&c, NULL, player_main, NULL), CORO_EINVAL);
	CHECK_EQ(coro_dispatch_init(&c, d, NULL, NULL), CORO_EINVAL);
	CHECK_EQ(coro_dispatch_status(NULL), CORO_EINVAL);
	CHECK_EQ(coro_dispatch_status(&c), CORO_EINVAL);
	CHECK_EQ(coro_dispatch_drop(NULL), CORO_EINVAL);
	CHECK_EQ(coro_dispatch_drop(&c), CORO_EINVAL);
	CHECK_EQ(coro_dispatch_run(NULL), CORO_EINVAL);
	CHECK_EQ(coro_dispatch_block(), CORO_EPERM);
	CHECK(!coro_dispatch_self());
	CHECK_EQ(coro_abort(), CORO_EPERM);
	CHECK_EQ(coro_dispatch_free(d), CORO_OK);
	CHECK_EQ(coro_dispatch_free(NULL), CORO_OK);
}

/* --------------------------------------------------------------------- calls in the wrong place */

/* What the callbacks may not do: no coroutine is current there, and nothing comes of it. */
static void ask_for_trouble(void)
{
	coro_dispatcher *other;

	CHECK_EQ(coro_dispatch_block(), CORO_EPERM);
	CHECK_EQ(coro_abort(), CORO_EPERM);
	CHECK_EQ(coro_exit(), CORO_EPERM);
	CHECK_EQ(coro_defer(free, NULL), CORO_EPERM);
	CHECK(!coro_malloc(1));
	CHECK_EQ(coro_stack_left(), 0);
	CHECK_EQ(coro_dispatch_run(dispatcher), CORO_EPERM);
	CHECK_EQ(coro_dispatch_new(&other, &fifo_policy), CORO_OK);
	CHECK_EQ(coro_dispatch_run(other), CORO_EPERM);
	CHECK_EQ(coro_dispatch_free(other), CORO_OK);
	CHECK_EQ(coro_dispatch_free(dispatcher), CORO_EBUSY);
}

static void makes_trouble(struct player *p)
{
	coro_dispatched *c = &p->own;

	CHECK_EQ(coro_dispatch_run(dispatcher), CORO_EPERM);
	CHECK_EQ(coro_dispatch_free(dispatcher), CORO_EBUSY);
	CHECK_EQ(coro_dispatch_init(c, dispatcher, player_main, p), CORO_EBUSY);
	CHECK_EQ(coro_dispatch_drop(c), CORO_EBUSY);
	CHECK_EQ(coro_yield_value(1, NULL), CORO_EPERM);
	CHECK_EQ(coro_yield(), CORO_EPERM);
	CHECK_EQ(coro_park(), CORO_EPERM);
	CHECK_EQ(coro_sleep(1), CORO_EPERM);
	CHECK_EQ(coro_self(), 0);
	CHECK_EQ(coro_spawn((coro_fn)(void *)player_main, NULL, 0), CORO_EPERM);
	coro_sem s = {{0}};
	CHECK_EQ(coro_sem_acquire(&s, CORO_FOREVER), CORO_EPERM);
	CHECK_EQ(coro_dispatch_park(), CORO_EPERM);
	CHECK_EQ(coro_dispatch_id_self(), 0);
	CHECK_EQ(coro_dispatch_block(), CORO_OK);
	CHECK(coro_stack_left() > 0);
	p->rounds++;
}

TEST(dispatch_what_is_not_allowed_inside)
{
	fifo_open(0);
	fifo.asking = ask_for_trouble;
	struct player *p = fifo_enter_many(2, makes_trouble);
	/* p[0] is fresh */
	CHECK_EQ(coro_dispatch_init(&p->own, dispatcher, player_main, p), CORO_EBUSY);
	fifo_run();
	CHECK_EQ(p[0].rounds + p[1].rounds, 2);
	CHECK_EQ(coro_dispatch_drop(&p->own), CORO_EINVAL);
	fifo_enter(p, nothing); /* ended coroutines can be used again */
	fifo_run_all(p, 2, CORO_FINISHED);
}

/* -------------------------------------------------------------------- what next must not return */

/* What `next` must not return ends the run, and nothing else. */
static coro_dispatched *blocked_one;

static void drops_another(void *arg)
{
	(void)arg;
	CHECK_EQ(coro_dispatch_status(blocked_one), CORO_EBUSY);
	fifo.wrong = blocked_one; /* `next` returns it while it is being dropped */
	CHECK_EQ(coro_dispatch_block(), CORO_OK);
}

static void defers_and_blocks(struct player *p)
{
	CHECK_EQ(coro_defer(drops_another, NULL), CORO_OK);
	blocked_one = &p->own;
	CHECK_EQ(coro_dispatch_block(), CORO_OK);
	CHECK(false);
}

static void drops_it(struct player *p)
{
	fifo.head = fifo.tail;
	CHECK_EQ(coro_dispatch_drop(blocked_one), CORO_OK);
	CHECK_EQ(coro_dispatch_status(blocked_one), CORO_ABORT);
	p->rounds++;
}

TEST(dispatch_next_returns_what_cannot_run)
{
	coro_dispatched none = {{0}}, foreign = {{0}};
	coro_dispatcher *other;

	fifo_open(0);
	CHECK_EQ(coro_dispatch_new(&other, &fifo_policy), CORO_OK);
	CHECK_EQ(coro_dispatch_init(&foreign, other, player_main, NULL), CORO_OK);
	struct player *p = fifo_enter_many(3, blocks_once);
	fifo.wrong = &none;
	CHECK_EQ(coro_dispatch_run(dispatcher), CORO_EINVAL);
	fifo.wrong = &foreign;
	CHECK_EQ(coro_dispatch_run(dispatcher), CORO_EINVAL);
	fifo_run();
	CHECK_EQ(p[0].rounds + p[1].rounds + p[2].rounds, 3);
	fifo.wrong = &p[1].own;
	CHECK_EQ(coro_dispatch_run(dispatcher), CORO_ENDED);
	CHECK_EQ(coro_dispatch_free(other), CORO_OK);

	fifo_enter(&p[0], defers_and_blocks);
	fifo_enter(&p[1], drops_it);
	CHECK_EQ(coro_dispatch_run(dispatcher), CORO_EBUSY);
	fifo_run();
	CHECK_EQ(p[1].rounds, 2);
	free(p);
	fifo_close();
}

/* By `next` after a block and after an end, in a loop on the shared stack: a run ends in both
 * ways. */
static void makes_next_wrong(struct player *p)
{
	static coro_dispatched none;

	if (p->id)
		CHECK_EQ(coro_dispatch_block(), CORO_OK);
	fifo.wrong = &none;
	p->rounds++;
}

TEST(dispatch_next_is_wrong_after_an_end)
{
	fifo_open(0);
	struct player *p = fifo_enter_many(2, makes_next_wrong);
	CHECK_EQ(coro_dispatch_run(dispatcher), CORO_EINVAL);
	CHECK_EQ(p[0].rounds, 1);
	CHECK_EQ(coro_dispatch_run(dispatcher), CORO_EINVAL);
	CHECK_EQ(p[1].rounds, 1);
	fifo_run_all(p, 2, CORO_FINISHED);
}

/* --------------------------------------------------------------------------- inside a scheduler */

static void runs_in_a_scheduler(void *arg, void *result)
{
	(void)arg;
	(void)result;
	coro_handle self = coro_self();
	CHECK_EQ(coro_yield(), CORO_OK);
	fifo_open(0);
	fifo_run_all(fifo_enter_many(10, makes_trouble), 10, CORO_FINISHED);
	CHECK_EQ(coro_self(), self);
	CHECK_EQ(coro_yield(), CORO_OK);
	fifo_open(0);
	fifo_run_all(fifo_enter_many(50, small_frames), 50, CORO_FINISHED);
	CHECK_EQ(coro_yield(), CORO_OK);
}

TEST(dispatch_runs_in_a_scheduler)
{
	for (uint32_t flags = 0; flags <= CORO_DENSE; flags += CORO_DENSE) {
		coro_scheduler *s = start_with(2, 0);
		coro_attr attr = {
			.size = sizeof attr, .flags = flags, .stack_bytes = flags ? 0 : 4 * STACK};
		CHECK_EQ(coro_scheduler_spawn(s, &attr, runs_in_a_scheduler, NULL, 0, NULL),
			 CORO_OK);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		finish(s);
	}
}
