/* fifo.c - see fifo.h. */
#include "fifo.h"

#include <stdlib.h>
#include <string.h>

struct fifo fifo;
coro_dispatcher *dispatcher;

void fifo_ready(coro_dispatched *c)
{
	CHECK(fifo.tail - fifo.head < MANY);
	fifo.queue[fifo.tail++ % MANY] = c;
}

coro_dispatched *fifo_next(coro_dispatcher *d, void *user)
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
		fifo_ready(fifo.last);
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

void *fifo_alloc(void *user, coro_dispatched *c, size_t bytes)
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

void fifo_free(void *user, coro_dispatched *c, void *buffer, size_t bytes)
{
	CHECK(user == &fifo && c);
	CHECK(!coro_dispatch_self());
	fifo.frees++;
	fifo.live--;
	fifo.bytes -= bytes;
	free(buffer);
}

const coro_dispatch_policy fifo_policy = {
	.size = sizeof(coro_dispatch_policy),
	.next = fifo_next,
	.alloc = fifo_alloc,
	.free = fifo_free,
	.user = &fifo,
};

/* No struct on the stack is copied: the stack may be small. */
void fifo_reset(void)
{
	memset(&fifo, 0, sizeof fifo);
	fifo.fail_in = -1;
}

void fifo_open(size_t stack_bytes)
{
	coro_dispatch_policy p = fifo_policy;

	p.stack_bytes = stack_bytes;
	fifo_reset();
	CHECK_EQ(coro_dispatch_new(&dispatcher, &p), CORO_OK);
}

void fifo_close(void)
{
	CHECK_EQ(fifo.live, 0);
	CHECK_EQ(fifo.bytes, 0);
	CHECK_EQ(fifo.allocs, fifo.frees);
	CHECK_EQ(coro_dispatch_free(dispatcher), CORO_OK);
}

void player_main(void *arg)
{
	struct player *p = arg;

	CHECK((struct player *)coro_dispatch_self() == p);
	CHECK_EQ(coro_dispatch_status(&p->own), CORO_EBUSY);
	p->body(p);
}

void fifo_enter(struct player *p, void (*body)(struct player *))
{
	p->body = body;
	CHECK_EQ(coro_dispatch_init(&p->own, dispatcher, player_main, p), CORO_OK);
	CHECK_EQ(coro_dispatch_status(&p->own), CORO_MAY_RESUME);
	fifo_ready(&p->own);
}

struct player *fifo_enter_many(unsigned n, void (*body)(struct player *))
{
	struct player *p = calloc(n, sizeof *p);

	for (unsigned i = 0; i < n; i++) {
		p[i].id = i;
		fifo_enter(&p[i], body);
	}
	return p;
}

void fifo_run(void)
{
	CHECK_EQ(coro_dispatch_run(dispatcher), CORO_OK);
}

void fifo_run_all(struct player *p, unsigned n, int how)
{
	fifo_run();
	for (unsigned i = 0; i < n; i++)
		CHECK_EQ(coro_dispatch_status(&p[i].own), how);
	free(p);
	fifo_close();
}

/* ---------------------------------------------------------------------------------------
 * players */

__attribute__((noinline)) void with_pattern(unsigned words, uint64_t seed)
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

void small_frames(struct player *p)
{
	uint64_t state = p->id + 1;

	for (; p->rounds < 20; p->rounds++)
		with_pattern((unsigned)(rnd(&state) % 40 + 1), p->id);
}

void any_frames(struct player *p)
{
	uint64_t state = p->id + 1;

	for (; p->rounds < 10; p->rounds++)
		with_pattern((unsigned)(rnd(&state) % (rnd(&state) % 8 ? 100 : 8000) + 1), p->id);
	deeper((unsigned)(p->id % 7), (unsigned)(p->id % 50 + 1), p->id);
}

void blocks_once(struct player *p)
{
	CHECK_EQ(coro_dispatch_block(), CORO_OK);
	p->rounds++;
}

void nothing(struct player *p)
{
	(void)p;
}
