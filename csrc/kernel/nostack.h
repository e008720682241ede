/*
 * nostack.h - coroutines that are to start, and for which there is no stack. A part of run.c.
 *
 * They await a stack in the list of the worker that is their home, until a coroutine ends and
 * leaves a stack. While a coroutine awaits a stack on any worker, the scheduler is not at rest: the
 * last worker awake tells its coroutines that there is none (idle.c).
 */
#ifndef COROI_NOSTACK_H
#define COROI_NOSTACK_H

#include "kernel/run.h"
#include "kernel/wait.h"

/* stack_for_locked - a stack for r to start on, or NULL. */
static inline struct coroi_stack *stack_for_locked(struct coroi_worker *w,
						   const struct coroi_rec *r)
{
	return coroi_is_dense(r) ? coroi_dense_stack_locked(w)
				 : coroi_stack_get(&w->stacks, r->class);
}

/* put_stack_locked - the loop on stack has been left, and will not be entered again. */
static inline void put_stack_locked(struct coroi_worker *w, struct coroi_stack *stack)
{
	if (coroi_unlikely(stack->serves == COROI_DENSE))
		coroi_dense_leave_locked(w, stack);
	else
		coroi_stack_put(&w->stacks, stack);
}

/* await_stack_locked - there is no stack for r: r awaits one, at home here. */
COROI_COLD static void await_stack_locked(struct coroi_worker *w, struct coroi_rec *r)
{
	coroi_list_add(&w->awaiting_stack, r);
	/* Sequentially consistent, with P4 of idle.c: while it is not 0, there is no rest. */
	at_add(&w->sched->awaiting_stack, 1);
}

/* take_awaiting_locked - the first that awaits a stack; NULL: none does. */
static struct coroi_rec *take_awaiting_locked(struct coroi_worker *w)
{
	struct coroi_rec *r = coroi_list_take(&w->awaiting_stack);
	if (r)
		at_add(&w->sched->awaiting_stack, -1);
	return r;
}

/* end_awaiting_locked - all of w that await a stack end unstarted. why: COROI_F_NO_STACK or
 * COROI_F_CANCELED. */
static void end_awaiting_locked(struct coroi_worker *w, uint8_t why)
{
	for (struct coroi_rec *r; (r = take_awaiting_locked(w));) {
		r->flags |= coroi_is_canceled_locked(r) ? COROI_F_CANCELED : why;
		coroi_end_locked(w, r);
	}
}

/* end_canceled_locked - those at the front that are cancelled end unstarted. */
static inline void end_canceled_locked(struct coroi_worker *w)
{
	while (w->awaiting_stack.count &&
	       coroi_unlikely(coroi_is_canceled_locked(w->awaiting_stack.first))) {
		struct coroi_rec *r = take_awaiting_locked(w);
		r->flags |= COROI_F_CANCELED;
		coroi_end_locked(w, r);
	}
}

/* take_awaiting_with_stack_locked - the first that awaits a stack, with a stack in r->stack. NULL:
 * none awaits a stack, or there is still none to be had. */
COROI_COLD static struct coroi_rec *take_awaiting_with_stack_locked(struct coroi_worker *w)
{
	if (w->cancel)
		end_awaiting_locked(w, COROI_F_CANCELED);
	end_canceled_locked(w);
	struct coroi_rec *r = take_awaiting_locked(w);
	if (r && !(r->stack = stack_for_locked(w, r))) {
		await_stack_locked(w, r);
		r = NULL;
	}
	return r;
}

#endif
