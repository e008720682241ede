//go:build ignore
/*
 * steal.c - see steal.h.
 *
 * Before it sleeps, a worker spins for a remote wake, and one of the workers for something to
 * steal: a wake-up costs both sides more. But where work comes now and then, and others want the
 * CPU, spinning is a loss. So a spin that found nothing halves the next one. A spin that found
 * something restores it, and so does a wake-up that came soon after. (After Karlin, Li, Manasse,
 * Owicki, "Empirical Studies of Competitive Spinning", SOSP 1991.)
 *
 * Stealing that does not pay backs off. A thief that has run what it stole in less time each than
 * moving it cost (COROI_PAY_NS) holds off: for 50 us, doubling to 12 ms, and halving when a steal
 * pays.
 * So does a worker that was woken to look for work and has found none: perhaps it has taken the CPU
 * of the worker that feeds the others.
 */
#include "kernel/steal.h"

#include "kernel/activity.h"
#include "kernel/fork.h"
#include "kernel/run.h"

/* has_more - v's queue has something, and not just what the last thief left there. */
static bool has_more(struct coroi_worker *v)
{
	uint32_t length = coroi_to_share(v);
	return length && !(length == at_load_rlx(&v->only_pinned.length) &&
			   coroi_turns(v) == at_load_rlx(&v->only_pinned.turn));
}

bool coroi_is_stuck(struct coroi_worker *w, struct coroi_worker *v)
{
	if (coroi_is_dedicated(v))
		return coroi_turns(v) == w->steal.seen[v->id] && at_load_rlx(&v->inbox);
	return (coroi_turns(v) == w->steal.seen[v->id] &&
		(has_more(v) || at_load_rlx(&v->next) || at_load_rlx(&v->inbox) ||
		 at_load_rlx(&v->undelivered.first))) ||
	       (at_load_rlx(&v->due) != COROI_NEVER &&
		coroi_timers_are_due(v, coroi_now_ns() - COROI_LATE_NS));
}

bool coroi_has_surplus(struct coroi_worker *v)
{
	return (coroi_to_share(v) > 1 || coroi_has_forks(v)) && !coroi_is_dedicated(v);
}

void coroi_note_turns(struct coroi_worker *w)
{
	for (unsigned i = 0; i < w->sched->workers; i++)
		w->steal.seen[i] = coroi_turns(&w->sched->worker[i]);
}

static uint32_t give_half(struct coroi_worker *w, struct coroi_worker *v)
{
	return coroi_give_locked(v, w, (coroi_deque_length(&v->queue) + 1) / 2);
}

/* take - w has locked v's door. Fire v's deadlines, and take half of v's queue. If there is nothing
 * to take, and w has nothing, deliver v's remote wakes and spawns and queue its `next`, and take
 * half of that. */
static uint32_t take(struct coroi_worker *w, struct coroi_worker *v)
{
	if (at_load_rlx(&v->due) != COROI_NEVER)
		coroi_timers_fire_locked(v, coroi_now_ns());
	uint32_t n = give_half(w, v);
	if (n || w->steal_buf.wants != COROI_WANTS_ALL)
		return n;
	struct coroi_rec *next = v->next;
	coroi_drain_locked(v);
	at_store_rlx(&v->next, NULL);
	if (next)
		coroi_queue_locked(v, next);
	if (v->undelivered.first)
		coroi_deliver_locked(v);
	n = give_half(w, v);
	if (!n) {
		coroi_detach_batches_locked(v); /* so that v does not look stuck */
		at_store_rlx(&v->only_pinned.length, coroi_deque_length(&v->queue));
		at_store_rlx(&v->only_pinned.turn, coroi_turns(v));
	}
	return n;
}

/* hold_off - a steal did not pay, or there was none: steal no more for a while, twice as long as
 * last time. */
static void hold_off(struct coroi_worker *w, uint64_t now)
{
	w->steal.doubled += w->steal.doubled < COROI_HOLD_OFF_MOST;
	at_store_rlx(&w->steal.hold_off, now + ((uint64_t)COROI_HOLD_OFF_NS << w->steal.doubled));
}

/* leaves_asleep - the caller has locked v's door, and leaves something there that v does not know
 * of, since v has passed SLP2. */
static bool leaves_asleep(struct coroi_worker *v)
{
	return coroi_sleeps(v->sched, v->id) &&
	       (coroi_deque_length(&v->queue) || !coroi_detach_batches_locked(v));
}

/* knock - take up to `wants` from v. *out: how many there are in steal_buf. False: v has
 * refused. */
static bool knock(struct coroi_worker *w, struct coroi_worker *v, uint32_t wants, uint32_t *out)
{
	uint32_t n = 0, waited;
	bool left;

	at_store_rlx(&w->steal_buf.wants, wants);
	switch (coroi_door_knock(v, w->id)) {
	case COROI_REFUSED:
		at_bump(&w->count.missed);
		return false;
	case COROI_SERVED:
		n = at_load_rlx(&w->steal_buf.count);
		if (n)
			at_bump(&w->count.served);
		break;
	case COROI_LOCKED:
		waited = v->outside;
		n = take(w, v);
		/* v sleeps with a pending-work token for those that waited: it is to give that
		 * back */
		left = leaves_asleep(v) || (waited && !v->outside && coroi_sleeps(v->sched, v->id));
		coroi_door_unlock(v);
		if (left)
			coroi_claim(w->sched, v->id); /* SLP6 */
		if (n)
			at_bump(&w->count.forced);
		break;
	}
	at_bump(n ? &w->count.steals : &w->count.missed);
	at_bump_by(&w->count.stolen, n);
	*out = n;
	return true;
}

/* keep_locked - put what was stolen into w's queue. The back was given first: keep the order.
 * Returns: how many are left in steal_buf, as there was no room, and no record. */
static uint32_t keep_locked(struct coroi_worker *w, uint32_t n)
{
	for (; n; n--) {
		uint64_t runnable = w->steal_buf.entry[n - 1].runnable;
		if (coroi_runnable_has_record(runnable))
			coroi_deque_push(&w->queue, runnable);
		else if (!coroi_queue_new_locked(w, runnable, &w->steal_buf.entry[n - 1].arg))
			break;
	}
	coroi_notify_queued(w);
	return n;
}

static bool steal(struct coroi_worker *w, struct coroi_worker *v)
{
	uint32_t n;

	if (!knock(w, v, COROI_WANTS_ALL, &n))
		return false;
	if (!n) {
		if (coroi_deque_length(&v->queue) && !coroi_is_dedicated(v)) /* only pinned ones */
			hold_off(w, coroi_now_ns());
		return false;
	}
	coroi_door_enter(w);
	keep_locked(w, n); /* all: w's queue is empty, so there is room */
	coroi_door_leave(w);
	w->steal.began = coroi_now_ns();
	w->steal.turn = coroi_turns(w);
	return true;
}

/* ---------------------------------------------------------------------------------- stirring */

/* wants_fork - v has forks, and w has none and little else. */
static bool wants_fork(const struct coroi_worker *w, const struct coroi_worker *v)
{
	return coroi_has_forks(v) && !coroi_has_forks(w) &&
	       coroi_deque_length(&w->queue) <= COROI_STIR_LESS;
}

void coroi_stir_look(struct coroi_worker *w)
{
	if (w->clock.looked - w->stir.looked < COROI_STIR_NS)
		return;
	w->stir.looked = w->clock.looked;
	if (!COROI_HAS_STIR || coroi_skip(&w->stir.tries))
		return;
	uint32_t n = coroi_general(w->sched);
	w->stir.next = (w->stir.next + 1) % n;
	if (w->stir.next == w->id)
		w->stir.next = (w->stir.next + 1) % n;
	struct coroi_worker *v = &w->sched->worker[w->stir.next];
	if (coroi_deque_length(&v->queue) > 2 * coroi_deque_length(&w->queue) + COROI_STIR_LESS ||
	    wants_fork(w, v)) {
		w->stir.from = v;
		w->leave = true;
	}
}

/* make_room - w's queue has room for all that can be stolen at once. */
static bool make_room(struct coroi_worker *w)
{
	coroi_door_enter(w);
	bool room = w->queue.count + COROI_STEAL_MAX <= w->queue.room ||
		    (!w->queue.spill.count && coroi_deque_grow(&w->queue));
	coroi_door_leave(w);
	return room;
}

void coroi_stir(struct coroi_worker *w)
{
	struct coroi_worker *v = w->stir.from;
	uint32_t own = coroi_deque_length(&w->queue), other = coroi_deque_length(&v->queue);
	bool fork = other <= own + 1 && wants_fork(w, v);
	uint32_t n;

	w->stir.from = NULL;
	if ((other <= own && !fork) || !make_room(w))
		return;
	if (!knock(w, v, fork ? COROI_WANTS_FORK : (other - own) / 2, &n))
		n = 0;
	coroi_tried(&w->stir.tries, n > 0);
	/* All are kept, unless others have filled the room meanwhile, and there is neither memory
	 * nor a record. Some coroutine ends before long. */
	while (n) {
		coroi_door_enter(w);
		n = keep_locked(w, n);
		coroi_door_leave(w);
		uint32_t never = 0;
		if (n)
			coroi_futex_wait(&never, 0, COROI_STIR_NS);
	}
}

/* steal_round - one round over the other workers, from a random one on (xorshift64*, Vigna 2016):
 * steal from those that have a surplus, if stealing pays, or (last) from those that are stuck. */
static bool steal_round(struct coroi_worker *w, bool pays, bool last)
{
	uint32_t n = w->sched->workers;

	w->steal.random ^= w->steal.random >> 12;
	w->steal.random ^= w->steal.random << 25;
	w->steal.random ^= w->steal.random >> 27;
	uint32_t k = (uint32_t)((w->steal.random * UINT64_C(0x2545f4914f6cdd1d)) >> 32) % n;
	for (uint32_t i = 0; i < n; i++) {
		struct coroi_worker *v = &w->sched->worker[(k + i) % n];
		if (v == w)
			continue;
		if (((pays && coroi_has_surplus(v)) || (last && coroi_is_stuck(w, v))) &&
		    steal(w, v))
			return true;
	}
	return false;
}

/* judge_last_steal - did the last loot take longer to run than to move? */
static void judge_last_steal(struct coroi_worker *w, uint64_t now)
{
	if (!w->steal.began)
		return;
	uint32_t ran = coroi_turns(w) - w->steal.turn;
	/* Or w was preempted meanwhile: so the back-off shrinks by one step, and is not
	 * forgotten. */
	if (now - w->steal.began >= COROI_PAY_NS * ran) {
		w->steal.doubled -= w->steal.doubled > 0;
		at_store_rlx(&w->steal.hold_off, 0);
	} else {
		hold_off(w, now);
	}
	w->steal.began = 0;
}

/* start_searching - one searcher with up to four workers, else as many as half of those awake.
 * False: there are enough. The compare-and-swap makes the bound exact. */
static bool start_searching(struct coro_scheduler *s)
{
	uint64_t activity = at_load_rlx(&s->activity);
	do {
		uint32_t most = COROI_AWAKE_OF(activity) / 2;
		if (s->workers <= COROI_ONE_SEARCHER || most < 1)
			most = 1;
		if (COROI_SEARCHING_OF(activity) >= most)
			return false;
	} while (!at_cas(&s->activity, &activity, activity + COROI_SEARCHING));
	return true;
}

static void spin_briefly(void)
{
	for (int i = 0; i < COROI_SPIN_RELAX; i++)
		at_relax();
}

/* coalesce - spawns stream in from outside: let some come together, rather than fight over a line
 * for each. The more come, the longer the wait: what they start may have lines that travel, too,
 * as the mailbox of an actor. */
static bool coalesce(struct coroi_worker *w)
{
	for (int i = COROI_TRICKLE_RELAX << w->spawns.streams; i && !at_load_rlx(&w->inbox); i--)
		at_relax();
	uint32_t words = coroi_has_spawns(w);
	if (words < COROI_STREAM_WORDS << w->spawns.streams)
		w->spawns.streams = 0;
	else if (w->spawns.streams < COROI_STREAMS_MOST)
		w->spawns.streams++;
	return words > 0;
}

bool coroi_search(struct coroi_worker *w)
{
	struct coro_scheduler *s = w->sched;

	if (at_load_rlx(&w->undelivered.first) &&
	    (COROI_HAS_COALESCE_SPAWNS ? coalesce(w) : coroi_has_spawns(w) > 0))
		return true;
	uint64_t began = coroi_now_ns(), now = began, looked = began;
	/* While w spins, threads that would lend themselves to it wake it instead, and so w would
	 * never sleep where they come one after the other. */
	bool missed = at_load_rlx(&s->lend_missed);
	/* Where spinning is of no use lately, events from outside are waited for in the driver. */
	bool spins = COROI_HAS_SPIN && !missed &&
		     !(coroi_watches(w) && w->spin.ns <= COROI_SPIN_LEAST_NS);
	uint32_t spin_ns = spins ? w->spin.ns : 0;
	bool found = false, thief = !coroi_is_dedicated(w) && start_searching(s);

	if (missed)
		at_store_rlx(&s->lend_missed, 0);
	judge_last_steal(w, now);
	coroi_note_turns(w);
	while (!(found = at_load_rlx(&w->inbox) != 0) && now - began < spin_ns &&
	       at_load_rlx(&s->mode) == COROI_RUNNING) {
		if (thief && !coroi_holds_off(w, now) && (found = steal_round(w, true, false)))
			break;
		spin_briefly();
		now = coroi_now_ns();
		if (at_load_rlx(&w->undelivered.first) && now - looked >= COROI_TRICKLE_NS) {
			if ((found = coroi_has_spawns(w)))
				break;
			looked = now;
		}
	}
	/* Where w watches something, a steal without spinning is no reason to spin. */
	bool pays = found || !coroi_watches(w);
	if (thief) {
		if (!found)
			found = steal_round(w, !coroi_holds_off(w, now), true);
		if (!found && at_load_rlx(&w->steal.called))
			hold_off(w, now);
		at_add(&s->activity, -COROI_SEARCHING);
	}
	if (found && pays)
		w->spin.ns = COROI_SPIN_NS;
	else if (!missed && w->spin.ns > COROI_SPIN_LEAST_NS)
		w->spin.ns /= 2;
	return found;
}
