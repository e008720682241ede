/*
 * run.h - the run loop: choosing what runs next and going there. Everything named _locked is called
 * inside the door of w, by its owner.
 */
#ifndef COROI_RUN_H
#define COROI_RUN_H

#include "kernel/dense.h"
#include "kernel/door.h"
#include "kernel/idle.h"
#include "kernel/inbox.h"
#include "base/extras.h"
#include "base/sanitize.h"
#include "base/switch.h"
#include "kernel/timer.h"

/* coroi_drain_locked - deliver what the inbox holds, and have something in the queue if there was
 * anything. */
void coroi_drain_locked(struct coroi_worker *w);

/* coroi_deliver_locked - the oldest spawns that have come from outside, some of them, into the
 * queue. */
void coroi_deliver_locked(struct coroi_worker *w);

/* coroi_detach_batches_locked - B3 of batch.h for all batches that w looks at. True: it looks at
 * none any more, and no spawn from outside is left that is not in the queue. */
bool coroi_detach_batches_locked(struct coroi_worker *w);

/* coroi_has_spawns - spawns are in a batch that w looks at. The owner asks, outside its door. */
bool coroi_has_spawns(struct coroi_worker *w);

COROI_NOINLINE int coroi_suspend_slow(struct coroi_worker *w, struct coroi_rec *me, uint64_t next);

/* coroi_fail_awaiting_stack_locked - nothing runs any more that could give a stack back: those who
 * wait for one end. */
void coroi_fail_awaiting_stack_locked(struct coroi_worker *w);

/* coroi_queue_locked - r, which has run or runs, can go on: to the back. */
static inline void coroi_queue_locked(struct coroi_worker *w, struct coroi_rec *r)
{
	coroi_deque_push(&w->queue, coroi_runnable_started(r));
}

/* coroi_queue_fresh_locked - r can start: to the back. */
static inline void coroi_queue_fresh_locked(struct coroi_worker *w, struct coroi_rec *r)
{
	coroi_deque_push(&w->queue, coroi_runnable_fresh(r));
}

/* coroi_queue_new_locked - a runnable with its words of argument, for which a credit was spent, can
 * start. False: no record could be had for it. */
bool coroi_queue_new_locked(struct coroi_worker *w, uint64_t runnable, const uint64_t *args);

/* coroi_record_locked - the record of a runnable that has none. NULL: see coroi_mags_get. */
static inline struct coroi_rec *coroi_record_locked(struct coroi_worker *w, uint64_t runnable,
						    const uint64_t *args)
{
	struct coroi_rec *r = coroi_mags_get(&w->mags);
	unsigned words = coroi_runnable_words(runnable);

	if (coroi_unlikely(!r))
		return NULL;
	struct coroi_fill q = {
		.fn = coroi_runnable_fn(runnable),
		.class = coroi_runnable_class(runnable),
		.arg_bytes = (uint8_t)(8 * words),
		.result_bytes = runnable & COROI_RESULT ? CORO_INLINE_BYTES : 0,
	};
	coroi_fill(r, &q, w->id);
	for (unsigned i = 0; i < words; i++)
		memcpy(coroi_cold(r)->payload + 8 * i, &args[i], 8);
	return r;
}

/* coroi_unwait_locked - r does not wait any more. */
static inline void coroi_unwait_locked(struct coroi_worker *w, struct coroi_rec *r)
{
	COROI_PROBE(WAKE, r);
	at_store_rlx(&r->state, COROI_ACTIVE);
	if (coroi_unlikely(r->armed))
		coroi_timer_disarm_locked(w, r);
}

/* coroi_ready_locked - r, at home here, has been woken: into the next slot, so that a chain of
 * wake-ups stays in cache; who was there goes to the back. */
static inline void coroi_ready_locked(struct coroi_worker *w, struct coroi_rec *r)
{
	coroi_unwait_locked(w, r);
	struct coroi_rec *back = r;
	if (coroi_likely(w->budget > 0)) {
		back = w->next;
		at_store_rlx(&w->next, r);
	}
	if (back)
		coroi_queue_locked(w, back);
	coroi_notify_queued(w);
}

/* coroi_event_locked - what r, at home here, waits for inside coro has happened; perhaps it has not
 * suspended yet. */
static inline void coroi_event_locked(struct coroi_worker *w, struct coroi_rec *r)
{
	if (coroi_likely(r->state == COROI_WAITING || r->state == COROI_COMMITTED))
		coroi_ready_locked(w, r);
	else
		r->event = 1;
}

/* coroi_requeue_locked - the same for one woken from afar: to the back, in the order of waking. */
static inline void coroi_requeue_locked(struct coroi_worker *w, struct coroi_rec *r)
{
	coroi_unwait_locked(w, r);
	coroi_queue_locked(w, r);
}

/* coroi_resume_locked - the same for one whose wait returns another code than CORO_OK. */
static inline void coroi_resume_locked(struct coroi_worker *w, struct coroi_rec *r, int8_t code)
{
	coroi_unwait_locked(w, r);
	r->code = code;
	coroi_deque_push(&w->queue, coroi_runnable_coded(r));
}

/* coroi_turns - how often w chose what runs next: tells others whether it moves. Racy from
 * outside. */
static inline uint32_t coroi_turns(const struct coroi_worker *w)
{
	return at_load_rlx(&w->queue.head) + at_load_rlx(&w->handovers);
}

#define COROI_DELIVER_TURNS 64u

/* coroi_is_turn_to_look - at deadlines, of which there are some: as often as turns are long, see
 * coroi_drain_locked. */
static inline bool coroi_is_turn_to_look(const struct coroi_worker *w)
{
	return (int32_t)(w->queue.head - w->look_at) >= 0;
}

/* coroi_inbox_due - look into the inbox now? Each look takes a cache line from those who write it,
 * so not at every turn; and seldom at spawns and at calls into Go, which wait until the queue is
 * empty, or for so many turns, so that one that never is keeps nobody waiting. */
static inline bool coroi_inbox_due(const struct coroi_worker *w)
{
	uint32_t head = w->queue.head;
	return (head & 3) == 0 &&
	       (at_load_rlx(&w->inbox) || /* relaxed: a hint */
		(head % COROI_DELIVER_TURNS == 0 && (w->undelivered | w->calls_count)) ||
		(w->due != COROI_NEVER && coroi_is_turn_to_look(w)));
}

/* coroi_may_hand_over - the slot may be taken once more before the queue has its turn, and that is
 * counted. */
static inline bool coroi_may_hand_over(struct coroi_worker *w)
{
	uint32_t n = w->handovers;

	if (coroi_unlikely(n == w->handovers_most))
		return false;
	at_store_rlx(&w->handovers, n + 1);
	return true;
}

/* coroi_budget_spent_locked - a chain of hand-overs ends here, since the queue is to have its turn.
 * Unless it was given, the budget for the next is what keeps the queue waiting for some 10 to 40
 * us. */
COROI_COLD void coroi_budget_spent_locked(struct coroi_worker *w);

/* coroi_renew_budget - the queue has its turn. */
static inline void coroi_renew_budget(struct coroi_worker *w)
{
	w->handovers_most = w->handovers + w->budget;
}

/* coroi_pick_locked - the runnable that runs next: the slot while its budget lasts, else the front
 * of the queue. 0: none, or calls into Go have waited for long enough; to the native stack. */
static inline uint64_t coroi_pick_locked(struct coroi_worker *w)
{
	if (coroi_unlikely(coroi_inbox_due(w))) {
		if (w->calls_count && w->queue.head % COROI_DELIVER_TURNS == 0)
			return 0;
		coroi_drain_locked(w);
	}
	struct coroi_rec *r = w->next;
	if (r) {
		at_store_rlx(&w->next, NULL);
		if (coroi_likely(coroi_may_hand_over(w)))
			return coroi_runnable_started(r);
		coroi_queue_locked(w, r);
		coroi_budget_spent_locked(w);
	}
	coroi_renew_budget(w);
	uint64_t runnable = coroi_deque_pop(&w->queue);
	/* Spawns that trickle in are left to the idle loop, which lets some come together: each
	 * look takes a line away from who spawns. */
	if (coroi_unlikely(!runnable &&
			   (at_load_rlx(&w->inbox) || (w->undelivered && !w->trickles) ||
			    w->due != COROI_NEVER))) {
		coroi_drain_locked(w);
		runnable = coroi_deque_pop(&w->queue);
	}
	return runnable;
}

/*
 * The short ways of coroi_pick_locked and coroi_ready_locked, for what is nearly always so, without
 * a call: no register is saved for them but by the switch. Where there is more to do they say so,
 * and have changed nothing; the door is left then, and the general way taken.
 */

/* coroi_next_locked - who goes on when the current one suspends: out of the slot while its budget
 * lasts, or from the front of the queue, if it has run before. NULL: the general way. */
static inline __attribute__((always_inline)) struct coroi_rec *
coroi_next_locked(struct coroi_worker *w)
{
	struct coroi_rec *next = w->next;

	if (coroi_unlikely(coroi_inbox_due(w)))
		return NULL;
	if (coroi_likely(next)) {
		if (coroi_unlikely(!coroi_may_hand_over(w)))
			return NULL;
		at_store_rlx(&w->next, NULL);
		return next;
	}
	struct coroi_deque *d = &w->queue;
	uint32_t head = d->head, count = d->count, mask = d->mask;
	uint64_t runnable = d->ring[head & mask];
	if (coroi_unlikely(coroi_deque_is_unusual(d) || coroi_runnable_is_new(runnable)))
		return NULL;
	coroi_deque_look_ahead(d);
	at_store_rlx(&d->head, head + 1);
	at_store_rlx(&d->count, count - 1);
	coroi_renew_budget(w);
	return coroi_runnable_resumed(runnable);
}

/* coroi_made_ready_locked - r, at home here, is in the slot. False: the general way. */
static inline __attribute__((always_inline)) bool coroi_made_ready_locked(struct coroi_worker *w,
									  struct coroi_rec *r)
{
	struct coroi_rec *back = coroi_likely(w->budget > 0) ? w->next : r;

	if (coroi_unlikely(back && !coroi_deque_has_room(&w->queue)))
		return false;
	if (coroi_unlikely(r->armed) && !coroi_timer_disarmed_locked(w, r))
		return false;
	COROI_PROBE(WAKE, r);
	at_store_rlx(&r->state, COROI_ACTIVE);
	if (coroi_likely(back != r))
		at_store_rlx(&w->next, r);
	if (coroi_unlikely(back))
		coroi_deque_put(&w->queue, coroi_runnable_started(back));
	return true;
}

/* coroi_leave_fed - leave w's door; if somebody sleeps who would like what has been queued, it is
 * woken first. Returns CORO_OK. */
COROI_NOINLINE int coroi_feed_and_leave(struct coroi_worker *w);

static inline int coroi_leave_fed(struct coroi_worker *w)
{
	if (coroi_unlikely(at_load_rlx(&w->sched->hungry)))
		return coroi_feed_and_leave(w);
	coroi_door_leave(w);
	return CORO_OK;
}

/* coroi_nothing_else - w has nothing to run but who asks. */
static inline bool coroi_nothing_else(const struct coroi_worker *w)
{
	return !at_load_rlx(&w->next) && !coroi_deque_length(&w->queue) &&
	       !at_load_rlx(&w->awaiting_stack.count) &&
	       !(at_load_rlx(&w->inbox) | at_load_rlx(&w->undelivered));
}

/* coroi_to - switch to a context of stack (NULL: w's native one); the switch, one of coroi_switch's
 * kinds, opens w's door. */
typedef int coroi_switcher(void **save, void *to, intptr_t value, uint32_t *door);

static inline int coroi_to_by(coroi_switcher *by, void **save, void *sp, intptr_t value,
			      struct coroi_worker *w, struct coroi_stack *stack)
{
	void *fake = NULL;

	coroi_tell_open(&w->busy);
	coroi_dense_show(w);
	coroi_fiber_leave(&fake, stack ? &stack->fiber : &w->native);
	int code = by(save, sp, value, &w->busy);
	coroi_fiber_arrive(fake, NULL);
	coroi_dense_hide();
	return code; /* where no sanitizer is told anything, a tail call */
}

static inline int coroi_to(void **save, void *sp, intptr_t value, struct coroi_worker *w,
			   struct coroi_stack *stack)
{
	return coroi_to_by(coroi_switch, save, sp, value, w, stack);
}

/* coroi_hand_over_locked - me stops here, next goes on, which has run before and is not me. As
 * coroi_suspend_locked; _within: where it is no tail call. */
static inline int coroi_hand_over_locked(struct coroi_worker *w, struct coroi_rec *me,
					 struct coroi_rec *next)
{
	w->current = next;
	return coroi_to(&me->sp, next->sp, CORO_OK, w, next->stack);
}

static inline int coroi_hand_over_within_locked(struct coroi_worker *w, struct coroi_rec *me,
						struct coroi_rec *next)
{
	w->current = next;
	return coroi_to_by(coroi_switch_within, &me->sp, next->sp, CORO_OK, w, next->stack);
}

/*
 * coroi_suspend_locked - me stops here, the runnable (0: the native stack) goes on. The switch
 * opens the door. Returns me's code when it goes on itself: CORO_OK, unless coroi_resume_locked
 * said otherwise. A tail call in the end: nothing happens between the switch and the caller of the
 * public function.
 */
static inline int coroi_suspend_locked(struct coroi_worker *w, struct coroi_rec *me,
				       uint64_t runnable)
{
	if (coroi_unlikely(!runnable || coroi_runnable_is_new(runnable)))
		return coroi_suspend_slow(w, me, runnable);
	struct coroi_rec *next = coroi_runnable_resumed(runnable);
	if (coroi_unlikely(next == me)) {
		coroi_door_leave(w);
		return CORO_OK;
	}
	return coroi_hand_over_locked(w, me, next);
}

/* coroi_suspend_picked_locked - me stops here, and who goes on is chosen the general way: for where
 * the short one has found nobody. */
COROI_NOINLINE int coroi_suspend_picked_locked(struct coroi_worker *w, struct coroi_rec *me);

/* coroi_errand_locked - me stops here, and the native stack calls run(w, arg) once, in no door,
 * when me is suspended. Then it goes on with whatever can run. Returns me's code when me goes on
 * itself. arg may lie on me's stack unless me is dense. */
static inline int coroi_errand_locked(struct coroi_worker *w, struct coroi_rec *me,
				      void (*run)(struct coroi_worker *w, void *arg), void *arg)
{
	w->errand = (struct coroi_errand){run, arg};
	w->current = NULL;
	return coroi_to(&me->sp, w->native_sp, 0, w, NULL);
}

/* coroi_run - from the native stack: run coroutines until there is none (false), or inline calls
 * are to be made (true). Those that are in the list when it begins have been made. */
bool coroi_run(struct coroi_worker *w);

/* coroi_on_end_elsewhere - what a coroutine does that ends on a thread that is no worker: come back
 * to a worker. Set once, from a constructor, by whoever takes coroutines there (io/blocking.c). */
extern void (*coroi_on_end_elsewhere)(void);

/* coroi_extras_of - where those of me, the current coroutine, hang, which are there. NULL: no
 * memory for them, nothing was changed. */
static inline struct coroi_extras **coroi_extras_of(struct coroi_rec *me)
{
	struct coroi_extras *e = NULL;

	if (!(me->flags & COROI_F_EXTRAS)) {
		if (!coroi_extras_make(&e))
			return NULL;
		coroi_cold(me)->extras = e;
		me->flags |= COROI_F_EXTRAS;
	}
	return &coroi_cold(me)->extras;
}

/* coroi_exit - give the present frames up and end the current coroutine. */
void coroi_exit(struct coroi_worker *w) __attribute__((noreturn));

#endif
