/*
 * dispatch.h - a dispatcher: coroutines that share one stack on one thread, and a user who says
 * which of them runs next (after usched by Nikita Danilov, 2022). It uses no scheduler.
 *
 * The dispatcher has one stack, the shared stack, and the context that called coro_dispatch_run, on
 * a stack of its own, the caller.
 *
 *   X1  on the shared stack a loop calls a fresh coroutine as a function; when it has returned, the
 *       loop asks who is next, and if that is a fresh one too, calls it: a coroutine that never
 *       blocks is a call and a question
 *   X2  one that blocks switches to the caller, who makes sure of a buffer with room for its
 *       frames, and asks who is next. No room: it goes on at once, with an error, and nothing has
 *       happened. Otherwise its frames stay where they are, it is the occupant
 *   X3  if the occupant itself is next it goes on. If another is, the caller copies the occupant's
 *       frames to its buffer, for which no memory is needed any more, and the other's, if it has
 *       started, to where they were; or it begins a new loop at the top of the shared stack, where
 *       all loops have been. An occupant whose frames were copied away is like any other
 *   X4  a loop that is told of one that was blocked switches to the caller, and is left for ever; X3
 *
 * The loop's frame is that of all who run on the shared stack: it keeps nothing in it across the
 * call of a coroutine but the dispatcher's address. So only what lies below is copied.
 *
 * One thread uses a dispatcher at a time. `owner` is the only word of it that others may look at:
 * coro_dispatch_run sets it with a compare-and-swap (acquire: all that the last thread has done
 * with the dispatcher is seen) and clears it with a release.
 */
#ifndef COROI_DISPATCH_H
#define COROI_DISPATCH_H

#include "base/manual.h"
#include "base/switch.h"

struct coroi_extras;

enum {
	COROI_DISPATCH_NONE,
	COROI_DISPATCH_FRESH,
	COROI_DISPATCH_BLOCKED,
	COROI_DISPATCH_RUNS,
	COROI_DISPATCH_ENDED
};

/* A buffer for frames. */
struct coroi_frames {
	struct coroi_fiber own; /* that of the frames */
	unsigned char at[] __attribute__((aligned(8)));
};

/* A coro_dispatched. */
struct coroi_dispatched {
	coro_dispatcher *dispatcher;
	coro_dispatch_fn fn;
	union {
		void *arg; /* until it starts */
		void *sp;  /* its suspended context */
	};
	/* the one it stands on: the shared stack, or a deeper one (coro_call_on_stack) */
	struct coroi_stack *stack;
	struct coroi_frames *buffer; /* NULL: none yet */
	struct coroi_extras *extras;
	uint32_t room; /* bytes of the buffer */
	uint8_t state;
	uint8_t ending; /* the code that it ends with */
	/* what its block returns when it goes on; CORO_OK again by then */
	int8_t code;
};

struct coro_dispatcher {
	coro_dispatch_policy policy;
	struct coroi_stack *shared;
	char *base;                       /* of the frames in it */
	struct coroi_dispatched *current; /* the running one; NULL: the policy is asked */
	/* it is blocked, and its frames are in the shared stack */
	struct coroi_dispatched *occupant;
	struct coroi_dispatched *chosen; /* X4 */
	void *caller_sp;
	struct coroi_fiber caller;
	struct coroi_outer outer;
	uint64_t started; /* coroutines that have, and have not ended */
	int status;       /* of coro_dispatch_run */
	/* c could not block: what its block returns then. NULL: status */
	int (*refused)(void *user, struct coroi_dispatched *c, int status);
	uint32_t owner; /* 1: a thread is in coro_dispatch_run */
};

/* coroi_dispatcher - this thread's dispatcher, or NULL. Async-signal-safe. */
coro_dispatcher *coroi_dispatcher(void);

/* coroi_dispatch_suspend - block c, the current one. The callers' last act, a tail call where no
 * sanitizer is told anything, as in manual.c: else each return on the way back, to a place that the
 * processor has not seen a call from, would be mispredicted. */
static inline int coroi_dispatch_suspend(struct coroi_dispatched *c)
{
	coro_dispatcher *d = c->dispatcher;
	void *fake = NULL;

	coroi_fiber_leave(&fake, &d->caller);
	int code = coroi_swap(&c->sp, d->caller_sp, CORO_OK);
	coroi_fiber_arrive(fake, &d->caller);
	return code;
}

#endif
