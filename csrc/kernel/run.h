/*
 * run.h - the run loop: it chooses what runs next, and switches to it.
 *
 * The files run, wait, join, fork, timer, dense, idle and steal call each other. They are one thing,
 * the run ring, and are read together.
 *
 * A function named _locked is called inside w's door: by w, or by a thief that has locked the door.
 * A function that suspends, or that goes on with a coroutine, is called by w alone.
 */
#ifndef COROI_RUN_H
#define COROI_RUN_H

#include "kernel/dense.h"
#include "kernel/door.h"
#include "kernel/fork.h"
#include "kernel/hooks.h"
#include "kernel/idle.h"
#include "kernel/inbox.h"
#include "base/extras.h"
#include "base/sanitize.h"
#include "base/switch.h"
#include "kernel/timer.h"
#include "kernel/turnclock.h"

/* coroi_drain_locked - deliver the remote wakes in the inbox. If the queue is empty, or it is the
 * turn to do so, fire deadlines and deliver spawns too. Afterwards the queue has something, if
 * there was anything to deliver. */
void coroi_drain_locked(struct coroi_worker *w);

/* coroi_poll_locked - coroi_inbox_due is true: drain. If w has looked at the clock, let the oldest
 * undelivered spawn in ahead of the queue, see whether another worker has too much, and whether
 * inline calls wait. Returns: the spawn, which runs next. 0: there is none, or `leave` is set: the
 * native stack has something to do. Thread: w. */
COROI_COLD uint64_t coroi_poll_locked(struct coroi_worker *w);

/* coroi_deliver_locked - put some of the undelivered spawns into the queue, the oldest first. */
void coroi_deliver_locked(struct coroi_worker *w);

/* coroi_detach_batches_locked - BTW3 of batch.h for all batches that w looks at. True: w looks at
 * no batch any more, and has no undelivered spawn. */
bool coroi_detach_batches_locked(struct coroi_worker *w);

/* coroi_has_spawns - does w have spawns to deliver? They are records, or in a batch that w looks
 * at. Thread: w, outside its door. Returns: how many records, and words in the batches; more if
 * one is closed. */
uint32_t coroi_has_spawns(struct coroi_worker *w);

COROI_NOINLINE int coroi_suspend_slow(struct coroi_worker *w, struct coroi_rec *me, uint64_t next);

/* coroi_queue_locked - r can go on, and goes to the back of the queue. r has started. */
static inline void coroi_queue_locked(struct coroi_worker *w, struct coroi_rec *r)
{
	coroi_deque_push(&w->queue, coroi_runnable_started(r));
}

/* coroi_queue_fresh_locked - r can start, and goes to the back of the queue. */
static inline void coroi_queue_fresh_locked(struct coroi_worker *w, struct coroi_rec *r)
{
	coroi_deque_push(&w->queue, coroi_runnable_fresh(r));
}

/* coroi_queue_new_locked - a runnable without a record can start, and goes to the back of the queue
 * with its words of argument. A credit was spent for it. False: it would need a record, and there
 * is none. */
bool coroi_queue_new_locked(struct coroi_worker *w, uint64_t runnable, const uint64_t *args);

/* coroi_record_locked - get a record for a runnable that has none, and fill it in. NULL: see
 * coroi_mags_get. */
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

/* coroi_outside_begin_locked - me, the current coroutine of w, is about to wait for that kind of
 * event. If the event comes from outside of all workers, by the driver, the wait is counted.
 * coroi_outside_end_locked - such a wait of r, which is at home here, is over. */
static inline void coroi_outside_begin_locked(struct coroi_worker *w, struct coroi_rec *me,
					      enum coro_wait_kind what);

static inline void coroi_outside_end_locked(struct coroi_worker *w, struct coroi_rec *r)
{
	r->more &= (uint8_t)~COROI_M_OUTSIDE;
	at_store_rlx(&w->outside, w->outside - 1);
}

/* coroi_unwait_locked - r waits no more: it is ACTIVE, and its deadline is disarmed. */
static inline void coroi_unwait_locked(struct coroi_worker *w, struct coroi_rec *r)
{
	COROI_PROBE(WAKE, r);
	at_store_rlx(&r->state, COROI_ACTIVE);
	if (coroi_unlikely(r->more & (COROI_M_ARMED | COROI_M_OUTSIDE))) {
		if (r->more & COROI_M_OUTSIDE)
			coroi_outside_end_locked(w, r);
		if (r->more & COROI_M_ARMED)
			coroi_timer_disarm_locked(w, r);
	}
}

/* coroi_ready_locked - r, at home here, has been woken. It becomes w->next, so that a chain of
 * wake-ups stays in cache. The coroutine that was next goes to the back of the queue. With a budget
 * of 0, r goes there itself. */
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

/* coroi_event_locked - deliver the event of r, which is at home here. If r has not suspended yet,
 * the event is kept in the record. */
static inline void coroi_event_locked(struct coroi_worker *w, struct coroi_rec *r)
{
	if (coroi_likely(r->state == COROI_WAITING || r->state == COROI_COMMITTED))
		coroi_ready_locked(w, r);
	else
		r->event = 1;
}

/* coroi_turns_are_long - as of the last look at the clock. */
static inline bool coroi_turns_are_long(const struct coroi_worker *w)
{
	return !w->poll_mask;
}

/* coroi_favors_locked - may what comes from outside of all workers go ahead of the queue once more?
 * COROI_FAVORS times for each turn of the queue, which goes on, whatever comes. */
static inline bool coroi_favors_locked(struct coroi_worker *w)
{
	uint32_t turns = w->queue.head - w->favors.at;

	if (!COROI_HAS_FAVORS)
		return false;
	if ((int32_t)turns > 0) {
		w->favors.at = w->queue.head;
		w->favors.left += turns < COROI_FAVORS_MOST ? turns * COROI_FAVORS
							    : COROI_FAVORS_MOST;
		if (w->favors.left > COROI_FAVORS_MOST)
			w->favors.left = COROI_FAVORS_MOST;
	}
	if (!w->favors.left)
		return false;
	w->favors.left--;
	return true;
}

/* coroi_requeue_locked - r was woken by a remote wake. It goes to the back of the queue: such
 * coroutines run in the order of their wakes. Where turns are long, those that were woken from
 * outside of all workers go ahead of the others, in their order. */
static inline void coroi_requeue_locked(struct coroi_worker *w, struct coroi_rec *r, bool outside)
{
	struct coroi_deque *d = &w->queue;

	coroi_unwait_locked(w, r);
	if (coroi_likely(!outside || !coroi_turns_are_long(w)) || w->lent ||
	    !coroi_deque_has_room(d) || !coroi_favors_locked(w)) {
		coroi_queue_locked(w, r);
		return;
	}
	uint32_t ahead = w->favors.end - d->head;
	if (ahead > COROI_FAVORS_MOST) { /* they have all run */
		ahead = 0;
		w->favors.end = d->head;
	}
	coroi_deque_put_near(d, ahead < d->count ? ahead : d->count, coroi_runnable_started(r));
	at_store_rlx(&w->handovers.n, w->handovers.n + 1); /* its turn; the queue has its own */
	w->handovers.most++;
}

/* coroi_resume_locked - r's wait is over, and returns code. r goes to the back of the queue. */
static inline void coroi_resume_locked(struct coroi_worker *w, struct coroi_rec *r, int8_t code)
{
	coroi_unwait_locked(w, r);
	r->code = code;
	coroi_deque_push(&w->queue, coroi_runnable_coded(r));
}

/* coroi_turns - the number of times that w chose what runs next. Other threads compare two of them
 * to see whether w makes progress. Thread: any; exact for w alone. */
static inline uint32_t coroi_turns(const struct coroi_worker *w)
{
	return at_load_rlx(&w->queue.head) + at_load_rlx(&w->handovers.n);
}

static inline void coroi_outside_begin_locked(struct coroi_worker *w, struct coroi_rec *me,
					      enum coro_wait_kind what)
{
	if (coroi_likely(what != CORO_WAIT_INPUT && what != CORO_WAIT_OUTPUT &&
			 what != CORO_WAIT_SELECT_FD))
		return;
	me->more |= COROI_M_OUTSIDE;
	at_store_rlx(&w->outside, w->outside + 1);
	/* While w is busy, it polls the driver when it looks. Where looks go on, the next is
	 * near. */
	if (coroi_turnclock_is_idle(&w->clock, coroi_turns(w)))
		coroi_turnclock_soon(&w->clock, coroi_turns(w));
}

/* coroi_needs_another - w has n runnables: is another worker to be woken? For one alone it is, if
 * something else would wait when that takes long: deadlines, or what the driver watches. */
static inline bool coroi_needs_another(const struct coroi_worker *w, uint32_t n)
{
	return n > (w->due == COROI_NEVER && !coroi_watches(w));
}

/* coroi_is_look_due - is it the turn to look at the clock, or at spawns and calls into Go that
 * wait? */
static inline bool coroi_is_look_due(const struct coroi_worker *w)
{
	return coroi_turnclock_is_due(&w->clock, coroi_turns(w)) ||
	       (w->queue.head % COROI_DELIVER_TURNS == 0 &&
		(w->undelivered.first | w->calls.count));
}

/* coroi_inbox_due - poll the inbox on this turn of the queue? Polling steals a cache line from its
 * writers, so w polls on every 4th such turn, on each if turns are long, and at the end of each
 * chain of hand-overs (coroi_budget_spent_locked). Spawns and calls into Go wait until the queue is
 * empty. If it never is, they are looked at every COROI_DELIVER_TURNS turns, and spawns are let in
 * by the clock, too. */
static inline bool coroi_inbox_due(const struct coroi_worker *w)
{
	uint32_t head = w->queue.head;
	return (head & w->poll_mask) == 0 &&
	       (at_load_rlx(&w->inbox) || /* relaxed: a hint; the take is an acquire */
		((head & w->clock.mask) == 0 && coroi_is_look_due(w)));
}

/* coroi_may_hand_over - may w->next run once more before the queue has its turn? If so, the
 * hand-over is counted. */
static inline bool coroi_may_hand_over(struct coroi_worker *w)
{
	uint32_t n = w->handovers.n;

	if (coroi_unlikely(n == w->handovers.most))
		return false;
	at_store_rlx(&w->handovers.n, n + 1);
	return true;
}

/* coroi_budget_spent_locked - the handover budget is used up, and the queue gets a turn. Unless an
 * option has fixed the budget, it adapts so that a chain of hand-overs lasts 10 to 40 us. While
 * there are chains the queue has one turn for each of them, and its turns are no measure of time.
 * So, if a look is due, or the inbox is not empty, w looks here. Returns: as coroi_poll_locked; 0
 * if w does not look. */
COROI_COLD uint64_t coroi_budget_spent_locked(struct coroi_worker *w);

/* coroi_renew_budget - the queue has its turn: the next chain has the whole budget. */
static inline void coroi_renew_budget(struct coroi_worker *w)
{
	w->handovers.most = w->handovers.n + w->budget;
}

/* coroi_pick_locked - take the runnable that runs next: w->next while the budget lasts, else the
 * front of the queue. 0: go to the native stack, as nothing can run, or the native stack has
 * something to do (`leave`), or the current coroutine is in a section, or has forks.
 * coroi_pick_here_locked: where a call would be too long. unusual: w->unusual, as the caller has read it inside the
 * door. */
static inline __attribute__((always_inline)) uint64_t coroi_pick_here_locked(struct coroi_worker *w,
									     uint32_t unusual)
{
	if (coroi_unlikely(unusual) && (w->lent | w->nowait)) /* NWT1 of nowait.h */
		return w->nowait ? 0 : coroi_hooks.pick_locked(w);
	struct coroi_rec *r = w->next;
	if (r) {
		at_store_rlx(&w->next, NULL);
		if (coroi_likely(coroi_may_hand_over(w)))
			return coroi_runnable_started(r);
		coroi_queue_locked(w, r);
		uint64_t first = coroi_budget_spent_locked(w);
		if (coroi_unlikely(first || w->leave))
			return first;
	} else if (coroi_unlikely(coroi_inbox_due(w))) {
		uint64_t first = coroi_poll_locked(w);
		if (first || w->leave)
			return first;
	}
	coroi_renew_budget(w);
	uint64_t runnable = coroi_deque_pop(&w->queue);
	/* Spawns that trickle in are left to the idle loop, which lets several come together: each
	 * look takes a cache line from the spawning thread. */
	if (coroi_unlikely(!runnable && (at_load_rlx(&w->inbox) ||
					 (w->undelivered.first && !w->spawns.trickles) ||
					 w->due != COROI_NEVER))) {
		coroi_drain_locked(w);
		runnable = coroi_deque_pop(&w->queue);
	}
	return runnable;
}

static inline uint64_t coroi_pick_locked(struct coroi_worker *w)
{
	return coroi_pick_here_locked(w, at_load_rlx(&w->unusual));
}

/*
 * The short ways of coroi_pick_locked and coroi_ready_locked. They serve the usual case and make no
 * call, so that no register is saved except by the switch. In any other case they return NULL or
 * false, and have changed nothing. The caller then leaves the door and takes the general way.
 */

/* coroi_next_locked - take the coroutine that goes on when the current one suspends: w->next while
 * the budget lasts, or the front of the queue if that has started. NULL: take the general way. */
static inline __attribute__((always_inline)) struct coroi_rec *
coroi_next_locked(struct coroi_worker *w)
{
	struct coroi_rec *next = w->next;

	if (coroi_likely(next)) {
		if (coroi_unlikely(!coroi_may_hand_over(w)))
			return NULL;
		at_store_rlx(&w->next, NULL);
		return next;
	}
	if (coroi_unlikely(coroi_inbox_due(w)))
		return NULL;
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

/* coroi_made_ready_locked - as coroi_ready_locked, but for the look at hungry sleepers, which is
 * coroi_leave_fed's. False: take the general way. */
static inline __attribute__((always_inline)) bool coroi_made_ready_locked(struct coroi_worker *w,
									  struct coroi_rec *r)
{
	struct coroi_rec *back = coroi_likely(w->budget > 0) ? w->next : r;

	if (!r) /* there is always one, and it may be `back` */
		__builtin_unreachable();
	if (coroi_unlikely(back && !coroi_deque_has_room(&w->queue)))
		return false;
	if (coroi_unlikely(r->more & (COROI_M_ARMED | COROI_M_OUTSIDE)) &&
	    (r->more & COROI_M_OUTSIDE || !coroi_timer_disarmed_locked(w, r)))
		return false;
	COROI_PROBE(WAKE, r);
	at_store_rlx(&r->state, COROI_ACTIVE);
	if (coroi_likely(back != r))
		at_store_rlx(&w->next, r);
	if (coroi_unlikely(back))
		coroi_deque_put(&w->queue, coroi_runnable_started(back));
	return true;
}

/* coroi_leave_fed - leave w's door. A hungry sleeper is woken first, if there is one, as something
 * was queued. Returns: CORO_OK. coroi_feed_and_leave - its slow part. */
COROI_NOINLINE int coroi_feed_and_leave(struct coroi_worker *w);

static inline int coroi_leave_fed(struct coroi_worker *w)
{
	if (coroi_unlikely(at_load_rlx(&w->sched->hungry)))
		return coroi_feed_and_leave(w);
	coroi_door_leave(w);
	return CORO_OK;
}

/* coroi_nothing_else - w has nothing to run besides the current coroutine. Thread: w. */
static inline bool coroi_nothing_else(const struct coroi_worker *w)
{
	return !at_load_rlx(&w->next) && !coroi_deque_length(&w->queue) &&
	       !at_load_rlx(&w->awaiting_stack.count) &&
	       !(at_load_rlx(&w->inbox) | at_load_rlx(&w->undelivered.first));
}

/* coroi_nothing_else_now - the same, where a look at what was spawned pays: an open batch may be
 * empty. Thread: w, outside its door. */
static inline bool coroi_nothing_else_now(struct coroi_worker *w)
{
	if (coroi_likely(!at_load_rlx(&w->undelivered.first)))
		return coroi_nothing_else(w);
	return !at_load_rlx(&w->next) && !coroi_deque_length(&w->queue) &&
	       !at_load_rlx(&w->awaiting_stack.count) && !at_load_rlx(&w->inbox) &&
	       !coroi_has_spawns(w);
}

/* coroi_to - switch to the context sp, which is on stack (NULL: on w's native stack). The switch
 * opens w's door. coroi_to_by - the same by a given kind of coroi_switch. */
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

/* coroi_hand_over_locked - suspend me, and go on with next, which has started and is not me.
 * Returns as coroi_suspend_locked. coroi_hand_over_within_locked - the same, for a caller in which
 * this is no tail call. */
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
 * coroi_suspend_locked - suspend me, and go on with the runnable (0: with the native stack). The
 * switch opens the door. It is a tail call: nothing happens between the switch and the caller of
 * the public function.
 *
 * Returns: when me goes on, me's code: CORO_OK, or the code of coroi_resume_locked.
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

/* coroi_suspend_picked_locked - suspend me, and go on with what coroi_pick_locked returns. It is
 * for callers in which coroi_next_locked has returned NULL. */
COROI_NOINLINE int coroi_suspend_picked_locked(struct coroi_worker *w, struct coroi_rec *me);

/* coroi_errand_locked - suspend me; the native stack then calls run(w, arg) once, in no door.
 * Afterwards the native stack goes on with anything that can run. arg may lie on me's stack unless
 * me is dense. Returns: when me goes on, me's code. */
static inline int coroi_errand_locked(struct coroi_worker *w, struct coroi_rec *me,
				      void (*run)(struct coroi_worker *w, void *arg), void *arg)
{
	coroi_forks_suspend_locked(w);
	w->errand = (struct coroi_errand){run, arg};
	w->current = NULL;
	return coroi_to(&me->sp, w->native_sp, 0, w, NULL);
}

/* coroi_call_body_apart - call r's function with a result, which takes the place of the argument:
 * that is copied out. Or without, dense: the scratch is in a frame that is the coroutine's own, as
 * the loop's is not. */
COROI_NOINLINE void coroi_call_body_apart(struct coroi_rec *r);

/* coroi_call_body - call r's function. A result for which nobody has asked goes to scratch. */
static inline void coroi_call_body(struct coroi_rec *r, const struct coroi_stack *stack)
{
	if (coroi_unlikely(r->result_bytes || stack->serves == COROI_DENSE)) {
		coroi_call_body_apart(r);
	} else {
		unsigned char scratch[CORO_INLINE_BYTES] __attribute__((aligned(16))) = {0};
		r->fn(r->arg_bytes ? coroi_cold(r)->payload : NULL, scratch);
	}
}

/* coroi_run - run coroutines, until none can run (false) or inline calls are to be made (true). The
 * calls that are in the list when coroi_run begins have been made, unless w is lent. Thread: w, on
 * its native stack. */
bool coroi_run(struct coroi_worker *w);

/* coroi_run_on_locked - go on with next, which can go on, or has a stack to start on. It leaves w's
 * door, and returns when nothing can run any more, or something has to be done on the native stack:
 * coroi_run comes next. Thread: as coroi_run. */
void coroi_run_on_locked(struct coroi_worker *w, struct coroi_rec *next);

/* COROI_RUNS_QUICKLY - coroi_run_fresh_locked is there. The sanitizers and the explorer are told of
 * switches only. */
#if defined(COROI_ASAN) || defined(COROI_TSAN) || defined(COROI_VALGRIND) || defined(COROI_EXPLORED)
#define COROI_RUNS_QUICKLY false
#else
#define COROI_RUNS_QUICKLY true
#endif

/* coroi_run_fresh_locked - run r, which is fresh and not dense, on a stack from w's cache, by
 * start(r), which begins with coroi_dense_hide, and calls r's function (coroi_call_body). It leaves
 * w's door. Thread: w, on its native stack. Returns: true: start has returned, and r had not
 * suspended. False: r has suspended, or start has called coroi_loop; coroi_run comes next. */
bool coroi_run_fresh_locked(struct coroi_worker *w, struct coroi_rec *r, struct coroi_stack *stack,
			    int (*start)(intptr_t));

/* coroi_loop - in start, r's function has returned: r ends as any other, and this stack becomes a
 * loop's. */
void coroi_loop(struct coroi_rec *r) __attribute__((noreturn));

/* coroi_on_end_elsewhere - brings a coroutine whose function has returned on a thread that is no
 * worker back to a worker. Set once, by a constructor of the room that takes coroutines to such
 * threads (io/blocking.c). */
extern void (*coroi_on_end_elsewhere)(void);

/* coroi_flag - me, the current coroutine, sets a flag of its own. Atomic, relaxed: a cancel looks
 * at the flags meanwhile, on another thread, for COROI_F_TOLD alone, which is set in the door. */
static inline void coroi_flag(struct coroi_rec *me, uint8_t flag)
{
	at_store_rlx(&me->flags, (uint8_t)(me->flags | flag));
}

/* coroi_unflag - the opposite, by me or by the owner of its end. */
static inline void coroi_unflag(struct coroi_rec *me, uint8_t flag)
{
	at_store_rlx(&me->flags, (uint8_t)(me->flags & ~flag));
}

/* coroi_more_add, coroi_more_drop - the same of a COROI_M_..., in no door: a cancel looks for
 * COROI_M_INLINES meanwhile, which is set in the door. */
static inline void coroi_more_add(struct coroi_rec *me, uint8_t mark)
{
	at_store_rlx(&me->more, (uint8_t)(me->more | mark));
}

static inline void coroi_more_drop(struct coroi_rec *me, uint8_t mark)
{
	at_store_rlx(&me->more, (uint8_t)(me->more & ~mark));
}

/* coroi_extras_of - the place of me's extras, which are made if there are none. me: the current
 * coroutine. NULL: no memory, and nothing was changed. */
static inline struct coroi_extras **coroi_extras_of(struct coroi_rec *me)
{
	struct coroi_extras *e = NULL;

	if (!(me->flags & COROI_F_EXTRAS)) {
		if (!coroi_extras_make(&e))
			return NULL;
		coroi_cold(me)->extras = e;
		coroi_flag(me, COROI_F_EXTRAS);
	}
	return &coroi_cold(me)->extras;
}

/* coroi_end_extras - the current coroutine's body is over: run what it has deferred, and free its
 * extras. It may be suspended meanwhile. */
void coroi_end_extras(void);

/* coroi_exit - end the current coroutine, and give its frames up. */
void coroi_exit(struct coroi_worker *w) __attribute__((noreturn));

#endif
