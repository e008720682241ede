//go:build ignore
/* activity.c - see activity.h. */
#include "kernel/activity.h"

#include "kernel/hooks.h"
#include "kernel/nostack.h"

#include <limits.h>

bool coroi_at_rest(struct coro_scheduler *s)
{
	return at_load_seq(&s->activity) >> 16 == 0;
}

static bool wake_awaiting_stack(struct coro_scheduler *s, bool rest);

void coroi_quiet(struct coro_scheduler *s, bool rest)
{
	if (coroi_unlikely(at_load_seq(&s->awaiting_stack)) && wake_awaiting_stack(s, rest))
		return;
	if (rest || (at_load_seq(&s->has_daemons) && coroi_finished(s)))
		coroi_rested(s);
}

void coroi_rested(struct coro_scheduler *s)
{
	uint32_t threads = at_load_seq(&s->rest_waiters);
	uint32_t watchers = at_load_seq(&s->rest_watchers);

	at_bump(&s->rests);
	if (coroi_likely(!(threads | watchers)))
		return;
	at_add(&s->rests_told, 1);
	if (threads)
		coroi_futex_wake(&s->rests_told, INT_MAX);
	if (watchers)
		coroi_hooks.look(s);
}

void coroi_rest_await(struct coro_scheduler *s, uint32_t seen)
{
	if (at_load_seq(&s->rests_told) == seen)
		coroi_futex_wait(&s->rests_told, seen, -1);
}

void coroi_claimed(struct coroi_worker *w)
{
	struct coro_scheduler *s = w->sched;

	at_store_rlx(&w->wakes.waker_cpu, coroi_cpu());
	if (at_xchg(&w->ev, COROI_EV_WOKEN) == COROI_EV_SLEEPS)
		s->driver->kick(w);
	if (coroi_unlikely(w->id == s->workers))
		coroi_hooks.look(s);
}

bool coroi_claim(struct coro_scheduler *s, unsigned id)
{
	struct coroi_worker *w = &s->worker[id];

	coroi_awake_begin(s);
	if (at_load_seq(&s->mode) == COROI_PAUSED ||
	    !(at_and(&s->sleepers[id >> 6], ~coroi_sleeper_bit(id)) & coroi_sleeper_bit(id))) {
		coroi_tokens_given_back(s, coroi_awake_end(s));
		return false;
	}
	coroi_claimed(w);
	return true;
}

/* wake_awaiting_stack - no worker is awake, and some coroutines await a stack. Wake one worker that
 * has such coroutines, to look for a stack (NST3 of nostack.h). Only one, since that worker must be
 * awake alone. False: each has looked, and nothing has moved since; or none can be woken. A cancel
 * of all may have come after the look (after SLP1: then this sees it, or the canceler the bit). */
static bool wake_awaiting_stack(struct coro_scheduler *s, bool rest)
{
	uint64_t moves = coroi_moves(s, rest);

	for (unsigned id = 0; id < s->workers && at_load_seq(&s->mode) == COROI_RUNNING; id++)
		if (at_load_rlx(&s->worker[id].awaiting_stack.count) &&
		    (at_load_rlx(&s->worker[id].no_stack_at) != moves ||
		     at_load_rlx(&s->worker[id].cancel)) &&
		    coroi_sleeps(s, id) && coroi_claim(s, id))
			return true;
	return false;
}

/* claim_any - wake one sleeper, if there is one, to look for work. It is neither the goworker nor
 * dedicated; and for a surplus it is none that holds off. */
static void claim_any(struct coro_scheduler *s, bool surplus)
{
	uint64_t now = surplus ? coroi_now_ns() : 0;
	unsigned n = coroi_general(s);

	for (unsigned i = 0; i < COROI_MASK_WORDS && i * 64 < n; i++) {
		/* the bits that are still to be tried */
		uint64_t left = coroi_general_bits(s, i);
		for (uint64_t bits; (bits = at_load_seq(&s->sleepers[i]) & left) &&
				    at_load_seq(&s->mode) != COROI_PAUSED;) {
			unsigned id = i * 64 + (unsigned)__builtin_ctzll(bits);
			left &= ~coroi_sleeper_bit(id);
			if (surplus && coroi_holds_off(&s->worker[id], now))
				continue;
			at_store_rlx(&s->worker[id].steal.called, 1);
			if (coroi_claim(s, id))
				return;
		}
	}
}

COROI_COLD void coroi_notify_hungry(struct coroi_worker *w)
{
	uint32_t why = coroi_is_dedicated(w) ? 0 : at_xchg(&w->sched->hungry, 0);

	if (why)
		claim_any(w->sched, !(why & COROI_HUNGRY_ALONE));
}

void coroi_notify_pushed(struct coroi_worker *w)
{
	struct coro_scheduler *s = w->sched;

	if (coroi_sleeps(s, w->id))
		coroi_claim(s, w->id);
	else if (coroi_unlikely(at_load_rlx(&s->hungry) & COROI_HUNGRY_ALONE) &&
		 w->id != s->workers)
		coroi_notify_hungry(w);
}

void coroi_wake_all(struct coro_scheduler *s)
{
	for (unsigned id = 0; id < s->workers; id++)
		if (coroi_sleeps(s, id))
			coroi_claim(s, id);
	/* It has nothing else to wake up for. */
	if (at_load_seq(&coroi_threadless(s)->inbox))
		coroi_notify_pushed(coroi_threadless(s));
}

void coroi_pending_begin(struct coro_scheduler *s, uint32_t n)
{
	at_add(&s->activity, n * COROI_PENDING);
}

void coroi_pending_end(struct coro_scheduler *s)
{
	if (at_add(&s->activity, -COROI_PENDING) >> 16 == 0)
		coroi_quiet(s, true);
}

/* ---------------------------------------------------------------------------------- how many live */

/*
 * First the ends are counted, then the spawns. Both counts only grow. So the difference is at least
 * the number of coroutines at the moment in between, and if it is zero, there was none. The loads
 * are acquires, to stay in order. They pair with the release in coroi_end_locked: an end is not
 * seen before the coroutine's spawn, nor before the spawns that it has made.
 *
 * A daemon counts among the ended from its spawn to its end: in the first look as one that came
 * (`daemons.spawned`), which takes it away, in the second as one that ended (`daemons.ended`),
 * which gives the place back. Both counts only grow, too. A spawn counts the daemon in `spawned`
 * first, and an end in `ended` last. So the difference is, again, at least the number of the others
 * at the moment in between.
 */
static uint64_t count_all(struct coro_scheduler *s, bool with_daemons)
{
	uint64_t gone = 0, came = 0;
	for (uint32_t i = 0; i <= s->workers; i++) {
		gone += at_load_acq(&s->worker[i].ended);
		if (!with_daemons)
			gone += at_load_acq(&s->worker[i].daemons.spawned);
	}
	for (uint32_t i = 0; i <= s->workers; i++) {
		came += at_load_acq(&s->worker[i].spawned);
		if (!with_daemons)
			came += at_load_acq(&s->worker[i].daemons.ended);
	}
	return came - gone;
}

uint64_t coroi_live(struct coro_scheduler *s)
{
	return count_all(s, true);
}

uint64_t coroi_others(struct coro_scheduler *s)
{
	return count_all(s, !at_load_seq(&s->has_daemons));
}

uint64_t coroi_daemons(struct coro_scheduler *s)
{
	uint64_t gone = 0, came = 0;

	for (uint32_t i = 0; i <= s->workers; i++)
		gone += at_load_acq(&s->worker[i].daemons.ended);
	for (uint32_t i = 0; i <= s->workers; i++)
		came += at_load_acq(&s->worker[i].daemons.spawned);
	return came - gone;
}

/* While no worker is awake, everything that was pushed before has arrived and is counted. A
 * coroutine that is woken after that look is counted too, until it ends. What a daemon spawns after
 * that look comes later than the end. So one look at the activity is enough. What is pending then
 * is for coroutines that are counted: where all of them are daemons, it may stay. */
bool coroi_finished(struct coro_scheduler *s)
{
	uint64_t activity = at_load_seq(&s->activity);

	return COROI_AWAKE_OF(activity) == 0 &&
	       (COROI_PENDING_OF(activity) == 0 || at_load_seq(&s->has_daemons)) &&
	       coroi_others(s) == 0;
}
