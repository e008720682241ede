//go:build ignore
/* lend.c - see lend.h. */
#include "kernel/lend.h"

#include "kernel/brief.h"
#include "kernel/nostack.h"
#include "kernel/run.h"
#include "kernel/wait.h"

#include <string.h>

#define TIMED_EVERY  64 /* lends, of which one is timed: reading the clock costs as much as a lend */
#define LOOK_MOST    63   /* picks from one look at the clock to the next, at most */
#define LOOK_NS      2000 /* and about how long apart the looks are to be */
#define SPIN_NS      2000 /* for what is on its way from a worker that is awake */
#define SPIN_AT_ONCE 16

/* What each call of coroi_lend_call goes through is one piece of code. */
#define FAST inline __attribute__((always_inline))

__thread struct coroi_waker *coroi_waker_tls;

/* The worker to which this thread has lent itself last: its lines are in this CPU's cache. */
static __thread __attribute__((tls_model("initial-exec"))) uint32_t last;

/* ------------------------------------------------------------------------- to lend, to give back */

/* lend_take - L1 to L3. False: w cannot be lent now. */
static FAST bool lend_take(struct coroi_worker *w)
{
	struct coro_scheduler *s = w->sched;

	/* L1. `rises` is not counted: only a scheduler that pauses asks for it. */
	at_add(&s->activity, COROI_AWAKE);
	if (at_load_seq(&s->outside.refusing) || at_load_seq(&s->mode) != COROI_RUNNING ||
	    !(at_and(&s->sleepers[w->id >> 6], ~coroi_sleeper_bit(w->id)) &
	      coroi_sleeper_bit(w->id))) { /* L2 */
		coroi_tokens_given_back(s, coroi_awake_end(s));
		return false;
	}
	if (at_load_acq(&w->ev) == COROI_EV_SLEEPS) /* L3 */
		return true;
	coroi_claimed(w); /* L9 */
	return false;
}

/* become_locked - L4. It enters w's door. */
static FAST void become_locked(struct coroi_lender *l, struct coroi_worker *w)
{
	/* one by one: gcc clears a large struct by an instruction that takes as long as all of L1 to
	 * L4 */
	l->w = w;
	l->own = l->quick = NULL;
	l->call = NULL;
	l->go = NULL;
	l->now = l->until = l->looked = 0;
	l->over = l->picked = l->spun = false;
	/* what is picked first needs no look: a look costs as much as a short coroutine */
	l->unlooked = 1;
	l->look_every = 0;
	l->ran = NULL;
	coroi_worker_tls = coroi_here_tls = w;
	coroi_scheduled_tls = &w->current;
	coroi_door_enter(w);
	w->lent = COROI_LENT;
	w->lender = l;
	l->native = w->native;
	coroi_fiber_native(&w->native);
	l->due = w->due;
	at_bump(&w->lends);
	l->timed = at_load_rlx(&w->lends) % TIMED_EVERY == 1;
	if (coroi_unlikely(l->timed))
		l->since = coroi_now_ns();
}

/* judge_run - in a lend that is timed: has what ran until now kept its promise to be brief? */
static void judge_run(struct coroi_lender *l, uint64_t now)
{
	if (!l->ran)
		return;
	if (now - l->ran_since <= COROI_BRIEF_NS)
		coroi_brief_in_time(l->ran);
	else if (coroi_brief_late(l->ran))
		coroi_bell_ring(l->w->sched);
}

/* note_time - the lend, which is timed, is over. */
static void note_time(struct coroi_lender *l)
{
	struct coroi_worker *w = l->w;
	uint64_t now = coroi_now_ns(), took = now - l->since;

	judge_run(l, now);
	at_bump(&w->lends_timed);
	at_bump_by(&w->lent_ns, took);
	if (took > at_load_rlx(&w->lent_most))
		at_store_rlx(&w->lent_most, took);
}

/* leave_locked - L5. It leaves w's door, and the thread is w no longer. False: nothing is left for
 * w's own thread to do. */
static FAST bool leave_locked(struct coroi_lender *l)
{
	struct coroi_worker *w = l->w;
	struct coro_scheduler *s = w->sched;

	if (coroi_unlikely(l->timed))
		note_time(l);
	/* one look at the sum of all is shorter than one at each */
	bool left = ((uintptr_t)w->next | coroi_deque_length(&w->queue) | w->calls_count |
		     w->awaiting_stack.count | (w->due ^ l->due)) ||
		    (w->undelivered && !coroi_detach_batches_locked(w));
	if (coroi_unlikely(w->awaiting_stack.count))
		/* It may have come without a turn: coroi_moves does not tell of it (S3). */
		at_store_rlx(&w->no_stack_at, 0);
	if (coroi_unlikely(s->stacks.limit || at_load_rlx(&s->awaiting_stack)))
		coroi_share_stacks_locked(w);
	/* One credit is kept, for the next lend: to get and to give one costs as much as to run an
	 * empty coroutine. */
	if (coroi_unlikely(w->mags.credit > 1))
		coroi_mags_keep_one(&w->mags);
	w->native = l->native;
	w->lender = NULL;
	w->lent = 0;
	coroi_door_leave(w);
	coroi_worker_tls = NULL;
	coroi_here_tls = (struct coroi_worker *)&coroi_nobody;
	coroi_scheduled_tls = NULL;
	return left;
}

/* has_something - something lies at v, which is awake, that another worker could run, or fire. */
static bool has_something(const struct coroi_worker *v)
{
	return coroi_deque_length(&v->queue) || at_load_rlx(&v->next) || at_load_rlx(&v->inbox) ||
	       at_load_rlx(&v->undelivered) || at_load_rlx(&v->due) != COROI_NEVER;
}

/* lacks_standby - others are awake, there is no standby, and something lies with one of them: w's own
 * thread is to look around. Where nothing lies there, what comes later finds ALONE, and wakes a
 * sleeper. A worker queues by a plain store and then reads `hungry`: the barrier makes up for that,
 * as in T3 of door.h. */
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

/* is_called_for - L7. */
static FAST bool is_called_for(struct coroi_worker *w)
{
	const struct coro_scheduler *s = w->sched;

	_Static_assert(COROI_RUNNING == 0, "a mode of 0 is no reason");
	return (at_load_seq(&w->inbox) | at_load_seq(&w->queue.count) |
		at_load_seq(&w->queue.spill.count) | (uintptr_t)at_load_seq(&w->next) |
		at_load_seq(&w->undelivered) | at_load_seq(&s->mode) | at_load_seq(&w->awaited)) ||
	       (coroi_general(s) > 1 && !(s->flags & CORO_NO_STANDBY) &&
		COROI_AWAKE_OF(at_load_seq(&s->activity)) > 1 && !at_load_seq(&s->standby) &&
		lacks_standby(w));
}

/* give_back_locked - L5 to L9. */
static FAST void give_back_locked(struct coroi_lender *l)
{
	struct coroi_worker *w = l->w;
	struct coro_scheduler *s = w->sched;
	uint64_t bit = coroi_sleeper_bit(w->id), *bits = &s->sleepers[w->id >> 6];

	if (coroi_unlikely(leave_locked(l))) {
		coroi_claimed(w); /* L9 */
		return;
	}
	at_or(bits, bit);                                                   /* L6 */
	if (coroi_unlikely(is_called_for(w)) && at_and(bits, ~bit) & bit) { /* L7 */
		coroi_claimed(w);                                           /* L9 */
		return;
	}
	if (coroi_unlikely(s->workers > 1 && !(at_load_rlx(&s->hungry) & COROI_HUNGRY_SURPLUS)))
		at_or(&s->hungry, COROI_HUNGRY_SURPLUS);
	coroi_tokens_given_back(s, coroi_awake_end(s)); /* L8 */
}

/* is_idle_locked - w has nothing to do. */
static FAST bool is_idle_locked(const struct coroi_worker *w)
{
	return !(at_load_rlx(&w->inbox) | w->undelivered | (uintptr_t)w->next |
		 coroi_deque_length(&w->queue) | w->awaiting_stack.count | w->calls_count |
		 w->cancel);
}

/* give_up_locked - w has something to do: it is its own thread's. */
static void give_up_locked(struct coroi_lender *l)
{
	leave_locked(l);
	coroi_claimed(l->w); /* L9 */
}

/* ------------------------------------------------------------------------------- what is run */

/* is_spent - the budget is used up. The first look begins it. */
static bool is_spent(struct coroi_lender *l)
{
	if (l->unlooked) {
		l->unlooked--;
		return false;
	}
	uint64_t now = coroi_now_ns(), before = l->looked;
	l->looked = now;
	if (!l->until) {
		uint32_t budget = l->call ? l->call->budget_ns : 0;
		l->until = now + (budget ? budget : COROI_LEND_NS);
		return false;
	}
	l->look_every = now - before > LOOK_NS          ? 0
			: l->look_every * 2 < LOOK_MOST ? l->look_every * 2 + 1
							: LOOK_MOST;
	l->unlooked = l->look_every;
	return now >= l->until;
}

/* may_run - a runnable of w's, at the front, may run on this thread. */
static bool may_run(const struct coroi_lender *l, uint64_t runnable)
{
	struct coroi_rec *r = coroi_runnable_has_record(runnable) ? coroi_runnable_record(runnable)
								  : NULL;

	if (r && r == l->own)
		return true;
	if (!l->call || l->call->brief)
		return !(r && coroi_is_pinned(r)) &&
		       coroi_is_brief(r ? r->fn : coroi_runnable_fn(runnable));
	return l->w->lent == COROI_LENT && coroi_runnable_is_new(runnable) &&
	       !(r && runnable & COROI_CODED);
}

bool coroi_lend_may_start(const struct coroi_worker *w, coro_fn fn)
{
	const struct coroi_lender *l = w->lender;

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

	judge_run(l, now);
	l->ran_since = now;
	l->ran = NULL;
	if (l->call && !l->call->brief)
		return;
	l->ran = coroi_runnable_has_record(runnable) ? coroi_runnable_record(runnable)->fn
						     : coroi_runnable_fn(runnable);
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
	if (at_load_rlx(&w->inbox) || w->undelivered || w->due != COROI_NEVER)
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
	struct coroi_lender *l = w->lender;

	/* own has begun; if this is not the first time, it has escaped */
	if (l && l->own && !l->now)
		coroi_escape(l->own);
}

/* pick_next_locked - coroi_lend_pick_locked where it follows another pick, nothing has come meanwhile,
 * and the front of the queue is fresh, has no record, and may run. 0: take the general way; nothing
 * was changed. */
static FAST uint64_t pick_next_locked(struct coroi_worker *w, struct coroi_lender *l)
{
	struct coroi_deque *d = &w->queue;
	uint64_t runnable = d->ring[d->head & d->mask];

	if (!l->picked || !l->unlooked || !l->call || l->call->brief || l->timed ||
	    w->lent != COROI_LENT ||
	    (at_load_rlx(&w->inbox) | w->undelivered | (uintptr_t)w->next | l->now |
	     (uintptr_t)l->go | l->over) ||
	    w->due != COROI_NEVER || !d->count || !coroi_runnable_is_new(runnable) ||
	    coroi_runnable_words(runnable) == COROI_RECORD)
		return 0;
	l->unlooked--;
	at_store_rlx(&d->head, d->head + 1);
	at_store_rlx(&d->count, d->count - 1);
	return runnable;
}

COROI_NOINLINE uint64_t coroi_lend_pick_locked(struct coroi_worker *w)
{
	struct coroi_lender *l = w->lender;
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
	struct coroi_lender *l = w->lender;
	struct coroi_lend *call = l->call;

	if (me != l->own)
		return;
	l->own = NULL;
	l->over = !call->brief;
	call->status = CORO_OK;
	if (call->brief)
		call->handle = coroi_handle(me);
	if (coroi_unlikely(me->canceled | (me->flags & ENDED_OTHERWISE)))
		call->status = coroi_join_status(me);
	if (coroi_unlikely(call->status == CORO_EFAILED)) {
		struct coroi_failure f = coroi_failed(me);
		call->code = f.code;
		call->text = (uintptr_t)f.text;
	} else if (call->result_bytes && call->status == CORO_OK) {
		/* all of it: a copy of a known size is no call */
		memcpy(call->payload, coroi_cold(me)->payload, sizeof call->payload);
	}
	coroi_unflag(me, COROI_F_JOINABLE); /* the end was taken: the record is free */
}

bool coroi_lend_makes(const struct coroi_worker *w, const struct coroi_rec *me)
{
	const struct coroi_lender *l = w->lender;

	return l && l->own == me && me && !l->call->brief;
}

void coroi_lend_make(struct coroi_worker *w, struct coroi_call *c)
{
	w->lender->go = c;
}

/* awaits - own waits, nothing else may run here, and what own waits for may be on its way from a
 * worker that is awake: has something come? */
static bool awaits(struct coroi_lender *l)
{
	struct coroi_worker *w = l->w;

	if (!l->own || l->over || l->go || l->spun ||
	    COROI_AWAKE_OF(at_load_rlx(&w->sched->activity)) < 2)
		return false;
	l->spun = true;
	for (uint64_t until = coroi_now_ns() + SPIN_NS; coroi_now_ns() < until;)
		for (int i = 0; i < SPIN_AT_ONCE; i++) {
			if (at_load_rlx(&w->inbox))
				return true;
			at_relax();
		}
	return false;
}

/* run - L4 is done: run what may run here. It returns in w's door. */
static void run_locked(struct coroi_lender *l)
{
	if (l->go) { /* own waits for the caller */
		coroi_door_enter(l->w);
		return;
	}
	do
		if (coroi_run(l->w)) /* calls that are to be made inline: by w's own thread */
			break;
	while (awaits(l));
	coroi_door_enter(l->w);
}

/* let_join - own is a Task's, which anybody may join. A thief may have run own to its end, or does so
 * now. */
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
static FAST int outcome_locked(struct coroi_lender *l)
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

/* ---------------------------------------------------------------------------------- a call's */

/* general - the bits of workers i * 64 and following that are not dedicated. */
static uint64_t general(const struct coro_scheduler *s, unsigned i)
{
	unsigned n = coroi_general(s);

	return n <= i * 64 ? 0 : n - i * 64 < 64 ? coroi_sleeper_bit(n) - 1 : UINT64_MAX;
}

/* may_claim - L1 to L3 for w, if it may be lent. */
static FAST bool may_claim(struct coroi_worker *w)
{
	return !at_load_rlx(&w->kept) && lend_take(w);
}

/* claim_any - L1 to L3 for some worker of s. NULL: none can be lent. */
static COROI_NOINLINE struct coroi_worker *claim_any(struct coro_scheduler *s)
{
	for (unsigned i = 0; i < COROI_MASK_WORDS && i * 64 < coroi_general(s); i++) {
		uint64_t bits = at_load_seq(&s->sleepers[i]) & general(s, i);
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
static FAST struct coroi_worker *claim(struct coro_scheduler *s)
{
	uint32_t id = last;

	if (coroi_likely(id < coroi_general(s) && coroi_sleeps(s, id) && may_claim(&s->worker[id])))
		return &s->worker[id];
	return claim_any(s);
}

/* fresh_locked - a record for the call. NULL: there is none. */
static FAST struct coroi_rec *fresh_locked(struct coroi_worker *w, const struct coroi_lend *call)
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

/* start_locked - start own. True: it has ended. False: own has suspended, or is still to be started;
 * w's door is left. */
static FAST bool start_locked(struct coroi_lender *l)
{
	struct coroi_worker *w = l->w;

	l->now = coroi_runnable_fresh(l->own);
#if COROI_RUNS_QUICKLY
	struct coroi_stack *stack;
	if (coroi_likely(!coroi_is_dense(l->own) &&
			 (stack = coroi_stack_get(&w->stacks, l->own->class)))) {
		l->quick = l->own;
		if (coroi_unlikely(l->timed && l->call->brief)) {
			l->ran = l->own->fn;
			l->ran_since = l->since;
		}
		l->now = 0;
		if (coroi_likely(coroi_run_fresh_locked(w, l->own, stack)))
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

int coroi_lend_call(struct coroi_lend *call)
{
	struct coro_scheduler *s = (struct coro_scheduler *)(uintptr_t)call->sched;
	struct coroi_worker *w;
	struct coroi_lender l;

	if (!may_lend(s) || (call->brief && !coroi_is_brief((coro_fn)(uintptr_t)call->fn)))
		return COROI_LEND_NONE;
	if (coroi_unlikely(!(w = claim(s)))) {
		miss(s);
		return COROI_LEND_NONE;
	}
	become_locked(&l, w);
	if (coroi_unlikely(!is_idle_locked(w))) {
		give_up_locked(&l);
		return COROI_LEND_NONE;
	}
	struct coroi_rec *own = fresh_locked(w, call);
	if (coroi_unlikely(!own)) {
		give_back_locked(&l);
		return CORO_ENOMEM;
	}
	l.call = call;
	l.own = own;
	if (!start_locked(&l))
		run_locked(&l);
	int outcome = outcome_locked(&l);
	give_back_locked(&l);
	return outcome;
}

int coroi_lend_on(struct coroi_lend *call)
{
	struct coro_scheduler *s = (struct coro_scheduler *)(uintptr_t)call->sched;
	struct coroi_rec *own = (struct coroi_rec *)(uintptr_t)call->rec;
	/* relaxed: own is suspended, and stays at home; own's suspension was seen */
	struct coroi_worker *w = &s->worker[at_load_rlx(&own->home)];
	struct coroi_lender l;

	if (!may_lend(s) || at_load_rlx(&w->kept) || !coroi_sleeps(s, w->id) || !lend_take(w))
		return COROI_LEND_NONE;
	become_locked(&l, w);
	if (coroi_unlikely(!is_idle_locked(w) || own->state != COROI_COMMITTED)) {
		give_up_locked(&l);
		return COROI_LEND_NONE;
	}
	at_add(&s->activity, -COROI_PENDING); /* F6; an awake token is held */
	l.call = call;
	l.own = own;
	coroi_unwait_locked(w, own);
	l.now = coroi_runnable_started(own);
	coroi_door_leave(w);
	run_locked(&l);
	int outcome = outcome_locked(&l);
	give_back_locked(&l);
	return outcome;
}

/* ------------------------------------------------------------------------------ what was woken */

COROI_NOINLINE bool coroi_lend_wakes(struct coroi_worker *w, coro_fn fn)
{
	struct coroi_waker *k = coroi_waker_tls;
	struct coro_scheduler *s = w->sched;

	if (k->w || !may_lend(s) || w->id >= coroi_general(s) || at_load_rlx(&w->kept) ||
	    !coroi_is_brief(fn))
		return false;
	if (!coroi_sleeps(s, w->id)) {
		miss(s);
		return false;
	}
	if (!lend_take(w))
		return false;
	k->w = w;
	return true;
}

COROI_NOINLINE void coroi_lend_woken(struct coroi_waker *k)
{
	struct coroi_lender l;

	become_locked(&l, k->w);
	coroi_door_leave(k->w);
	run_locked(&l);
	give_back_locked(&l);
	if (k->count)
		at_add(k->count, -1);
}
