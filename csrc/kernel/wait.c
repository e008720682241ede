//go:build ignore
/*
 * wait.c - yielding, parking, waking, cancelling.
 *
 * The problem: a waker on any thread must reach a coroutine that may be running, queued, waiting or
 * just stolen, or that has ended, with its record in use for another. A coroutine that is never
 * woken from another worker must pay nothing for that.
 *
 * At home (the waker's worker is the coroutine's home) everything happens inside the door, with
 * plain loads and stores. From elsewhere a waker uses the wake word:
 *
 *   generation:32 | ESCAPED | EVENT | CANCEL | count:29
 *
 *   WKC1  waker: CAS the word, with the generation and ESCAPED as expected, to count + 1 (or EVENT
 *         or CANCEL set). Another generation, or not ESCAPED (nobody was ever given the handle):
 *         stale.
 *   WKC2  waker: if count, EVENT and CANCEL were 0 before, this waker alone pushes the record to
 *         its home's inbox, as a remote wake. So a record is a node of at most one inbox, once, and
 *         stays a node until WKC3 clears the word. A waker that lends itself to that worker
 *         (lend.h) pushes nothing: it keeps the record, and does WKC3 as that worker.
 *   WKC3  the worker that takes the remote wake, in its door: if the coroutine is not at home here,
 *         pass the remote wake on to its home. Else a fetch-and clears EVENT, CANCEL and count, and
 *         they are delivered: a home cannot change inside that home's door.
 *   WKC4  end (join.c): not ESCAPED: do nothing. Nobody has a handle, so the record's next user may
 *         have the same generation. ESCAPED: CAS to generation + 1 without ESCAPED. If the word
 *         holds a remote wake, the record is still a node: it is not freed here, but by WKC5.
 *   WKC5  the worker that takes a remote wake whose word is not ESCAPED: clear the word, and free
 *         the record.
 *
 * Permits (coro_park) are counted. Waits inside coro, such as joins, use EVENT, one for each
 * registration: a waiter goes on only when it has had its event, or has taken its registration
 * back. So no event is left over for a later wait.
 *
 * A cancel of one coroutine (coro_cancel) goes the same ways. Nothing records which thread asked
 * for it.
 *
 *   CAN1  cancel: at home in the door, or by WKC1 to WKC3 with CANCEL, set `canceled` in the
 *         record. It stays set. If the coroutine waits, make it runnable with CORO_ECANCELED, in
 *         the form that the short paths leave alone (runnable.h). What else WKC3 delivers comes
 *         first: a permit or an event that was there before the cancel ends the wait as usual.
 *   CAN2  wait, in the door, before it suspends: if nothing has come for the wait, and `canceled`
 *         is set, return CORO_ECANCELED. CAN1 and CAN2 are both inside the home's door: so CAN2
 *         sees the cancel, or CAN1 finds the coroutine waiting. A coroutine that is never cancelled
 *         pays for one look at a byte, in a line that it writes anyway. A permit that is on its way
 *         (count) has come: CAN1 and CAN2 leave it to WKC3 to wake the coroutine that parks.
 *   CAN3  cancelled wait: take the registration back (for a join, JOI1 of join.c). If the end was
 *         first, the event is on its way: the wait is committed, goes on until the event comes, and
 *         is not cancelled.
 *   CAN4  start of a fresh coroutine: if `canceled` or CANCEL in the word is set, end it unstarted.
 *         The word is looked at so that nothing starts after coro_cancel has returned, even if the
 *         remote wake is not delivered yet.
 *
 *   CAN5  in a shield section (shield.c) CAN1 ends no wait, and CAN2 lets a wait begin. Its
 *         deadline is that of the section, if the wait has none or a later one. When it has come,
 *         CAN2 is asked again.
 *
 * The generation in the wake word keeps a cancel from the record's next user (WKC1, WKC4), which is
 * filled in with `canceled` cleared.
 */
#include "kernel/wait.h"

#include "kernel/budget.h"
#include "kernel/fork.h"
#include "kernel/hooks.h"
#include "kernel/inlined.h"
#include "kernel/nowait.h"

__thread void *coroi_waker_tls;

/* is_over - the coroutine has ended. FREE: its joiner is about to raise the generation. */
static inline bool is_over(uint8_t state)
{
	return state == COROI_ENDED || state == COROI_FREE;
}

/* from_here - 1 + the id of the worker of s on which the calling coroutine runs; 0: there is
 * none. */
static inline uint64_t from_here(const struct coro_scheduler *s)
{
	const struct coroi_worker *w = coroi_here();

	return w->sched == s && w->current ? w->id + 1u : 0;
}

/* remote_wake - WKC1 and WKC2. bit: COROI_EVENT, COROI_CANCEL, or 0 for a permit. Returns: CORO_OK,
 * CORO_ESTALE, or of a permit CORO_EOVERFLOW. */
static int remote_wake(struct coroi_rec *r, uint32_t gen, uint64_t bit)
{
	/* acquire: the state is read before the word, see is_home_locked */
	bool over = is_over(at_load_acq(&r->state));
	uint64_t word = at_load_rlx(&r->wake), next;
	do {
		if (coroi_gen(word) != gen || !(word & COROI_ESCAPED) || over)
			return CORO_ESTALE;
		/* relaxed: a hint. A stale one lets one permit too many through for each waker, and
		 * the count has room for far more. Of a coroutine with a Go body, Go counts the
		 * permits: this one is 0, or the maximum. */
		if (!bit &&
		    (word & COROI_COUNT_MASK) + at_load_rlx(&r->permits) >= COROI_PERMITS_MAX)
			return CORO_EOVERFLOW;
		next = bit ? word | bit : word + 1;
	} while (!at_cas(&r->wake, &word, next));
	if ((word & COROI_WAKE_MASK) == 0) {
		struct coro_scheduler *s = coroi_owner(r);
		/* relaxed: a hint. If the coroutine moves meanwhile, WKC3 sends the wake on. */
		struct coroi_worker *home = &s->worker[at_load_rlx(&r->home)];
		uint64_t node = (uintptr_t)r | COROI_NODE_WAKE;
		if (home->shares)
			node |= from_here(s) << COROI_NODE_FROM_SHIFT;
		/* Read while r is no node yet: then it is not freed. coroi_be_known_as may change
		 * it meanwhile. */
		coro_fn fn = at_load_hint(&r->fn);
		if (coroi_likely(!coroi_tls(coroi_waker_tls)) || !coroi_hooks.wakes(home, r, fn)) {
			coroi_inbox_push(home, node);
			coroi_notify_pushed(home);
		}
	}
	return CORO_OK;
}

/*
 * Between its CAS and its push, a waker holds nothing that keeps the scheduler alive. For a waker
 * on one of the scheduler's workers that is no problem: the workers are joined before the scheduler
 * is destroyed. Any other waker is counted meanwhile, and destroy waits until the wakers that were
 * counted when it began are gone. A later waker finds that the coroutine has ended.
 *
 * There are two counts, used in turn. While destroy waits for one of them, new wakers use the
 * other, so that wakers that never stop cannot keep destroy waiting. As wakers from before may
 * still be in the other count, destroy waits for both, one after the other.
 *
 * There are several pairs of counts, so that wakers on several cores seldom share one.
 */
static struct {
	/* atomic, sequentially consistent with the wake word */
	uint32_t count[2] __attribute__((aligned(COROI_APART)));
} wakers[COROI_WAKERS];
/* The count of each pair that new wakers use. Relaxed: a hint; a late waker uses the other one. */
static uint32_t wakers_turn;
static pthread_mutex_t wakers_lock = PTHREAD_MUTEX_INITIALIZER; /* one destroy waits at a time */

/* remote_wake_from_outside - remote_wake by a thread that is no worker of r's scheduler. */

static int remote_wake_from_outside(struct coroi_rec *r, uint32_t gen, uint64_t bit)
{
	/* the pair is chosen by the address of the thread's stack */
	uint32_t *count = &wakers[(uintptr_t)&gen >> 14 & (COROI_WAKERS - 1)]
				   .count[at_load_rlx(&wakers_turn)];

	at_add(count, 1);
	int status = remote_wake(r, gen, bit);
	if (coroi_likely(!coroi_tls(coroi_waker_tls)) || !coroi_hooks.keeps(count))
		at_add(count, -1);
	return status;
}

uint32_t *coroi_guest_begin(void)
{
	uint32_t here; /* the pair is chosen by the address of the thread's stack */
	uint32_t *count = &wakers[(uintptr_t)&here >> 14 & (COROI_WAKERS - 1)]
				   .count[at_load_rlx(&wakers_turn)];

	at_add(count, 1);
	return count;
}

void coroi_guest_end(uint32_t *count)
{
	at_add(count, -1);
}

void coroi_await_wakers(void)
{
	pthread_mutex_lock(&wakers_lock);
	for (int k = 0; k < 2; k++) {
		uint32_t turn = at_load_rlx(&wakers_turn);
		at_xchg(&wakers_turn, !turn);
		for (int i = 0; i < COROI_WAKERS; i++)
			for (uint32_t n; (n = at_load_seq(&wakers[i].count[turn]));)
				/* the waker was preempted: let it finish */
				coroi_futex_wait(&wakers[i].count[turn], n, COROI_PREEMPTED_NS);
	}
	pthread_mutex_unlock(&wakers_lock);
}

void coroi_end_wait_locked(struct coroi_worker *w, struct coroi_rec *r, int8_t code)
{
	/* relaxed: a close looks at free records too, which no door protects */
	uint8_t state = at_load_rlx(&r->state);

	if (!((state == COROI_PARKED && !coroi_permit_comes(r)) || state == COROI_WAITING))
		return;
	if (code == CORO_ECANCELED && r->canceled & COROI_C_SHIELDED) /* CAN5 */
		return;
	if (code == CORO_ECANCELED && state == COROI_PARKED)
		coroi_tell_locked(r); /* any other wait tells it when it is withdrawn */
	coroi_resume_locked(w, r, code);
}

/* cancel - CAN1. r is at home here and has not ended. */
static void cancel_locked(struct coroi_worker *w, struct coroi_rec *r)
{
	for (;; r = coroi_inlined_child(r)) { /* FCA1 of fork.h */
		at_store_rlx(&r->canceled, r->canceled | COROI_C_CANCELED);
		/* relaxed: see coroi_more_add */
		if (coroi_likely(!(at_load_rlx(&r->more) & COROI_M_INLINES)) ||
		    r->canceled & COROI_C_SHIELDED)
			break;
	}
	coroi_end_wait_locked(w, r, CORO_ECANCELED);
	/* relaxed: see coroi_flag */
	if (coroi_unlikely(at_load_rlx(&r->flags) & COROI_F_TOLD))
		coroi_services_canceled(w->sched, r);
}

void coroi_move_locked(struct coroi_rec *r, struct coroi_worker *to)
{
	COROI_PROBE(MOVE, r);
	coroi_inlined_move_locked(r, to->id);
	coroi_inbox_push(to, (uintptr_t)r | COROI_NODE_MOVED);
	coroi_notify_pushed(to);
}

/* follows - r, which is being woken at w, goes on at its waker's worker. Else two that keep waking
 * each other and are on two busy workers, since one of them was stolen, would have one turn each
 * while w's queue goes round once. Two on one worker have a chain of them. Not each time: a
 * coroutine that many wake would be on its way for ever. */
static bool follows_locked(struct coroi_worker *w, struct coroi_rec *r, uint32_t from)
{
	uint32_t length = coroi_deque_length(&w->queue);

	if (!COROI_HAS_FOLLOWS ||
	    coroi_likely(length < COROI_FOLLOWS_FROM || !from || !w->shares) ||
	    (at_load_rlx(&r->flags) & COROI_F_PINNED) || r->more & COROI_M_INLINED ||
	    from > coroi_general(w->sched) || from - 1 == w->id ||
	    r == w->current /* its context is not saved yet */)
		return false;
	struct coroi_worker *to = &w->sched->worker[from - 1];
	uint32_t other = coroi_deque_length(&to->queue);
	if (other < COROI_FOLLOWS_FROM / 2 || other > length || ++w->follows % COROI_FOLLOWS_EVERY)
		return false;
	coroi_unwait_locked(w, r);
	coroi_move_locked(r, to);
	return true;
}

void coroi_remote_wake_locked(struct coroi_worker *w, struct coroi_rec *r, uint32_t from)
{
	/* acquire, pairs with coroi_deque_give and migrate (pin.c): what r's last home wrote is
	 * seen */
	uint16_t home = at_load_acq(&r->home);

	if ((at_load_acq(&r->wake) & COROI_ESCAPED) &&
	    home != w->id) { /* WKC3: moved, or about to be */
		struct coroi_worker *to = &w->sched->worker[home];
		uint64_t node = (uintptr_t)r | COROI_NODE_WAKE;
		coroi_inbox_push(to, node);
		coroi_notify_pushed(to);
		return;
	}
	/* The state is read before the word is cleared. Until then r is a node, and its record has
	 * no other user. Afterwards, if r has ended, its joiner may free the record, in no door,
	 * and it may have another user at once. */
	bool over = is_over(at_load_rlx(&r->state));
	uint64_t word = at_and(&r->wake, ~COROI_WAKE_MASK);
	at_bump(&w->count.remote_wakes);
	if (!(word & COROI_ESCAPED)) { /* WKC5 */
		coroi_put_locked(w, r);
		return;
	}
	if (over)
		return;
	uint32_t n = (uint32_t)(word & COROI_COUNT_MASK);
	bool wakes = false;
	if (word & COROI_EVENT) {
		if (r->state == COROI_WAITING || r->state == COROI_COMMITTED)
			wakes = true;
		else
			r->event = 1;
	}
	if (n && r->state == COROI_PARKED) {
		wakes = true;
		n--;
	}
	/* no overflow: both are at most about 2^28, see remote_wake */
	at_store_rlx(&r->permits, r->permits + n);
	if (wakes && coroi_likely((word & COROI_CANCEL) || !follows_locked(w, r, from)))
		coroi_requeue_locked(w, r, !from);
	if (word & COROI_CANCEL)
		cancel_locked(w, r);
}

/* ------------------------------------------------------------------------------------- events */

void coroi_event_send_remote(struct coro_scheduler *s, struct coroi_rec *r)
{
	uint32_t gen = coroi_gen(at_load_rlx(&r->wake));

	if (coroi_owner(r) == s)
		remote_wake(r, gen, COROI_EVENT);
	else
		remote_wake_from_outside(r, gen, COROI_EVENT);
}

/* While the event is under way, r cannot end, nor wait for anything else. */
void coroi_event_send(struct coroi_rec *r)
{
	struct coroi_worker *w = coroi_self();
	struct coro_scheduler *s = coroi_owner(r);

	if (coroi_likely(w && w->sched == s)) {
		coroi_door_enter(w);
		/* if r is at home here, it stays so inside this door */
		if (coroi_likely(at_load_acq(&r->home) == w->id)) {
			coroi_event_locked(w, r);
			coroi_door_leave(w);
			return;
		}
		coroi_door_leave(w);
	}
	coroi_event_send_remote(w ? w->sched : NULL, r);
}

/* event_queued_locked - coroi_event_locked, but r goes to the back of the queue. */
static void event_queued_locked(struct coroi_worker *w, struct coroi_rec *r)
{
	if (r->state == COROI_WAITING || r->state == COROI_COMMITTED) {
		coroi_unwait_locked(w, r);
		coroi_queue_locked(w, r);
	} else {
		r->event = 1;
	}
}

void coroi_events_send(struct coroi_rec **r, uint32_t n)
{
	struct coroi_worker *w = coroi_self();
	uint32_t away = 0;

	if (w) {
		coroi_door_enter(w);
		bool idle = !coroi_deque_length(&w->queue);
		for (uint32_t i = 0; i < n; i++)
			/* as in coroi_event_send */
			if (coroi_owner(r[i]) == w->sched && at_load_acq(&r[i]->home) == w->id)
				event_queued_locked(w, r[i]);
			else
				r[away++] = r[i];
		if (idle)
			coroi_fed_locked(w);
		if (coroi_needs_another(w, coroi_deque_length(&w->queue)))
			coroi_notify_queued(w);
		coroi_door_leave(w);
		n = away;
	}
	for (uint32_t i = 0; i < n; i++)
		coroi_event_send_remote(w ? w->sched : NULL, r[i]);
}

void coroi_event_send_to(struct coroi_rec *r, uint32_t gen)
{
	struct coroi_worker *w = coroi_self();

	if (w && w->sched == coroi_owner(r))
		remote_wake(r, gen, COROI_EVENT);
	else
		remote_wake_from_outside(r, gen, COROI_EVENT);
}

int coroi_wait(struct coroi_rec *me, enum coro_wait_kind what, uint64_t deadline,
	       bool (*withdraw)(void *), void *arg)
{
	bool committed = !withdraw;

	for (;;) {
		struct coroi_worker *w = coroi_self();
		int code;
		coroi_door_enter(w);
		if (me->event) {
			me->event = 0;
			coroi_door_leave(w);
			return CORO_OK;
		}
		if (coroi_unlikely(!committed && (w->cancel | me->canceled)))
			return coroi_wait_shielded_locked(w, me, what, deadline, withdraw, arg);
		COROI_PROBE(WAIT, me);
		at_store_rlx(&me->state, committed ? COROI_COMMITTED : COROI_WAITING);
		at_store_rlx(&me->waits, (uint8_t)what);
		if (committed || deadline == CORO_FOREVER ||
		    coroi_timer_arm_locked(w, me, deadline)) {
			coroi_outside_begin_locked(w, me, what);
			code = coroi_suspend_locked(w, me, coroi_pick_locked(w));
		} else {
			at_store_rlx(&me->state, COROI_ACTIVE);
			coroi_door_leave(w);
			code = CORO_ETIMEDOUT;
		}
		if (code == CORO_OK)
			return CORO_OK;
		if (!withdraw) /* it ends by its event alone */
			__builtin_unreachable();
		if (withdraw(arg)) /* CAN3 */
			return coroi_tell(code);
		committed = true;
	}
}

/* ------------------------------------------------------------------------------- public calls */

static COROI_NOINLINE int yield_slow(struct coroi_worker *w, struct coroi_rec *me)
{
	coroi_door_leave(w);
	int status = coroi_nowait(w, "coro_yield", COROI_BOUNDED);
	if (coroi_unlikely(status))
		return status;
	coroi_door_enter(w);
	coroi_forks_suspend_locked(w); /* they are older than the yield */
	coroi_queue_locked(w, me);
	return coroi_suspend_locked(w, me, coroi_pick_locked(w));
}

/* This is the general path for the usual case: the door is free, w->next and the inbox are empty,
 * and the front of the queue has started. It makes no call, so that no register is saved except by
 * the switch. A full ring is no obstacle: me takes the place of next. */
int coro_yield(void)
{
	struct coroi_worker *w = coroi_here();
	struct coroi_rec *me;

	if (coroi_unlikely(!(me = w->current)))
		return CORO_EPERM;
	if (coroi_unlikely(!coroi_door_try(w) || w->next || coroi_inbox_due(w)))
		return yield_slow(w, me);
	struct coroi_deque *d = &w->queue;
	uint32_t head = d->head, count = d->count, mask = d->mask;
	uint64_t runnable = d->ring[head & mask];
	if (coroi_unlikely(coroi_deque_is_unusual(d) || coroi_runnable_is_new(runnable)))
		return yield_slow(w, me);
	struct coroi_rec *next = coroi_runnable_resumed(runnable);
	coroi_deque_look_ahead(d);
	d->ring[(head + count) & mask] = coroi_runnable_started(me);
	at_store_rlx(&d->head, head + 1);
	return coroi_hand_over_locked(w, me, next);
}

/* take_permit_locked - end a park that has not to wait. True: me has taken a permit, is cancelled,
 * or must not wait; *status is what the call returns, and the door was left. False: me is to wait,
 * unless its deadline has come. */
static inline bool take_permit_locked(struct coroi_worker *w, struct coroi_rec *me,
				      const char *call, uint64_t deadline, int *status)
{
	uint8_t canceled = me->canceled;

	if (me->permits) {
		/* atomic, as remote_wake reads it on other threads */
		at_store_rlx(&me->permits, me->permits - 1);
		*status = CORO_OK;
	} else if (coroi_likely(!(w->refuses | canceled))) {
		return false;
	} else if (coroi_in_nowait(w, deadline) && deadline) {
		coroi_door_leave(w);
		*status = coroi_nowait_refuse(w, call);
		return true;
	} else if (canceled & COROI_C_SHIELDED) {
		*status = coroi_park_shielded_locked(w, me, deadline);
		return true;
	} else if ((w->cancel || canceled & COROI_C_CANCELED) &&
		   !coroi_permit_comes(me)) { /* CAN2 */
		coroi_tell_locked(me);
		*status = CORO_ECANCELED;
	} else {
		return false;
	}
	coroi_door_leave(w);
	return true;
}

static COROI_NOINLINE int parked_spent(uint64_t deadline)
{
	coroi_spent(deadline);
	return CORO_OK;
}

/* Of the parks that find permits, those are counted that find COROI_PARKS_COUNTED of them, or a
 * multiple, for as many; and those that find one alone, or one more than that, for themselves. So
 * each park of a coroutine counts that goes on by one permit each time, which it has perhaps given
 * to itself. */

/* count_parks - count COROI_PARKS_COUNTED parks: on the slow ways each one, as these are longer. */
static COROI_NOINLINE int count_parks(struct coroi_worker *w, uint64_t deadline)
{
	w->waits.left -= COROI_PARKS_COUNTED - 1;
	return coroi_spend(w) ? parked_spent(deadline) : CORO_OK;
}

/* parked - the current coroutine of w has taken one of the permits that were there. */
static inline int parked(struct coroi_worker *w, uint32_t permits, uint64_t deadline)
{
	if (coroi_likely(permits & (COROI_PARKS_COUNTED - 2)))
		return CORO_OK;
	if (!(permits & 1))
		return count_parks(w, deadline);
	return coroi_spend(w) ? parked_spent(deadline) : CORO_OK;
}

/* park_slow - coro_park, the general way. The door is as coroi_door_try left it. */
static COROI_NOINLINE int park_slow(struct coroi_worker *w, struct coroi_rec *me)
{
	int status;

	coroi_door_leave(w);
	coroi_door_enter(w);
	if (take_permit_locked(w, me, "coro_park", CORO_FOREVER, &status))
		return status ? status : count_parks(coroi_self(), CORO_FOREVER);
	COROI_PROBE(WAIT, me);
	at_store_rlx(&me->state, COROI_PARKED);
	at_store_rlx(&me->waits, CORO_WAIT_PARK);
	return coroi_suspend_locked(w, me, coroi_pick_locked(w));
}

/* The usual path makes no call, as in coro_yield: the door is free, and there is a permit, or a
 * coroutine to go on with. */
int coro_park(void)
{
	struct coroi_worker *w = coroi_here();
	struct coroi_rec *me;

	if (coroi_unlikely(!(me = w->current)))
		return CORO_EPERM;
	if (coroi_unlikely(!coroi_door_try(w)))
		return park_slow(w, me);
	uint32_t permits = me->permits;
	if (permits) {
		at_store_rlx(&me->permits, permits - 1);
		coroi_door_leave(w);
		return parked(w, permits, CORO_FOREVER);
	}
	/* CAN2 is left to park_slow */
	struct coroi_rec *next = coroi_likely(!me->canceled) ? coroi_next_locked(w) : NULL;
	if (coroi_unlikely(!next))
		return park_slow(w, me);
	COROI_PROBE(WAIT, me);
	at_store_rlx(&me->state, COROI_PARKED);
	at_store_rlx(&me->waits, CORO_WAIT_PARK);
	return coroi_hand_over_locked(w, me, next);
}

/* park_until_slow - coro_park_until, the general way. The door is as coroi_door_try left it. */
static COROI_NOINLINE int park_until_slow(struct coroi_worker *w, struct coroi_rec *me,
					  uint64_t deadline)
{
	int status;

	coroi_door_leave(w);
	coroi_door_enter(w);
	if (take_permit_locked(w, me, "coro_park_until", deadline, &status))
		return status ? status : count_parks(coroi_self(), deadline);
	/* A permit that is on its way ends the wait, as in CAN2: no deadline comes before it. */
	if (!coroi_permit_comes(me) && !coroi_timer_arm_locked(w, me, deadline)) {
		coroi_door_leave(w);
		return CORO_ETIMEDOUT;
	}
	COROI_PROBE(WAIT, me);
	at_store_rlx(&me->state, COROI_PARKED);
	at_store_rlx(&me->waits, CORO_WAIT_PARK);
	return coroi_suspend_locked(w, me, coroi_pick_locked(w));
}

/* The usual path makes no call, as in coro_park. */
int coro_park_until(uint64_t deadline)
{
	struct coroi_worker *w = coroi_here();
	struct coroi_rec *me;

	if (coroi_unlikely(!(me = w->current)))
		return CORO_EPERM;
	if (deadline == CORO_FOREVER)
		return coro_park();
	if (coroi_unlikely(!coroi_door_try(w)))
		return park_until_slow(w, me, deadline);
	uint32_t permits = me->permits;
	if (permits) {
		at_store_rlx(&me->permits, permits - 1);
		coroi_door_leave(w);
		return parked(w, permits, deadline);
	}
	if (coroi_unlikely(me->canceled || !coroi_timer_armed_locked(w, me, deadline)))
		return park_until_slow(w, me, deadline);
	COROI_PROBE(WAIT, me);
	at_store_rlx(&me->state, COROI_PARKED);
	at_store_rlx(&me->waits, CORO_WAIT_PARK);
	struct coroi_rec *next = coroi_next_locked(w);
	if (coroi_unlikely(!next))
		return coroi_suspend_picked_locked(w, me);
	return coroi_hand_over_locked(w, me, next);
}

/*
 * is_home - the coroutine of generation gen is at home here and has not ended. Then that stays true
 * inside this door. *state is its state.
 *
 * If the coroutine has ended, its joiner may free the record, in no door, and the record may have
 * another user between two looks of ours. So the generation is read last (the loads before are
 * acquires, to stay in order). If it is gen, the home and the state were of that generation too.
 */
static inline bool is_home_locked(struct coroi_worker *w, struct coroi_rec *r, uint32_t gen,
				  uint8_t *state)
{
	bool here = at_load_acq(&r->home) == w->id;
	*state = at_load_acq(&r->state);
	uint64_t word = at_load_rlx(&r->wake);
	return here && coroi_gen(word) == gen && (word & COROI_ESCAPED) && !is_over(*state);
}

/* wake_home - give r, which is at home here and has not ended, a permit. */
static inline int wake_home_locked(struct coroi_worker *w, struct coroi_rec *r, uint8_t state)
{
	if (coroi_likely(state == COROI_PARKED)) {
		coroi_ready_locked(w, r);
		return CORO_OK;
	}
	if (coroi_unlikely(r->permits >= COROI_PERMITS_MAX))
		return CORO_EOVERFLOW;
	at_store_rlx(&r->permits, r->permits + 1);
	return CORO_OK;
}

/* wake_from_outside - coro_wake on a thread that is no worker of the coroutine's scheduler. */
static COROI_NOINLINE int wake_from_outside(coro_handle h)
{
	struct coroi_rec *r = coroi_at((uint32_t)h);
	return r ? remote_wake_from_outside(r, (uint32_t)(h >> 32), 0) : CORO_ESTALE;
}

/* wake_slow - coro_wake on a worker of the coroutine's scheduler, the general way. The door is as
 * coroi_door_try left it. */
static COROI_NOINLINE int wake_slow(struct coroi_worker *w, struct coroi_rec *r, uint32_t gen)
{
	uint8_t state;

	coroi_door_leave(w);
	coroi_door_enter(w);
	if (coroi_likely(is_home_locked(w, r, gen, &state))) {
		int status = wake_home_locked(w, r, state);
		coroi_door_leave(w);
		return status;
	}
	coroi_door_leave(w);
	return remote_wake(r, gen, 0);
}

/* The usual path makes no call: the door is free, and r is at home here, and runs, is queued or has
 * parked. */
int coro_wake(coro_handle h)
{
	struct coroi_worker *w = coroi_here();
	struct coroi_chunk *c = coroi_chunk_at((uint32_t)h);

	if (coroi_unlikely(!c || at_load_rlx(&c->owner) != w->sched))
		return wake_from_outside(h);
	struct coroi_rec *r = (struct coroi_rec *)c + coroi_record_number((uint32_t)h);
	if (coroi_unlikely(!coroi_door_try(w)))
		return wake_slow(w, r, (uint32_t)(h >> 32));
	uint16_t home = at_load_acq(&r->home);
	uint8_t state = at_load_acq(&r->state);
	/* Read last, as in is_home_locked. One comparison is for the generation and ESCAPED: the
	 * bit of ESCAPED is 0 in a handle, as no index has it. */
	uint64_t word = at_load_rlx(&r->wake);
	if (coroi_unlikely(home != w->id || (word ^ h) >> 31 != 1))
		return wake_slow(w, r, (uint32_t)(h >> 32));
	if (coroi_likely(state == COROI_PARKED && coroi_made_ready_locked(w, r)))
		return coroi_leave_fed(w);
	if (coroi_unlikely(state != COROI_ACTIVE || r->permits >= COROI_PERMITS_MAX))
		return wake_slow(w, r, (uint32_t)(h >> 32));
	at_store_rlx(&r->permits, r->permits + 1);
	coroi_door_leave(w);
	return CORO_OK;
}

int coro_switch_to(coro_handle h)
{
	struct coroi_worker *w = coroi_self();
	struct coroi_rec *me;

	if (!w || !(me = w->current))
		return CORO_EPERM;
	int status = coroi_nowait(w, "coro_switch_to", COROI_BOUNDED);
	if (coroi_unlikely(status))
		return status;
	struct coroi_rec *r = coroi_at((uint32_t)h);
	coroi_door_enter(w);
	uint8_t state;
	if (r && !coroi_is_apart(w) && coroi_owner(r) == w->sched &&
	    is_home_locked(w, r, (uint32_t)(h >> 32), &state) && state == COROI_PARKED) {
		coroi_unwait_locked(w, r);
		coroi_queue_locked(w, me);
		coroi_notify_queued(w); /* r may run for long */
		return coroi_suspend_locked(w, me, coroi_runnable_started(r));
	}
	coroi_door_leave(w);
	status = coro_wake(h);
	return status ? status : coro_yield();
}

coro_handle coro_self(void)
{
	struct coroi_worker *w = coroi_self();

	if (!w || !w->current)
		return 0;
	coroi_escape(w->current);
	return coroi_handle(w->current);
}

/* ---------------------------------------------------------------------------------- cancelling */

int coro_cancel(coro_handle h)
{
	struct coroi_worker *w = coroi_self();
	struct coroi_rec *r = coroi_at((uint32_t)h);
	uint32_t gen = (uint32_t)(h >> 32);

	if (!r)
		return CORO_ESTALE;
	if (!w || coroi_owner(r) != w->sched)
		return remote_wake_from_outside(r, gen, COROI_CANCEL);
	uint8_t state;
	coroi_door_enter(w);
	bool here = is_home_locked(w, r, gen, &state);
	if (here) {
		cancel_locked(w, r);
		coroi_notify_queued(w);
	}
	coroi_door_leave(w);
	return here ? CORO_OK : remote_wake(r, gen, COROI_CANCEL);
}
