/*
 * t_fork_stress.c - random trees of forks: nodes yield, sleep, lock, move, compute, exit, abort, fail
 * and leave their forks. The sums are those of a recursion without coroutines. CORO_TEST_SCALE makes
 * it longer.
 */
#include "test.h"

#include <inttypes.h>
#include <string.h>

/* A node, and what it does, is given by its seed and its height. */
struct node {
	uint32_t seed, height;
};

struct sum {
	int64_t value;
	uint64_t nodes, aborted, failed;
};

static uint32_t mix(uint32_t x)
{
	x = (x ^ x >> 16) * 0x7feb352d;
	x = (x ^ x >> 15) * 0x846ca68b;
	return x ^ x >> 16;
}

static uint32_t dice(const struct node *n)
{
	return mix(n->seed + n->height * 77777u);
}

#define CHILDREN 3

static uint32_t children(const struct node *n, uint32_t h)
{
	return n->height ? h >> 8 & CHILDREN : 0;
}

static struct node child_of(const struct node *n, uint32_t h, uint32_t i)
{
	return (struct node){h + i, n->height - 1};
}

enum end { RETURNS, EXITS, ABORTS, FAILS, LEAVES };

/* end_of - how it ends. LEAVES: by coro_abort, before it has joined its forks. */
static enum end end_of(const struct node *n, uint32_t h)
{
	return h % 97 == 3                ? ABORTS
	       : h % 101 == 5             ? FAILS
	       : n->height && h % 89 == 7 ? LEAVES
	       : h % 31 == 4              ? EXITS
					  : RETURNS;
}

static void add(struct sum *to, const struct sum *s)
{
	to->value += s->value;
	to->nodes += s->nodes;
	to->aborted += s->aborted;
	to->failed += s->failed;
}

/* wanted - what the tree comes to. */
static struct sum wanted(const struct node *n)
{
	uint32_t h = dice(n);
	struct sum s = {.value = h & 255, .nodes = 1};

	switch (end_of(n, h)) {
	case ABORTS:
	case LEAVES:
		return (struct sum){.aborted = 1};
	case FAILS:
		return (struct sum){.failed = 1};
	default:
		break;
	}
	for (uint32_t i = 0; i < children(n, h); i++) {
		struct node child = child_of(n, h, i);
		struct sum of = wanted(&child);
		add(&s, &of);
	}
	return s;
}

/* ---------------------------------------------------------------------------------- the same, forked */

static uint32_t rate; /* how many nodes of 1024 do something that may suspend */
static uint32_t workers_now;
static coro_mutex mutex;
static uint64_t inside, canceled, deferred, others;

/* went_well - the status is CORO_OK; or CORO_ECANCELED, as what is below a node that leaves its forks
 * is canceled, and counts for nothing. */
static bool went_well(int status)
{
	if (status != CORO_ECANCELED)
		CHECK_EQ(status, CORO_OK);
	return status == CORO_OK;
}

static void counts_deferred(void *arg)
{
	coro_yield();
	add_one(arg);
}

static void counts(void *arg, void *result)
{
	(void)arg;
	(void)result;
	add_one(&others);
}

static void locks(void)
{
	int status = coro_mutex_lock(&mutex, CORO_FOREVER);

	if (!went_well(status))
		return;
	CHECK_EQ(inside++, 0);
	coro_yield();
	CHECK_EQ(--inside, 0);
	CHECK_EQ(coro_mutex_unlock(&mutex), CORO_OK);
}

/* moves - to a worker; children of a pinned parent stay. */
static void moves(uint32_t h)
{
	uint32_t to = h % workers_now;
	int status = coro_pin(to);

	CHECK(status == CORO_OK || status == CORO_EPERM);
	CHECK(status || coro_worker() == (int)to);
	if (h & 4096)
		CHECK_EQ(coro_unpin(), CORO_OK);
}

static void suspends(uint32_t h)
{
	if (mix(h) % 1024 >= rate)
		return;
	switch (mix(h + 1) % 8) {
	case 0:
		went_well(coro_sleep(1000));
		break;
	case 1:
		locks();
		break;
	case 2:
		moves(h);
		break;
	case 3:
		CHECK_EQ(coro_wake(coro_self()), CORO_OK);
		CHECK_EQ(coro_park(), CORO_OK);
		break;
	case 4:
		CHECK_EQ(coro_defer(counts_deferred, &deferred), CORO_OK);
		break;
	case 5:
		CHECK_EQ(coro_spawn_first(NULL, counts, NULL, 0, NULL), CORO_OK);
		break;
	default:
		coro_yield();
	}
}

static void node(void *arg, void *result);

/* join - the child f of a node with that sum. */
static void join(coro_fork *f, struct sum *to, const struct sum *of)
{
	int status = coro_fork_join(f), code = 0;

	if (status == CORO_OK) {
		add(to, of);
	} else if (status == CORO_EABORTED) {
		to->aborted++;
	} else if (status == CORO_EFAILED) {
		char text[8];
		CHECK_EQ(coro_join_error(&code, text, sizeof text), 4);
		CHECK_EQ(code, 5);
		CHECK_EQ(strcmp(text, "five"), 0);
		to->failed++;
	} else {
		CHECK(!went_well(status));
		add_one(&canceled);
	}
}

static void node(void *arg, void *result)
{
	struct node n = *(struct node *)arg, child[CHILDREN];
	struct sum s = {.value = dice(&n) & 255, .nodes = 1}, of[CHILDREN];
	uint32_t h = dice(&n), k = children(&n, h);
	enum end end = end_of(&n, h);
	coro_handle self = h % 61 == 1 ? coro_self() : 0;
	coro_fork f[CHILDREN];

	if (end == ABORTS || end == FAILS)
		suspends(h + 1);
	if (end == ABORTS)
		coro_abort();
	if (end == FAILS)
		coro_fail(5, "five");
	for (uint32_t i = 0; i < k; i++) {
		child[i] = child_of(&n, h, i);
		coro_fork_begin(&f[i], node, &child[i], &of[i]);
		suspends(h + 2 + i);
	}
	if (end == LEAVES)
		coro_abort();
	suspends(h + 5);
	for (uint32_t i = 0; i < k; i++) {
		uint32_t j = h & 2048 ? i : k - 1 - i;
		join(&f[j], &s, &of[j]);
	}
	CHECK(!self || coro_self() == self);
	*(struct sum *)result = s;
	if (end == EXITS)
		coro_exit_finished(); /* what it was told of a cancel does not count */
}

struct tree {
	struct node root;
	struct sum want, got;
};

static void plants(void *arg, void *result)
{
	struct tree *t;
	struct sum of;
	coro_fork f;
	(void)result;

	memcpy(&t, arg, sizeof t);
	coro_fork_begin(&f, node, &t->root, &of);
	join(&f, &t->got, &of);
}

#define TREES  8
#define HEIGHT 12

/* sow - the next tree that is not small. */
static void sow(struct tree *t, uint32_t *seed)
{
	do {
		*t = (struct tree){.root = {mix(++*seed), HEIGHT}};
		t->want = wanted(&t->root);
	} while (t->want.nodes < 50);
}

/* ------------------------------------------------------------------------------------- exact sums */

/* 10^6 forks, with CORO_TEST_SCALE=100 a hundred times as many, with each number of workers. */
TEST_LIMIT(stress_fork_trees, 1200)
{
	static const uint32_t rates[] = {0, 4, 64};
	uint64_t all = 0;
	uint32_t seed = 0;

	delays(DELAYS_USUAL);
	for (uint32_t workers = 1; workers <= 4; workers *= 2) {
		uint64_t nodes = 0;
		workers_now = workers;
		CHECK_EQ(coro_mutex_init(&mutex, 0), CORO_OK);
		coro_scheduler *s = start_with(workers, workers == 4 ? CORO_NO_MEMBARRIER : 0);
		for (uint32_t round = 0; nodes < scaled(1000000) / 3 + 1; round++) {
			static struct tree t[TREES];
			rate = rates[round % 3];
			for (int i = 0; i < TREES; i++) {
				struct tree *at = &t[i];
				sow(at, &seed);
				spawn(s, plants, &at, sizeof at);
			}
			CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
			for (int i = 0; i < TREES; i++) {
				CHECK_EQ(t[i].got.value, t[i].want.value);
				CHECK_EQ(t[i].got.nodes, t[i].want.nodes);
				CHECK_EQ(t[i].got.aborted, t[i].want.aborted);
				CHECK_EQ(t[i].got.failed, t[i].want.failed);
				nodes += t[i].got.nodes;
			}
		}
		finish(s);
		CHECK_EQ(coro_mutex_destroy(&mutex), CORO_OK);
		report("%u workers: %" PRIu64 " forks", workers, nodes);
		all += nodes;
	}
	CHECK(all >= scaled(1000000));
}

/* ---------------------------------------------------------------------------------------- cancels */

static coro_handle handles[TREES];

static void *cancels_some(void *arg)
{
	uint64_t seed = *(uint64_t *)arg;

	for (int i = 0; i < TREES; i++) {
		sleep_us(rnd(&seed) % 300);
		int status = coro_cancel(handles[rnd(&seed) % TREES]);
		CHECK(status == CORO_OK || status == CORO_ESTALE);
	}
	return NULL;
}

/* Cancels by handle at any time, and a close with cancel while trees grow: all that was spawned has
 * ended, and nothing is left. */
TEST_LIMIT(stress_fork_cancels, 1200)
{
	uint64_t seed = 11;
	uint32_t trees = 0;

	delays(DELAYS_USUAL);
	for (uint64_t round = 0; round < scaled(150); round++) {
		static struct tree t[TREES];
		pthread_t thread;
		workers_now = 1u << round % 3;
		rate = round % 2 ? 64 : 300;
		coro_scheduler *s = start_with(workers_now, 0);
		CHECK_EQ(coro_mutex_init(&mutex, 0), CORO_OK);
		inside = 0;
		for (int i = 0; i < TREES; i++) {
			struct tree *at = &t[i];
			sow(at, &trees);
			CHECK_EQ(coro_scheduler_spawn(s, NULL, plants, &at, sizeof at, &handles[i]),
				 CORO_OK);
		}
		uint64_t other_seed = rnd(&seed);
		thread_start(&thread, cancels_some, &other_seed);
		sleep_us(rnd(&seed) % 2000);
		if (round % 4 == 3)
			CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
		thread_join(thread);
		CHECK_EQ(stats(s).spawned, stats(s).ended);
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
		CHECK_EQ(inside, 0);
		CHECK_EQ(coro_mutex_destroy(&mutex), CORO_OK);
	}
	report("%" PRIu64 " forks canceled", canceled);
	CHECK(canceled > 0);
}
