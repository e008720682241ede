/*
 * dense.h - coroutines that own no stack while they wait. Many share one stack, and the live frames
 * of a coroutine are copied out of it (after usched by Nikita Danilov).
 *
 * A worker has some shared stacks, on which its dense coroutines take turns. A coroutine that
 * suspends stays in its shared stack, as the occupant, until another coroutine wants the stack. So
 * a few coroutines cost no copy at all. If another wants the stack, the frames of the occupant go
 * to a block of the worker's heap:
 *
 *   shared stack   | guard | ............. | frames of the occupant | the run loop's frame | top
 *                                          ^ sp                     ^ base
 *
 * The run loop's frame belongs to the shared stack. It is the same for all coroutines that run
 * there, as the loop uses nothing in it across the call of a coroutine (run.c). So only a
 * coroutine's own frames are copied.
 *
 *   DNS1  start: a fresh coroutine starts on the next shared stack. If that has an occupant, its
 *         frames are copied out before, by code that runs on another stack.
 *   DNS2  resume: a coroutine that was copied out has, in the place of its context, the context of
 *         the worker's copier, which has a stack of its own. So code that resumes the coroutine
 *         goes to the copier, and need not know. The copier copies the occupant of the shared stack
 *         out, and the coroutine in, at the same addresses, and goes on to it. Coroutines of one
 *         function that wait at one place have frames of one size: then the two change places, and
 *         blocks, in one pass.
 *   DNS3  large frames: a coroutine with large frames, if no other has frames to come back to its
 *         shared stack, keeps the stack instead of being copied out. From then on it is like a
 *         plain coroutine. The shared stack gets a new stack.
 *   DNS4  no memory for a copy: a fresh coroutine waits until there is some, as one that awaits a
 *         stack. For coroutines that are resumed the worker has two spare blocks: one for a
 *         coroutine that is copied out, and one for the coroutine that changes places with it. If
 *         another coroutine lies there, its wait ends with CORO_ENOMEM, so that it goes on, and the
 *         coroutine that was to be resumed tries again.
 *
 * A dense coroutine that has started is pinned to its worker. All of this happens inside the
 * worker's door, except for the use of the heap: the worker's dense coroutines use it in no door
 * too. Addresses on a dense coroutine's stack are valid for others only while the coroutine runs.
 * What others are to reach while it waits lies in the heap (coroi_aside).
 */
#ifndef COROI_DENSE_H
#define COROI_DENSE_H

#include "base/heap.h"
#include "kernel/worker.h"

/* The class of runnables that start as dense coroutines. No stack has this class, but shared stacks
 * serve it (coroi_stack.serves). */
#define COROI_DENSE 15

#define COROI_SHARED_STACKS_MOST 1024 /* of a worker: what an option may ask for */

/* The frames of a coroutine that was copied out of its shared stack. Its record's `stack` points
 * here. Frames on a deeper stack (coro_call_on_stack) stay there. */
struct coroi_saved {
	struct coroi_fiber fiber; /* first, as in a coroi_stack: the copier's */
	struct coroi_fiber own;   /* the fiber of the frames */
	uint32_t bytes;
	uint16_t shared;
	uint16_t is_deep; /* a struct coroi_deep follows the frames */
	unsigned char frames[];
};

struct coroi_deep {
	void *sp;
	struct coroi_stack *stack;
};

struct coroi_shared_stack {
	struct coroi_stack *stack;  /* NULL: not used yet */
	struct coroi_rec *occupant; /* the coroutine whose frames are in it, or NULL */
	char *base;
	struct coroi_saved *kept; /* a block for the occupant's frames, or NULL */
	uint32_t saved;           /* coroutines that were copied out, and are to come back */
};

struct coroi_dense {
	struct coroi_heap heap;
	void *copier_sp;
	struct coroi_stack *copier;
	uint32_t count, next;         /* shared stacks; the next one to start a coroutine on */
	size_t private_bytes;         /* DNS3 is for frames with more bytes */
	uint8_t class;                /* of the shared stacks' stacks */
	struct coroi_saved *spare[2]; /* DNS4 */
	struct coroi_rec *in_spare;   /* the coroutine whose frames are in one of them, or NULL */
	/* Copies out, copies in, exchanges of both; bytes; private stacks (DNS3). Atomic, relaxed:
	 * other threads read them. */
	uint64_t evictions, restores, exchanges, bytes_copied, privates;
	struct coroi_shared_stack shared[];
};

/* coroi_dense_stack_locked - DNS1: the stack that a fresh dense coroutine starts on. NULL: no
 * memory. */
struct coroi_stack *coroi_dense_stack_locked(struct coroi_worker *w);

/* coroi_dense_begin_locked - r runs on a shared stack from now on: it is the occupant, and
 * pinned. */
void coroi_dense_begin_locked(struct coroi_worker *w, struct coroi_rec *r,
			      struct coroi_stack *stack);

/* coroi_dense_base - note where the caller's frame ends. The caller is the run loop on a shared
 * stack, and is about to call coroutines. */
COROI_NOINLINE void coroi_dense_base(struct coroi_stack *stack);

/* coroi_dense_leave_locked - the run loop on a shared stack is given up, as the occupant has
 * ended. */
void coroi_dense_leave_locked(struct coroi_worker *w, struct coroi_stack *stack);

/* coroi_dense_trim_locked - give w's shared stacks back to the stacks that w keeps, if w has no
 * dense coroutine. alive: some coroutine has not ended; it may be one that has kept a shared stack
 * (DNS3), and uses the heap. Thread: any, with w's door locked. coroi_dense_close - free what is
 * left; w has ended. Both free w->dense: the caller holds the life lock, as a reader of its
 * statistics on another thread does. */
void coroi_dense_trim_locked(struct coroi_worker *w, bool alive);
void coroi_dense_close(struct coroi_worker *w);

static inline bool coroi_is_dense(const struct coroi_rec *me)
{
	return coroi_unlikely(me->class == COROI_DENSE);
}

/* coroi_dense_is_away - is me, the current coroutine, still to be copied in?
 * Async-signal-safe. */
static inline bool coroi_dense_is_away(const struct coroi_worker *w, const struct coroi_rec *me)
{
	return coroi_is_dense(me) && w->dense && me->sp == w->dense->copier_sp;
}

/* coroi_is_hidden - does p point into the stack that me, the current coroutine, shares? Then no
 * other coroutine or thread may be given p. */
static inline bool coroi_is_hidden(const struct coroi_rec *me, const void *p)
{
	if (coroi_likely(!coroi_is_dense(me)))
		return false;
	const struct coroi_stack *s = coroi_stack_own(me->stack);
	return (uintptr_t)p - (uintptr_t)s->low < (uintptr_t)s->top - (uintptr_t)s->low;
}

/* With AddressSanitizer, the stack of a dense coroutine that does not run is poisoned: code that
 * follows a pointer into it is reported at once. coroi_dense_show - unpoison the stack of w's
 * current coroutine, before a switch to it. coroi_dense_hide - poison the stacks of all others,
 * after a switch. */
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

/* coroi_aside_get, coroi_aside_put - get and free memory of w's heap, for what others are to reach
 * while the current coroutine waits. The current coroutine is dense. NULL: no memory. */
void *coroi_aside_get(size_t bytes);
void coroi_aside_put(void *p);

/* coroi_aside - memory that others may reach while me waits, until coroi_aside_end. If me is dense
 * it comes from the heap, else from the caller's frame, which the caller leaves only after
 * coroi_aside_end. me: the current coroutine, or NULL. NULL: no memory. */
#define coroi_aside(me, bytes) \
	((me) && coroi_is_dense(me) ? coroi_aside_get(bytes) : __builtin_alloca(bytes))

static inline void coroi_aside_end(const struct coroi_rec *me, void *p)
{
	if (me && coroi_is_dense(me))
		coroi_aside_put(p);
}

#endif
