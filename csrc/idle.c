//go:build cgo && linux
/*
 * idle.c - who sleeps, who is woken, and when everything is at its end.
 *
 * The problem: work appears on a worker's queue with plain stores, a wake-up costs as much as a thousand
 * switches, and yet nothing may be left lying, and the end must be exact: not one moment too early, and told
 * apart from a deadlock. Rejected: waking for every push (the waker pays 7 us for 5 ns of work); a counter of all
 * live coroutines (a hot word for everybody); sleeping for a fixed time and looking again (never exact).
 *
 *   S         searching:16 | awake:16 | ext:32. A worker that is not asleep holds an awake token; things that will
 *             cause work from outside hold ext tokens.
 *   sleepers  a bit for each worker that sleeps. Whoever clears it has claimed the worker, and gives it a token
 *             and a wake-up.
 *
 *   park  P1  set own bit
 *         P2  look once more at what only we take: the inbox, the queue, the slot and the parcels (inside the door: a thief
 *             may have emptied our inbox into the queue and left some of it, or a cancel woken somebody here; of
 *             parcels we let go, B3), the mode
 *         P3  found: clear own bit (or find that we were claimed, and give one of two tokens back); go on
 *         P4  give the token back. awake and ext zero: everything rests
 *         P5  sleep until claimed
 *         P6  a thief that has emptied a sleeper's inbox and leaves it some of that, in its queue or unopened, claims it
 *   wake  N1  push to the inbox (sequentially consistent)
 *         N2  the bit is set: take an awake token for the sleeper; paused: give it back
 *         N3  clear the bit; somebody else did: give the token back
 *         N4  wake it
 *
 * No wake-up is lost: N1 before N2 and P1 before P2 are sequentially consistent, so the pusher sees the bit or
 * the sleeper sees the push. The end is exact: work on a queue or a slot is its awake owner's, or was seen at P2, or is
 * known to a thief who is awake until P6; work in an inbox was seen at P2, or its pusher is at N2 to N4, and then the push
 * counts as later than the end. A token is granted (N2) before the claim, so that awake is never zero while somebody is on
 * its way up. (Without P6, if a pusher was slow between N1 and N2, and the sleeper's door was taken when the thief looked
 * around for the last time, a batch ended with part of what was pushed in the sleeper's queue: spawned, not ended, and so
 * told as a deadlock.)
 *
 * Nor is it the end while somebody waits for a stack: whoever gives the last token back, of either kind, wakes a worker that has such
 * ones, and that, alone awake, tells them that there is none.
 *
 * What is left lying for a while is bounded by the standby: while anybody is awake, one sleeper sleeps with a
 * time-out (20 us doubling to 4 ms) and looks around. It takes what is queued behind a worker that has not
 * switched between two looks, or a surplus. `hungry` tells workers that push whether a sleeper wants to be woken
 * (SURPLUS), or that there is no standby (ALONE); it is a hint, and being wrong costs time only.
 *
 * Before it sleeps a worker spins for mail, and one of them for something to steal: a wake-up costs both sides more. But
 * where work comes now and then, and others want the CPU, spinning is a loss: each that was in vain halves the
 * next, and one that found something, or would have (the wake-up came soon after), makes it whole again. (After
 * Karlin, Li, Manasse, Owicki, "Empirical Studies of Competitive Spinning", SOSP 1991.)
 *
 * A worker that was woken where its waker ran has taken the CPU from it: the machine is full. Spinning is in vain then, and
 * sleeping brings the next wake-up, one for each of a burst of spawns. So it dozes: for 50 us it sleeps with its token
 * and without its bit, and takes together what has come meanwhile. (30 000 spawns in bursts of 10, both CPUs busy otherwise:
 * 18 000 or 3 500 sleeps before, 700 with it.)
 *
 * A worker that sleeps with deadlines of its own (timer.h) sleeps no longer than until the first, and has exchanged its
 * awake token for an ext token in one step (P4); it takes an awake one before it gives that back. For a worker
 * that is awake and does not get to its deadlines the standby does it, in its door. So one with deadlines that takes something up while
 * nobody looks around wakes another, as it may be long (coroi_drain_locked). So that this is not done each time, the standby stays for some
 * milliseconds after all have gone to sleep, if an ext token is held.
 *
 * A dedicated worker takes part in all of this but stealing: it parks, is claimed and holds tokens like any other, but it neither searches
 * nor stands by, and nobody looks for work there. Only mail that lies there while it computes is delivered by the standby, as it
 * may be for one that has moved on. Its deadlines are its own business: who they are for cannot run elsewhere.
 *
 * Stealing that does not pay backs off: a thief that has run what it stole in less time each than moving it cost
 * (PAY_NS) keeps away for 50 us, doubling to 12 ms, and halving when it pays.
 */
#include "idle.h"

#include "bell.h"
#include "lane.h"
#include "run.h"

#include <limits.h>

#define SPIN_LEAST_NS 600
#define SPIN_RELAX 6 /* about 150 ns between looks */
#define LINGER_LOOKS 60 /* about 2 us */
#define GATHER_RELAX 48 /* about 1.2 us before a look into parcels that trickle in */
#define GATHER_NS 600   /* then between looks */
#define NAP_FIRST_NS 20000
#define NAP_MOST_NS 4000000
#define DOZE_NS 50000
#define LATE_NS 200000 /* a deadline is so late: its worker does not get to it */
#define PAY_NS 150
#define BACKOFF_NS 25000
#define BACKOFF_MOST 9

/* ------------------------------------------------------------------------------------- tokens */

bool coroi_at_rest(struct coro_scheduler *s)
{
	return at_load_seq(&s->S) >> 16 == 0;
}

static bool wake_starved(struct coro_scheduler *s);

void coroi_rested(struct coro_scheduler *s)
{
	if (coroi_unlikely(at_load_seq(&s->starved)) && wake_starved(s))
		return;
	at_add(&s->rests, 1);
	if (at_load_seq(&s->rest_waiters))
		coroi_futex_wake(&s->rests, INT_MAX);
	if (at_load_seq(&s->go_waits_rest))
		coroi_bell_ring(s);
}

/* drop - give an awake token back. True: everything rests now. */
static bool drop(struct coro_scheduler *s)
{
	return at_add(&s->S, -COROI_S_AWAKE) >> 16 == 0;
}

/* grant - take an awake token. If everything rested until then, that is counted before anything can come of it. */
static void grant(struct coro_scheduler *s)
{
	if (at_add(&s->S, COROI_S_AWAKE) >> 16 == 1)
		at_add(&s->rises, 1);
}

void coroi_rest_await(struct coro_scheduler *s, uint32_t seen)
{
	at_add(&s->rest_waiters, 1);
	if (at_load_seq(&s->rests) == seen)
		coroi_futex_wait(&s->rests, seen, -1);
	at_add(&s->rest_waiters, -1);
}

/* ------------------------------------------------------------------------------------- waking */

static inline uint64_t bit_of(unsigned id)
{
	return UINT64_C(1) << (id & 63);
}

/* claim - N2 to N4. */
static bool claim(struct coro_scheduler *s, unsigned id)
{
	struct coroi_worker *w = &s->worker[id];

	COROI_MUTANT(CLAIM_FIRST, grant(s), (void)0);
	if (at_load_seq(&s->mode) == COROI_PAUSED ||
	    !COROI_MUTANT(BLIND_CLAIM, at_and(&s->sleepers[id >> 6], ~bit_of(id)) & bit_of(id),
			  (at_and(&s->sleepers[id >> 6], ~bit_of(id)), true))) {
		if (COROI_MUTANT(CLAIM_FIRST, COROI_MUTANT(TOKEN_KEPT, drop(s), false), false))
			coroi_rested(s);
		return false;
	}
	COROI_MUTANT(CLAIM_FIRST, (void)0, at_add(&s->S, COROI_S_AWAKE));
	at_store_rlx(&w->waker_cpu, coroi_cpu());
	if (at_xchg(&w->ev, COROI_EV_WOKEN) == COROI_EV_SLEEPS)
		COROI_MUTANT(NO_CALL, coroi_futex_wake(&w->ev, 1), (void)0);
	if (coroi_unlikely(id == s->workers))
		coroi_bell_ring(s);
	return true;
}

/* wake_starved - everything rests, but some wait for a stack: that is not the end. Wake a worker that has such ones, to tell them that there
 * is none, see fail_starved. One: of several none would be alone. False: there is none to be woken. */
static bool wake_starved(struct coro_scheduler *s)
{
	for (unsigned id = 0; id < s->workers && at_load_seq(&s->mode) == COROI_RUNNING; id++)
		if (at_load_rlx(&s->worker[id].starved.count) && (at_load_seq(&s->sleepers[id >> 6]) & bit_of(id)) && claim(s, id))
			return true;
	return false;
}

/* claim_any - wake one sleeper, if there is one, to steal: not the lane, nor a dedicated one. */
static void claim_any(struct coro_scheduler *s)
{
	unsigned n = coroi_general(s);

	for (unsigned i = 0; i < COROI_MASK_WORDS && i * 64 < n; i++) {
		uint64_t mask = n - i * 64 < 64 ? bit_of(n) - 1 : UINT64_MAX;
		for (uint64_t bits; (bits = at_load_seq(&s->sleepers[i]) & mask) && at_load_seq(&s->mode) != COROI_PAUSED;)
			if (claim(s, i * 64 + (unsigned)__builtin_ctzll(bits)))
				return;
	}
}

COROI_COLD void coroi_idle_feed(struct coroi_worker *w)
{
	if (!coroi_is_dedicated(w) && at_xchg(&w->sched->hungry, 0))
		claim_any(w->sched);
}

COROI_NOINLINE int coroi_feed_and_leave(struct coroi_worker *w)
{
	coroi_idle_queued(w);
	coroi_door_leave(w);
	return CORO_OK;
}

void coroi_idle_pushed(struct coroi_worker *w)
{
	struct coro_scheduler *s = w->sched;

	if (at_load_seq(&s->sleepers[w->id >> 6]) & bit_of(w->id))
		claim(s, w->id);
	else if (coroi_unlikely(at_load_rlx(&s->hungry) & COROI_HUNGRY_ALONE) && w->id != s->workers)
		coroi_idle_feed(w);
}

void coroi_wake_all(struct coro_scheduler *s)
{
	for (unsigned id = 0; id < s->workers; id++)
		if (at_load_seq(&s->sleepers[id >> 6]) & bit_of(id))
			claim(s, id);
	if (at_load_seq(&coroi_lane(s)->inbox)) /* it has nothing else to wake up for */
		coroi_idle_pushed(coroi_lane(s));
}

/* ----------------------------------------------------------------------------------- stealing */

/* has_more - v's queue has something, and not just what the last thief left there. */
static bool has_more(struct coroi_worker *v)
{
	uint32_t length = coroi_deque_length(&v->queue);
	return length && !(length == at_load_rlx(&v->kept_length) && coroi_turns(v) == at_load_rlx(&v->kept_at));
}

/* stuck - v has something and has not switched since we noted it in seen; or has missed a deadline. */
static bool stuck(struct coroi_worker *w, struct coroi_worker *v)
{
	if (coroi_is_dedicated(v))
		return coroi_turns(v) == w->seen[v->id] && at_load_rlx(&v->inbox);
	return (coroi_turns(v) == w->seen[v->id] &&
		(has_more(v) || at_load_rlx(&v->slot) || at_load_rlx(&v->inbox) || at_load_rlx(&v->unopened))) ||
	       (at_load_rlx(&v->due) != COROI_NEVER && coroi_timers_are_due(v, coroi_now_ns() - LATE_NS));
}

/* has_surplus - a thief would get something from v. */
static bool has_surplus(struct coroi_worker *v)
{
	return coroi_deque_length(&v->queue) > 1 && !coroi_is_dedicated(v);
}

static void note(struct coroi_worker *w)
{
	for (unsigned i = 0; i < w->sched->workers; i++)
		w->seen[i] = coroi_turns(&w->sched->worker[i]);
}

static uint32_t give_half(struct coroi_worker *w, struct coroi_worker *v)
{
	return coroi_deque_give(v, w->id, w->gift, (coroi_deque_length(&v->queue) + 1) / 2);
}

/* take - the door of v is ours: half of its queue; if nothing can be had there, its mail and its next one too. */
static uint32_t take(struct coroi_worker *w, struct coroi_worker *v)
{
	if (at_load_rlx(&v->due) != COROI_NEVER)
		coroi_timers_fire_locked(v, coroi_now_ns());
	uint32_t n = give_half(w, v);
	if (!n) {
		struct coroi_rec *next = v->slot;
		coroi_drain_locked(v);
		COROI_MUTANT(SLOT_KEPT, at_store_rlx(&v->slot, NULL), (void)0);
		if (next)
			coroi_queue_locked(v, next);
		if (v->unopened)
			coroi_open_locked(v);
		n = give_half(w, v);
	}
	if (!n) {
		coroi_let_go_locked(v); /* so that it does not look stuck */
		at_store_rlx(&v->kept_length, coroi_deque_length(&v->queue));
		at_store_rlx(&v->kept_at, coroi_turns(v));
	}
	return n;
}

/* hold_off - stealing was in vain: not again for a while, twice as long as last time. */
static void hold_off(struct coroi_worker *w, uint64_t now)
{
	w->backoff += w->backoff < BACKOFF_MOST;
	w->hold_off = now + ((uint64_t)BACKOFF_NS << w->backoff);
}

/* leaves_asleep - the door of v is ours, and we leave something there that v, who has passed P2, does not know of. */
static bool leaves_asleep(struct coroi_worker *v)
{
	return at_load_seq(&v->sched->sleepers[v->id >> 6]) & bit_of(v->id) &&
	       (coroi_deque_length(&v->queue) || !coroi_let_go_locked(v));
}

static bool steal(struct coroi_worker *w, struct coroi_worker *v)
{
	bool left;
	uint32_t n = 0;

	switch (coroi_door_knock(v, w->id)) {
	case COROI_REFUSED:
		return false;
	case COROI_SERVED:
		n = at_load_rlx(&w->gift_count);
		if (n)
			at_bump(&w->served);
		break;
	case COROI_LOCKED:
		n = take(w, v);
		left = COROI_MUTANT(LEFT_ASLEEP, leaves_asleep(v), false);
		coroi_door_unlock(v);
		if (left)
			claim(w->sched, v->id); /* P6 */
		if (n)
			at_bump(&w->forced);
		break;
	}
	if (!n) {
		if (coroi_deque_length(&v->queue) && !coroi_is_dedicated(v)) /* they are pinned */
			hold_off(w, coroi_now_ns());
		return false;
	}
	at_bump(&w->steals);
	at_bump_by(&w->stolen, n);
	coroi_door_enter(w);
	while (n--) { /* the back was given first: keep the order. Our queue is empty, so there is room */
		if (coroi_task_has_record(w->gift[n].task))
			coroi_deque_push(&w->queue, w->gift[n].task);
		else
			coroi_queue_new_locked(w, w->gift[n].task, &w->gift[n].arg);
	}
	coroi_idle_queued(w);
	coroi_door_leave(w);
	w->batch_began = coroi_now_ns();
	w->batch_at = coroi_turns(w);
	return true;
}

/* sweep - one round over the others, from a random one on (xorshift64*, Vigna 2016): take from those that have a
 * surplus, if stealing pays, or (last) from those that are stuck. */
static bool sweep(struct coroi_worker *w, bool pays, bool last)
{
	uint32_t n = w->sched->workers;

	w->random ^= w->random >> 12;
	w->random ^= w->random << 25;
	w->random ^= w->random >> 27;
	uint32_t k = (uint32_t)((w->random * UINT64_C(0x2545f4914f6cdd1d)) >> 32) % n;
	for (uint32_t i = 0; i < n; i++) {
		struct coroi_worker *v = &w->sched->worker[(k + i) % n];
		if (v == w)
			continue;
		if (((pays && has_surplus(v)) || (last && stuck(w, v))) && steal(w, v))
			return true;
	}
	return false;
}

/* reckon - did what we stole last pay? */
static void reckon(struct coroi_worker *w, uint64_t now)
{
	if (!w->batch_began)
		return;
	uint32_t ran = coroi_turns(w) - w->batch_at;
	if (now - w->batch_began >= PAY_NS * ran) { /* or we were preempted meanwhile: not all is forgotten */
		w->backoff -= w->backoff > 0;
		w->hold_off = 0;
	} else {
		hold_off(w, now);
	}
	w->batch_began = 0;
}

/* start_searching - at most one searcher with up to four workers, else as many as half of those awake. */
static bool start_searching(struct coro_scheduler *s)
{
	uint64_t S = at_load_rlx(&s->S);
	do {
		uint32_t most = COROI_S_AWAKE_OF(S) / 2;
		if (s->workers <= 4 || most < 1)
			most = 1;
		if (COROI_S_SEARCHING_OF(S) >= most)
			return false;
	} while (!at_cas(&s->S, &S, S + COROI_S_SEARCHING));
	return true;
}

static void linger(void)
{
	for (int i = 0; i < SPIN_RELAX; i++)
		at_relax();
}

/* gather - spawns stream in from outside: let some come together, rather than fight over a line for each. */
static bool gather(struct coroi_worker *w)
{
	for (int i = 0; i < GATHER_RELAX && !at_load_rlx(&w->inbox); i++)
		at_relax();
	return coroi_has_news(w);
}

/* search - spin for a short while for mail, and, as one of few, for something to steal. */
static bool search(struct coroi_worker *w)
{
	struct coro_scheduler *s = w->sched;

	if (at_load_rlx(&w->unopened) && gather(w))
		return true;
	uint64_t began = coroi_now_ns(), now = began, looked = began;
	bool found = false, thief = !coroi_is_dedicated(w) && start_searching(s);

	reckon(w, now);
	note(w);
	while (!(found = at_load_rlx(&w->inbox) != 0) && now - began < w->spin_ns && at_load_rlx(&s->mode) == COROI_RUNNING) {
		if (thief && now >= w->hold_off && (found = sweep(w, true, false)))
			break;
		linger();
		now = coroi_now_ns();
		if (at_load_rlx(&w->unopened) && now - looked >= GATHER_NS) {
			if ((found = coroi_has_news(w)))
				break;
			looked = now;
		}
	}
	if (thief) {
		if (!found)
			found = sweep(w, now >= w->hold_off, true);
		at_add(&s->S, -COROI_S_SEARCHING);
	}
	if (found)
		w->spin_ns = COROI_SPIN_NS;
	else if (w->spin_ns > SPIN_LEAST_NS)
		w->spin_ns /= 2;
	return found;
}

bool coroi_idle_linger(struct coroi_worker *w, bool (*happened)(void *), void *arg)
{
	if (w->spin_ns < COROI_SPIN_NS) /* it has been in vain lately */
		return false;
	for (int i = 0; i < LINGER_LOOKS; i++) {
		if (happened(arg))
			return true;
		at_relax();
	}
	return false;
}

/* ------------------------------------------------------------------------------------ sleeping */

static bool is_standby(struct coroi_worker *w)
{
	return at_load_rlx(&w->sched->standby) == w->id + 1u;
}

/* stand_by - be the sleeper that looks around, if there is none and somebody is awake. */
static void stand_by(struct coroi_worker *w)
{
	struct coro_scheduler *s = w->sched;

	if (s->workers == 1 || s->flags & CORO_NO_STANDBY || coroi_is_dedicated(w))
		return;
	for (;;) {
		uint32_t nobody = 0;
		if (COROI_S_AWAKE_OF(at_load_seq(&s->S))) {
			if (!at_cas(&s->standby, &nobody, w->id + 1u))
				return;
			if (COROI_S_AWAKE_OF(at_load_seq(&s->S)))
				return;
			at_xchg(&s->standby, 0);
		} else if (at_load_seq(&s->standby)) {
			return; /* it will see that all sleep, and stand down */
		}
		at_or(&s->hungry, COROI_HUNGRY_ALONE);
		/* All have gone to sleep. If one was woken since, it found us set, or was not told to wake one: look
		 * again. */
		if (!COROI_S_AWAKE_OF(at_load_seq(&s->S)))
			return;
	}
}

static void stand_down(struct coroi_worker *w)
{
	at_xchg(&w->sched->standby, 0);
	at_or(&w->sched->hungry, COROI_HUNGRY_ALONE);
}

/* look_around - the standby's time-out: is there anything that nobody gets to? */
static bool look_around(struct coroi_worker *w)
{
	struct coro_scheduler *s = w->sched;
	bool may_steal = coroi_now_ns() >= w->hold_off;

	for (unsigned i = 0; i < s->workers; i++) {
		struct coroi_worker *v = &s->worker[i];
		if (v != w && (stuck(w, v) || (may_steal && has_surplus(v))))
			return true;
	}
	if (may_steal)
		at_or(&s->hungry, COROI_HUNGRY_SURPLUS);
	note(w);
	return false;
}

/* unpark - P3, or the standby wakes itself: have a token and no bit. Somebody may have claimed us meanwhile. */
static void unpark(struct coroi_worker *w)
{
	struct coro_scheduler *s = w->sched;

	if (at_and(&s->sleepers[w->id >> 6], ~bit_of(w->id)) & bit_of(w->id))
		return;
	COROI_MUTANT(TWO_TOKENS, drop(s), (void)0); /* one of two: never the last */
	COROI_MUTANT_ADDS(STALE_EV, return;)
	while (at_load_acq(&w->ev) != COROI_EV_WOKEN)
		at_relax();
	at_store_rlx(&w->ev, COROI_EV_NONE);
}

/*
 * hand_over - w goes to work. Nobody looks around now, unless another became the standby meanwhile: whoever pushes is told
 * so; and if others work too, who may have been waiting for us to take something, one more is woken.
 */
static void hand_over(struct coroi_worker *w)
{
	struct coro_scheduler *s = w->sched;

	COROI_MUTANT_ADDS(NO_HAND_OVER, if (is_standby(w)) stand_down(w); return;)
	if (is_standby(w))
		at_xchg(&s->standby, 0);
	if (at_load_seq(&s->standby))
		return;
	at_or(&s->hungry, COROI_HUNGRY_ALONE);
	if (COROI_S_AWAKE_OF(at_load_seq(&s->S)) > 1 && (at_load_seq(&w->inbox) || coroi_deque_length(&w->queue) || at_load_rlx(&w->slot)))
		coroi_idle_feed(w);
}

void coroi_idle_due(struct coroi_worker *w, uint64_t due)
{
	struct coro_scheduler *s = w->sched;
	uint32_t standby = at_load_rlx(&s->standby);

	if (coroi_unlikely(standby) && !coroi_is_dedicated(w) && due < at_load_rlx(&s->standby_until) - LATE_NS &&
	    at_load_seq(&s->sleepers[(standby - 1) >> 6]) & bit_of(standby - 1))
		claim(s, standby - 1);
}

/* first_deadline - of w, which has gone to sleep with one. A thief may have been here and left none: then it is now, since we
 * hold an ext token for them. */
static uint64_t first_deadline(struct coroi_worker *w)
{
	uint64_t due = at_load_rlx(&w->due);
	return due == COROI_NEVER ? 0 : due;
}

/* sleep_limit - how long w may sleep, ns; -1: until it is claimed. The standby: nap_ns, or until somebody's deadline is late. */
static int64_t sleep_limit(struct coroi_worker *w, bool armed, bool standby, int64_t nap_ns)
{
	struct coro_scheduler *s = w->sched;
	uint64_t until = armed ? first_deadline(w) : COROI_NEVER;

	if (!standby && !armed)
		return -1;
	uint64_t now = coroi_now_ns();
	if (standby) {
		uint64_t others = now + (uint64_t)nap_ns;
		for (unsigned i = 0; i < coroi_general(s); i++) {
			uint64_t due = at_load_rlx(&s->worker[i].due);
			if (due < others - LATE_NS)
				others = due + LATE_NS;
		}
		at_store_rlx(&s->standby_until, others);
		until = until < others ? until : others;
	}
	return until > now ? (int64_t)(until - now) : 0;
}

/* nap - P5. armed: with an ext token, for deadlines. */
static void nap(struct coroi_worker *w, bool armed)
{
	struct coro_scheduler *s = w->sched;
	int64_t nap_ns = NAP_FIRST_NS;

	note(w);
	stand_by(w);
	w->parked_at = coroi_now_ns();
	for (;;) {
		uint32_t none = COROI_EV_NONE;
		bool timed = is_standby(w);
		if (COROI_MUTANT(BLIND_SLEEP, at_cas(&w->ev, &none, COROI_EV_SLEEPS), (at_xchg(&w->ev, COROI_EV_SLEEPS), true)))
			coroi_futex_wait(&w->ev, COROI_EV_SLEEPS, sleep_limit(w, armed, timed, nap_ns));
		uint32_t sleeps = COROI_EV_SLEEPS;
		if (!at_cas(&w->ev, &sleeps, COROI_EV_NONE)) { /* claimed */
			at_store_rlx(&w->ev, COROI_EV_NONE);
			break;
		}
		if (armed && first_deadline(w) <= coroi_now_ns()) {
			grant(s);
			unpark(w);
			break;
		}
		if (!timed)
			continue;
		uint64_t S = at_load_seq(&s->S);
		if (!COROI_S_AWAKE_OF(S)) {
			if (!COROI_S_EXT_OF(S) || nap_ns == NAP_MOST_NS) { /* else one that has deadlines may soon be woken, see coroi_drain_locked */
				stand_down(w);
				stand_by(w);
			}
		} else if (look_around(w)) {
			grant(s);
			unpark(w);
			break;
		}
		nap_ns = nap_ns * 2 > NAP_MOST_NS ? NAP_MOST_NS : nap_ns * 2;
	}
	w->displaced = coroi_cpu() == at_load_rlx(&w->waker_cpu);
	hand_over(w);
	if (coroi_now_ns() - w->parked_at < COROI_SPIN_NS)
		w->spin_ns = COROI_SPIN_NS;
}

void coroi_share_stacks_locked(struct coroi_worker *w)
{
	struct coro_scheduler *s = w->sched;

	if (!coroi_stack_cache_flush(&w->stacks))
		return;
	for (unsigned i = 0; i < s->workers && at_load_rlx(&s->starved); i++)
		if (&s->worker[i] != w && at_load_rlx(&s->worker[i].starved.count))
			coroi_idle_pushed(&s->worker[i]);
}

/* share_stacks - before sleeping, where stacks are scarce. */
static void share_stacks(struct coroi_worker *w)
{
	if (!w->sched->stacks.limit && !at_load_rlx(&w->sched->starved))
		return;
	coroi_door_enter(w);
	coroi_share_stacks_locked(w);
	coroi_door_leave(w);
}

/* repay - others may need the credit that we have. */
static void repay(struct coroi_worker *w)
{
	coroi_door_enter(w);
	coroi_slab_refund(&w->sched->slab, w->mags.credit);
	w->mags.credit = 0;
	coroi_door_leave(w);
}

/* has_work - P2. Whoever puts something into our queue or slot after this cancels, and claims us then, or took it from an
 * inbox that was pushed to after P1, and claims us if it leaves any of it there (P6). */
static bool has_work(struct coroi_worker *w)
{
	if (at_load_seq(&w->inbox))
		return true;
	coroi_door_enter(w);
	bool found = COROI_MUTANT(INBOX_ONLY, coroi_deque_length(&w->queue) || w->slot ||
					      COROI_MUTANT(NO_LET_GO, !coroi_let_go_locked(w), false), false);
	coroi_door_leave(w);
	return found;
}

/* park - P1 to P5. */
static void park(struct coroi_worker *w)
{
	struct coro_scheduler *s = w->sched;

	share_stacks(w);
	repay(w);
	COROI_MUTANT_ADDS(LET_GO_FIRST, if (has_work(w)) return;)
	COROI_MUTANT(LATE_BIT, at_or(&s->sleepers[w->id >> 6], bit_of(w->id)), 0); /* P1 */
	uint32_t mode = at_load_seq(&s->mode);
	COROI_MUTANT_ADDS(DROP_FIRST, if (drop(s)) coroi_rested(s); at_add(&s->S, COROI_S_AWAKE);)
	if (mode == COROI_STOPPING || (mode == COROI_RUNNING && COROI_MUTANT(NO_RECHECK, COROI_MUTANT(LET_GO_FIRST, has_work(w), false), false))) { /* P2 */
		COROI_MUTANT_ADDS(LATE_BIT, return;)
		unpark(w); /* P3 */
		hand_over(w); /* we may have been the one that was woken to look around */
		return;
	}
	COROI_MUTANT_ADDS(LATE_BIT, at_or(&s->sleepers[w->id >> 6], bit_of(w->id));)
	at_bump(&w->parks);
	bool armed = at_load_rlx(&w->due) != COROI_NEVER;
	if (armed) {
		at_add(&s->S, COROI_S_EXT - COROI_S_AWAKE); /* P4: not the end */
	} else if (drop(s)) { /* P4 */
		coroi_rested(s);
	}
	if (!coroi_is_dedicated(w) && coroi_now_ns() >= w->hold_off)
		at_or(&s->hungry, COROI_HUNGRY_SURPLUS);
	nap(w, armed); /* P5 */
	if (armed)
		at_add(&s->S, -COROI_S_EXT); /* we are awake: not the end either */
}

/* fail_starved - we alone are awake, and there is still no stack for those who wait for one: ours are told so. Those of others are by
 * who is woken when we have gone to sleep too. True: look again. */
static bool fail_starved(struct coroi_worker *w)
{
	struct coro_scheduler *s = w->sched;

	if (!w->starved.count || at_load_seq(&s->S) >> 16 != 1)
		return false;
	coroi_door_enter(w);
	coroi_fail_starved_locked(w);
	coroi_door_leave(w);
	return true;
}

/* have_come - several things, not one that has only been kept waiting. Spawns in a parcel come several at a time. */
static bool have_come(struct coroi_worker *w)
{
	coroi_door_enter(w); /* nobody else takes from the inbox */
	uint64_t node = at_load_acq(&w->inbox);
	bool one = node && (node & COROI_NODE_KIND) != COROI_NODE_BATCH && !*coroi_node_link(node);
	coroi_door_leave(w);
	return !one;
}

/*
 * doze - w has taken its waker's CPU, as on a machine that is full, and has nothing more to do: the waker, who may be about to
 * push more, cannot. Sleep for a moment, awake for the others and not to be claimed, so that what comes meanwhile costs no
 * wake-up each; where it is one thing alone, that has only been kept waiting. True: something has come.
 */
static bool doze(struct coroi_worker *w)
{
	if (!w->displaced)
		return false;
	w->displaced = false;
	if (w->doze_skip) {
		w->doze_skip--;
		return false;
	}
	uint32_t none = 0;
	coroi_futex_wait(&none, 0, DOZE_NS);
	bool came = at_load_rlx(&w->inbox) || coroi_has_news(w);
	if (came && have_come(w)) {
		w->doze_skips = 0;
		w->displaced = true;
		return true;
	}
	w->doze_skips = (uint8_t)(w->doze_skips < 32 ? 2 * w->doze_skips + 1 : 63);
	w->doze_skip = w->doze_skips;
	return came;
}

bool coroi_idle(struct coroi_worker *w)
{
	struct coro_scheduler *s = w->sched;

	if (doze(w))
		return true;

	if (at_load_seq(&s->mode) == COROI_RUNNING && (search(w) || fail_starved(w)))
		return true;
	park(w);
	return at_load_seq(&s->mode) != COROI_STOPPING;
}

/* ------------------------------------------------------------------------------------ the lane */

void coroi_lane_init(struct coro_scheduler *s)
{
	struct coroi_worker *lane = coroi_lane(s);

	lane->id = (uint16_t)s->workers;
	lane->sched = s;
	s->sleepers[lane->id >> 6] |= bit_of(lane->id); /* it starts asleep */
}

bool coroi_lane_park(struct coroi_worker *lane)
{
	struct coro_scheduler *s = lane->sched;

	at_store_rlx(&lane->ev, COROI_EV_NONE);
	at_or(&s->sleepers[lane->id >> 6], bit_of(lane->id)); /* P1 */
	if (at_load_seq(&lane->unopened) || at_load_seq(&lane->inbox)) { /* P2 */
		unpark(lane); /* P3 */
		return false;
	}
	at_bump(&lane->parks);
	if (drop(s)) /* P4 */
		coroi_rested(s);
	return true;
}

void coroi_ext_begin(struct coro_scheduler *s, uint32_t n)
{
	at_add(&s->S, n * COROI_S_EXT);
}

void coroi_ext_end(struct coro_scheduler *s)
{
	if (at_add(&s->S, -COROI_S_EXT) >> 16 == 0)
		coroi_rested(s);
}
