/*
 * t_dispatch.c - the bare dispatcher: frames are what they were whenever their owner goes on, its policy is asked when it is to be,
 * and what is done wrong is an error.
 */
#include "test.h"

#include "../dispatch.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* ------------------------------------------------------------------------ a policy: first in first out */

#define MANY 4096

struct player {
	coro_dispatched own; /* first */
	uint64_t id;
	unsigned rounds;
	int status; /* of its last coro_dispatch_block */
	void (*body)(struct player *);
};

static struct fifo {
	coro_dispatched *queue[MANY];
	unsigned head, tail;       /* free-running */
	coro_dispatched *last;     /* who ran */
	uint64_t asked, live, bytes, most, allocs, frees;
	int fail_in;               /* so many buffers are had, and then one is refused; negative: none */
	unsigned refused;          /* of which nobody has been told */
	unsigned random;           /* not 0: its seed; any of the queue is next */
	coro_dispatched *wrong;    /* is returned once */
	void (*asking)(void);      /* called when it is asked */
} fifo;

static coro_dispatcher *dispatcher;

static void ready(coro_dispatched *c)
{
	CHECK(fifo.tail - fifo.head < MANY);
	fifo.queue[fifo.tail++ % MANY] = c;
}

static coro_dispatched *fifo_next(coro_dispatcher *d, void *user)
{
	CHECK(d == dispatcher);
	CHECK(user == &fifo);
	CHECK(!coro_dispatch_self());
	fifo.asked++;
	if (fifo.asking)
		fifo.asking();
	if (fifo.wrong) {
		coro_dispatched *wrong = fifo.wrong;
		fifo.wrong = NULL;
		return wrong;
	}
	if (fifo.last && coro_dispatch_status(fifo.last) == CORO_MAY_RESUME)
		ready(fifo.last);
	fifo.last = NULL;
	if (fifo.head == fifo.tail)
		return NULL;
	if (fifo.random) {
		uint64_t state = fifo.random;
		unsigned k = fifo.head + (unsigned)(rnd(&state) % (fifo.tail - fifo.head));
		fifo.random = (unsigned)state | 1;
		coro_dispatched *c = fifo.queue[k % MANY];
		fifo.queue[k % MANY] = fifo.queue[fifo.head % MANY];
		fifo.queue[fifo.head % MANY] = c;
	}
	return fifo.last = fifo.queue[fifo.head++ % MANY];
}

static void *fifo_alloc(void *user, coro_dispatched *c, size_t bytes)
{
	CHECK(user == &fifo);
	CHECK(c == fifo.last);
	CHECK_EQ(coro_dispatch_status(c), CORO_EBUSY);
	CHECK_EQ(coro_dispatch_drop(c), CORO_EBUSY);
	CHECK(!coro_dispatch_self());
	if (fifo.fail_in >= 0 && fifo.fail_in-- == 0) {
		fifo.refused++;
		return NULL;
	}
	fifo.allocs++;
	fifo.live++;
	fifo.bytes += bytes;
	if (fifo.bytes > fifo.most)
		fifo.most = fifo.bytes;
	return memset(malloc(bytes), 0xa5, bytes);
}

static void fifo_free(void *user, coro_dispatched *c, void *buffer, size_t bytes)
{
	CHECK(user == &fifo && c);
	CHECK(!coro_dispatch_self());
	fifo.frees++;
	fifo.live--;
	fifo.bytes -= bytes;
	free(buffer);
}

static const coro_dispatch_policy fifo_policy = {
	.size = sizeof(coro_dispatch_policy), .next = fifo_next, .alloc = fifo_alloc, .free = fifo_free, .user = &fifo,
};

/* fifo_reset - not by a struct on the stack, which may be small. */
static void fifo_reset(void)
{
	memset(&fifo, 0, sizeof fifo);
	fifo.fail_in = -1;
}

static void open_with(size_t stack_bytes)
{
	coro_dispatch_policy p = fifo_policy;

	p.stack_bytes = stack_bytes;
	fifo_reset();
	CHECK_EQ(coro_dispatch_new(&dispatcher, &p), CORO_OK);
}

static void close_all(void)
{
	CHECK_EQ(fifo.live, 0);
	CHECK_EQ(fifo.bytes, 0);
	CHECK_EQ(fifo.allocs, fifo.frees);
	CHECK_EQ(coro_dispatch_free(dispatcher), CORO_OK);
}

static void player_main(void *arg)
{
	struct player *p = arg;

	CHECK((struct player *)coro_dispatch_self() == p);
	CHECK_EQ(coro_dispatch_status(&p->own), CORO_EBUSY);
	p->body(p);
}

static void enter(struct player *p, void (*body)(struct player *))
{
	p->body = body;
	CHECK_EQ(coro_dispatch_init(&p->own, dispatcher, player_main, p), CORO_OK);
	CHECK_EQ(coro_dispatch_status(&p->own), CORO_MAY_RESUME);
	ready(&p->own);
}

static struct player *enter_many(unsigned n, void (*body)(struct player *))
{
	struct player *p = calloc(n, sizeof *p);

	for (unsigned i = 0; i < n; i++) {
		p[i].id = i;
		enter(&p[i], body);
	}
	return p;
}

static void run(void)
{
	CHECK_EQ(coro_dispatch_run(dispatcher), CORO_OK);
}

static void run_all(struct player *p, unsigned n, int how)
{
	run();
	for (unsigned i = 0; i < n; i++)
		CHECK_EQ(coro_dispatch_status(&p[i].own), how);
	free(p);
	close_all();
}

/* ------------------------------------------------------------------------------------------ frames */

/* A stretch of the stack with a pattern of its own, while its owner is blocked. */
static __attribute__((noinline)) void with_pattern(unsigned words, uint64_t seed)
{
	volatile uint64_t at[words];
	uint64_t state = seed * 2 + 1;

	for (unsigned i = 0; i < words; i++)
		at[i] = rnd(&state);
	int status = coro_dispatch_block();
	if (fifo.refused && status == CORO_ENOMEM) {
		fifo.refused--;
		status = coro_dispatch_block();
	}
	CHECK_EQ(status, CORO_OK);
	state = seed * 2 + 1;
	for (unsigned i = 0; i < words; i++)
		CHECK(at[i] == rnd(&state));
}

static __attribute__((noinline)) void deeper(unsigned levels, unsigned words, uint64_t seed)
{
	volatile uint64_t mine = seed ^ levels;

	if (levels)
		deeper(levels - 1, words, seed);
	with_pattern(words, seed + levels);
	CHECK(mine == (seed ^ levels));
}

static void small_frames(struct player *p)
{
	uint64_t state = p->id + 1;

	for (; p->rounds < 20; p->rounds++)
		with_pattern((unsigned)(rnd(&state) % 40 + 1), p->id);
}

static void any_frames(struct player *p)
{
	uint64_t state = p->id + 1;

	for (; p->rounds < 10; p->rounds++)
		with_pattern((unsigned)(rnd(&state) % (rnd(&state) % 8 ? 100 : 8000) + 1), p->id);
	deeper((unsigned)(p->id % 7), (unsigned)(p->id % 50 + 1), p->id);
}

TEST(dispatch_frames_last)
{
	for (unsigned n = 1; n <= 1000; n = n < 4 ? n + 1 : n * 5) {
		open_with(0);
		run_all(enter_many(n, small_frames), n, CORO_FINISHED);
		open_with(0);
		fifo.random = n;
		run_all(enter_many(n, any_frames), n, CORO_FINISHED);
	}
}

TEST(dispatch_frames_last_on_stacks_of_any_size)
{
	for (size_t bytes = SANITIZED ? 64 << 10 : CORO_STACK_MIN; bytes <= CORO_STACK_MAX; bytes *= 2) {
		open_with(bytes);
		run_all(enter_many(20, small_frames), 20, CORO_FINISHED);
	}
}

/* Each stands where the one before stood. */
static uintptr_t stood;

static void same_place(uintptr_t at)
{
	CHECK(!stood || stood == at);
	stood = at;
}

static void stands(struct player *p)
{
	same_place((uintptr_t)__builtin_frame_address(0));
	p->rounds = 1;
}

TEST(dispatch_who_never_blocks_is_only_called)
{
	open_with(0);
	stood = 0;
	struct player *p = enter_many(MANY, stands);
	run();
	CHECK_EQ(fifo.asked, MANY + 1);
	for (unsigned i = 0; i < MANY; i++) {
		CHECK_EQ(p[i].rounds, 1);
		CHECK_EQ(coro_dispatch_status(&p[i].own), CORO_FINISHED);
	}
	CHECK_EQ(fifo.allocs, 0);
	free(p);
	close_all();
}

/* Who blocks stands at the same place as who does not, whoever was there before. */
static void stands_and_blocks(struct player *p)
{
	same_place((uintptr_t)__builtin_frame_address(0));
	if (p->id % 3)
		CHECK_EQ(coro_dispatch_block(), CORO_OK);
	same_place((uintptr_t)__builtin_frame_address(0));
}

TEST(dispatch_all_stand_at_one_place)
{
	open_with(0);
	stood = 0;
	fifo.random = 3;
	run_all(enter_many(300, stands_and_blocks), 300, CORO_FINISHED);
}

#ifdef COROI_ASAN
/* Where the one who blocks has a variable: nobody may look there but itself. */
static const volatile uint64_t *not_yours;
static unsigned looks;

/* A dispatcher that asks on the stack itself, after an end, stands there. */
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

/* Alone it is the occupant, and goes on where it stands; of three each is copied. */
TEST(dispatch_frames_are_poisoned_while_their_owner_is_blocked)
{
	for (unsigned n = 1; n <= 3; n += 2) {
		open_with(0);
		fifo.asking = look;
		looks = 0;
		run_all(enter_many(n, shows_its_own), n, CORO_FINISHED);
		CHECK(looks >= 20);
	}
}

static coro_dispatched *nobody_after_one(coro_dispatcher *d, void *user)
{
	return fifo.asked ? (fifo.asked = 0, NULL) : fifo_next(d, user);
}

/* After the run nobody stands there; nor is anything poisoned for whoever has the memory later. */
TEST(dispatch_frames_are_poisoned_until_the_dispatcher_is_freed)
{
	coro_dispatch_policy p = fifo_policy;

	p.next = nobody_after_one;
	fifo_reset();
	CHECK_EQ(coro_dispatch_new(&dispatcher, &p), CORO_OK);
	struct player *one = enter_many(1, shows_its_own_and_stays);
	run();
	CHECK(__asan_address_is_poisoned((const char *)not_yours));
	ready(&one->own);
	fifo.last = NULL;
	run();
	CHECK_EQ(one->rounds, 1);
	free(one);
	close_all();
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
	struct player *one = enter_many(1, blocks_a_lot);
	run();
	CHECK_EQ(one->rounds, 1000);
	CHECK_EQ(fifo.allocs, 1);
	free(one);
	close_all();
}

static void blocks_once(struct player *p)
{
	CHECK_EQ(coro_dispatch_block(), CORO_OK);
	p->rounds++;
}

/* A blocked one owns its live bytes: some hundred. A tenth of a frame's size is what the others may differ by. */
TEST(dispatch_a_blocked_one_owns_its_live_bytes)
{
	open_with(0);
	run_all(enter_many(1000, blocks_once), 1000, CORO_FINISHED);
	CHECK(fifo.most <= 1000 * (SANITIZED ? 4000 : 1000));
	CHECK_EQ(fifo.allocs, 1000);
}

/* A buffer that is too small, or much too large, makes way for another; one that fits stays. */
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
	open_with(0);
	run_all(enter_many(1, grows_and_shrinks), 1, CORO_FINISHED);
}

/* ------------------------------------------------------------------------------ in a ring of many */

static uint64_t *permits;
static unsigned ring;

/* Its own permit is taken, and its neighbour's given, so often; then there is none left for it. */
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
	for (unsigned tokens = 1; tokens <= 8; tokens += 7) {
		ring = tokens == 1 ? 100 : 2000;
		open_with(0);
		permits = calloc(ring, sizeof *permits);
		for (unsigned i = 0; i < ring; i++)
			permits[i] = tokens > 1 || i == 0;
		run_all(enter_many(ring, in_ring), ring, CORO_FINISHED);
		for (unsigned i = 0; i < ring; i++)
			CHECK_EQ(permits[i], tokens > 1 || i == 0);
		free(permits);
	}
}

/* ---------------------------------------------------------------------------------- no memory */

/* For want of a buffer its block is an error, nothing else has happened, and it may try again. */
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
		open_with(0);
		fifo.fail_in = k;
		struct player *p = enter_many(5, tries_again);
		run();
		for (unsigned i = 0; i < 5; i++)
			CHECK_EQ(coro_dispatch_status(&p[i].own), CORO_FINISHED);
		refused = fifo.fail_in < 0;
		CHECK(fifo.refused <= 1); /* one that has a larger one is not told */
		free(p);
		close_all();
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
	run_all(enter_many(3, is_refused), 3, CORO_FINISHED);
	CHECK_EQ(fifo.allocs, 9);
}

/* ------------------------------------------------------------------------------------- errors */

static void nothing(struct player *p)
{
	(void)p;
}

TEST(dispatch_wrong_arguments)
{
	coro_dispatcher *d;
	coro_dispatched c = {{0}};
	coro_dispatch_policy good = fifo_policy, bad;

	CHECK_EQ(coro_dispatch_new(NULL, &good), CORO_EINVAL);
	CHECK_EQ(coro_dispatch_new(&d, NULL), CORO_EINVAL);
	bad = good, bad.size--;
	CHECK_EQ(coro_dispatch_new(&d, &bad), CORO_EINVAL);
	bad = good, bad.flags = 1;
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

/* Nothing of it where nobody runs: what the callbacks may not do. */
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
	open_with(0);
	fifo.asking = ask_for_trouble;
	struct player *p = enter_many(2, makes_trouble);
	CHECK_EQ(coro_dispatch_init(&p->own, dispatcher, player_main, p), CORO_EBUSY); /* fresh */
	run();
	CHECK_EQ(p[0].rounds + p[1].rounds, 2);
	CHECK_EQ(coro_dispatch_drop(&p->own), CORO_EINVAL);
	enter(p, nothing); /* ended ones can be used again */
	run_all(p, 2, CORO_FINISHED);
}

/* What next must not return ends the run, and nothing else. */
static coro_dispatched *blocked_one;

static void drops_another(void *arg)
{
	(void)arg;
	CHECK_EQ(coro_dispatch_status(blocked_one), CORO_EBUSY);
	fifo.wrong = blocked_one; /* what next returns, while it is being dropped */
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

	open_with(0);
	CHECK_EQ(coro_dispatch_new(&other, &fifo_policy), CORO_OK);
	CHECK_EQ(coro_dispatch_init(&foreign, other, player_main, NULL), CORO_OK);
	struct player *p = enter_many(3, blocks_once);
	fifo.wrong = &none;
	CHECK_EQ(coro_dispatch_run(dispatcher), CORO_EINVAL);
	fifo.wrong = &foreign;
	CHECK_EQ(coro_dispatch_run(dispatcher), CORO_EINVAL);
	run();
	CHECK_EQ(p[0].rounds + p[1].rounds + p[2].rounds, 3);
	fifo.wrong = &p[1].own;
	CHECK_EQ(coro_dispatch_run(dispatcher), CORO_ENDED);
	CHECK_EQ(coro_dispatch_free(other), CORO_OK);

	enter(&p[0], defers_and_blocks);
	enter(&p[1], drops_it);
	CHECK_EQ(coro_dispatch_run(dispatcher), CORO_EBUSY);
	run();
	CHECK_EQ(p[1].rounds, 2);
	free(p);
	close_all();
}

/* Asked after a block, and after an end, by a loop on the slot: both ends of a run are tried. */
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
	open_with(0);
	struct player *p = enter_many(2, makes_next_wrong);
	CHECK_EQ(coro_dispatch_run(dispatcher), CORO_EINVAL);
	CHECK_EQ(p[0].rounds, 1);
	CHECK_EQ(coro_dispatch_run(dispatcher), CORO_EINVAL);
	CHECK_EQ(p[1].rounds, 1);
	run_all(p, 2, CORO_FINISHED);
}

/* --------------------------------------------------------------------- several runs, several threads */

static unsigned stop_after;

static void stop_when_asked(void)
{
	if (stop_after && --stop_after == 0)
		fifo.wrong = (coro_dispatched *)&fifo; /* replaced below */
}

static coro_dispatched *stopping_next(coro_dispatcher *d, void *user)
{
	coro_dispatched *c = fifo_next(d, user);

	if (c != (coro_dispatched *)&fifo)
		return c;
	if (fifo.last && coro_dispatch_status(fifo.last) == CORO_MAY_RESUME)
		ready(fifo.last);
	return fifo.last = NULL;
}

static void *run_elsewhere(void *arg)
{
	(void)arg;
	stop_after = 57;
	run();
	return NULL;
}

/* Between two runs those that are blocked lie in their buffers, and any thread may go on with them. */
TEST(dispatch_moves_between_threads)
{
	coro_dispatch_policy policy = fifo_policy;
	unsigned n = 50, runs = 0, ended;

	policy.next = stopping_next;
	fifo_reset();
	fifo.asking = stop_when_asked;
	fifo.random = 9;
	CHECK_EQ(coro_dispatch_new(&dispatcher, &policy), CORO_OK);
	struct player *p = enter_many(n, any_frames);
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
	close_all();
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
	open_with(0);
	struct player *p = enter_many(1, lets_another_try);
	run();
	CHECK_EQ(p->rounds, 1);
	run_all(p, 1, CORO_FINISHED);
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
	open_with(0);
	struct player *p = calloc(2, sizeof *p);
	enter(&p[0], is_alone_with_it);
	enter(&p[1], nothing);
	run_all(p, 2, CORO_FINISHED);
}

/* ---------------------------------------------------------------------- the end of the current one */

static char story[64];

static void tell(void *what)
{
	size_t n = strlen(story);

	CHECK(n + 1 < sizeof story);
	story[n] = *(const char *)what;
	story[n + 1] = 0;
}

static void tell_and_block(void *what)
{
	struct player *me = (struct player *)coro_dispatch_self();

	tell((void *)"(");
	CHECK_EQ(coro_dispatch_block(), CORO_OK);
	CHECK((struct player *)coro_dispatch_self() == me);
	tell(what);
}

static __attribute__((noinline)) void at_depth(unsigned levels, int (*end)(void))
{
	volatile char frame[100];

	frame[0] = 1;
	if (levels)
		at_depth(levels - 1, end);
	else
		end();
	CHECK(frame[0] == 2);
}

static void aborts(struct player *p)
{
	char *mine = coro_strdup("from its arena");

	CHECK_EQ(coro_defer(tell, (void *)"b"), CORO_OK);
	CHECK_EQ(coro_defer(tell, (void *)"a"), CORO_OK);
	if (p->id % 2)
		CHECK_EQ(coro_dispatch_block(), CORO_OK);
	CHECK(strcmp(mine, "from its arena") == 0);
	at_depth(10, coro_abort);
}

TEST(dispatch_abort)
{
	open_with(0);
	story[0] = 0;
	run_all(enter_many(5, aborts), 5, CORO_ABORT);
	CHECK_EQ(strlen(story), 10);
	CHECK(strcmp(story, "ababababab") == 0);
}

static void exits(struct player *p)
{
	CHECK_EQ(coro_defer(tell_and_block, (void *)")"), CORO_OK);
	CHECK_EQ(coro_defer(tell_and_block, (void *)")"), CORO_OK);
	if (p->id % 2)
		at_depth(3, coro_exit);
}

/* What was deferred may block, and others run meanwhile. */
TEST(dispatch_deferred_may_block)
{
	open_with(0);
	story[0] = 0;
	run_all(enter_many(4, exits), 4, CORO_FINISHED);
	CHECK_EQ(strlen(story), 16);
	CHECK(strncmp(story, "((((", 4) == 0);
}

static void abort_in_deferred(void *arg)
{
	tell(arg);
	coro_abort();
	CHECK(false);
}

static void ends_twice(struct player *p)
{
	(void)p;
	CHECK_EQ(coro_defer(tell, (void *)"z"), CORO_OK);
	CHECK_EQ(coro_defer(abort_in_deferred, (void *)"y"), CORO_OK);
	coro_exit();
	CHECK(false);
}

TEST(dispatch_ends_while_it_ends)
{
	open_with(0);
	story[0] = 0;
	run_all(enter_many(2, ends_twice), 2, CORO_ABORT);
	CHECK(strcmp(story, "yzyz") == 0);
}

/* ----------------------------------------------------------------------------- on a deeper stack */

static void deep_inside(void *arg)
{
	struct player *p = arg;

	with_pattern(300, p->id);
	with_pattern(1, p->id);
	if (p->id % 4 == 3)
		coro_abort();
}

static void deep_again(void *arg)
{
	with_pattern(20, ((struct player *)arg)->id);
	CHECK_EQ(coro_call_on_stack(STACK, deep_inside, arg), CORO_OK);
	with_pattern(20, ((struct player *)arg)->id);
}

static void goes_deep(struct player *p)
{
	volatile uint64_t own = p->id;

	CHECK_EQ(coro_call_on_stack(4 * STACK, p->id % 2 ? deep_again : deep_inside, p), CORO_OK);
	CHECK(own == p->id);
	with_pattern(10, p->id);
	CHECK_EQ(coro_call_on_stack(1, deep_inside, p), CORO_EINVAL);
	p->rounds = 1;
}

TEST(dispatch_blocks_on_a_deeper_stack)
{
	unsigned n = 64;

	open_with(0);
	fifo.random = 5;
	struct player *p = enter_many(n, goes_deep);
	run();
	for (unsigned i = 0; i < n; i++)
		CHECK_EQ(coro_dispatch_status(&p[i].own), i % 4 == 3 ? CORO_ABORT : CORO_FINISHED);
	free(p);
	close_all();
}

/* ------------------------------------------------------------------------------------------ drop */

static void blocks_for_ever(struct player *p)
{
	volatile char large[1000] = {0};

	large[p->id] = (char)(large[0] + 1);
	CHECK_EQ(coro_defer(tell, (void *)"d"), CORO_OK);
	CHECK(coro_malloc(5000));
	CHECK_EQ(coro_dispatch_block(), CORO_OK);
	CHECK(false);
}

static void blocks_deep_inside(void *arg)
{
	blocks_for_ever(arg);
}

static void blocks_deep(struct player *p)
{
	CHECK_EQ(coro_call_on_stack(STACK, blocks_deep_inside, p), CORO_OK);
}

static struct player *victims;

static void *drop_elsewhere(void *arg)
{
	for (unsigned i = 0; i < 4; i++)
		CHECK_EQ(coro_dispatch_drop(&victims[i].own), CORO_OK);
	return arg;
}

static void drops_all(struct player *p)
{
	(void)p;
	drop_elsewhere(NULL);
	fifo.head = fifo.tail;
}

/* occupant_too: in the callback that is asked next, when the last of them has just blocked. */
static void drop_in_next(void)
{
	if (fifo.last == &victims[3].own) {
		drop_elsewhere(NULL);
		fifo.head = fifo.tail;
	}
}

static void drop_four(void (*how)(void))
{
	open_with(0);
	story[0] = 0;
	victims = calloc(5, sizeof *victims);
	for (unsigned i = 0; i < 4; i++) {
		victims[i].id = i;
		enter(&victims[i], i == 2 ? blocks_deep : blocks_for_ever);
	}
	how();
	CHECK(strcmp(story, "dddd") == 0);
	for (unsigned i = 0; i < 4; i++) {
		CHECK_EQ(coro_dispatch_status(&victims[i].own), CORO_ABORT);
		CHECK_EQ(coro_dispatch_drop(&victims[i].own), CORO_EINVAL);
	}
	/* The stack is as good as new. */
	fifo.asking = NULL;
	fifo.last = NULL;
	enter(&victims[0], small_frames);
	enter(&victims[1], small_frames);
	run();
	free(victims);
	close_all();
}

static void by_a_coroutine(void)
{
	enter(&victims[4], drops_all);
	run();
}

static void in_next(void)
{
	fifo.asking = drop_in_next;
	run();
}

static void stop_at_five(void)
{
	if (fifo.asked == 5)
		fifo.wrong = &victims[4].own; /* of no dispatcher: the run ends */
}

static void between_runs(void)
{
	pthread_t t;

	fifo.asking = stop_at_five;
	CHECK_EQ(coro_dispatch_run(dispatcher), CORO_EINVAL);
	fifo.head = fifo.tail;
	CHECK_EQ(coro_dispatch_free(dispatcher), CORO_EBUSY);
	thread_start(&t, drop_elsewhere, NULL);
	thread_join(t);
}

TEST(dispatch_drop)
{
	drop_four(by_a_coroutine);
	drop_four(in_next);
	drop_four(between_runs);

	open_with(0); /* fresh ones: nothing was there */
	struct player *p = enter_many(3, nothing);
	CHECK_EQ(coro_dispatch_drop(&p[1].own), CORO_OK);
	CHECK_EQ(coro_dispatch_status(&p[1].own), CORO_ABORT);
	CHECK_EQ(coro_dispatch_run(dispatcher), CORO_ENDED);
	free(p);
	close_all();
}

/* --------------------------------------------------------------------- beside the other layers */

static intptr_t counts(void *arg, intptr_t first)
{
	(void)arg;
	(void)first;
	for (intptr_t i = 0;; i++) {
		CHECK_EQ(coro_dispatch_block(), CORO_EPERM);
		CHECK(!coro_dispatch_self());
		CHECK_EQ(coro_dispatch_run(dispatcher), CORO_EPERM);
		CHECK_EQ(coro_yield_value(i, NULL), CORO_OK);
	}
}

static void uses_one_by_hand(struct player *p)
{
	coro_t *co;
	intptr_t got;

	CHECK_EQ(coro_new(&co, counts, NULL, STACK), CORO_OK);
	for (; p->rounds < 10; p->rounds++) {
		CHECK_EQ(coro_resume(co, 0, &got), CORO_MAY_RESUME);
		CHECK_EQ(got, p->rounds);
		CHECK((struct player *)coro_dispatch_self() == p);
		CHECK_EQ(coro_dispatch_block(), CORO_OK);
	}
	CHECK_EQ(coro_free(co), CORO_OK);
}

TEST(dispatch_uses_coroutines_by_hand)
{
	open_with(0);
	run_all(enter_many(20, uses_one_by_hand), 20, CORO_FINISHED);
}

static coro_t *outer;

static void inside_one_by_hand(struct player *p)
{
	CHECK_EQ(coro_yield_value(5, NULL), CORO_EPERM);
	CHECK_EQ(coro_resume(outer, 0, NULL), CORO_EBUSY);
	small_frames(p);
}

static intptr_t runs_by_hand(void *arg, intptr_t first)
{
	intptr_t sent;
	(void)arg;
	(void)first;

	open_with(0);
	run_all(enter_many(20, inside_one_by_hand), 20, CORO_FINISHED);
	CHECK_EQ(coro_yield_value(1, &sent), CORO_OK);
	open_with(0);
	run_all(enter_many(3, aborts), 3, CORO_ABORT);
	return 2;
}

TEST(dispatch_runs_in_a_coroutine_by_hand)
{
	intptr_t got;

	story[0] = 0;
	CHECK_EQ(coro_new(&outer, runs_by_hand, NULL, 4 * STACK), CORO_OK);
	CHECK_EQ(coro_resume(outer, 0, &got), CORO_MAY_RESUME);
	CHECK_EQ(coro_resume(outer, 0, &got), CORO_FINISHED);
	CHECK_EQ(got, 2);
	CHECK_EQ(coro_free(outer), CORO_OK);
}

static void runs_in_a_scheduler(void *arg, void *result)
{
	(void)arg;
	(void)result;
	coro_handle self = coro_self();
	CHECK_EQ(coro_yield(), CORO_OK);
	open_with(0);
	run_all(enter_many(10, makes_trouble), 10, CORO_FINISHED);
	CHECK_EQ(coro_self(), self);
	CHECK_EQ(coro_yield(), CORO_OK);
	open_with(0);
	run_all(enter_many(50, small_frames), 50, CORO_FINISHED);
	CHECK_EQ(coro_yield(), CORO_OK);
}

TEST(dispatch_runs_in_a_scheduler)
{
	for (uint32_t flags = 0; flags <= CORO_DENSE; flags += CORO_DENSE) {
		coro_scheduler *s = start_with(2, 0);
		coro_attr attr = {.size = sizeof attr, .flags = flags, .stack_bytes = flags ? 0 : 4 * STACK};
		CHECK_EQ(coro_scheduler_spawn(s, &attr, runs_in_a_scheduler, NULL, 0, NULL), CORO_OK);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		finish(s);
	}
}

/* ------------------------------------------------------------------------------------ the guard */

static __attribute__((noinline, no_sanitize("address", "undefined"))) int eat(int n)
{
	volatile char frame[1024];
	frame[0] = (char)n;
	return n == 1 << 20 ? 0 : eat(n + 1) + frame[0];
}

static void eats(void *arg)
{
	(void)arg;
	eat(0);
}

static void overflow(void)
{
	coro_dispatched c = {{0}};
	stack_t alternate = {.ss_sp = mmap(NULL, 1 << 17, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
			     .ss_size = 1 << 17};

	CHECK_EQ(sigaltstack(&alternate, NULL), 0); /* a pool's threads have one, others bring their own */
	open_with(0);
	CHECK_EQ(coro_dispatch_init(&c, dispatcher, eats, NULL), CORO_OK);
	ready(&c);
	run();
}

static void overflow_in_a_pool(void)
{
	coro_dispatch_pool *p;
	coro_dispatch_pool_options o = {.size = sizeof o, .policy = CORO_DISPATCH_LL, .threads = 1};

	CHECK_EQ(coro_dispatch_pool_new(&p, &o), CORO_OK);
	CHECK_EQ(coro_dispatch_pool_spawn(p, eats, NULL, 0, NULL), CORO_OK);
	CHECK_EQ(coro_dispatch_pool_wait(p), CORO_OK);
	CHECK_EQ(coro_dispatch_pool_free(p), CORO_OK);
}

static void expect_overflow(void (*how)(void))
{
	char text[4096], want[64];
	int fd;
	pid_t child = child_start(&fd);

	if (child == 0) {
		alarm(60);
		how();
		_exit(0);
	}
	int status = child_end(child, fd, text, sizeof text);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	snprintf(want, sizeof want, "function 0x%llx used up its stack of 256 KiB", (unsigned long long)(uintptr_t)eats);
	CHECK(strstr(text, want));
}

TEST(dispatch_guard_faults_and_names_it)
{
	expect_overflow(overflow);
	expect_overflow(overflow_in_a_pool);
}
