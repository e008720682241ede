//go:build cgo && linux
/* stack.c - see stack.h. */
#include "stack.h"

#include "sanitize.h"

#include <string.h>

#define ARENA_BYTES ((size_t)32 << 20) /* address space of one arena, about */
#define ARENA_STACKS_MIN 4
#define ARENA_STACKS_MAX 256

/* Above each stack's nominal size: room for its colour and the run loop's own frame. One page, so that a
 * coroutine with small frames still touches one page only. */
#define HEADROOM ((size_t)4096)
#define COLOURS 32
#define COLOUR_BYTES 64

struct coroi_arena {
	struct coroi_arena *next;
	char *base;
	size_t bytes;
	size_t stride;
	uint32_t count;
	uint32_t cut;  /* stacks cut so far */
	uint32_t idle; /* of them, how many are in the pool's list */
	struct coroi_stack stacks[];
};

int coroi_stack_class(size_t bytes)
{
	if (bytes == 0)
		bytes = CORO_STACK_DEFAULT;
	if (bytes < CORO_STACK_MIN || bytes > CORO_STACK_MAX)
		return -1;
	int class = 0;
	while (coroi_stack_class_bytes((unsigned)class) < bytes)
		class++;
	return class;
}

size_t coroi_stack_class_bytes(unsigned class)
{
	return CORO_STACK_MIN << class;
}

void coroi_stack_pool_init(struct coroi_stack_pool *p, uint64_t limit)
{
	memset(p, 0, sizeof *p);
	p->limit = limit;
}

static void arena_free(struct coroi_arena *a)
{
	coroi_unmap(a->base, a->bytes);
	coroi_release(a);
}

void coroi_stack_pool_destroy(struct coroi_stack_pool *p)
{
	for (unsigned c = 0; c < COROI_STACK_CLASSES; c++) {
		for (struct coroi_arena *a = p->arenas[c], *next; a; a = next) {
			next = a->next;
			arena_free(a);
		}
	}
}

static struct coroi_arena *arena_new(unsigned class)
{
	size_t stride = COROI_GUARD_BYTES + coroi_stack_class_bytes(class) + HEADROOM;
	size_t count = ARENA_BYTES / stride;

	if (count < ARENA_STACKS_MIN)
		count = ARENA_STACKS_MIN;
	if (count > ARENA_STACKS_MAX)
		count = ARENA_STACKS_MAX;
	struct coroi_arena *a = coroi_alloc(sizeof *a + count * sizeof a->stacks[0], COROI_LINE);
	if (!a)
		return NULL;
	a->stride = stride;
	a->count = (uint32_t)count;
	a->bytes = count * stride;
	a->base = coroi_map(a->bytes, 4096);
	if (!a->base) {
		coroi_release(a);
		return NULL;
	}
	coroi_huge(a->base, a->bytes, false);
	return a;
}

/* cut - take the next stack of the class's first arena; its guard is still to be set. Under the lock. */
static struct coroi_stack *cut(struct coroi_stack_pool *p, unsigned class)
{
	size_t bytes = coroi_stack_class_bytes(class) + HEADROOM;
	struct coroi_arena *a = p->arenas[class];

	if (p->limit && p->bytes + bytes > p->limit)
		return NULL;
	if (!a || a->cut == a->count) {
		a = arena_new(class);
		if (!a)
			return NULL;
		a->next = p->arenas[class];
		p->arenas[class] = a;
	}
	struct coroi_stack *s = &a->stacks[a->cut];
	s->low = a->base + a->cut * a->stride + COROI_GUARD_BYTES;
	s->top = s->low + bytes - COLOUR_BYTES * (p->colour++ % COLOURS);
	s->arena = a;
	s->class = (uint8_t)class;
	if (coroi_guard(s->low - COROI_GUARD_BYTES, COROI_GUARD_BYTES))
		return NULL;
	a->cut++;
	p->bytes += bytes;
	p->stacks++;
	return s;
}

unsigned coroi_stack_pool_get(struct coroi_stack_pool *p, unsigned class, struct coroi_stack **out, unsigned want)
{
	unsigned n = 0;

	coroi_lock(&p->lock);
	for (struct coroi_stack *s; n < want && (s = p->idle[class]); n++) {
		p->idle[class] = s->next;
		p->idle_count--;
		s->arena->idle--;
		s->dirty = true;
		out[n] = s;
	}
	if (n == 0 && (out[0] = cut(p, class))) {
		out[0]->dirty = true;
		n = 1;
	}
	coroi_unlock(&p->lock);
	return n;
}

void coroi_stack_pool_put(struct coroi_stack_pool *p, struct coroi_stack **list, unsigned n)
{
	coroi_lock(&p->lock);
	for (unsigned i = 0; i < n; i++) {
		struct coroi_stack *s = list[i];
		s->next = p->idle[s->class];
		p->idle[s->class] = s;
		p->idle_count++;
		s->arena->idle++;
	}
	coroi_unlock(&p->lock);
}

/* drop_arenas - unmap the arenas all of whose stacks are in the list, and leave their stacks out of it. */
static size_t drop_arenas(struct coroi_stack_pool *p, unsigned class)
{
	size_t bytes = coroi_stack_class_bytes(class) + HEADROOM, gone = 0;

	struct coroi_stack **link = &p->idle[class];
	while (*link) {
		struct coroi_arena *a = (*link)->arena;
		if (a->idle == a->cut)
			*link = (*link)->next;
		else
			link = &(*link)->next;
	}
	struct coroi_arena **at = &p->arenas[class];
	while (*at) {
		struct coroi_arena *a = *at;
		if (a->idle < a->cut) {
			at = &a->next;
			continue;
		}
		*at = a->next;
		gone += a->cut * bytes;
		p->stacks -= a->cut;
		p->idle_count -= a->cut;
		p->bytes -= a->cut * bytes;
		arena_free(a);
	}
	return gone;
}

size_t coroi_stack_pool_trim(struct coroi_stack_pool *p)
{
	size_t gone = 0;

	coroi_lock(&p->lock);
	for (unsigned c = 0; c < COROI_STACK_CLASSES; c++) {
		size_t bytes = coroi_stack_class_bytes(c) + HEADROOM;
		gone += drop_arenas(p, c);
		for (struct coroi_stack *s = p->idle[c]; s; s = s->next) {
			if (!s->dirty)
				continue;
			coroi_discard(s->low, bytes);
			s->dirty = false;
			gone += bytes;
		}
	}
	coroi_unlock(&p->lock);
	return gone;
}

int coroi_stack_cache_init(struct coroi_stack_cache *c, struct coroi_stack_pool *pool, uint32_t cap)
{
	memset(c, 0, sizeof *c);
	c->pool = pool;
	c->cap = cap;
	c->slot = coroi_alloc(sizeof *c->slot * cap * COROI_STACK_CLASSES, COROI_LINE);
	return c->slot ? CORO_OK : CORO_ENOMEM;
}

bool coroi_stack_cache_flush(struct coroi_stack_cache *c)
{
	bool any = false;

	for (unsigned class = 0; class < COROI_STACK_CLASSES; class++) {
		if (c->count[class])
			coroi_stack_pool_put(c->pool, c->slot + class * c->cap, c->count[class]);
		any |= c->count[class] != 0;
		c->count[class] = 0;
	}
	return any;
}

void coroi_stack_cache_destroy(struct coroi_stack_cache *c)
{
	coroi_release(c->slot);
	c->slot = NULL;
}

__attribute__((noinline, cold)) struct coroi_stack *coroi_stack_cache_refill(struct coroi_stack_cache *c,
									     unsigned class)
{
	struct coroi_stack **slot = c->slot + class * c->cap;
	unsigned n = coroi_stack_pool_get(c->pool, class, slot, (c->cap + 1) / 2);

	if (n == 0)
		return NULL;
	c->count[class] = n - 1;
	return slot[n - 1];
}

/* The coldest half goes. */
__attribute__((noinline, cold)) void coroi_stack_cache_shed(struct coroi_stack_cache *c, unsigned class)
{
	struct coroi_stack **slot = c->slot + class * c->cap;
	unsigned n = (c->cap + 1) / 2;

	coroi_stack_pool_put(c->pool, slot, n);
	memmove(slot, slot + n, (c->cap - n) * sizeof *slot);
	c->count[class] -= n;
}
