/*
 * t_dispatch.c - the manual dispatcher: frames are unchanged when their owner goes on; the policy
 * is called when it is to be; a block without memory is an error; several runs and threads. Misuse:
 * t_dispatch_misuse.c; ends: t_dispatch_end.c.
 */
#include "fifo.h"

#include "dispatch/dispatch.h"

#include <stdlib.h>

/* ------------------------------------------------------------------------------------------
 * frames */

TEST(dispatch_frames_last)
{
	for (unsigned n = 1; n <= 1000; n = n < 4 ? n + 1 : n * 5) {
		fifo_open(0);
		fifo_run_all(fifo_enter_many(n, small_frames), n, CORO_FINISHED);
		fifo_open(0);
		fifo.random = n;
		fifo_run_all(fifo_enter_many(n, any_frames), n, CORO_FINISHED);
	}
}

TEST(dispatch_frames_last_on_stacks_of_any_size)
{
	for (size_t bytes = SANITIZED ? 64 << 10 : CORO_STACK_MIN; bytes <= CORO_STACK_MAX;
	     bytes *= 2) {
		fifo_open(bytes);
		fifo_run_all(fifo_enter_many(20, small_frames), 20, CORO_FINISHED);
	}
}

/* Each body stands at the address of the one before. */
static uintptr_t stood;

static void same_address(uintptr_t at)
{
	CHECK(!stood || stood == at);
	stood = at;
}

static void stands(struct player *p)
{
	same_address((uintptr_t)__builtin_frame_address(0));
	p->rounds = 1;
}

TEST(dispatch_one_that_never_blocks_is_only_called)
{
	fifo_open(0);
	stood = 0;
	struct player *p = fifo_enter_many(MANY, stands);
	fifo_run();
	CHECK_EQ(fifo.asked, MANY + 1);
	for (unsigned i = 0; i < MANY; i++) {
		CHECK_EQ(p[i].rounds, 1);
		CHECK_EQ(coro_dispatch_status(&p[i].own), CORO_FINISHED);
	}
	CHECK_EQ(fifo.allocs, 0);
	free(p);
	fifo_close();
}

/* One that blocks stands at the same address as one that does not, whatever ran there before. */
static void stands_and_blocks(struct player *p)
{
	same_address((uintptr_t)__builtin_frame_address(0));
	if (p->id % 3)
		CHECK_EQ(coro_dispatch_block(), CORO_OK);
	same_address((uintptr_t)__builtin_frame_address(0));
}

TEST(dispatch_all_stand_at_one_address)
{
	fifo_open(0);
	stood = 0;
	fifo.random = 3;
	fifo_run_all(fifo_enter_many(300, stands_and_blocks), 300, CORO_FINISHED);
}

#ifdef COROI_ASAN
/* A variable of a blocked coroutine: no other may look there. */
static const volatile uint64_t *not_yours;
static unsigned looks;

/* After an end, the dispatcher calls its policy on the stack itself. */
static void look(void)
{
	if (!fifo.last || coro_dispatch_status(fifo.last) != CORO_MAY_RESUME)
		return;
	CHECK(__asan_address_is_poisoned((const char *)not_yours));
	looks++;
}

static void shows_its_own(struct player *p)
{
	volatile uint64_t mine[4] = {p->id, 2, 3, 4};

	for (; p->rounds < 20; p->rounds++) {
		not_yours = mine;
		CHECK_EQ(coro_dispatch_block(), CORO_OK);
		CHECK(!__asan_address_is_poisoned((const char *)mine));
		CHECK(mine[0] == p->id && mine[3] == 4);
	}
}

static void shows_its_own_and_stays(struct player *p)
{
	volatile uint64_t mine = 1;

	not_yours = &mine;
	CHECK_EQ(coro_dispatch_block(), CORO_OK);
	CHECK(!__asan_address_is_poisoned((const char *)&mine));
	p->rounds = mine;
}

/* One alone stays the occupant, and goes on in its frames. Of three, each is copied. */
TEST(dispatch_frames_are_poisoned_while_their_owner_is_blocked)
{
	for (unsigned n = 1; n <= 3; n += 2) {
		fifo_open(0);
		fifo.asking = look;
		looks = 0;
		fifo_run_all(fifo_enter_many(n, shows_its_own), n, CORO_FINISHED);
		CHECK(looks >= 20);
	}
}

static coro_dispatched *nobody_after_one(coro_dispatcher *d, void *user)
{
	return fifo.asked ? (fifo.asked = 0, NULL) : fifo_next(d, user);
}

/* After the run no coroutine stands there. The memory is not poisoned for its next owner. */
TEST(dispatch_frames_are_poisoned_until_the_dispatcher_is_freed)
{
	coro_dispatch_policy p = fifo_policy;

	p.next = nobody_after_one;
	fifo_reset();
	CHECK_EQ(coro_dispatch_new(&dispatcher, &p), CORO_OK);
	struct player *one = fifo_enter_many(1, shows_its_own_and_stays);
	fifo_run();
	CHECK(__asan_address_is_poisoned((const char *)not_yours));
	fifo_ready(&one->own);
	fifo.last = NULL;
	fifo_run();
	CHECK_EQ(one->rounds, 1);
	free(one);
	fifo_close();
	CHECK(!__asan_address_is_poisoned((const char *)not_yours));
}
#endif

/* Nobody else wants the stack: there is a buffer, and nothing is copied to it. */
static const unsigned char *buffer_seen;
static size_t buffer_bytes;

static void *alloc_seen(void *user, coro_dispatched *c, size_t bytes)
{
	unsigned char *b = fifo_alloc(user, c, bytes);

	buffer_seen = b;
	buffer_bytes = bytes;
	return b;
}

static void blocks_a_lot(struct player *p)
{
	for (; p->rounds < 1000; p->rounds++)
		CHECK_EQ(coro_dispatch_block(), CORO_OK);
	for (size_t i = 0; i < buffer_bytes; i++)
		CHECK_EQ(buffer_seen[i], 0xa5);
}

TEST(dispatch_alone_one_is_not_copied)
{
	coro_dispatch_policy p = fifo_policy;

	p.alloc = alloc_seen;
	fifo_reset();
	CHECK_EQ(coro_dispatch_new(&dispatcher, &p), CORO_OK);
	struct player *one = fifo_enter_many(1, blocks_a_lot);
	fifo_run();
	CHECK_EQ(one->rounds, 1000);
	CHECK_EQ(fifo.allocs, 1);
	free(one);
	fifo_close();
}

/* A blocked coroutine owns its live bytes: some hundred. */
TEST(dispatch_a_blocked_one_owns_its_live_bytes)
{
	fifo_open(0);
	fifo_run_all(fifo_enter_many(1000, blocks_once), 1000, CORO_FINISHED);
	CHECK(fifo.most <= 1000 * (SANITIZED ? 4000 : 1000));
	CHECK_EQ(fifo.allocs, 1000);
}

/* A buffer that is too small, or much too large, is replaced. One that fits is kept. */
static void grows_and_shrinks(struct player *p)
{
	with_pattern(10, p->id);
	with_pattern(10, p->id);
	CHECK_EQ(fifo.allocs, 1);
	with_pattern(6000, p->id);
	CHECK_EQ(fifo.allocs, 2);
	with_pattern(5000, p->id);
	CHECK_EQ(fifo.allocs, 2);
	with_pattern(10, p->id);
	CHECK_EQ(fifo.allocs, 3);
	CHECK_EQ(fifo.live, 1);
	fifo.fail_in = 0; /* the one that is too large will do */
	with_pattern(6000 - 5990, p->id);
	fifo.fail_in = -1;
	with_pattern(6000, p->id);
	CHECK_EQ(fifo.allocs, 4);
	fifo.fail_in = 0;
	with_pattern(10, p->id);
	CHECK_EQ(fifo.allocs, 4);
	CHECK_EQ(fifo.fail_in, -1);
}

TEST(dispatch_buffers_fit)
{
	fifo_open(0);
	fifo_run_all(fifo_enter_many(1, grows_and_shrinks), 1, CORO_FINISHED);
}

/* ------------------------------------------------------------------------------- a ring of many */

static uint64_t *permits;
static unsigned ring;

/* n times, each takes a permit of its own and gives its neighbour one; in the end none is left for
 * it. */
static void in_ring(struct player *p)
{
	volatile uint64_t own = p->id * 7919;

	for (; p->rounds < 30; p->rounds++) {
		while (!permits[p->id])
			CHECK_EQ(coro_dispatch_block(), CORO_OK);
		permits[p->id]--;
		permits[(p->id + 1) % ring]++;
		CHECK(own == p->id * 7919);
	}
}

TEST(dispatch_ring_of_many)
{
	for (unsigned permits_there = 1; permits_there <= 8; permits_there += 7) {
		ring = permits_there == 1 ? 100 : 2000;
		fifo_open(0);
		permits = calloc(ring, sizeof *permits);
		for (unsigned i = 0; i < ring; i++)
			permits[i] = permits_there > 1 || i == 0;
		fifo_run_all(fifo_enter_many(ring, in_ring), ring, CORO_FINISHED);
		for (unsigned i = 0; i < ring; i++)
			CHECK_EQ(permits[i], permits_there > 1 || i == 0);
		free(permits);
	}
}

/* ------------------------------------------------------------------------------------ no memory */

/* Without a buffer, the block is an error. Nothing else has happened, and the coroutine may try
 * again. */
static void tries_again(struct player *p)
{
	volatile uint64_t own = p->id;
	uint64_t asked;

	for (unsigned i = 0; i < 6; i++) {
		asked = fifo.asked;
		p->status = coro_dispatch_block();
		if (p->status != CORO_OK) {
			CHECK_EQ(p->status, CORO_ENOMEM);
			fifo.refused--;
			CHECK_EQ(fifo.asked, asked);
			CHECK_EQ(coro_dispatch_status(&p->own), CORO_EBUSY);
			p->rounds++;
			CHECK_EQ(coro_dispatch_block(), CORO_OK);
		}
		CHECK(own == p->id);
		with_pattern(i * 40 + 1, p->id);
	}
}

TEST(dispatch_no_memory_is_an_error_of_the_block)
{
	bool refused = true;

	for (int k = 0; refused; k++) {
		fifo_open(0);
		fifo.fail_in = k;
		struct player *p = fifo_enter_many(5, tries_again);
		fifo_run();
		for (unsigned i = 0; i < 5; i++)
			CHECK_EQ(coro_dispatch_status(&p[i].own), CORO_FINISHED);
		refused = fifo.fail_in < 0;
		CHECK(fifo.refused <= 1); /* no refusal is seen by one with a larger buffer */
		free(p);
		fifo_close();
		CHECK(k < 1000);
	}
}

TEST(dispatch_no_memory_to_begin_with)
{
	coro_dispatcher *d = (coro_dispatcher *)&fifo;

	fail_alloc = 0;
	CHECK_EQ(coro_dispatch_new(&d, &fifo_policy), CORO_ENOMEM);
	fail_map = 0;
	CHECK_EQ(coro_dispatch_new(&d, &fifo_policy), CORO_ENOMEM);
	fail_guard = 0;
	CHECK_EQ(coro_dispatch_new(&d, &fifo_policy), CORO_ENOMEM);
	CHECK(d == (coro_dispatcher *)&fifo);
	CHECK_EQ(coro_dispatch_new(&d, &fifo_policy), CORO_OK);
	CHECK_EQ(coro_dispatch_free(d), CORO_OK);
}

static void *alloc_odd(void *user, coro_dispatched *c, size_t bytes)
{
	return (char *)fifo_alloc(user, c, bytes + 4) + 4;
}

static void free_odd(void *user, coro_dispatched *c, void *buffer, size_t bytes)
{
	CHECK_EQ((uintptr_t)buffer % 8, 4);
	fifo_free(user, c, (char *)buffer - 4, bytes + 4);
}

static void is_refused(struct player *p)
{
	for (; p->rounds < 3; p->rounds++)
		CHECK_EQ(coro_dispatch_block(), CORO_EINVAL);
}

TEST(dispatch_odd_buffers_are_refused)
{
	coro_dispatch_policy policy = fifo_policy;

	policy.alloc = alloc_odd;
	policy.free = free_odd;
	fifo_reset();
	CHECK_EQ(coro_dispatch_new(&dispatcher, &policy), CORO_OK);
	fifo_run_all(fifo_enter_many(3, is_refused), 3, CORO_FINISHED);
	CHECK_EQ(fifo.allocs, 9);
}

/* ---------------------------------------------------------------- several runs, several threads */

static unsigned stop_after;

static void stop_when_asked(void)
{
	if (stop_after && --stop_after == 0)
		fifo.wrong = (coro_dispatched *)&fifo; /* replaced in stopping_next */
}

static coro_dispatched *stopping_next(coro_dispatcher *d, void *user)
{
	coro_dispatched *c = fifo_next(d, user);

	if (c != (coro_dispatched *)&fifo)
		return c;
	if (fifo.last && coro_dispatch_status(fifo.last) == CORO_MAY_RESUME)
		fifo_ready(fifo.last);
	return fifo.last = NULL;
}

static void *run_elsewhere(void *arg)
{
	(void)arg;
	stop_after = 57;
	fifo_run();
	return NULL;
}

/* Between two runs, blocked coroutines lie in their buffers. Any thread may make the next run. */
TEST(dispatch_moves_between_threads)
{
	coro_dispatch_policy policy = fifo_policy;
	unsigned n = 50, runs = 0, ended;

	policy.next = stopping_next;
	fifo_reset();
	fifo.asking = stop_when_asked;
	fifo.random = 9;
	CHECK_EQ(coro_dispatch_new(&dispatcher, &policy), CORO_OK);
	struct player *p = fifo_enter_many(n, any_frames);
	do {
		pthread_t t;
		if (fifo.live)
			CHECK_EQ(coro_dispatch_free(dispatcher), CORO_EBUSY);
		thread_start(&t, run_elsewhere, NULL);
		thread_join(t);
		run_elsewhere(NULL);
		runs++;
		ended = 0;
		for (unsigned i = 0; i < n; i++)
			ended += coro_dispatch_status(&p[i].own) == CORO_FINISHED;
		if (runs == 1)
			CHECK(fifo.live > 0);
	} while (ended < n);
	CHECK(runs > 1);
	free(p);
	fifo_close();
}

static pthread_barrier_t both;

static void *runs_meanwhile(void *arg)
{
	(void)arg;
	CHECK_EQ(coro_dispatch_run(dispatcher), CORO_EBUSY);
	CHECK_EQ(coro_dispatch_free(dispatcher), CORO_EBUSY);
	pthread_barrier_wait(&both);
	return NULL;
}

static void lets_another_try(struct player *p)
{
	pthread_t t;

	thread_start(&t, runs_meanwhile, NULL);
	pthread_barrier_wait(&both);
	thread_join(t);
	p->rounds++;
}

TEST(dispatch_runs_on_one_thread_at_a_time)
{
	pthread_barrier_init(&both, NULL, 2);
	fifo_open(0);
	struct player *p = fifo_enter_many(1, lets_another_try);
	fifo_run();
	CHECK_EQ(p->rounds, 1);
	fifo_run_all(p, 1, CORO_FINISHED);
	pthread_barrier_destroy(&both);
}

static void *has_its_own(void *arg)
{
	(void)arg;
	coro_dispatcher *mine;

	CHECK_EQ(coro_dispatch_new(&mine, &fifo_policy), CORO_OK);
	CHECK_EQ(coro_dispatch_free(mine), CORO_OK);
	CHECK(!coro_dispatch_self());
	return NULL;
}

static void *drops_from_outside(void *arg)
{
	CHECK_EQ(coro_dispatch_drop(arg), CORO_EBUSY);
	return NULL;
}

static void is_alone_with_it(struct player *p)
{
	pthread_t t;

	thread_start(&t, has_its_own, NULL);
	thread_join(t);
	thread_start(&t, drops_from_outside, &p[1].own);
	thread_join(t);
	CHECK_EQ(coro_dispatch_block(), CORO_OK);
}

TEST(dispatch_belongs_to_its_thread)
{
	fifo_open(0);
	struct player *p = calloc(2, sizeof *p);
	fifo_enter(&p[0], is_alone_with_it);
	fifo_enter(&p[1], nothing);
	fifo_run_all(p, 2, CORO_FINISHED);
}
