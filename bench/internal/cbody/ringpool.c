/* ringpool.c - the rings of ring.c with coroutines of a pool of dispatchers. */
#include "cbody.h"

#include <alloca.h>
#include <stdlib.h>
#include <string.h>

/* One for each thread: it starts its share of the rings, fires them, and waits for their end. */
static struct starter {
	coro_dispatch_id self;
	uint64_t first, end; /* its rings' members */
	/* members; it is woken when the one that changes has come to awaited. With rr and gq they may be
	 * anywhere */
	int64_t started, ended, awaited;
	int64_t began_ns, ended_ns;
} starters[CORO_WORKERS_MAX] __attribute__((aligned(128)));

static struct cb_rings run;
static coro_dispatch_pool *pool;
static uint32_t policy;
static coro_dispatch_id *ids; /* of all members */
static uint32_t ready;        /* starters whose members all wait */

static int64_t count(int64_t *n)
{
	return __atomic_add_fetch(n, 1, __ATOMIC_ACQ_REL);
}

static struct starter *starter_of(uint64_t i)
{
	uint32_t k = 0;

	while (i >= starters[k].end)
		k++;
	return &starters[k];
}

/* turns - as in ring.c. When the first permit has come, the neighbour's id is there. */
static __attribute__((noinline)) int turns(const coro_dispatch_id *next, uint32_t rounds, int last)
{
	int bad = 0;

	for (uint32_t i = 0; i < rounds; i++) {
		bad |= coro_dispatch_park();
		bad |= coro_dispatch_wake(pool, *next);
	}
	return last ? bad | coro_dispatch_park() : bad;
}

static __attribute__((noinline)) int turns_deep(const coro_dispatch_id *next, uint32_t rounds,
						int last)
{
	char *extra = alloca(run.extra);

	memset(extra, 1, run.extra);
	__asm__ volatile("" : : "r"(extra) : "memory");
	int bad = turns(next, rounds, last);
	__asm__ volatile("" : : "r"(extra) : "memory");
	return bad;
}

static void member(void *arg)
{
	uint64_t i = (uint64_t)(uintptr_t)arg, place = i % run.members;
	struct starter *s = starter_of(i);
	const coro_dispatch_id *next = &ids[place == run.members - 1 ? i - place : i + 1];
	int last = place == 0 || !(run.flags & CB_RINGS_STRICT);

	if (count(&s->started) == s->awaited && !(run.flags & CB_RINGS_LIFO))
		cb_fail(coro_dispatch_wake(pool, s->self));
	cb_fail(run.extra ? turns_deep(next, run.rounds, last) : turns(next, run.rounds, last));
	if (count(&s->ended) == s->awaited) {
		s->ended_ns = cb_now_ns();
		cb_fail(coro_dispatch_wake(pool, s->self));
	}
}

static void spawn_ring(struct starter *s, uint64_t first)
{
	uint32_t group = policy == CORO_DISPATCH_LL ? (uint32_t)(s - starters) : 0;

	s->awaited += run.members;
	for (uint64_t i = first; i < first + run.members; i++)
		cb_fail(coro_dispatch_pool_spawn(pool, member, (void *)(uintptr_t)i, group,
						 &ids[i]));
}

static void fire(uint64_t first)
{
	uint64_t end = first + (run.flags & CB_RINGS_STRICT ? 1 : run.members);

	for (uint64_t i = first; i < end; i++)
		cb_fail(coro_dispatch_wake(pool, ids[i]));
}

static void start(void *arg)
{
	struct starter *s = arg;
	int one_by_one = run.flags & CB_RINGS_LIFO;

	s->self = coro_dispatch_id_self();
	for (uint64_t i = s->first; i < s->end && !one_by_one; i += run.members) {
		spawn_ring(s, i);
		cb_fail(coro_dispatch_park());
	}
	__atomic_fetch_add(&ready, 1, __ATOMIC_RELEASE);
	cb_fail(coro_dispatch_park());
	s->began_ns = cb_now_ns();
	for (uint64_t i = s->first; i < s->end; i += run.members) {
		if (one_by_one)
			spawn_ring(s, i);
		fire(i);
		if (one_by_one)
			cb_fail(coro_dispatch_park());
	}
	if (!one_by_one)
		cb_fail(coro_dispatch_park());
}

int cb_ring_pool_open(const struct cb_rings *r)
{
	cb_ring_pool_close();
	int status = cb_rings_ids(r, &ids);
	if (status)
		return status;
	memset(starters, 0, sizeof starters);
	run = *r;
	ready = 0;
	return CORO_OK;
}

void cb_ring_pool_close(void)
{
	cb_fail(coro_dispatch_pool_free(pool));
	pool = NULL;
	free(ids);
	ids = NULL;
}

int cb_ring_pool_start(uint32_t which)
{
	/* whole ones on a thread */
	uint32_t rings_in_a_row = run.members < 128 ? 128 / run.members : 1;
	size_t stack = CORO_DISPATCH_STACK_DEFAULT + run.extra;
	coro_dispatch_pool_options o = {
		.size = sizeof o,
		.policy = which,
		.threads = run.workers,
		.in_a_row = which == CORO_DISPATCH_RR ? rings_in_a_row * run.members : 0,
		.stack_bytes = stack < CORO_STACK_MAX ? stack : CORO_STACK_MAX,
	};
	int status = coro_dispatch_pool_new(&pool, &o);

	policy = which;
	for (uint32_t k = 0; k < run.workers; k++) {
		starters[k].first = run.rings * k / run.workers * run.members;
		starters[k].end = run.rings * (k + 1) / run.workers * run.members;
	}
	for (uint32_t k = 0; k < run.workers && status == CORO_OK; k++)
		status = coro_dispatch_pool_spawn(pool, start, &starters[k],
						  which == CORO_DISPATCH_LL ? k : 0, NULL);
	return status;
}

uint32_t cb_ring_pool_ready(void)
{
	return __atomic_load_n(&ready, __ATOMIC_ACQUIRE);
}

int64_t cb_ring_pool_fire(void)
{
	int64_t began = INT64_MAX, ended = 0;
	int status = CORO_OK;

	for (uint32_t k = 0; k < run.workers; k++)
		status |= coro_dispatch_wake(pool, starters[k].self);
	status |= coro_dispatch_pool_wait(pool);
	for (uint32_t k = 0; k < run.workers; k++) {
		const struct starter *s = &starters[k];
		began = s->began_ns < began ? s->began_ns : began;
		ended = s->ended_ns > ended ? s->ended_ns : ended;
	}
	return status == CORO_OK ? ended - began : status;
}
