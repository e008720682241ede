/* ring.c - rings of coroutines: each member waits for its own event, and then posts its
 * neighbour's. */
#include "cbody.h"

#include <alloca.h>
#include <stdlib.h>
#include <string.h>

/* One for each worker: it starts the rings that live there, fires them, and waits for their end. */
static struct starter {
	coro_handle self;
	/* members; it is woken when the one that changes has come to awaited */
	int64_t started, ended, awaited;
	int64_t began_ns, ended_ns;
} starters[CORO_WORKERS_MAX] __attribute__((aligned(128)));

static struct cb_rings run;
static coro_handle *handles; /* of all members */
static uint32_t ready;       /* starters whose members all wait */

int cb_rings_ids(const struct cb_rings *r, uint64_t **out)
{
	size_t bytes = (size_t)r->rings * r->members * sizeof **out;

	if (r->workers < 1 || r->workers > CORO_WORKERS_MAX || !bytes)
		return CORO_EINVAL;
	if (!(*out = malloc(bytes)))
		return CORO_ENOMEM;
	memset(*out, 0xff, bytes); /* not calloc: touched now */
	return CORO_OK;
}

int cb_rings_open(const struct cb_rings *r)
{
	cb_rings_close();
	int status = cb_rings_ids(r, &handles);
	if (status)
		return status;
	memset(starters, 0, sizeof starters);
	run = *r;
	ready = 0;
	return CORO_OK;
}

void cb_rings_close(void)
{
	free(handles);
	handles = NULL;
}

/* turns - wait, post, and so on. The first permit is the starter's. last: one comes for which there
 * is no round any more; it is waited for, so that nobody posts to one that has ended. */
static __attribute__((noinline)) int turns(coro_handle next, uint32_t rounds, int last)
{
	int bad = 0;

	for (uint32_t i = 0; i < rounds; i++) {
		bad |= coro_park();
		bad |= coro_wake(next);
	}
	return last ? bad | coro_park() : bad;
}

static __attribute__((noinline)) int turns_deep(coro_handle next, uint32_t rounds, int last)
{
	char *extra = alloca(run.extra);

	memset(extra, 1, run.extra);
	__asm__ volatile("" : : "r"(extra) : "memory");
	int bad = turns(next, rounds, last);
	__asm__ volatile("" : : "r"(extra) : "memory");
	return bad;
}

static void member(void *arg, void *result)
{
	struct starter *s = &starters[coro_worker()];
	uint64_t i = *(uint64_t *)arg, place = i % run.members;
	coro_handle next = handles[place == run.members - 1 ? i - place : i + 1];
	/* those to whom the starter gives a permit */
	int last = place == 0 || !(run.flags & CB_RINGS_STRICT);

	(void)result;
	if (++s->started == s->awaited && !(run.flags & CB_RINGS_LIFO))
		cb_fail(coro_wake(s->self));
	cb_fail(run.extra ? turns_deep(next, run.rounds, last) : turns(next, run.rounds, last));
	if (++s->ended == s->awaited) {
		s->ended_ns = cb_now_ns();
		cb_fail(coro_wake(s->self));
	}
}

/* spawn_ring - its members, which start when the starter waits. */
static void spawn_ring(struct starter *s, uint64_t first)
{
	coro_attr attr = {.size = sizeof attr, .flags = run.attr_flags, .worker = CORO_HERE};

	if (run.extra && !(run.attr_flags & CORO_DENSE))
		attr.stack_bytes = run.extra + CORO_STACK_DEFAULT;
	s->awaited += run.members;
	for (uint64_t i = first; i < first + run.members; i++)
		cb_fail(coro_spawn_attr(&attr, member, &i, sizeof i, &handles[i]));
}

/* fire - the first permits: one for each member of the ring, or one in all. */
static void fire(uint64_t first)
{
	uint64_t end = first + (run.flags & CB_RINGS_STRICT ? 1 : run.members);

	for (uint64_t i = first; i < end; i++)
		cb_fail(coro_wake(handles[i]));
}

static void one_by_one(struct starter *s, uint64_t first, uint64_t end)
{
	__atomic_fetch_add(&ready, 1, __ATOMIC_RELEASE);
	cb_fail(coro_park());
	s->began_ns = cb_now_ns();
	for (uint64_t i = first; i < end; i += run.members) {
		spawn_ring(s, i);
		fire(i);
		cb_fail(coro_park());
	}
}

static void all_live(struct starter *s, uint64_t first, uint64_t end)
{
	for (uint64_t i = first; i < end; i += run.members) {
		spawn_ring(s, i);
		cb_fail(coro_park());
	}
	__atomic_fetch_add(&ready, 1, __ATOMIC_RELEASE);
	cb_fail(coro_park());
	s->began_ns = cb_now_ns();
	for (uint64_t i = first; i < end; i += run.members)
		fire(i);
	cb_fail(coro_park());
}

void cb_rings_start(void *arg, void *result)
{
	uint64_t k = *(uint64_t *)arg;
	struct starter *s = &starters[k];

	(void)result;
	cb_fail(coro_pin((uint32_t)k));
	s->self = coro_self();
	uint64_t first = run.rings * k / run.workers * run.members,
		 end = run.rings * (k + 1) / run.workers * run.members;
	(run.flags & CB_RINGS_LIFO ? one_by_one : all_live)(s, first, end);
}

uint32_t cb_rings_ready(void)
{
	return __atomic_load_n(&ready, __ATOMIC_ACQUIRE);
}

int cb_rings_fire(void)
{
	int bad = CORO_OK;

	for (uint32_t i = 0; i < run.workers; i++)
		bad |= coro_wake(starters[i].self);
	return bad;
}

int64_t cb_rings_ns(void)
{
	int64_t began = INT64_MAX, ended = 0;

	for (uint32_t i = 0; i < run.workers; i++) {
		const struct starter *s = &starters[i];
		began = s->began_ns < began ? s->began_ns : began;
		ended = s->ended_ns > ended ? s->ended_ns : ended;
	}
	return ended - began;
}
