//go:build ignore
/*
 * idle.c - which workers sleep, which are woken, and when everything is at its end.
 *
 * The problem: work appears on a worker's queue with plain stores, and a wake-up costs as much as a
 * thousand switches. Yet nothing may be left lying, and the end must be exact: not one moment too
 * early, and told apart from a deadlock. docs/internals/sleeping.md has what was rejected, and the
 * figures.
 *
 *   activity  searching:16 | awake:16 | pending:32. A worker that is not asleep holds an awake
 *             token. What will cause work from outside holds pending-work tokens
 *   sleepers  a bit for each worker that sleeps. The thread that clears the bit has claimed the
 *             worker, and gives it a token and a wake-up
 *
 *   park  SLP1  set the own bit
 *         SLP2  look once more at what only the worker itself takes: `asked` of host.h; the inbox;
 *               the queue, `next` and the batches (inside the door: a thief may have emptied the
 *               inbox into the queue and left some of it, or a cancel may have woken a coroutine
 *               here; batches are detached, BTW3); the mode
 *         SLP3  found: clear the own bit and go on. If the worker was claimed meanwhile, it has two
 *               tokens, and gives one back
 *         SLP4  give the token back; for a pending-work token, if deadlines are armed, or
 *               coroutines wait for something from outside. awake and pending are 0: everything
 *               rests
 *         SLP5  sleep until claimed
 *         SLP6  a thief that has emptied a sleeper's inbox, and leaves some of that in the
 *               sleeper's queue or undelivered, claims the sleeper
 *   wake  WKW1  push to the inbox (sequentially consistent)
 *         WKW2  the bit is set: take an awake token for the sleeper. In a pause: give the token
 *               back
 *         WKW3  clear the bit. If another thread has cleared it: give the token back
 *         WKW4  wake the sleeper
 *
 * No wake-up is lost: WKW1 before WKW2 and SLP1 before SLP2 are sequentially consistent, so the
 * pusher sees the bit or the sleeper sees the push.
 *
 * The end is exact. Work in a queue or in `next` is its awake owner's, or was seen at SLP2, or is
 * known to a thief that is awake until SLP6. Work in an inbox was seen at SLP2, or its pusher is
 * between WKW2 and WKW4, and then the push counts as later than the end. A token is granted (WKW2)
 * before the claim (WKW3), so awake is never zero while a worker is on its way up. The thread that
 * leaves no worker awake wakes one first, if coroutines await a stack and may get one: NST3 of
 * nostack.h.
 *
 * The end of a wait (coroi_finished) needs less where there are daemons: awake is 0, and every
 * coroutine that is left, by two looks at the counters (activity.c), is a daemon. What is pending then
 * is pending for daemons. So each thread that leaves no worker awake looks whether this is the end,
 * if there has ever been a daemon. What a daemon spawns after awake was 0 comes later than the end,
 * as what is pushed from outside does. The end of a run is always a rest.
 *
 * The standby bounds how long work is left lying: while any worker is awake, one sleeper sleeps
 * with a time-out and looks around. It takes what is queued behind a worker that has not switched
 * between two looks, or a surplus. `hungry` tells workers that push whether a sleeper wants to be
 * woken (SURPLUS), or that there is no standby (ALONE). `hungry` is a hint, and a wrong one costs
 * time only.
 *
 * The reserve keeps that true at less cost, where things come from outside now and then: deadlines,
 * events of a driver, calls that end. Each worker that rises for one of these while all sleep would
 * have to wake another worker, to be the standby. Instead one or two of the sleepers, the reserves,
 * sleep for 2 ms at most, and become the standby then if a worker is awake and there is none. While
 * there is a reserve, ALONE is not set.
 *
 * The rest is told in docs/internals/sleeping.md:
 *
 *   holds off        a worker for which stealing was useless lately is not woken for a surplus, and
 *                    is the standby instead of another worker, even while all sleep
 *   coalesces wakes  a worker that has taken its waker's CPU sleeps for a moment with its token and
 *                    without its bit, and takes together what has come
 *   deadlines        a sleeper with deadlines has exchanged its awake token for a pending-work
 *                    token in one step (SLP4), and takes an awake one before it gives that back;
 *                    the standby fires the late deadlines of a worker that is awake
 *   outside          a sleeper with coroutines that wait for what its driver brings (driver.h) has
 *                    exchanged its token likewise (SLP4). The worker with the event rises by
 *                    itself; if it is lent, or was claimed, its own thread sends the event as any
 *                    thread from outside does. The standby polls the drivers of workers that are
 *                    awake and do not switch. Neither needs a token for that: until the coroutine
 *                    can go on, its home counts it, and is awake, or has the pending-work token
 *   dedicated        a dedicated worker parks, is claimed and holds tokens like any other, but does
 *                    not search or stand by, and nobody takes work from it; the standby delivers
 *                    only the remote wakes that lie there while the worker computes
 *
 * activity.c has the tokens and the claims (WKW1 to WKW4), steal.c how a worker spins and steals,
 * and SLP6.
 */
#include "kernel/idle.h"

#include "kernel/nostack.h"
#include "kernel/run.h"
#include "kernel/steal.h"

bool coroi_idle_spin(struct coroi_worker *w, bool (*happened)(void *), void *arg, uint32_t pauses)
{
	if (!COROI_HAS_WAIT_SPIN || w->spin.ns < COROI_SPIN_NS ||
	    w->lender) /* spinning was of no use lately, or is not */
		return false;
	for (uint32_t i = 0; i < COROI_WAIT_SPIN_PAUSES; i++) {
		if (i % pauses == 0 && happened(arg))
			return true;
		at_relax();
	}
	return happened(arg);
}

static bool is_standby(struct coroi_worker *w)
{
	return at_load_rlx(&w->sched->standby) == w->id + 1u;
}

/* resign - w is the standby no longer, unless a worker that holds off has become that meanwhile. */
static void resign(struct coroi_worker *w)
{
	uint32_t self = w->id + 1u;

	at_cas(&w->sched->standby, &self, 0);
}

/* clears_alone - the caller has become the standby. False: a worker that holds off has taken that
 * since, and has gone to work. Perhaps it set ALONE before ALONE was cleared here. */
static bool clears_alone(struct coro_scheduler *s)
{
	if (!(at_load_rlx(&s->hungry) & COROI_HUNGRY_ALONE))
		return true;
	at_and(&s->hungry, ~COROI_HUNGRY_ALONE);
	return at_load_seq(&s->standby);
}

/* stand_by - become the standby, if there is none and a worker is awake. A worker that holds off
 * becomes the standby in any case, or else the reserve: then no other worker is woken for that. */
static void stand_by(struct coroi_worker *w)
{
	struct coro_scheduler *s = w->sched;
	bool off;

	if (!COROI_HAS_STANDBY || s->workers == 1 || s->flags & CORO_NO_STANDBY ||
	    coroi_is_dedicated(w))
		return;
	off = coroi_holds_off(w, coroi_now_ns());
	if (off && at_load_seq(&s->standby) && COROI_PENDING_OF(at_load_seq(&s->activity)))
		return;
	for (;;) {
		uint32_t nobody = 0;
		if (off) {
			at_xchg(&s->standby, w->id + 1u);
			if (clears_alone(s))
				return;
			continue;
		}
		if (COROI_AWAKE_OF(at_load_seq(&s->activity))) {
			if (!at_cas(&s->standby, &nobody, w->id + 1u))
				return;
			if (COROI_AWAKE_OF(at_load_seq(&s->activity))) {
				if (clears_alone(s))
					return;
				continue;
			}
			resign(w);
		} else if (at_load_seq(&s->standby)) {
			return; /* the standby will see that all sleep, and stand down */
		}
		at_or(&s->hungry, COROI_HUNGRY_ALONE);
		/* All have gone to sleep. A worker that was woken since has found this one as the
		 * standby, or did not see ALONE in time: look again. */
		if (!COROI_AWAKE_OF(at_load_seq(&s->activity)))
			return;
	}
}

static void stand_down(struct coroi_worker *w)
{
	resign(w);
	at_or(&w->sched->hungry, COROI_HUNGRY_ALONE);
}

/* reserve_of - which reserve w is, or -1. */
static int reserve_of(const struct coroi_worker *w)
{
	const struct coro_scheduler *s = w->sched;

	return at_load_rlx(&s->reserve[0].who) == w->id + 1u   ? 0
	       : at_load_rlx(&s->reserve[1].who) == w->id + 1u ? 1
							       : -1;
}

/* be_reserve - of w, which goes to sleep: become a reserve, if something may come from outside of
 * all workers. One is enough beside a standby. ALONE is cleared: the next worker that rises need
 * not wake another one. If ALONE was set meanwhile, the reserve's time-out makes up for that. */
static void be_reserve(struct coroi_worker *w)
{
	struct coro_scheduler *s = w->sched;
	uint32_t nobody = 0, neither = 0;

	if (!COROI_HAS_RESERVE || is_standby(w) || s->workers == 1 || s->flags & CORO_NO_STANDBY ||
	    coroi_is_dedicated(w) || !COROI_PENDING_OF(at_load_seq(&s->activity)))
		return;
	if (at_cas(&s->reserve[0].who, &nobody, w->id + 1u) ||
	    (!at_load_seq(&s->standby) && at_cas(&s->reserve[1].who, &neither, w->id + 1u)))
		at_and(&s->hungry, ~COROI_HUNGRY_ALONE);
}

/* retire - w is a reserve no longer. */
static void retire(struct coroi_worker *w)
{
	int k = reserve_of(w);

	if (k >= 0)
		at_xchg(&w->sched->reserve[k].who, 0);
}

static bool has_reserve(struct coro_scheduler *s)
{
	return at_load_seq(&s->reserve[0].who) || at_load_seq(&s->reserve[1].who);
}

/* have_another_look - w is lent, and has retired: another sleeper is to look around, if none does.
 * A lender that computes fires no deadline, and takes nothing from others. */
static void have_another_look(struct coroi_worker *w)
{
	struct coro_scheduler *s = w->sched;

	if (at_load_seq(&s->standby) || has_reserve(s))
		return;
	at_or(&s->hungry, COROI_HUNGRY_ALONE);
	coroi_notify_hungry(w);
}

/* have_moved - some worker has switched since the last look. */
static bool have_moved(struct coroi_worker *w)
{
	for (unsigned i = 0; i < w->sched->workers; i++)
		if (coroi_turns(&w->sched->worker[i]) != w->steal.seen[i])
			return true;
	return false;
}

/* reserve_looks - the reserve's time-out. True: w is the standby now, and is to look around. Else
 * w stays the reserve while coroutines run now and then, and retires where all have been asleep, or
 * there is a standby. If w is lent, another worker is to look around. */
static bool reserve_looks(struct coroi_worker *w)
{
	struct coro_scheduler *s = w->sched;
	int k = reserve_of(w);

	if (k < 0 || coroi_now_ns() < at_load_rlx(&s->reserve[k].until))
		return false;
	bool lacking = !at_load_seq(&s->standby) && COROI_AWAKE_OF(at_load_seq(&s->activity));
	if (!lacking && have_moved(w)) {
		coroi_note_turns(w);
		return false;
	}
	retire(w);
	if (coroi_sleeps(s, w->id)) {
		stand_by(w);
		return is_standby(w);
	}
	have_another_look(w);
	return false;
}

/* as_no_worker - call the driver's function while this thread, w's own, is no worker: another
 * thread may be w. What it sends, it sends as any thread from outside does. */
static bool as_no_worker(struct coroi_worker *w, bool (*call)(struct coroi_worker *),
			 struct coroi_worker *arg)
{
	coroi_be_nobody();
	bool sent = call(arg);
	coroi_be(w);
	return sent;
}

/* polls_for - the standby w polls the driver of v, which is awake, and has not switched since the
 * last look. */
static bool polls_for(struct coroi_worker *w, struct coroi_worker *v)
{
	return coroi_watches(v) && coroi_turns(v) == w->steal.seen[v->id] &&
	       !coroi_sleeps(v->sched, v->id) && as_no_worker(w, v->sched->driver->poll, v);
}

/* look_around - the standby's time-out: is there work that no worker gets to? */
static bool look_around(struct coroi_worker *w)
{
	struct coro_scheduler *s = w->sched;
	bool may_steal = !coroi_holds_off(w, coroi_now_ns());

	for (unsigned i = 0; i < s->workers; i++) {
		struct coroi_worker *v = &s->worker[i];
		if (v != w && (polls_for(w, v) || coroi_is_stuck(w, v) ||
			       (may_steal && coroi_has_surplus(v))))
			return true;
	}
	if (may_steal)
		at_or(&s->hungry, COROI_HUNGRY_SURPLUS);
	coroi_note_turns(w);
	return false;
}

/* unpark - SLP3: hold one awake token, and have no bit. Another thread may have claimed w
 * meanwhile. */
static void unpark(struct coroi_worker *w)
{
	struct coro_scheduler *s = w->sched;

	if (at_and(&s->sleepers[w->id >> 6], ~coroi_sleeper_bit(w->id)) & coroi_sleeper_bit(w->id))
		return;
	coroi_awake_end(s); /* one of two: never the last */
	while (at_load_acq(&w->ev) != COROI_EV_WOKEN)
		at_relax();
	at_store_rlx(&w->ev, COROI_EV_NONE);
}

/* rise - w's own thread wakes by itself: OWN1 of lend.h. False: another thread has claimed w, or is
 * w. Then that thread wakes w's own thread, at the latest when it gives w back (OWN2). */
static bool rise(struct coroi_worker *w)
{
	struct coro_scheduler *s = w->sched;

	do {
		coroi_awake_begin(s);
		if (at_and(&s->sleepers[w->id >> 6], ~coroi_sleeper_bit(w->id)) &
		    coroi_sleeper_bit(w->id))
			return true;
		coroi_tokens_given_back(s, coroi_awake_end(s));
		if (is_standby(w))
			resign(w);
		retire(w);
		have_another_look(w);
		at_xchg(&w->awaited, 1);
	} while (coroi_sleeps(s, w->id));
	return false;
}

/*
 * hand_over - w goes to work, and is the standby or the reserve no longer. Unless another worker is
 * one of these, workers that push are told that there is none. If w has work of its own while other
 * workers are awake, those may have relied on w to take some of theirs: then one more sleeper is
 * woken. So it is if w watches something, which nobody looks at while that work runs.
 */
static void hand_over(struct coroi_worker *w)
{
	struct coro_scheduler *s = w->sched;

	if (is_standby(w))
		resign(w);
	retire(w);
	if (at_load_seq(&s->standby) || has_reserve(s))
		return;
	at_or(&s->hungry, COROI_HUNGRY_ALONE);
	if ((COROI_AWAKE_OF(at_load_seq(&s->activity)) > 1 || coroi_watches(w)) &&
	    (at_load_seq(&w->inbox) || coroi_deque_length(&w->queue) || at_load_rlx(&w->next)))
		coroi_notify_hungry(w);
}

void coroi_idle_due(struct coroi_worker *w, uint64_t due)
{
	struct coro_scheduler *s = w->sched;
	uint32_t other = at_load_rlx(&s->standby);
	uint64_t until = at_load_rlx(&s->standby_until);

	if (!other) {
		int k = at_load_rlx(&s->reserve[0].who) ? 0 : 1;
		other = at_load_rlx(&s->reserve[k].who);
		until = at_load_rlx(&s->reserve[k].until);
	}
	if (coroi_unlikely(other) && !coroi_is_dedicated(w) && due < until - COROI_LATE_NS &&
	    coroi_sleeps(s, other - 1))
		coroi_claim(s, other - 1);
}

/* first_deadline - of w, which has gone to sleep with deadlines. A thief may have fired them all:
 * then the answer is "now", since w still holds a pending-work token for them. */
static uint64_t first_deadline(struct coroi_worker *w)
{
	uint64_t due = at_load_rlx(&w->due);
	return due == COROI_NEVER ? 0 : due;
}

/* sleep_limit - how long w may sleep, ns; -1: until it is claimed. The standby sleeps for
 * standby_ns, and the reserve for COROI_RESERVE_NS, or until a deadline of another worker is
 * late. */
static int64_t sleep_limit(struct coroi_worker *w, bool timed, int64_t standby_ns)
{
	struct coro_scheduler *s = w->sched;
	uint64_t until = timed ? first_deadline(w) : COROI_NEVER;
	int k = is_standby(w) ? -1 : reserve_of(w);
	bool standby = is_standby(w);

	if (!standby && k < 0 && !timed)
		return -1;
	uint64_t now = coroi_now_ns();
	if (standby || k >= 0) {
		uint64_t others = now + (standby ? (uint64_t)standby_ns : COROI_RESERVE_NS);
		for (unsigned i = 0; i < coroi_general(s); i++) {
			uint64_t due = at_load_rlx(&s->worker[i].due);
			if (due < others - COROI_LATE_NS)
				others = due + COROI_LATE_NS;
		}
		at_store_rlx(standby ? &s->standby_until : &s->reserve[k].until, others);
		until = until < others ? until : others;
	}
	return until > now ? (int64_t)(until - now) : 0;
}

static bool deliver(struct coroi_worker *w)
{
	w->sched->driver->deliver(w);
	return true;
}

/* sleep_until_claimed - SLP5. timed: w has deadlines. */
static void sleep_until_claimed(struct coroi_worker *w, bool timed)
{
	struct coro_scheduler *s = w->sched;
	int64_t standby_ns = COROI_STANDBY_FIRST_NS;
	bool awaited = false; /* w is lent, and its own thread has waited for it in vain */
	bool fetched;         /* the driver has something to deliver */

	coroi_note_turns(w);
	at_store_rlx(&w->steal.called, 0);
	stand_by(w);
	be_reserve(w);
	w->spin.slept = coroi_now_ns();
	for (;;) {
		uint32_t none = COROI_EV_NONE;
		fetched = at_cas(&w->ev, &none, COROI_EV_SLEEPS) &&
			  s->driver->sleep(w, awaited ? -1 : sleep_limit(w, timed, standby_ns));
		uint32_t sleeps = COROI_EV_SLEEPS;
		if (!at_cas(&w->ev, &sleeps, COROI_EV_NONE)) { /* claimed */
			at_store_rlx(&w->ev, COROI_EV_NONE);
			break;
		}
		if (!awaited && (fetched || (timed && first_deadline(w) <= coroi_now_ns()))) {
			if (rise(w))
				break;
			awaited = true;
		}
		if (fetched)
			as_no_worker(w, deliver, w);
		if (awaited)
			continue;
		if (!is_standby(w) && !reserve_looks(w))
			continue;
		uint64_t activity = at_load_seq(&s->activity);
		if (!COROI_AWAKE_OF(activity)) {
			/* A worker that has deadlines may soon be woken, see coroi_drain_locked.
			 * And while this one holds off, no other is to be woken instead. */
			if ((!COROI_PENDING_OF(activity) || standby_ns == COROI_STANDBY_MOST_NS) &&
			    !coroi_holds_off(w, coroi_now_ns())) {
				stand_down(w);
				stand_by(w);
			}
		} else if (!coroi_sleeps(s, w->id) &&
			   (coroi_is_stuck(w, w) || coroi_has_forks(w))) {
			/* w is lent, and something lies behind its lender. */
			stand_down(w);
			coroi_notify_hungry(w);
			continue;
		} else if (look_around(w)) {
			if (rise(w))
				break;
			awaited = true;
			continue;
		}
		standby_ns = standby_ns * 2 > COROI_STANDBY_MOST_NS ? COROI_STANDBY_MOST_NS
								    : standby_ns * 2;
	}
	at_store_rlx(&w->awaited, 0);
	w->wakes.displaced = !fetched && coroi_cpu() == at_load_rlx(&w->wakes.waker_cpu);
	hand_over(w);
	if (fetched)
		s->driver->deliver(w);
	else if (coroi_now_ns() - w->spin.slept < COROI_SPIN_NS)
		w->spin.ns = COROI_SPIN_NS;
}

void coroi_share_stacks_locked(struct coroi_worker *w)
{
	struct coro_scheduler *s = w->sched;

	if (!coroi_stack_cache_flush(&w->stacks))
		return;
	for (unsigned i = 0; i < s->workers && at_load_rlx(&s->awaiting_stack); i++)
		if (&s->worker[i] != w && at_load_rlx(&s->worker[i].awaiting_stack.count))
			coroi_notify_pushed(&s->worker[i]);
}

/* share_stacks - before sleeping, where stacks are scarce. */
static void share_stacks(struct coroi_worker *w)
{
	if (!w->sched->stacks.limit && !at_load_rlx(&w->sched->awaiting_stack))
		return;
	coroi_door_enter(w);
	coroi_share_stacks_locked(w);
	coroi_door_leave(w);
}

/* repay - give back the credit that w has: others may need it. */
static void repay(struct coroi_worker *w)
{
	coroi_door_enter(w);
	coroi_mags_surrender(&w->mags);
	coroi_door_leave(w);
}

/* coroi_has_work - SLP2. After this, two kinds of threads put something into w's queue or `next`.
 * One cancels, and claims w then. The other is a thief that took it from the inbox, to which it was
 * pushed after SLP1: it claims w if it leaves any of that there (SLP6). */
bool coroi_has_work(struct coroi_worker *w)
{
	if (at_load_seq(&w->inbox))
		return true;
	coroi_door_enter(w);
	bool found = coroi_deque_length(&w->queue) || w->next || !coroi_detach_batches_locked(w);
	coroi_door_leave(w);
	return found;
}

/* park - SLP1 to SLP5. */
static void park(struct coroi_worker *w)
{
	struct coro_scheduler *s = w->sched;

	share_stacks(w);
	repay(w);
	/* SLP1 */
	at_or(&s->sleepers[w->id >> 6], coroi_sleeper_bit(w->id));
	uint32_t mode = at_load_seq(&s->mode);
	/* SLP2 */
	if (mode == COROI_STOPPING ||
	    (mode == COROI_RUNNING &&
	     ((w->is_main && at_load_seq(&w->asked)) || coroi_has_work(w)))) {
		unpark(w);    /* SLP3 */
		hand_over(w); /* w may have been woken to look around */
		return;
	}
	at_bump(&w->count.parks);
	bool timed = at_load_rlx(&w->due) != COROI_NEVER, armed = timed || at_load_rlx(&w->outside);
	uint64_t activity = armed ? at_add(&s->activity, COROI_PENDING - COROI_AWAKE)
				  : coroi_awake_end(s);
	coroi_tokens_given_back(s, activity); /* SLP4; armed: not the end */
	if (!coroi_is_dedicated(w) && !coroi_holds_off(w, coroi_now_ns()))
		at_or(&s->hungry, COROI_HUNGRY_SURPLUS);
	sleep_until_claimed(w, timed); /* SLP5 */
	if (armed)
		at_add(&s->activity, -COROI_PENDING); /* w is awake: not the end either */
}

/* find_stack - coroutines of w await a stack, and w alone is awake: NST3 and NST4 of nostack.h.
 * True: look for work again. */
static bool find_stack(struct coroi_worker *w)
{
	uint64_t activity = at_load_seq(&w->sched->activity);

	if (!w->awaiting_stack.count || COROI_AWAKE_OF(activity) != 1)
		return false;
	return coroi_find_stack(w, !COROI_PENDING_OF(activity) && w->due == COROI_NEVER &&
					   !w->outside);
}

/* left - how many spawns the node brings that w has not taken; 1 for any other node. */
static uint64_t left(uint64_t node)
{
	return (node & COROI_NODE_KIND) == COROI_NODE_BATCH ? coroi_batch_left(coroi_node_of(node))
							    : 1;
}

/* have_come - several things have come, and not just one that was delayed. */
static bool have_come(struct coroi_worker *w)
{
	uint64_t n = 0;

	coroi_door_enter(w); /* no thief takes from the inbox meanwhile */
	for (uint64_t node = at_load_acq(&w->inbox); node && n < 2; node = *coroi_node_link(node))
		n += left(node);
	for (uint64_t node = w->undelivered.first; node && n < 2; node = *coroi_node_link(node))
		n += left(node);
	coroi_door_leave(w);
	return n > 1;
}

/*
 * coalesce_wakes - w has taken its waker's CPU, as on a machine that is full, and has nothing more
 * to do. So the waker, which may be about to push more, cannot. Sleep for a moment, awake for the
 * others and not to be claimed: what comes meanwhile costs no wake-up each. If just one thing
 * comes, it was merely delayed, and the next try comes later (backoff.h). True: something has come.
 */
static bool coalesce_wakes(struct coroi_worker *w)
{
	if (!COROI_HAS_COALESCE_WAKES || !w->wakes.displaced)
		return false;
	w->wakes.displaced = false;
	/* a thread that would have lent itself waits for w to sleep: one at a time would come */
	if (at_load_rlx(&w->sched->lend_missed) || coroi_skip(&w->wakes.tries))
		return false;
	uint32_t none = 0;
	coroi_futex_wait(&none, 0, COROI_COALESCE_WAKES_NS);
	bool came = at_load_rlx(&w->inbox) || coroi_has_spawns(w);
	w->wakes.displaced = came && have_come(w);
	coroi_tried(&w->wakes.tries, w->wakes.displaced);
	return came;
}

/* polls - w's driver has an event. Where there was none lately, only the sleep looks: it returns at
 * once if there is one. */
static bool polls(struct coroi_worker *w)
{
	if (coroi_likely(!coroi_watches(w)) || (COROI_HAS_POLL_LESS && coroi_skip(&w->polling)))
		return false;
	bool found = w->sched->driver->poll(w);
	coroi_tried(&w->polling, found);
	return found;
}

bool coroi_idle(struct coroi_worker *w)
{
	struct coro_scheduler *s = w->sched;

	if (coalesce_wakes(w) || polls(w))
		return true;

	if (at_load_seq(&s->mode) == COROI_RUNNING && (coroi_search(w) || find_stack(w)))
		return true;
	park(w);
	return at_load_seq(&s->mode) != COROI_STOPPING;
}

/* ------------------------------------------------------------------------------ the goworker */

void coroi_threadless_init(struct coro_scheduler *s)
{
	struct coroi_worker *goworker = coroi_threadless(s);

	goworker->id = (uint16_t)s->workers;
	goworker->sched = s;
	/* the goworker starts asleep */
	s->sleepers[goworker->id >> 6] |= coroi_sleeper_bit(goworker->id);
}

bool coroi_threadless_park(struct coroi_worker *goworker)
{
	struct coro_scheduler *s = goworker->sched;

	at_store_rlx(&goworker->ev, COROI_EV_NONE);
	at_or(&s->sleepers[goworker->id >> 6], coroi_sleeper_bit(goworker->id));          /* SLP1 */
	if (at_load_seq(&goworker->undelivered.first) || at_load_seq(&goworker->inbox)) { /* SLP2 */
		unpark(goworker);                                                         /* SLP3 */
		return false;
	}
	at_bump(&goworker->count.parks);
	coroi_tokens_given_back(s, coroi_awake_end(s)); /* SLP4 */
	return true;
}
