//go:build ignore
/* lend.c - see lend.h: how a worker is lent and given back. lendrun.c: what runs meanwhile. */
#include "border/lend.h"

#include "border/brief.h"
#include "kernel/nostack.h"
#include "kernel/run.h"
#include "kernel/task.h"
#include "kernel/wait.h"

#include <string.h>

/* The worker to which this thread has lent itself last: its lines are in this CPU's cache. */
static __thread __attribute__((tls_model("initial-exec"))) uint32_t last;

/* ------------------------------------------------------------------------ to lend, to give back */

/* lend_take - LND1 to LND3. False: w cannot be lent now. */
static COROI_LEND_FAST bool lend_take(struct coroi_worker *w)
{
	struct coro_scheduler *s = w->sched;

	/* LND1. `rises` is not counted: only a scheduler that pauses asks for it. */
	at_add(&s->activity, COROI_AWAKE);
	if (at_load_seq(&s->outside.refusing) || at_load_seq(&s->mode) != COROI_RUNNING ||
	    !(at_and(&s->sleepers[w->id >> 6], ~coroi_sleeper_bit(w->id)) &
	      coroi_sleeper_bit(w->id))) { /* LND2 */
		coroi_tokens_given_back(s, coroi_awake_end(s));
		return false;
	}
	if (at_load_acq(&w->ev) == COROI_EV_SLEEPS) /* LND3 */
		return true;
	coroi_claimed(w); /* LND9 */
	return false;
}

/* become_locked - LND4. It enters w's door. */
static COROI_LEND_FAST void become_locked(struct coroi_lender *l, struct coroi_worker *w)
{
	/* one by one: gcc clears a large struct by an instruction that takes as long as all of LND1
	 * to LND4 */
	l->w = w;
	l->own = l->quick = NULL;
	l->call = NULL;
	l->go = NULL;
	l->now = l->began = l->looked = 0;
	l->laid_aside = 0;
	l->over = l->picked = l->spun = false;
	/* what is picked first needs no look: a look costs as much as a short coroutine */
	l->unlooked = 1;
	l->look_every = 0;
	l->ran = NULL;
	coroi_be(w);
	coroi_door_enter(w);
	w->lent = COROI_LENT;
	w->lender = &l->own;
	l->native = w->native;
	coroi_fiber_native(&w->native);
	l->due = w->due;
	l->outside = w->outside;
	l->watched = coroi_watches(w);
	uint64_t lends = at_load_rlx(&w->lends.n) + 1;
	at_store_rlx(&w->lends.n, lends);
	l->timed = lends % COROI_LEND_TIMED_EVERY == 1;
	if (coroi_unlikely(l->timed))
		l->since = coroi_now_ns();
}

/* note_time - the lend, which is timed, is over. */
static void note_time(struct coroi_lender *l)
{
	struct coroi_worker *w = l->w;
	uint64_t now = coroi_now_ns(), took = now - l->since;

	coroi_lend_judge(l, now);
	at_bump(&w->lends.timed);
	at_bump_by(&w->lends.ns, took);
	if (took > at_load_rlx(&w->lends.most))
		at_store_rlx(&w->lends.most, took);
}

/* leave_locked - LND5. It leaves w's door, and the thread is w no longer. False: nothing is left
 * for w's own thread to do. */
static COROI_LEND_FAST bool leave_locked(struct coroi_lender *l)
{
	struct coroi_worker *w = l->w;
	struct coro_scheduler *s = w->sched;

	if (coroi_unlikely(l->timed))
		note_time(l);
	/* one look at the sum of all is shorter than one at each */
	bool left = ((uintptr_t)w->next | coroi_deque_length(&w->queue) | w->calls.count |
		     w->awaiting_stack.count | (w->due ^ l->due) |
		     (uint64_t)(!w->outside == l->outside) |
		     (uint64_t)(coroi_watches(w) != l->watched)) ||
		    (w->undelivered.first && !coroi_detach_batches_locked(w));
	if (coroi_unlikely(w->awaiting_stack.count))
		/* A coroutine may have come to await a stack without a turn, which coroi_moves does
		 * not count (NST3). */
		at_store_rlx(&w->no_stack_at, 0);
	if (coroi_unlikely(s->stacks.limit || at_load_rlx(&s->awaiting_stack)))
		coroi_share_stacks_locked(w);
	/* One credit is kept, for the next lend: taking and returning a credit costs as much as an
	 * empty coroutine. */
	if (coroi_unlikely(w->mags.credit > 1))
		coroi_mags_keep_one(&w->mags);
	w->native = l->native;
	w->lender = NULL;
	w->lent = 0;
	coroi_door_leave(w);
	coroi_be_nobody();
	return left;
}

/* has_something - something lies at v, which is awake, that another worker could run, or fire. */
static bool has_something(const struct coroi_worker *v)
{
	return coroi_deque_length(&v->queue) || at_load_rlx(&v->next) || at_load_rlx(&v->inbox) ||
	       at_load_rlx(&v->undelivered.first) || at_load_rlx(&v->due) != COROI_NEVER ||
	       coroi_watches(v);
}

/* lacks_standby - others are awake, there is no standby, and something lies with one of them: w's
 * own thread is to look around. Where nothing lies there, what comes later finds ALONE, and wakes a
 * sleeper. A worker queues by a plain store and then reads `hungry`: the barrier makes up for that,
 * as in DRT3 of door.h. */
static COROI_NOINLINE bool lacks_standby(struct coroi_worker *w)
{
	struct coro_scheduler *s = w->sched;

	if (!(at_load_seq(&s->hungry) & COROI_HUNGRY_ALONE)) {
		at_or(&s->hungry, COROI_HUNGRY_ALONE);
		coroi_door_heavy(w);
	}
	for (uint32_t i = 0; i < coroi_general(s); i++)
		if (i != w->id && !coroi_sleeps(s, i) && has_something(&s->worker[i]))
			return true;
	return false;
}

/* is_called_for - LND7. */
static COROI_LEND_FAST bool is_called_for(struct coroi_worker *w)
{
	const struct coro_scheduler *s = w->sched;

	_Static_assert(COROI_RUNNING == 0, "a mode of 0 is no reason");
	return (at_load_seq(&w->inbox) | at_load_seq(&w->queue.count) |
		at_load_seq(&w->queue.spill.count) | (uintptr_t)at_load_seq(&w->next) |
		at_load_seq(&w->undelivered.first) | at_load_seq(&s->mode) |
		at_load_seq(&w->awaited)) ||
	       (coroi_general(s) > 1 && !(s->flags & CORO_NO_STANDBY) &&
		COROI_AWAKE_OF(at_load_seq(&s->activity)) > 1 && !at_load_seq(&s->standby) &&
		lacks_standby(w));
}

/* give_back_locked - LND5 to LND9. */
static COROI_LEND_FAST void give_back_locked(struct coroi_lender *l)
{
	struct coroi_worker *w = l->w;
	struct coro_scheduler *s = w->sched;
	uint64_t bit = coroi_sleeper_bit(w->id), *bits = &s->sleepers[w->id >> 6];

	if (coroi_unlikely(leave_locked(l))) {
		coroi_claimed(w); /* LND9 */
		return;
	}
	at_or(bits, bit);                                                   /* LND6 */
	if (coroi_unlikely(is_called_for(w)) && at_and(bits, ~bit) & bit) { /* LND7 */
		coroi_claimed(w);                                           /* LND9 */
		return;
	}
	if (coroi_unlikely(s->workers > 1 && !(at_load_rlx(&s->hungry) & COROI_HUNGRY_SURPLUS)))
		at_or(&s->hungry, COROI_HUNGRY_SURPLUS);
	coroi_tokens_given_back(s, coroi_awake_end(s)); /* LND8 */
}

/* is_inside - the thread makes an inline call of a worker of s, and may be lent to that. */
static bool is_inside(const struct coro_scheduler *s)
{
	const struct coroi_worker *w = coroi_self();

	return COROI_HAS_LEND && w->sched == s && s->lends && w->calls.count && !w->current &&
	       !w->lent && !coroi_is_dedicated(w);
}

/* is_idle_locked - w has nothing to do. */
static COROI_LEND_FAST bool is_idle_locked(const struct coroi_worker *w)
{
	return !(at_load_rlx(&w->inbox) | w->undelivered.first | (uintptr_t)w->next |
		 coroi_deque_length(&w->queue) | w->awaiting_stack.count | w->calls.count |
		 w->cancel);
}

/* enter_inside_locked - LND4 for the worker that the thread is. It enters the door. False: the
 * scheduler is closing (as at LND1), and nothing was done. */
static COROI_NOINLINE bool enter_inside_locked(struct coroi_lender *l)
{
	struct coroi_worker *w = coroi_self();
	struct coro_scheduler *s = w->sched;

	if (at_load_seq(&s->outside.refusing) || at_load_seq(&s->mode) != COROI_RUNNING)
		return false;
	become_locked(l, w);
	l->laid_aside = w->calls.count;
	w->calls.count = 0;
	if (!is_idle_locked(w))
		w->lent = COROI_LENT_MIXED;
	return true;
}

/* leave_inside_locked - LND5 for that worker. What lies there now waits for the end of the inline
 * call, unless another worker takes it. */
static COROI_NOINLINE void leave_inside_locked(struct coroi_lender *l)
{
	struct coroi_worker *w = l->w;

	if (coroi_unlikely(l->timed))
		note_time(l);
	w->native = l->native;
	w->lender = NULL;
	w->lent = 0;
	w->calls.count = l->laid_aside;
	coroi_notify_queued(w);
	coroi_door_leave(w);
}

/* give_up_locked - w has something to do: it is its own thread's. */
static void give_up_locked(struct coroi_lender *l)
{
	leave_locked(l);
	coroi_claimed(l->w); /* LND9 */
}

/* ------------------------------------------------------------------------------- a lend's run */

/* awaits - own waits, nothing else may run here, and what own waits for may be on its way from a
 * worker that is awake: has something come? */
static bool awaits(struct coroi_lender *l)
{
	struct coroi_worker *w = l->w;

	if (!l->own || l->over || l->go || l->spun ||
	    COROI_AWAKE_OF(at_load_rlx(&w->sched->activity)) < 2)
		return false;
	l->spun = true;
	for (uint64_t until = coroi_now_ns() + COROI_LEND_SPIN_NS; coroi_now_ns() < until;)
		for (int i = 0; i < COROI_LEND_SPIN_AT_ONCE; i++) {
			if (at_load_rlx(&w->inbox))
				return true;
			at_relax();
		}
	return false;
}

/* has_found_nothing - what has run on w came back since there was nothing more to pick, and nothing
 * has come since. */
static COROI_LEND_FAST bool has_found_nothing(const struct coroi_worker *w)
{
	return !w->errand.run && !w->calls.count && !at_load_rlx(&w->inbox);
}

/* run - LND4 is done: run what may run here. ran: something has, and has come back to the native
 * stack. It returns in w's door. */
static void run_locked(struct coroi_lender *l, bool ran)
{
	struct coroi_worker *w = l->w;

	if (!l->go && !l->over) /* else own waits for the caller, or has ended */
		do
			/* calls that are to be made inline: by w's own thread */
			if (!(ran && has_found_nothing(w)) && coroi_run(w))
				break;
		while (awaits(l));
	coroi_door_enter(w);
}

/* let_join - own is a Task's, which anybody may join. A thief may have run own to its end, or does
 * so now. */
static void let_join(const struct coroi_lend *call, struct coroi_rec *own)
{
	uint32_t gen = (uint32_t)(call->gen >> COROI_GEN_SHIFT);
	uint64_t lender = coroi_join_word(gen, COROI_JOIN_GO, call->id);

	/* release, pairs with the acquire of a joiner, which gets the handle later */
	if (!at_cas(&coroi_cold(own)->join, &lender, coroi_join_word(gen, COROI_JOIN_NOBODY, 0)))
		at_store_rel(&coroi_cold(own)->join,
			     coroi_join_word(gen, COROI_JOIN_FINAL, COROI_FINAL_DONE));
}

/* outcome_locked - what has become of the call of l. */
static COROI_LEND_FAST int outcome_locked(struct coroi_lender *l)
{
	struct coroi_lend *call = l->call;
	struct coroi_rec *own = l->own;

	if (coroi_likely(!own))
		return COROI_LEND_ENDED;
	uint64_t word = at_load_rlx(&own->wake);
	call->gen = word >> COROI_GEN_SHIFT << COROI_GEN_SHIFT;
	call->rec = (uintptr_t)own;
	call->handle = coroi_handle(own);
	call->call = (uintptr_t)l->go;
	coroi_escape(own);
	if (call->brief)
		let_join(call, own);
	return l->go ? COROI_LEND_CALLS : COROI_LEND_SUSPENDED;
}

/* finish_locked - the end of a lend for a call. Returns: its outcome. */
static COROI_LEND_FAST int finish_locked(struct coroi_lender *l)
{
	int outcome = outcome_locked(l);

	if (coroi_unlikely(l->laid_aside))
		leave_inside_locked(l);
	else
		give_back_locked(l);
	return outcome;
}

/* ---------------------------------------------------------------------------------- a call's */

/* may_claim - LND1 to LND3 for w, if it may be lent. */
static COROI_LEND_FAST bool may_claim(struct coroi_worker *w)
{
	return COROI_HAS_LEND && !at_load_rlx(&w->kept) && lend_take(w);
}

/* claim_any - LND1 to LND3 for some worker of s. NULL: none can be lent. */
static COROI_NOINLINE struct coroi_worker *claim_any(struct coro_scheduler *s)
{
	for (unsigned i = 0; i < COROI_MASK_WORDS && i * 64 < coroi_general(s); i++) {
		uint64_t bits = at_load_seq(&s->sleepers[i]) & coroi_general_bits(s, i);
		for (; bits; bits &= bits - 1) {
			unsigned id = i * 64 + (unsigned)__builtin_ctzll(bits);
			if (may_claim(&s->worker[id])) {
				last = id;
				return &s->worker[id];
			}
		}
	}
	return NULL;
}

/* claim - the same, the worker of the last time if that sleeps. */
static COROI_LEND_FAST struct coroi_worker *claim(struct coro_scheduler *s)
{
	uint32_t id = last;

	if (coroi_likely(id < coroi_general(s) && coroi_sleeps(s, id) && may_claim(&s->worker[id])))
		return &s->worker[id];
	return claim_any(s);
}

/* fresh_locked - a record for the call. NULL: there is none. */
static COROI_LEND_FAST struct coroi_rec *fresh_locked(struct coroi_worker *w,
						      const struct coroi_lend *call)
{
	struct coroi_fill q = {
		.fn = (coro_fn)(uintptr_t)call->fn,
		.class = call->class,
		.flags = COROI_F_JOINABLE,
		.arg_bytes = call->arg_bytes,
		.result_bytes = call->result_bytes,
	};
	struct coroi_rec *r;

	if (coroi_unlikely(!coroi_mags_spend(&w->mags)))
		return NULL;
	if (coroi_unlikely(!(r = coroi_mags_get(&w->mags)))) {
		coroi_mags_earn(&w->mags);
		return NULL;
	}
	coroi_fill(r, &q, w->id);
	if (call->arg_bytes)
		memcpy(coroi_cold(r)->payload, call->payload, sizeof call->payload);
	/* relaxed: nobody knows r before it has escaped */
	at_store_rlx(&coroi_cold(r)->join,
		     coroi_join_word(coroi_gen(at_load_rlx(&r->wake)), COROI_JOIN_GO, call->id));
	at_bump(&w->spawned);
	return r;
}

#if COROI_RUNS_QUICKLY
/* start_quickly - call me, the lender's own coroutine. If the call has returned before me ever
 * suspended, what follows is the least that is needed: the lender is still there, below. Else me
 * ends as any other, and this stack becomes a loop's. */
static int start_quickly(intptr_t first)
{
	struct coroi_rec *me = (struct coroi_rec *)first;

	coroi_dense_hide();
	coroi_call_body(me, me->stack);
	struct coroi_worker *w = coroi_self();
	if (coroi_unlikely(!w || !w->lender || coroi_lender(w)->quick != me || w->nowait ||
			   me->flags & (COROI_F_EXTRAS | COROI_F_NAMED)))
		coroi_loop(me);
	coroi_door_enter(w);
	coroi_lend_ended_locked(w, me);
	coroi_stack_put(&w->stacks, me->stack); /* used no more once this function has returned */
	coroi_end_locked(w, me);
	w->current = NULL;
	return 1;
}
#endif

/* start_locked - start own. True: it has ended. False: own has suspended, or is still to be
 * started; w's door is left. */
static COROI_LEND_FAST bool start_locked(struct coroi_lender *l)
{
	struct coroi_worker *w = l->w;

	l->now = coroi_runnable_fresh(l->own);
#if COROI_RUNS_QUICKLY
	struct coroi_stack *stack;
	if (coroi_likely(!coroi_is_dense(l->own) &&
			 (stack = coroi_stack_get(&w->stacks, l->own->class)))) {
		l->quick = l->own;
		if (coroi_unlikely(l->timed && l->call->brief))
			coroi_lend_begins(l, l->own->fn, l->since);
		l->now = 0;
		if (coroi_likely(coroi_run_fresh_locked(w, l->own, stack, start_quickly)))
			return true;
		l->quick = NULL;
		return false;
	}
#endif
	coroi_door_leave(w);
	return false;
}

static bool may_lend(const struct coro_scheduler *s)
{
	return s->lends && !coroi_self();
}

/* miss - no worker sleeps that could be lent. */
static void miss(struct coro_scheduler *s)
{
	if (!at_load_rlx(&s->lend_missed))
		at_store_rlx(&s->lend_missed, 1);
}

/* lend_any_locked - LND1 to LND4 for some worker that has nothing to do. False: there is none, or
 * it has got something meanwhile. */
static COROI_LEND_FAST bool lend_any_locked(struct coroi_lender *l, struct coro_scheduler *s)
{
	struct coroi_worker *w = claim(s);

	if (coroi_unlikely(!w)) {
		miss(s);
		return false;
	}
	become_locked(l, w);
	if (coroi_likely(is_idle_locked(w)))
		return true;
	give_up_locked(l);
	return false;
}

/* call_locked - the call, on l's worker, whose door is entered. Returns: its outcome. */
static COROI_LEND_FAST int call_locked(struct coroi_lender *l, struct coroi_lend *call)
{
	struct coroi_rec *own = fresh_locked(l->w, call);

	if (coroi_unlikely(!own)) {
		(void)finish_locked(l);
		return CORO_ENOMEM;
	}
	l->call = call;
	l->own = own;
	if (!start_locked(l))
		run_locked(l, !l->now);
	return finish_locked(l);
}

/* call_inside - coroi_lend_call by a thread that is a worker. */
static COROI_NOINLINE int call_inside(struct coro_scheduler *s, struct coroi_lend *call)
{
	struct coroi_lender l;

	if (call->brief || !is_inside(s) || !enter_inside_locked(&l))
		return COROI_LEND_NONE;
	return call_locked(&l, call);
}

int coroi_lend_call(struct coroi_lend *call)
{
	struct coro_scheduler *s = (struct coro_scheduler *)(uintptr_t)call->sched;
	struct coroi_lender l;

	if (coroi_unlikely(coroi_self() != NULL))
		return call_inside(s, call);
	if (!s->lends || (call->brief && !coroi_is_brief((coro_fn)(uintptr_t)call->fn)) ||
	    coroi_unlikely(!lend_any_locked(&l, s)))
		return COROI_LEND_NONE;
	return call_locked(&l, call);
}

/* go_on_locked - own's call into Go was made: go on with own. Returns: the outcome. */
static COROI_LEND_FAST int go_on_locked(struct coroi_lender *l, struct coroi_lend *call,
					struct coroi_rec *own)
{
	at_add(&l->w->sched->activity, -COROI_PENDING); /* OFF6; an awake token is held */
	l->call = call;
	l->own = own;
	coroi_unwait_locked(l->w, own);
	coroi_run_on_locked(l->w, own);
	run_locked(l, true);
	return finish_locked(l);
}

/* on_inside - coroi_lend_on by a thread that is a worker. */
static COROI_NOINLINE int on_inside(struct coroi_worker *w, struct coroi_lend *call,
				    struct coroi_rec *own)
{
	struct coroi_lender l;

	if (w != coroi_self() || !is_inside(w->sched) || !enter_inside_locked(&l))
		return COROI_LEND_NONE;
	return go_on_locked(&l, call, own);
}

int coroi_lend_on(struct coroi_lend *call)
{
	struct coro_scheduler *s = (struct coro_scheduler *)(uintptr_t)call->sched;
	struct coroi_rec *own = (struct coroi_rec *)(uintptr_t)call->rec;
	/* relaxed: own is suspended, and stays at home; own's suspension was seen */
	struct coroi_worker *w = &s->worker[at_load_rlx(&own->home)];
	struct coroi_lender l;

	if (coroi_unlikely(coroi_self() != NULL))
		return on_inside(w, call, own);
	if (!s->lends || !coroi_sleeps(s, w->id) || !may_claim(w))
		return COROI_LEND_NONE;
	become_locked(&l, w);
	if (coroi_unlikely(!is_idle_locked(w) || own->state != COROI_COMMITTED)) {
		give_up_locked(&l);
		return COROI_LEND_NONE;
	}
	return go_on_locked(&l, call, own);
}

/* ------------------------------------------------------------------------------ what was woken */

COROI_NOINLINE bool coroi_lend_wakes(struct coroi_worker *w, struct coroi_rec *r, coro_fn fn)
{
	struct coroi_waker *k = coroi_waker_tls;
	struct coro_scheduler *s = w->sched;

	if (k->w || !may_lend(s) || w->id >= coroi_general(s) || !coroi_is_brief(fn))
		return false;
	if (!coroi_sleeps(s, w->id)) {
		miss(s);
		return false;
	}
	if (!may_claim(w))
		return false;
	k->w = w;
	k->woken = r;
	return true;
}

bool coroi_lend_keeps(uint32_t *count)
{
	struct coroi_waker *k = coroi_waker_tls;

	if (!k->w || k->count)
		return false;
	k->count = count; /* until the thread has given back the worker */
	return true;
}

/* take_alone_locked - r, whose wake was delivered, can go on, and is all that w has: take it. */
static COROI_LEND_FAST bool take_alone_locked(struct coroi_lender *l, struct coroi_rec *r)
{
	struct coroi_worker *w = l->w;

	if (l->timed || w->queue.count != 1 || w->cancel || w->due != COROI_NEVER ||
	    (at_load_rlx(&w->inbox) | w->undelivered.first | (uintptr_t)w->next) ||
	    w->queue.ring[w->queue.head & w->queue.mask] != coroi_runnable_started(r))
		return false;
	coroi_deque_pop(&w->queue);
	coroi_renew_budget(w);
	l->unlooked = 0;
	return true;
}

COROI_NOINLINE void coroi_lend_woken(struct coroi_waker *k)
{
	struct coroi_lender l;

	become_locked(&l, k->w);
	coroi_remote_wake_locked(k->w, k->woken, 0);
	bool ran = take_alone_locked(&l, k->woken);
	if (coroi_likely(ran))
		coroi_run_on_locked(k->w, k->woken);
	else
		coroi_door_leave(k->w);
	run_locked(&l, ran);
	give_back_locked(&l);
	if (k->count)
		at_add(k->count, -1);
}

/* ----------------------------------------------------------------------------------- a task */

bool coroi_task_lend(struct coro_scheduler *s, uint64_t arg, bool (*change)(void *), void *ctx,
		     int *status)
{
	struct coroi_lender l;
	bool put;

	if (!may_lend(s) || coroi_tls(coroi_waker_tls) || !coroi_is_plain_thread())
		return false;
	if (!lend_any_locked(&l, s))
		return false;
	*status = coroi_task_put_locked(l.w, arg, change, ctx, &put);
	if (coroi_likely(put)) {
		coroi_door_leave(l.w);
		run_locked(&l, false);
	}
	give_back_locked(&l);
	return *status == CORO_OK; /* without a record here there may be one outside */
}
