/*
 * dispatch.h - a dispatcher: coroutines that share one stack on one thread, and a policy of the
 * user's that says which of them runs next (after usched by Nikita Danilov, 2022). It uses no
 * scheduler.
 *
 * Two contexts take part: a loop, which runs on the dispatcher's shared stack, and the caller,
 * which has called coro_dispatch_run on the thread's own stack.
 *
 *   DSP1  the loop calls a fresh coroutine as a function. When that has returned, the loop asks the
 *         policy which one is next, and if that is a fresh one too, calls it. So a coroutine that
 *         never blocks is a call and a question
 *   DSP2  a coroutine that blocks switches to the caller. The caller makes sure of a buffer with
 *         room for the coroutine's frames. No room: the coroutine continues at once, with an error,
 *         and nothing has happened. Else its frames stay where they are: it is the occupant. The
 *         caller asks the policy which one is next
 *   DSP3  if the occupant is next, it continues. If another one is, the caller copies the
 *         occupant's frames to its buffer, which needs no memory any more. Then a fresh coroutine
 *         gets a new loop at the top of the shared stack, where all loops begin; one that was
 *         blocked gets its frames copied back to where they were
 *   DSP4  a loop whose question is answered with a blocked coroutine switches to the caller, which
 *         continues with DSP3. The loop never runs again
 *
 * The loop's frame belongs to all coroutines that run on the shared stack: across the call of a
 * coroutine it keeps nothing but the dispatcher's address. So only what is below it is copied.
 *
 * One thread uses a dispatcher at a time. `owner` is the only word of it that other threads may
 * look at: coro_dispatch_run sets it with a compare-and-swap (acquire: all that the last thread has
 * done with the dispatcher is seen) and clears it with a release.
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
	struct coroi_fiber own; /* of the frames */
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
	/* that it is on: the shared stack, or a deeper one (coro_call_on_stack) */
	struct coroi_stack *stack;
	struct coroi_frames *buffer; /* NULL: none yet */
	struct coroi_extras *extras;
	uint32_t room; /* bytes of the buffer */
	uint8_t state;
	uint8_t ending; /* the yield code that it ends with */
	/* what its block returns when it continues; reset to CORO_OK by then */
	int8_t code;
};

struct coro_dispatcher {
	coro_dispatch_policy policy;
	struct coroi_stack *shared;
	char *base;                       /* of the frames in `shared` */
	struct coroi_dispatched *current; /* runs now; NULL: the policy is asked */
	/* blocked, with its frames in the shared stack; NULL: none is */
	struct coroi_dispatched *occupant;
	struct coroi_dispatched *chosen; /* DSP4 */
	void *caller_sp;
	struct coroi_fiber caller;
	struct coroi_outer outer;
	uint64_t started; /* coroutines that have started and not ended */
	int status;       /* of coro_dispatch_run */
	/* tells what the block of c returns, which failed with status. NULL: status */
	int (*refused)(void *user, struct coroi_dispatched *c, int status);
	uint32_t owner; /* 1: a thread is in coro_dispatch_run */
};

/* coroi_dispatcher - this thread's dispatcher, or NULL. Async-signal-safe. */
coro_dispatcher *coroi_dispatcher(void);

/* coroi_dispatch_suspend - block c, the current one. Callers end with it; without sanitizers it is
 * a tail call, as in manual.c. Else each return on the way back would be mispredicted: the
 * processor has seen no call from there. */
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
