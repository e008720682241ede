//go:build ignore
/* stack.c - see stack.h. */
#include "base/stack.h"

#include <string.h>

#define ARENA_BYTES      ((size_t)32 << 20) /* address space of one arena, about */
#define ARENA_STACKS_MIN 4
#define ARENA_STACKS_MAX 256

/* Bytes above each stack's nominal size, for its colour and the run loop's own frame, or the record
 * of a manual coroutine. One page where pages are small, so that a coroutine with small frames
 * still touches one page only. */
#define HEADROOM     ((size_t)4096)
#define COLOURS      32
#define COLOUR_BYTES 64

struct coroi_arena {
	struct coroi_arena *next;
	char *base;
	size_t bytes;
	size_t stride;
	uint32_t count;
	uint32_t cut;          /* stacks cut so far */
	uint32_t idle, hollow; /* of them, in the pool's lists */
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
		class ++;
	return class;
}

void coroi_stack_pool_init(struct coroi_stack_pool *p, uint64_t limit)
{
	memset(p, 0, sizeof *p);
	p->limit = limit;
}

/* mapped_bytes - of one stack, without its guard: whole pages, which have 4, 16 or 64 KiB. */
static size_t mapped_bytes(unsigned class)
{
	size_t page = coroi_page();
	return (coroi_stack_class_bytes(class) + HEADROOM + page - 1) & ~(page - 1);
}

bool coroi_stack_pool_never(const struct coroi_stack_pool *p, unsigned class)
{
	return p->limit && mapped_bytes(class) > p->limit;
}

static void arena_free(struct coroi_arena *a)
{
	for (uint32_t i = 0; i < a->cut; i++)
		if (a->stacks[i].guarded)
			coroi_fiber_remove(&a->stacks[i].fiber);
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
	size_t stride = COROI_GUARD_BYTES + mapped_bytes(class);
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
	a->base = coroi_map(a->bytes, coroi_page(), "coro: stacks");
	if (!a->base) {
		coroi_release(a);
		return NULL;
	}
	coroi_huge(a->base, a->bytes, false);
	return a;
}

/* enter_hollow - s, which counts and is in no list, becomes hollow. */
static void enter_hollow(struct coroi_stack_pool *p, struct coroi_stack *s)
{
	s->next = p->hollow[s->class];
	p->hollow[s->class] = s;
	s->arena->hollow++;
	p->bytes -= mapped_bytes(s->class);
	p->stacks--;
}

/* leave_idle - take the stack that *link points to out of `idle`. */
static void leave_idle(struct coroi_stack_pool *p, struct coroi_stack **link)
{
	struct coroi_stack *s = *link;

	*link = s->next;
	p->idle_bytes -= mapped_bytes(s->class);
	p->idle_count--;
	s->arena->idle--;
}

/* hollow_out - idle stacks of a class give up their memory, until there is room for bytes under the
 * cap. */
static void hollow_out(struct coroi_stack_pool *p, unsigned class, size_t bytes)
{
	struct coroi_stack **link = &p->idle[class], *s;

	while ((s = *link) && p->bytes + bytes > p->limit) {
		if (s->dirty && !coroi_discard(s->low, mapped_bytes(class))) {
			link = &s->next;
			continue;
		}
		leave_idle(p, link);
		s->dirty = false;
		enter_hollow(p, s);
	}
}

/* has_room - bytes more are allowed by the cap, perhaps because idle stacks have given up
 * theirs. */
static bool has_room(struct coroi_stack_pool *p, size_t bytes)
{
	if (!p->limit || p->bytes + bytes <= p->limit)
		return true;
	if (p->bytes - p->idle_bytes + bytes > p->limit) /* all idle ones would not be enough */
		return false;
	for (unsigned c = 0; c < COROI_STACK_CLASSES; c++)
		hollow_out(p, c, bytes);
	return p->bytes + bytes <= p->limit;
}

/* cut - take a hollow stack, or the next one of the class's first arena. Under the lock. */
static struct coroi_stack *cut(struct coroi_stack_pool *p, unsigned class)
{
	size_t bytes = mapped_bytes(class);
	struct coroi_arena *a = p->arenas[class];

	if (!has_room(p, bytes))
		return NULL;
	struct coroi_stack *s = p->hollow[class];
	if (s) {
		p->hollow[class] = s->next;
		s->arena->hollow--;
		p->bytes += bytes;
		p->stacks++;
		return s;
	}
	if (!a || a->cut == a->count) {
		a = arena_new(class);
		if (!a)
			return NULL;
		a->next = p->arenas[class];
		p->arenas[class] = a;
	}
	s = &a->stacks[a->cut];
	s->low = a->base + a->cut * a->stride + COROI_GUARD_BYTES;
	s->top = s->low + bytes - COLOUR_BYTES * (p->colour++ % COLOURS);
	s->arena = a;
	s->class = s->serves = (uint8_t) class;
	a->cut++;
	p->bytes += bytes;
	p->stacks++;
	return s;
}

/* guarded - see to it that s, just cut, has its guard. Outside the lock, since the kernel takes its
 * time. */
static bool guarded(struct coroi_stack_pool *p, struct coroi_stack *s)
{
	if (s->guarded)
		return true;
	if (coroi_guard(s->low - COROI_GUARD_BYTES, COROI_GUARD_BYTES)) {
		coroi_lock(&p->lock);
		enter_hollow(p, s);
		coroi_unlock(&p->lock);
		return false;
	}
	coroi_fiber_add(&s->fiber, s->low, mapped_bytes(s->class));
	return s->guarded = true;
}

/* What the frames of coroi_stack_clean, and of the calls that it makes, take at most. */
#if defined(COROI_ASAN) || defined(COROI_TSAN) || defined(COROI_STRESS)
#define OWN_FRAMES 8192
#else
#define OWN_FRAMES 768
#endif

/* clear - zeros from `from` to `to`. Nothing of its own frame lies there. */
static COROI_NOINLINE void clear(char *from, char *to)
{
	for (volatile uint64_t *p = (uint64_t *)(void *)from; p < (uint64_t *)(void *)to; p++)
		*p = 0;
}

COROI_COLD void coroi_stack_clean(struct coroi_stack *s, bool used)
{
	char *to = s->low + mapped_bytes(s->class), *page = to;

	if (used) {
		to = (char *)(((uintptr_t)__builtin_frame_address(0) - OWN_FRAMES) &
			      ~(uintptr_t)15);
		page = (char *)((uintptr_t)to & ~(coroi_page() - 1));
	}
	if (to <= s->low)
		return;
	if (page > s->low && !coroi_discard(s->low, (size_t)(page - s->low)))
		page = s->low;
	char *from = page > s->low ? page : s->low;
	coroi_fiber_below(from, to);
	clear(from, to);
}

unsigned coroi_stack_pool_get(struct coroi_stack_pool *p, unsigned class, struct coroi_stack **out,
			      unsigned want)
{
	struct coroi_stack *fresh = NULL;
	unsigned n = 0;

	coroi_lock(&p->lock);
	for (struct coroi_stack *s; n < want && (s = p->idle[class]); n++) {
		leave_idle(p, &p->idle[class]);
		s->dirty = true;
		out[n] = s;
	}
	if (n == 0)
		fresh = cut(p, class);
	coroi_unlock(&p->lock);
	if (!fresh || !guarded(p, fresh))
		return n;
	fresh->dirty = true;
	out[0] = fresh;
	return 1;
}

void coroi_stack_pool_put(struct coroi_stack_pool *p, struct coroi_stack **list, unsigned n)
{
	coroi_lock(&p->lock);
	for (unsigned i = 0; i < n; i++) {
		struct coroi_stack *s = list[i];
		s->next = p->idle[s->class];
		p->idle[s->class] = s;
		p->idle_bytes += mapped_bytes(s->class);
		p->idle_count++;
		s->arena->idle++;
	}
	coroi_unlock(&p->lock);
}

static bool is_unused(const struct coroi_arena *a)
{
	return a->idle + a->hollow == a->cut;
}

/* drop_stacks - take the stacks of unused arenas out of a list. */
static void drop_stacks(struct coroi_stack **link)
{
	while (*link) {
		if (is_unused((*link)->arena))
			*link = (*link)->next;
		else
			link = &(*link)->next;
	}
}

/* drop_arenas - unmap the arenas that have no stack in use. */
static size_t drop_arenas(struct coroi_stack_pool *p, unsigned class)
{
	size_t bytes = mapped_bytes(class), gone = 0;

	drop_stacks(&p->idle[class]);
	drop_stacks(&p->hollow[class]);
	struct coroi_arena **at = &p->arenas[class];
	while (*at) {
		struct coroi_arena *a = *at;
		if (!is_unused(a)) {
			at = &a->next;
			continue;
		}
		*at = a->next;
		gone += a->idle * bytes;
		p->stacks -= a->idle;
		p->idle_count -= a->idle;
		p->idle_bytes -= a->idle * bytes;
		p->bytes -= a->idle * bytes;
		arena_free(a);
	}
	return gone;
}

size_t coroi_stack_pool_trim(struct coroi_stack_pool *p)
{
	size_t gone = 0;

	coroi_lock(&p->lock);
	for (unsigned c = 0; c < COROI_STACK_CLASSES; c++) {
		size_t bytes = mapped_bytes(c);
		gone += drop_arenas(p, c);
		for (struct coroi_stack *s = p->idle[c]; s; s = s->next) {
			if (!s->dirty || !coroi_discard(s->low, bytes))
				continue;
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
	c->cached = coroi_alloc(sizeof *c->cached * cap * COROI_STACK_CLASSES, COROI_LINE);
	return c->cached ? CORO_OK : CORO_ENOMEM;
}

bool coroi_stack_cache_flush(struct coroi_stack_cache *c)
{
	bool any = false;

	for (unsigned class = 0; class < COROI_STACK_CLASSES; class ++) {
		if (c->count[class])
			coroi_stack_pool_put(c->pool, c->cached + class * c->cap, c->count[class]);
		any |= c->count[class] != 0;
		c->count[class] = 0;
	}
	return any;
}

void coroi_stack_cache_destroy(struct coroi_stack_cache *c)
{
	coroi_release(c->cached);
	c->cached = NULL;
}

__attribute__((noinline, cold)) struct coroi_stack *
coroi_stack_cache_refill(struct coroi_stack_cache *c, unsigned class)
{
	struct coroi_stack **cached = c->cached + class * c->cap;
	unsigned n = coroi_stack_pool_get(c->pool, class, cached, (c->cap + 1) / 2);

	/* stacks of other sizes in this cache may make room */
	if (n == 0 && c->pool->limit && coroi_stack_cache_flush(c))
		n = coroi_stack_pool_get(c->pool, class, cached, (c->cap + 1) / 2);
	if (n == 0)
		return NULL;
	c->count[class] = n - 1;
	return cached[n - 1];
}

/* The half that was put first goes: it is the coldest. */
__attribute__((noinline, cold)) void coroi_stack_cache_shed(struct coroi_stack_cache *c,
							    unsigned class)
{
	struct coroi_stack **cached = c->cached + class * c->cap;
	unsigned n = (c->cap + 1) / 2;

	coroi_stack_pool_put(c->pool, cached, n);
	memmove(cached, cached + n, (c->cap - n) * sizeof *cached);
	c->count[class] -= n;
}
