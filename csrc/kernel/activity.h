/*
 * activity.h - which workers are awake, which sleep and are woken, and when everything rests: the
 * tokens, the sleepers' bits, and claims.
 *
 * idle.c tells the protocol. WKW1 to WKW4 of it are here and in activity.c.
 */
#ifndef COROI_ACTIVITY_H
#define COROI_ACTIVITY_H

#include "kernel/deque.h"

/* The states of a worker's `ev`. */
enum { COROI_EV_NONE, COROI_EV_SLEEPS, COROI_EV_WOKEN };

/* What `hungry` tells a worker that has just queued something. */
#define COROI_HUNGRY_SURPLUS 1u /* a sleeper wants to be woken if two or more are queued */
#define COROI_HUNGRY_ALONE   2u /* there is no standby: wake a sleeper for anything */

/* coroi_quiet - called by the thread that has given the last awake token back, or the last token of
 * all (rest). If coroutines await a stack, wake one of their workers that has not looked for one
 * since anything moved. Else tell the threads that wait for a rest, if this is one, or if none but
 * daemons are left. */
void coroi_quiet(struct coro_scheduler *s, bool rest);

/* coroi_tokens_given_back - the caller has given an awake token back, and this is the activity
 * since then. */
static inline void coroi_tokens_given_back(struct coro_scheduler *s, uint64_t activity)
{
	if (COROI_AWAKE_OF(activity) == 0)
		coroi_quiet(s, COROI_PENDING_OF(activity) == 0);
}

/* coroi_awake_end - give an awake token back (SLP4). Returns: the activity, which the caller passes
 * to coroi_tokens_given_back. */
static inline uint64_t coroi_awake_end(struct coro_scheduler *s)
{
	return at_add(&s->activity, -COROI_AWAKE);
}

/* coroi_awake_begin - take an awake token. If everything rested until then, `rises` counts that
 * before anything can come of the token. */
static inline void coroi_awake_begin(struct coro_scheduler *s)
{
	if (at_add(&s->activity, COROI_AWAKE) >> 16 == 1)
		at_add(&s->rises, 1);
}

/* coroi_pending_begin, coroi_pending_end - n pieces of work will come from outside of all workers;
 * one has come. Begin while a token is held. End after the worker that the work wakes was woken.
 * Thread: any. Blocking: never. Cost: a locked addition, and coroi_quiet if that was the last
 * token. */
void coroi_pending_begin(struct coro_scheduler *s, uint32_t n);
void coroi_pending_end(struct coro_scheduler *s);

static inline uint64_t coroi_sleeper_bit(unsigned id)
{
	return UINT64_C(1) << (id & 63);
}

/* coroi_general_bits - the bits, in word i of a mask, of the workers that are not dedicated. */
static inline uint64_t coroi_general_bits(const struct coro_scheduler *s, unsigned i)
{
	unsigned n = coroi_general(s);

	return n <= i * 64 ? 0 : n - i * 64 < 64 ? coroi_sleeper_bit(n) - 1 : UINT64_MAX;
}

/* coroi_holds_off - w has lately stolen without gain, or was woken to steal and found nothing
 * (steal.c). It is not to be woken for a surplus. Thread: any; a hint. */
static inline bool coroi_holds_off(const struct coroi_worker *w, uint64_t now)
{
	return COROI_HAS_HOLD_OFF && now < at_load_rlx(&w->steal.hold_off);
}

/* coroi_sleeps - worker id sleeps, and may be claimed. Sequentially consistent: WKW2's look, after
 * WKW1. */
static inline bool coroi_sleeps(const struct coro_scheduler *s, unsigned id)
{
	return at_load_seq(&s->sleepers[id >> 6]) & coroi_sleeper_bit(id);
}

/* coroi_claim - WKW2 to WKW4: wake worker id.
 * Thread: any. Blocking: never. Cost: three locked instructions and a kick of the driver.
 * Returns: false if another thread was first, the worker does not sleep, or a pause is on. */
bool coroi_claim(struct coro_scheduler *s, unsigned id);

/* coroi_claimed - WKW4: the caller has taken a token for w and has cleared w's bit. Both are the
 * own thread's of w from now on. Thread: any. Blocking: never. Cost: an exchange and a kick. */
void coroi_claimed(struct coroi_worker *w);

/* coroi_notify_hungry - w has something queued or pushed: if `hungry` asks for it, wake one
 * sleeper. */
COROI_COLD void coroi_notify_hungry(struct coroi_worker *w);

/* coroi_fed_locked - the driver has queued all that is in w's queue, which was empty. */
static inline void coroi_fed_locked(struct coroi_worker *w)
{
	at_store_rlx(&w->fed.at, coroi_now_ns());
	at_store_rlx(&w->fed.to, w->queue.head + w->queue.count);
}

/* coroi_to_share - how many in v's queue others may take. Actors that send to each other are slower
 * on two CPUs where their turns are short: a message that travels takes longer than its turn. So,
 * where there are actors, a queue is not shared that is shorter than `worth`. Nor is what the
 * driver has brought to an idle worker, for a moment: to wake another worker, which then steals,
 * takes longer than to run some coroutines that have got their events. Thread: any; a hint. Cost:
 * the clock, if the driver has brought something that is in the queue yet. */
static inline uint32_t coroi_to_share(const struct coroi_worker *v)
{
	uint32_t n = coroi_deque_length(&v->queue);
	if (n < at_load_rlx(&v->worth))
		return 0;
	uint32_t fed = at_load_rlx(&v->fed.to) - at_load_rlx(&v->queue.head);

	if (!COROI_HAS_FED || coroi_likely((int32_t)fed <= 0) ||
	    coroi_now_ns() - at_load_rlx(&v->fed.at) >= COROI_FED_NS)
		return n;
	return n > fed ? n - fed : 0;
}

/* coroi_notify_queued - w has queued something, in its door. Cost: one relaxed load while no
 * sleeper is hungry. A stale `hungry` costs time only, until the standby looks around. */
static inline void coroi_notify_queued(struct coroi_worker *w)
{
	uint32_t h = at_load_rlx(&w->sched->hungry);
	if (coroi_unlikely(h) && ((h & COROI_HUNGRY_ALONE) || coroi_to_share(w) > 1))
		coroi_notify_hungry(w);
}

/* coroi_notify_pushed - something was pushed to w's inbox (WKW1): wake w if it sleeps. If w is
 * awake and there is no standby, wake a sleeper to be that. Thread: any. Blocking: never. */
void coroi_notify_pushed(struct coroi_worker *w);

/* coroi_wake_all - claim and wake every sleeper, and the goworker if its inbox holds something. */
void coroi_wake_all(struct coro_scheduler *s);

/* coroi_at_rest - nothing can happen any more, at this moment: no token is held. */
bool coroi_at_rest(struct coro_scheduler *s);

/* coroi_rested - tell the threads that wait for a rest. */
void coroi_rested(struct coro_scheduler *s);

/* coroi_rest_waits - n more threads wait for a rest. From now on each rest changes `rests_told`,
 * until as many wait less. They read `rests_told`, then look at what they wait for, and then
 * sleep. */
static inline void coroi_rest_waits(struct coro_scheduler *s, int n)
{
	at_add(&s->rest_waiters, (uint32_t)n);
}

/* coroi_rest_await - sleep until `rests_told` differs from seen. Thread: no worker, and one that
 * coroi_rest_waits has counted. */
void coroi_rest_await(struct coro_scheduler *s, uint32_t seen);

/* coroi_live - the number of coroutines that have arrived at a worker and not ended. Spawns that
 * are still on their way do not count. Thread: any. The number is exact at rest. Else it is at
 * least the number at some moment during the call. */
uint64_t coroi_live(struct coro_scheduler *s);

/* coroi_others - coroi_live without the daemons. */
uint64_t coroi_others(struct coro_scheduler *s);

/* coroi_daemons - those daemons. Thread: any. */
uint64_t coroi_daemons(struct coro_scheduler *s);

/* coroi_finished - was there a moment during the call at which nothing but daemons was left of what
 * had been pushed before the call? Thread: any. */
bool coroi_finished(struct coro_scheduler *s);

#endif
