/*
 * dense.h - coroutines that own no stack while they wait: many share one, and what is live of
 * theirs is copied out of it (after usched by Nikita Danilov).
 *
 * A worker has some shared stacks: stacks that its dense coroutines take turns on. One that
 * suspends stays in its shared stack, its occupant, until another wants it; so few of them cost no
 * copy at all. Then its frames go to a block of the worker's heap:
 *
 *      shared stack   | guard | ............. | frames of the occupant | the run loop's frame | top
 *                                     ^ sp                     ^ base
 *
 * The run loop's frame belongs to the shared stack. It is the same for all who run there, since the
 * loop keeps nothing in it while it calls a coroutine (run.c), so a coroutine's own frames are all
 * that is copied.
 *
 *   D1  a fresh one starts in the next shared stack, from whose occupant it takes the place: its
 *       frames are copied out by whoever starts it, who runs elsewhere
 *   D2  one that was copied out has, in the place of its context, that of the worker's copier, a
 *       context on a stack of its own: whoever resumes it goes there, and need not know. The copier
 *       copies the occupant of the shared stack out and it in, at the same addresses, and goes on
 *       to it. Where both have as many bytes, as those of one function that wait at one place have,
 *       they change places, and blocks, in one pass
 *   D3  one whose frames are large, alone in its shared stack, keeps the stack instead of being
 *       copied out, and is like any other from then on; the shared stack gets a new stack
 *   D4  no memory for a copy: a fresh one waits until there is some, like one for which there is no
 *       stack. Of those that are resumed one may lie in the worker's spare blocks, one for it and
 *       one for whoever changes places with it; if that is taken, the wait of who lies there ends
 *       with CORO_ENOMEM, so that it goes on, and the other one tries again
 *
 * A dense coroutine that has started stays with its worker, pinned. All of this happens inside the
 * worker's door, but for the heap, which is used by its dense coroutines wherever they are. Its
 * addresses are valid for others only while it runs: whatever others are to reach while it waits
 * lies in the heap (coroi_aside).
 */
#ifndef COROI_DENSE_H
#define COROI_DENSE_H

#include "base/heap.h"
#include "kernel/worker.h"

/* The class of runnables that start dense; no stack has it. What a stack `serves` is its own class
 * or, of a shared stack's, this one. */
#define COROI_DENSE 15

#define COROI_SHARED_STACKS      16
#define COROI_SHARED_STACKS_MOST 1024

/* The frames of one that is not in its shared stack; its record's `stack` points here. What it has
 * of a deeper stack (coro_call_on_stack) stays there. */
struct coroi_saved {
	struct coroi_fiber fiber; /* first, as in a coroi_stack: the copier's */
	struct coroi_fiber own;   /* that of the frames */
	uint32_t bytes;
	uint16_t shared;
	uint16_t is_deep; /* after the frames comes a struct coroi_deep */
	unsigned char frames[];
};

struct coroi_deep {
	void *sp;
	struct coroi_stack *stack;
};

struct coroi_shared_stack {
	struct coroi_stack *stack;  /* NULL: not used yet */
	struct coroi_rec *occupant; /* whose frames are in it */
	char *base;
	struct coroi_saved *kept; /* a block for the occupant's frames, or NULL */
	uint32_t saved;           /* coroutines that are to come back here */
};

struct coroi_dense {
	struct coroi_heap heap;
	void *copier_sp;
	struct coroi_stack *copier;
	uint32_t count, next;
	size_t private_bytes; /* D3: more frames than that */
	uint8_t class;        /* of the shared stacks' stacks */
	struct coroi_saved *spare[2];
	struct coroi_rec *in_spare;
	/* atomic, relaxed: others look. Out, in, both at once */
	uint64_t evictions, restores, exchanges, bytes_copied, privates;
	struct coroi_shared_stack shared[];
};

/* coroi_dense_stack_locked - D1: the stack that a fresh dense coroutine starts on. NULL: no
 * memory. */
struct coroi_stack *coroi_dense_stack_locked(struct coroi_worker *w);

/* coroi_dense_begin_locked - r runs on the stack of a shared stack from now on. */
void coroi_dense_begin_locked(struct coroi_worker *w, struct coroi_rec *r,
			      struct coroi_stack *stack);

/* coroi_dense_base - the caller, the run loop on a shared stack's stack, is about to call
 * coroutines. */
COROI_NOINLINE void coroi_dense_base(struct coroi_stack *stack);

/* coroi_dense_leave_locked - the loop on a shared stack's stack is left for ever, after the end of
 * the last occupant. */
void coroi_dense_leave_locked(struct coroi_worker *w, struct coroi_stack *stack);

/* coroi_dense_trim_locked - if no dense coroutine is left (alive: some coroutine is, perhaps one
 * that keeps its stack), its shared stacks go back to the stacks that w keeps. coroi_dense_close -
 * w has ended. Both free w->dense: the caller holds the life lock, as a reader of its figures on
 * another thread does. */
void coroi_dense_trim_locked(struct coroi_worker *w, bool alive);
void coroi_dense_close(struct coroi_worker *w);

static inline bool coroi_is_dense(const struct coroi_rec *me)
{
	return coroi_unlikely(me->class == COROI_DENSE);
}

/* coroi_dense_is_away - me, the current coroutine, is still to be copied in. Async-signal-safe. */
static inline bool coroi_dense_is_away(const struct coroi_worker *w, const struct coroi_rec *me)
{
	return coroi_is_dense(me) && w->dense && me->sp == w->dense->copier_sp;
}

/* coroi_is_hidden - p points into the stack that me, the current coroutine, shares: nobody else may
 * be given it. */
static inline bool coroi_is_hidden(const struct coroi_rec *me, const void *p)
{
	const struct coroi_stack *s = me->stack;

	if (coroi_likely(!coroi_is_dense(me)))
		return false;
	while (s->below)
		s = s->below;
	return (uintptr_t)p - (uintptr_t)s->low < (uintptr_t)s->top - (uintptr_t)s->low;
}

/* With AddressSanitizer, the stack of a dense coroutine that does not run is poisoned: whoever
 * follows a pointer into it is told at once. coroi_dense_show - before a switch to w's current
 * coroutine; coroi_dense_hide - after one. */
#ifdef COROI_ASAN
void coroi_dense_show(struct coroi_worker *w);
void coroi_dense_hide(void);
#else
static inline void coroi_dense_show(struct coroi_worker *w)
{
	(void)w;
}

static inline void coroi_dense_hide(void)
{
}
#endif

/* coroi_aside_get, coroi_aside_put - memory for what others are to reach while the current
 * coroutine, a dense one, waits. NULL: none. */
void *coroi_aside_get(size_t bytes);
void coroi_aside_put(void *p);

/* coroi_aside - `bytes` for that: of me's own stack, which the caller is about to leave only after
 * coroi_aside_end, unless me is dense. me: the current coroutine, or NULL. */
#define coroi_aside(me, bytes) \
	((me) && coroi_is_dense(me) ? coroi_aside_get(bytes) : __builtin_alloca(bytes))

static inline void coroi_aside_end(const struct coroi_rec *me, void *p)
{
	if (me && coroi_is_dense(me))
		coroi_aside_put(p);
}

#endif
