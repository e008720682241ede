//go:build ignore
/* lendrun.c - see lend.h: what a thread runs that is lent, and what becomes of the call's own. */
#include "border/lend.h"

#include "border/brief.h"
#include "border/gobell.h"
#include "kernel/run.h"
#include "kernel/task.h"
#include "kernel/wait.h"

#include <string.h>

coro_fn (*coroi_task_promise)(uint64_t arg);

/* was_long - the run that is timed was long not only by the clock: the thread has used the CPU for
 * as long, or has blocked. */
static bool was_long(const struct coroi_lender *l)
{
	struct coroi_usage now = coroi_thread_usage();

	return now.cpu_ns - l->before.cpu_ns > COROI_BRIEF_NS || now.blocked != l->before.blocked;
}

void coroi_lend_begins(struct coroi_lender *l, coro_fn fn, uint64_t now)
{
	l->ran = fn;
	l->ran_since = now;
	l->measured = coroi_brief_doubted(fn);
	if (coroi_unlikely(l->measured))
		l->before = coroi_thread_usage();
}

void coroi_lend_judge(struct coroi_lender *l, uint64_t now)
{
	if (!l->ran)
		return;
	if (now - l->ran_since <= COROI_BRIEF_NS)
		coroi_brief_in_time(l->ran);
	else if (coroi_brief_late(l->ran, l->measured && was_long(l)))
		coroi_bell_ring(l->w->sched);
}

/* budget_of - how long to run what is there, ns. Where spawns from outside wait, no longer than
 * COROI_LEND_NS: the worker's own thread lets them in by the clock (run.c). */
static uint32_t budget_of(const struct coroi_lender *l)
{
	if (!l->call || !l->call->budget_ns || l->w->undelivered.first)
		return COROI_LEND_NS;
	return l->call->budget_ns;
}

/* is_spent - the budget is used up. The first look begins it. */
static bool is_spent(struct coroi_lender *l)
{
	if (l->unlooked && !l->w->undelivered.first) {
		l->unlooked--;
		return false;
	}
	uint64_t now = coroi_now_ns(), before = l->looked;
	uint32_t budget = budget_of(l);
	l->looked = now;
	if (!l->began) {
		l->began = now;
		return false;
	}
	l->look_every = now - before > budget / COROI_LEND_LOOKS   ? 0
			: l->look_every * 2 < COROI_LEND_LOOK_MOST ? l->look_every * 2 + 1
								   : COROI_LEND_LOOK_MOST;
	l->unlooked = l->look_every;
	return now - l->began >= budget;
}

/* promise_of - the function by whose promise a runnable is brief, or is not. arg: what lies beside
 * it in the queue, if it has no record. */
static coro_fn promise_of(uint64_t runnable, uint64_t arg)
{
	coro_fn fn = coroi_runnable_fn(runnable);

	if (coroi_runnable_has_record(runnable)) {
		struct coroi_rec *r = coroi_runnable_record(runnable);
		fn = r->fn;
		memcpy(&arg, coroi_cold(r)->payload, sizeof arg);
	}
	return fn == coroi_tasks.fn ? coroi_task_promise(arg) : fn;
}

/* may_run - a runnable of w's, at the front, may run on this thread. */
static bool may_run(const struct coroi_lender *l, uint64_t runnable)
{
	struct coroi_deque *d = &l->w->queue;
	struct coroi_rec *r = coroi_runnable_has_record(runnable) ? coroi_runnable_record(runnable)
								  : NULL;

	if (r && r == l->own)
		return true;
	if (!l->call || l->call->brief)
		return !(r && coroi_is_pinned(r)) &&
		       coroi_is_brief(promise_of(runnable, *coroi_deque_arg(d, d->head)));
	return l->w->lent == COROI_LENT && coroi_runnable_is_new(runnable) &&
	       !(r && runnable & COROI_CODED);
}

bool coroi_lend_may_begin_locked(struct coroi_worker *w, coro_fn fn)
{
	const struct coroi_lender *l = coroi_lender(w);

	coroi_lend_suspended(w); /* the parent is about to be where thieves get at it */
	return (l->call && !l->call->brief) || coroi_is_brief(fn);
}

/* front_locked - what w would run next; 0: nothing, or it has spilled. */
static uint64_t front_locked(const struct coroi_worker *w)
{
	const struct coroi_deque *d = &w->queue;

	return w->next    ? coroi_runnable_started(w->next)
	       : d->count ? d->ring[d->head & d->mask]
			  : 0;
}

/* note_run - in a lend that is timed: the runnable is about to run, and what ran before has
 * suspended or ended. */
static void note_run(struct coroi_lender *l, uint64_t runnable)
{
	uint64_t now = coroi_now_ns();

	coroi_lend_judge(l, now);
	l->ran = NULL;
	if (!l->call || l->call->brief)
		coroi_lend_begins(l, promise_of(runnable, *coroi_deque_popped_arg(&l->w->queue)),
				  now);
}

/* pick_locked - take what runs next; 0: nothing that may run here. */
static uint64_t pick_locked(struct coroi_lender *l)
{
	struct coroi_worker *w = l->w;

	if (l->over || l->go)
		return 0;
	if (l->now) {
		uint64_t runnable = l->now;
		l->now = 0;
		return runnable;
	}
	if (at_load_rlx(&w->inbox) || w->undelivered.first || w->due != COROI_NEVER)
		coroi_drain_locked(w);
	uint64_t runnable = front_locked(w);
	if (!runnable || !may_run(l, runnable))
		return 0;
	if (is_spent(l)) {
		l->over = true;
		return 0;
	}
	coroi_renew_budget(w);
	if (!w->next)
		return coroi_deque_pop(&w->queue);
	at_store_rlx(&w->next, NULL);
	coroi_may_hand_over(w); /* it is counted, and may: the budget was renewed */
	return runnable;
}

COROI_NOINLINE void coroi_lend_suspended(struct coroi_worker *w)
{
	struct coroi_lender *l = coroi_lender(w);

	/* own has begun; if this is not the first time, it has escaped */
	if (l->own && !l->now)
		coroi_escape(l->own);
}

/* pick_next_locked - coroi_lend_pick_locked where it follows another pick, nothing has come
 * meanwhile, and the front of the queue is fresh, has no record, and may run. 0: take the general
 * way; nothing was changed. */
static COROI_LEND_FAST uint64_t pick_next_locked(struct coroi_worker *w, struct coroi_lender *l)
{
	struct coroi_deque *d = &w->queue;

	if (!l->picked || !l->unlooked || !l->call || l->call->brief || l->timed ||
	    w->lent != COROI_LENT ||
	    (at_load_rlx(&w->inbox) | w->undelivered.first | (uintptr_t)w->next | l->now |
	     (uintptr_t)l->go | l->over) ||
	    w->due != COROI_NEVER || !d->count)
		return 0;
	uint64_t runnable = d->ring[d->head & d->mask];
	if (!coroi_runnable_is_new(runnable) || coroi_runnable_words(runnable) == COROI_RECORD)
		return 0;
	l->unlooked--;
	at_store_rlx(&d->head, d->head + 1);
	at_store_rlx(&d->count, d->count - 1);
	return runnable;
}

COROI_NOINLINE uint64_t coroi_lend_pick_locked(struct coroi_worker *w)
{
	struct coroi_lender *l = coroi_lender(w);
	uint64_t next = pick_next_locked(w, l);

	if (coroi_likely(next))
		return next;
	l->picked = !l->now;

	coroi_lend_suspended(w);
	uint64_t runnable = pick_locked(l);

	if (coroi_unlikely(l->timed && runnable))
		note_run(l, runnable);
	return runnable;
}

/* The flags of a coroutine that has not just returned. */
#define ENDED_OTHERWISE (COROI_F_NO_STACK | COROI_F_CANCELED | COROI_F_ABORTED)

COROI_NOINLINE void coroi_lend_ended_locked(struct coroi_worker *w, struct coroi_rec *me)
{
	struct coroi_lender *l = coroi_lender(w);
	struct coroi_lend *call = l->call;

	l->own = NULL;
	l->over = !call->brief;
	call->status = CORO_OK;
	if (call->brief)
		call->handle = coroi_handle(me);
	if (coroi_unlikely(at_load_rlx(&me->canceled) | (me->flags & ENDED_OTHERWISE)))
		call->status = coroi_join_status(me);
	if (coroi_unlikely(call->status == CORO_EFAILED)) {
		struct coroi_failure f = coroi_failed(me);
		call->code = f.code;
		call->text = (uintptr_t)f.text;
	} else if (call->result_bytes && call->status == CORO_OK) {
		coroi_copy_few(call->payload, coroi_cold(me)->payload, call->result_bytes);
	}
	coroi_unflag(me, COROI_F_JOINABLE); /* the end was taken: the record is free */
}

bool coroi_lend_makes(const struct coroi_worker *w, const struct coroi_rec *me)
{
	const struct coroi_lender *l = coroi_lender(w);

	return l && l->own == me && me && !l->call->brief;
}

void coroi_lend_make(struct coroi_worker *w, struct coroi_call *c)
{
	coroi_lender(w)->go = c;
}

bool coroi_lend_inside(const struct coroi_worker *w)
{
	return w->lent && coroi_lender(w)->laid_aside;
}
