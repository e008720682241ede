/*
 * manual.h - manual coroutines, which are resumed by hand, as the rest of the core sees them.
 */
#ifndef COROI_MANUAL_H
#define COROI_MANUAL_H

#include "base/extras.h"
#include "base/stack.h"

struct coroi_rec;

struct coro {
	void *sp;         /* its suspended context */
	void *resumer_sp; /* the context that resumed it, while it runs */
	/* The place of the next value: the resumer's while the coroutine runs, else its own. */
	intptr_t *value;
	int status;                  /* a yield code, or CORO_EBUSY while it runs */
	coro_t *outer;               /* the manual coroutine that resumed it, or NULL */
	struct coroi_rec *outer_rec; /* the scheduled coroutine that resumed it, or NULL */
	struct coroi_stack *stack;   /* the one it is on; its own is the last one by `below` */
	coro_body body;
	void *arg;
	intptr_t first; /* the first value sent */
	struct coroi_extras *extras;
	struct coroi_failure failure; /* with CORO_FAILED; see coro_resume_error */
	struct coroi_fiber resumer;
};

/* coroi_manual - the innermost manual coroutine that runs on this thread, or NULL. */
coro_t *coroi_manual(void);

/* coroi_manual_pool - the pool of stacks for manual coroutines and for dispatchers. It is made by
 * the first call. Thread: any. */
struct coroi_stack_pool *coroi_manual_pool(void);

/* coroi_manual_take, coroi_manual_give - get a stack from that pool (NULL: no memory), and give it
 * back. Thread: any. */
struct coroi_stack *coroi_manual_take(unsigned class);
void coroi_manual_give(struct coroi_stack *s);

/* coroi_manual_unstack - give back to that pool the stacks that coro_call_on_stack has put on a
 * coroutine's own. *stack: the one in use, and afterwards the own one. Nothing runs on the others.
 */
void coroi_manual_unstack(struct coroi_stack **stack);

/* The manual and the scheduled coroutine of a thread that runs a dispatcher's coroutines. */
struct coroi_outer {
	coro_t *co;
	struct coroi_rec *rec;
};

/* coroi_manual_hide - from now on this thread has no manual and no scheduled coroutine.
 * coroi_manual_show - it has the same ones as before again. */
void coroi_manual_hide(struct coroi_outer *o);
void coroi_manual_show(const struct coroi_outer *o);

#endif
