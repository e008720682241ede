/*
 * run.h - the run loop: choosing what runs next and going there. Everything named _locked is called inside the
 * door of w, by its owner.
 */
#ifndef COROI_RUN_H
#define COROI_RUN_H

#include "door.h"
#include "idle.h"
#include "inbox.h"
#include "sanitize.h"
#include "switch.h"

/* coroi_drain_locked - deliver what the inbox holds, and have something in the queue if there was anything. */
void coroi_drain_locked(struct coroi_worker *w);
COROI_NOINLINE int coroi_suspend_slow(struct coroi_worker *w, struct coroi_rec *me, struct coroi_rec *next);

/* coroi_fail_starved_locked - nothing runs any more that could give a stack back: those who wait for one end. */
void coroi_fail_starved_locked(struct coroi_worker *w);

/* coroi_queue_locked - r is runnable: to the back. */
static inline void coroi_queue_locked(struct coroi_worker *w, struct coroi_rec *r)
{
	coroi_deque_push(&w->queue, r);
}

/* coroi_ready_locked - r, at home here, has been woken: into the next slot, so that a chain of wake-ups stays in
 * cache; who was there goes to the back. */
static inline void coroi_ready_locked(struct coroi_worker *w, struct coroi_rec *r, int8_t code)
{
	r->state = COROI_ACTIVE;
	r->code = code; /* other than CORO_OK only once the scheduler is being canceled; coro_yield counts on it */
	struct coroi_rec *back = r;
	if (coroi_likely(w->budget_full > 0)) {
		back = w->slot;
		at_store_rlx(&w->slot, r);
	}
	if (back)
		coroi_deque_push(&w->queue, back);
	coroi_idle_queued(w);
}

/* coroi_requeue_locked - the same for one woken from afar: to the back, in the order of waking. */
static inline void coroi_requeue_locked(struct coroi_worker *w, struct coroi_rec *r, int8_t code)
{
	r->state = COROI_ACTIVE;
	r->code = code;
	coroi_deque_push(&w->queue, r);
}

/* coroi_turns - how often w chose what runs next: tells others whether it moves. Racy from outside. */
static inline uint32_t coroi_turns(const struct coroi_worker *w)
{
	return at_load_rlx(&w->queue.head) + at_load_rlx(&w->handovers);
}

/* coroi_mail_due - look into the inbox now? Each look takes its cache line from those who push, so not at every turn. */
static inline bool coroi_mail_due(const struct coroi_worker *w)
{
	return (w->queue.head & 3) == 0 && (at_load_rlx(&w->inbox) | w->unopened) != 0; /* relaxed: a hint */
}

/* coroi_pick_locked - what runs next, or NULL: the slot while its budget lasts, else the front of the queue. */
static inline struct coroi_rec *coroi_pick_locked(struct coroi_worker *w)
{
	if (coroi_unlikely(coroi_mail_due(w)))
		coroi_drain_locked(w);
	struct coroi_rec *r = w->slot;
	if (r) {
		at_store_rlx(&w->slot, NULL);
		at_bump(&w->handovers);
		if (coroi_likely(w->budget-- > 0))
			return r;
		coroi_deque_push(&w->queue, r);
	}
	w->budget = w->budget_full;
	r = coroi_deque_pop(&w->queue);
	if (coroi_unlikely(!r && (at_load_rlx(&w->inbox) | w->unopened) != 0)) {
		coroi_drain_locked(w);
		r = coroi_deque_pop(&w->queue);
	}
	return r;
}

/* coroi_to - switch to a context of stack (NULL: w's native one); the switch opens w's door. */
static inline int coroi_to(void **save, void *sp, intptr_t value, struct coroi_worker *w, struct coroi_stack *stack)
{
#ifdef COROI_ASAN
	void *fake = NULL;
	if (stack)
		coroi_fiber_leave(&fake, stack->low, (size_t)(stack->top - stack->low));
	else
		coroi_fiber_leave(&fake, w->native_low, w->native_bytes);
	int code = coroi_switch(save, sp, value, &w->busy);
	coroi_fiber_arrive(fake, NULL, NULL);
	return code;
#else
	(void)stack;
	return coroi_switch(save, sp, value, &w->busy);
#endif
}

/*
 * coroi_suspend_locked - me stops here, next (NULL: the native stack) goes on. The switch opens the door. Returns
 * me's code when it goes on itself. A tail call in the end: nothing happens between the switch and the caller of
 * the public function.
 */
static inline int coroi_suspend_locked(struct coroi_worker *w, struct coroi_rec *me, struct coroi_rec *next)
{
	if (coroi_unlikely(next == me)) {
		coroi_door_leave(w);
		return me->code;
	}
	if (coroi_likely(next && next->sp)) {
		w->current = next;
		return coroi_to(&me->sp, next->sp, next->code, w, next->stack);
	}
	return coroi_suspend_slow(w, me, next);
}

/* coroi_run - from the native stack: run coroutines until there is none. */
void coroi_run(struct coroi_worker *w);

/* coroi_exit - give the present frames up and end the current coroutine. */
void coroi_exit(struct coroi_worker *w) __attribute__((noreturn));

#endif
