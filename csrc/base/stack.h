/*
 * stack.h - pooled, guarded stacks in size classes.
 *
 * Stacks of one class are cut from arenas; each has a guard below it:
 *
 *      arena   | guard | stack 0 | guard | stack 1 | ...
 *                      low    top^ (the coloured top: 64-byte steps, so that the tops of many
 *                             stacks
 *                                     do not fall on the same cache sets)
 *
 * The descriptor is kept apart from the stack, so that an idle stack can be given back to the
 * kernel whole, and an overflow cannot reach the descriptor. A stack whose memory was given back to
 * make room for another size is hollow: it keeps its place and its guard, and does not count. A
 * pool is shared and locked. Each worker keeps a small cache before it (struct coroi_stack_cache),
 * last in first out, so that the stack used next is the one still in cache.
 */
#ifndef COROI_STACK_H
#define COROI_STACK_H

#include "coro.h"
#include "base/atomics.h"
#include "base/lock.h"
#include "base/sanitize.h"
#include "base/switch.h"
#include "base/sys.h"

#define COROI_STACK_CLASSES 12 /* 4 KiB << class, up to 8 MiB */
#define COROI_GUARD_BYTES   ((size_t)64 << 10)

struct coroi_arena;

struct coroi_stack {
	struct coroi_fiber fiber;  /* first: see struct coroi_saved in dense.h */
	char *low;                 /* lowest usable byte; the guard ends here */
	char *top;                 /* where the first frame starts, 16-aligned, coloured */
	struct coroi_stack *below; /* the stack to go back to after coro_call_on_stack */
	struct coroi_stack *next;  /* in the pool's list of idle or hollow ones */
	struct coroi_arena *arena;
	void *back; /* the context on `below` that continues then */
	/* The kernel's (fork.h): the forks that have left this stack, and how often it has kept
	 * others. */
	void *away;
	uint32_t kept;
	uint8_t class;
	/* class of the runnables that a run loop on this stack takes: `class`, but COROI_DENSE on
	 * a shared stack */
	uint8_t serves;
	bool guarded;    /* has its guard: it has been handed out before, or is about to be */
	bool dirty;      /* used since its memory was last given back to the kernel */
	uint16_t shared; /* its number among its worker's shared stacks, see dense.h */
};

/* coroi_stack_fresh - a new context is about to run on s, which has none. */
static inline void coroi_stack_fresh(struct coroi_stack *s)
{
	coroi_fiber_fresh(&s->fiber, s->low, s->top);
}

/* coroi_stack_own - the coroutine's own stack, where coro_call_on_stack has put others on it, of
 * which s is the one in use. */
static inline struct coroi_stack *coroi_stack_own(const struct coroi_stack *s)
{
	while (s->below)
		s = s->below;
	return (struct coroi_stack *)s;
}

/* coroi_stack_restart - give the present context up, on s or on one that coro_call_on_stack has put
 * on s, for main(value) on s, whose first frame is below `top`. main does not return. */
static inline __attribute__((noreturn)) void
coroi_stack_restart(struct coroi_stack *s, char *top, void (*main)(intptr_t), intptr_t value)
{
	coroi_fiber_restart(&s->fiber, s->low, top);
	coroi_restart(coroi_context(top, main), value);
}

/*
 * coroi_stack_clean - a coroutine has left its frames on s, by coro_exit, coro_abort or coro_fail:
 * s reads as zeros from now on. They may hold what nobody else is to find there.
 *
 * Thread:   s is in no use (used is false), or the caller runs on s: the frames above the caller's
 *           stay, and some hundred bytes below them.
 * Blocking: one system call, and where the kernel refuses that, as long as it takes to clear s.
 */
COROI_COLD void coroi_stack_clean(struct coroi_stack *s, bool used);

struct coroi_stack_pool {
	struct coroi_lock lock;
	struct coroi_stack *idle[COROI_STACK_CLASSES];
	struct coroi_stack *hollow[COROI_STACK_CLASSES];
	struct coroi_arena *arenas[COROI_STACK_CLASSES]; /* the first has room, or none has */
	uint64_t limit;                                  /* cap on bytes, 0: none */
	uint64_t bytes; /* usable bytes of all stacks but hollow ones */
	uint64_t stacks;
	uint64_t idle_bytes, idle_count; /* of them, in `idle` */
	uint32_t colour;
};

/* coroi_stack_class - the class of stacks of at least bytes (0: default); -1 if out of range.
 * coroi_stack_class_bytes - the nominal size of a class. */
int coroi_stack_class(size_t bytes);

static inline size_t coroi_stack_class_bytes(unsigned class)
{
	return CORO_STACK_MIN << class;
}

void coroi_stack_pool_init(struct coroi_stack_pool *p, uint64_t limit);
void coroi_stack_pool_destroy(struct coroi_stack_pool *p); /* unmaps all, in use or not */

/* coroi_stack_pool_get - up to want stacks of a class: idle ones, or if there is none one new one;
 * at the cap, idle stacks of other classes make room for it. Returns how many; 0 when that is not
 * enough, or the kernel refuses. coroi_stack_pool_put - give n stacks back. */
unsigned coroi_stack_pool_get(struct coroi_stack_pool *p, unsigned class, struct coroi_stack **out,
			      unsigned want);
void coroi_stack_pool_put(struct coroi_stack_pool *p, struct coroi_stack **list, unsigned n);

/* coroi_stack_pool_never - a stack of the class is more than the cap allows in all. */
bool coroi_stack_pool_never(const struct coroi_stack_pool *p, unsigned class);

/* coroi_stack_pool_trim - unmap arenas that are idle as a whole, and discard the memory of other
 * idle stacks. Returns the bytes of stacks given back. */
size_t coroi_stack_pool_trim(struct coroi_stack_pool *p);

struct coroi_stack_cache {
	struct coroi_stack_pool *pool;
	uint32_t cap; /* per class */
	uint32_t count[COROI_STACK_CLASSES];
	struct coroi_stack **cached; /* [COROI_STACK_CLASSES][cap] */
};

int coroi_stack_cache_init(struct coroi_stack_cache *c, struct coroi_stack_pool *pool,
			   uint32_t cap);
/* coroi_stack_cache_flush - give all stacks to the pool; false: there were none. */
bool coroi_stack_cache_flush(struct coroi_stack_cache *c);
void coroi_stack_cache_destroy(struct coroi_stack_cache *c);

/* The slow paths of coroi_stack_get and coroi_stack_put. */
struct coroi_stack *coroi_stack_cache_refill(struct coroi_stack_cache *c, unsigned class);
void coroi_stack_cache_shed(struct coroi_stack_cache *c, unsigned class);

/* coroi_stack_get - a stack of the class, or NULL. */
static inline struct coroi_stack *coroi_stack_get(struct coroi_stack_cache *c, unsigned class)
{
	uint32_t n = c->count[class];
	if (__builtin_expect(n == 0, 0))
		return coroi_stack_cache_refill(c, class);
	c->count[class] = n - 1;
	return c->cached[class * c->cap + n - 1];
}

/*
 * coroi_stack_put - keep a stack for the next user on this worker.
 *
 * The caller may still be running on it, if the door is held until the switch away from it: the
 * cache is used inside the door only, and a full cache sheds other stacks.
 */
static inline void coroi_stack_put(struct coroi_stack_cache *c, struct coroi_stack *s)
{
	if (__builtin_expect(c->count[s->class] == c->cap, 0))
		coroi_stack_cache_shed(c, s->class);
	c->cached[s->class * c->cap + c->count[s->class]++] = s;
}

#endif
