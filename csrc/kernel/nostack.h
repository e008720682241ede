/*
 * nostack.h - coroutines that are to start, and for which there is no stack.
 *
 * They await a stack in the list of the worker that is their home. What was accepted is not lost:
 * they wait as long as any coroutine could still end and leave its stack.
 *
 *   NST1  no stack: list the coroutine at home, and count it in awaiting_stack (sequentially
 *         consistent)
 *   NST2  a worker that gives up a loop, or goes to sleep, gives its idle stacks to the pool while
 *         some are awaited, and wakes the workers of those that await one. This is a hint: the look
 *         at the count may come too early
 *   NST3  the thread that leaves no worker awake sees all of NST1 (SLP4 of idle.c). It wakes a
 *         worker that has such coroutines and has not looked since anything moved (coroi_moves).
 *         That worker, awake alone, looks for a stack: in the pool and, where the system refused
 *         memory and there is no limit, with the sleepers
 *   NST4  there is none, and everything rests: if nobody can ever leave a stack, the first that
 *         await one end with CORO_ENOMEM, until something can run. In run mode that is so at each
 *         rest. In service mode it is so if each coroutine that lives awaits a stack or joins
 *         another one of this scheduler. Any other wait may be ended from outside, by Go
 *   NST5  one whose stack alone is beyond the limit ends in NST3
 *
 * NST3 comes to an end: nothing moves by a look in vain, so the next thread that leaves no worker
 * awake wakes nobody.
 */
#ifndef COROI_NOSTACK_H
#define COROI_NOSTACK_H

#include "kernel/run.h"
#include "kernel/wait.h"

/* coroi_moves - a number that differs if, between two calls, a worker has chosen what to run, or
 * has taken a remote wake, or the goworker has parked; or if only one of them is at a rest. Never
 * 0. Exact while no worker is awake, but the caller. */
uint64_t coroi_moves(const struct coro_scheduler *s, bool rest);

/* coroi_find_stack - NST3 to NST5 for the coroutines of w, which is awake alone. rest: nothing is
 * pending. Thread: w's, on its native stack, in no door. Returns: true if something can run. */
bool coroi_find_stack(struct coroi_worker *w, bool rest);

/* coroi_tell_unstarted_locked - a coroutine with that function and that argument ends without having
 * run: tell those who count such ends. */
COROI_COLD void coroi_tell_unstarted_locked(struct coroi_worker *w, coro_fn fn, uint64_t arg,
					    int status);

/* coroi_end_unstarted_locked - r ends at home here, and has never run. why: COROI_F_NO_STACK or
 * COROI_F_CANCELED. */
COROI_COLD void coroi_end_unstarted_locked(struct coroi_worker *w, struct coroi_rec *r,
					   uint8_t why);

/* coroi_await_stack_locked - there is no stack for r: NST1. */
COROI_COLD void coroi_await_stack_locked(struct coroi_worker *w, struct coroi_rec *r);

/* coroi_take_awaiting_locked - the first that awaits a stack; NULL: none does. */
struct coroi_rec *coroi_take_awaiting_locked(struct coroi_worker *w);

/* coroi_take_awaiting_with_stack_locked - the first that awaits a stack, with a stack in r->stack.
 * NULL: none awaits a stack, or there is still none to be had. */
COROI_COLD struct coroi_rec *coroi_take_awaiting_with_stack_locked(struct coroi_worker *w);

/* coroi_stack_for_locked - a stack for r to start on, or NULL. */
static inline struct coroi_stack *coroi_stack_for_locked(struct coroi_worker *w,
							 const struct coroi_rec *r)
{
	return coroi_is_dense(r) ? coroi_dense_stack_locked(w)
				 : coroi_stack_get(&w->stacks, r->class);
}

/* coroi_put_stack_locked - the loop on stack has been left, and will not be entered again. */
static inline void coroi_put_stack_locked(struct coroi_worker *w, struct coroi_stack *stack)
{
	if (coroi_unlikely(stack->serves == COROI_DENSE))
		coroi_dense_leave_locked(w, stack);
	else
		coroi_stack_put(&w->stacks, stack);
}

/* coroi_end_canceled_locked - those at the front that are cancelled end unstarted. */
static inline void coroi_end_canceled_locked(struct coroi_worker *w)
{
	while (w->awaiting_stack.count &&
	       coroi_unlikely(coroi_is_canceled_locked(w->awaiting_stack.first)))
		coroi_end_unstarted_locked(w, coroi_take_awaiting_locked(w), COROI_F_CANCELED);
}

#endif
