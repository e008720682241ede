/*
 * manual.h - coroutines resumed by hand, as the rest of the core sees them.
 */
#ifndef COROI_MANUAL_H
#define COROI_MANUAL_H

#include "base/stack.h"

struct coroi_extras;
struct coroi_rec;

struct coro {
	void *sp;         /* its suspended context */
	void *resumer_sp; /* the context that resumed it, while it runs */
	/* where the next value goes: to its resumer while it runs, else to itself */
	intptr_t *value;
	int status;                  /* a yield code, or CORO_EBUSY while it runs */
	coro_t *outer;               /* the coroutine by hand that resumed it */
	struct coroi_rec *outer_rec; /* the scheduled coroutine that resumed it */
	struct coroi_stack *stack;   /* that it is on; its own is the last by `below` */
	coro_body body;
	void *arg;
	intptr_t first; /* the first value sent */
	struct coroi_extras *extras;
	struct coroi_fiber resumer;
};

/* coroi_manual - the innermost coroutine by hand that runs on this thread, or NULL. */
coro_t *coroi_manual(void);

/* coroi_manual_pool - the pool of stacks of coroutines by hand, and of dispatchers. */
struct coroi_stack_pool *coroi_manual_pool(void);

/* coroi_manual_take, coroi_manual_give - a stack out of that pool, and back. NULL: no memory. */
struct coroi_stack *coroi_manual_take(unsigned class);
void coroi_manual_give(struct coroi_stack *s);

/* Who is innermost on a thread, while it runs a dispatcher's coroutines. */
struct coroi_outer {
	coro_t *co;
	struct coroi_rec *rec;
};

/* coroi_manual_hide - from now on this thread has no current coroutine. coroi_manual_show - it has
 * the same as before again. */
void coroi_manual_hide(struct coroi_outer *o);
void coroi_manual_show(const struct coroi_outer *o);

#endif
