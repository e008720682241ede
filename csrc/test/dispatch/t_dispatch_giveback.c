/*
 * t_dispatch_giveback.c - CORO_DISPATCH_GIVE_BACK: a coroutine that runs has no buffer.
 */
#include "fifo.h"
#include "pools.h"

#include <stdlib.h>

static unsigned blocked; /* players that have blocked, and not continued */

static void open_giving_back(void)
{
	coro_dispatch_policy p = fifo_policy;

	p.flags = CORO_DISPATCH_GIVE_BACK;
	fifo_reset();
	blocked = 0;
	CHECK_EQ(coro_dispatch_new(&dispatcher, &p), CORO_OK);
}

static void owns_one_while_it_is_blocked(struct player *p)
{
	for (; p->rounds < 20; p->rounds++) {
		blocked++;
		with_pattern((unsigned)(p->id % 7 + 1) * (p->rounds % 3 + 1), p->id);
		blocked--;
		CHECK_EQ(fifo.live, blocked);
	}
}

/* Alone, it is not copied; among others, it is. */
TEST(dispatch_giveback_has_no_buffer_while_it_runs)
{
	for (unsigned n = 1; n <= 50; n += 49) {
		open_giving_back();
		struct player *p = fifo_enter_many(n, owns_one_while_it_is_blocked);
		fifo_run();
		CHECK_EQ(fifo.allocs, 20 * n);
		fifo_run_all(p, n, CORO_FINISHED);
	}
}

TEST(dispatch_giveback_keeps_any_frames)
{
	open_giving_back();
	fifo.random = 3;
	fifo_run_all(fifo_enter_many(40, any_frames), 40, CORO_FINISHED);
}

/* Each block asks, so each block may be refused; nothing has happened then. */
static void is_refused_each_time(struct player *p)
{
	volatile uint64_t own = p->id;

	for (; p->rounds < 10; p->rounds++) {
		uint64_t asked = fifo.asked;
		fifo.fail_in = 0;
		CHECK_EQ(coro_dispatch_block(), CORO_ENOMEM);
		CHECK_EQ(fifo.fail_in, -1);
		fifo.refused = 0;
		CHECK_EQ(fifo.asked, asked);
		CHECK_EQ(coro_dispatch_status(&p->own), CORO_EBUSY);
		with_pattern(p->rounds + 1, p->id);
		CHECK(own == p->id);
	}
}

TEST(dispatch_giveback_without_memory_is_an_error_of_the_block)
{
	open_giving_back();
	fifo_run_all(fifo_enter_many(5, is_refused_each_time), 5, CORO_FINISHED);
	CHECK_EQ(fifo.allocs, 50);
}

static unsigned freed;

/* What free may not do to the coroutine that is about to continue, nor to the dispatcher. */
static void free_misused(void *user, coro_dispatched *c, void *buffer, size_t bytes)
{
	CHECK_EQ(coro_dispatch_status(c), CORO_EBUSY);
	CHECK_EQ(coro_dispatch_drop(c), CORO_EBUSY);
	CHECK_EQ(coro_dispatch_init(c, dispatcher, player_main, c), CORO_EBUSY);
	CHECK_EQ(coro_dispatch_run(dispatcher), CORO_EPERM);
	CHECK_EQ(coro_dispatch_free(dispatcher), CORO_EBUSY);
	CHECK_EQ(coro_dispatch_block(), CORO_EPERM);
	freed++;
	fifo_free(user, c, buffer, bytes);
}

TEST(dispatch_giveback_misused_free)
{
	coro_dispatch_policy p = fifo_policy;

	p.flags = CORO_DISPATCH_GIVE_BACK;
	p.free = free_misused;
	freed = 0;
	fifo_reset();
	CHECK_EQ(coro_dispatch_new(&dispatcher, &p), CORO_OK);
	fifo_run_all(fifo_enter_many(4, small_frames), 4, CORO_FINISHED);
	CHECK_EQ(freed, 80);
}

static void never_continues(struct player *p)
{
	with_pattern(30, p->id);
	CHECK(false);
}

static void ends_the_run(struct player *p)
{
	(void)p;
	fifo.head = fifo.tail;
}

/* The frames of one that is blocked stay in its buffer after the run, until it is dropped. */
TEST(dispatch_giveback_drop)
{
	open_giving_back();
	struct player *p = fifo_enter_many(3, never_continues);
	p[2].body = ends_the_run;
	fifo_run();
	CHECK_EQ(fifo.live, 2);
	CHECK_EQ(coro_dispatch_drop(&p[0].own), CORO_OK);
	CHECK_EQ(coro_dispatch_drop(&p[1].own), CORO_OK);
	CHECK_EQ(coro_dispatch_status(&p[2].own), CORO_FINISHED);
	free(p);
	fifo_close();
}

/* ---------------------------------------------------------------------------------------- pools */

static uint32_t flags;

/* The buffer of the first park is there for the second, or it is not. */
static void parks_twice(void *arg)
{
	coro_dispatch_id me = coro_dispatch_id_self();
	(void)arg;

	CHECK_EQ(coro_dispatch_block(), CORO_OK);
	fail_block = 0;
	fail_blocks = 1;
	int status = coro_dispatch_block();
	CHECK_EQ(status, flags ? CORO_ENOMEM : CORO_OK);
	fail_block = -1;
	fail_blocks = 0;
	CHECK_EQ(coro_dispatch_wake(pool, me), CORO_OK);
	CHECK_EQ(coro_dispatch_park(), CORO_OK);
	add_one(&pool_done);
}

static void park_in_pool(uint32_t policy, uint32_t threads)
{
	for (flags = 0; flags <= CORO_DISPATCH_GIVE_BACK; flags += CORO_DISPATCH_GIVE_BACK) {
		coro_dispatch_pool_options o = {
			.size = sizeof o, .policy = policy, .threads = threads, .flags = flags};
		CHECK_EQ(coro_dispatch_pool_new(&pool, &o), CORO_OK);
		pool_done = 0;
		pool_spawn(parks_twice, NULL, 0);
		CHECK_EQ(coro_dispatch_pool_wait(pool), CORO_OK);
		CHECK_EQ(seen(&pool_done), 1);
		pool_end(pool);
	}
}

TEST(dispatch_giveback_in_a_pool)
{
	pool_each(1, park_in_pool);
}
