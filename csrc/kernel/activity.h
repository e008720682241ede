/*
 * activity.h - who is awake, who sleeps and is woken, and when everything rests: the tokens, the
 * sleepers' bits and claims.
 *
 * The protocol, of which this is N1 to N4, is told in idle.c.
 */
#ifndef COROI_ACTIVITY_H
#define COROI_ACTIVITY_H

#include "kernel/deque.h"

/* A worker's `ev`. */
enum { COROI_EV_NONE, COROI_EV_SLEEPS, COROI_EV_WOKEN };

/* What `hungry` says to a worker that has just queued something. */
#define COROI_HUNGRY_SURPLUS 1u /* a sleeper would like to have some, if there is more than one */
#define COROI_HUNGRY_ALONE   2u /* nobody looks around: wake one for whatever there is */

/* coroi_awake_end - give an awake token back. True: everything rests now; the caller tells
 * (coroi_rested). */
static inline bool coroi_awake_end(struct coro_scheduler *s)
{
	return at_add(&s->activity, -COROI_AWAKE) >> 16 == 0;
}

/* coroi_awake_begin - take an awake token. If everything rested until then, that is counted before
 * anything can come of it. */
static inline void coroi_awake_begin(struct coro_scheduler *s)
{
	if (at_add(&s->activity, COROI_AWAKE) >> 16 == 1)
		at_add(&s->rises, 1);
}

/* coroi_pending_begin, coroi_pending_end - work will come from outside of all workers, and has
 * come: an offloaded call, a timer. Begin while awake; end after what it wakes was woken. */
void coroi_pending_begin(struct coro_scheduler *s, uint32_t n);
void coroi_pending_end(struct coro_scheduler *s);

static inline uint64_t coroi_sleeper_bit(unsigned id)
{
	return UINT64_C(1) << (id & 63);
}

/* coroi_holds_off - w has stolen, or was woken to do so, in vain lately (steal.c): it is not to be
 * woken for a surplus. Thread: any; a hint. */
static inline bool coroi_holds_off(const struct coroi_worker *w, uint64_t now)
{
	return now < at_load_rlx(&w->hold_off);
}

/* coroi_sleeps - worker id sleeps, and may be claimed. */
static inline bool coroi_sleeps(const struct coro_scheduler *s, unsigned id)
{
	return at_load_seq(&s->sleepers[id >> 6]) & coroi_sleeper_bit(id);
}

/* coroi_claim - N2 to N4. False: somebody else was first, or it does not sleep, or this is a
 * pause. */
bool coroi_claim(struct coro_scheduler *s, unsigned id);

/* coroi_notify_hungry - w has something for who is hungry: wake one, if somebody is. */
COROI_COLD void coroi_notify_hungry(struct coroi_worker *w);

/* coroi_notify_queued - w has queued something, in its door. One relaxed load while nobody sleeps;
 * being wrong costs time only, bounded by the standby. */
static inline void coroi_notify_queued(struct coroi_worker *w)
{
	uint32_t h = at_load_rlx(&w->sched->hungry);
	if (coroi_unlikely(h) && ((h & COROI_HUNGRY_ALONE) || coroi_deque_length(&w->queue) > 1))
		coroi_notify_hungry(w);
}

/* coroi_notify_pushed - something was pushed to w's inbox: wake w if it sleeps, or see to it that
 * somebody looks around. Thread: any. */
void coroi_notify_pushed(struct coroi_worker *w);

/* coroi_wake_all - claim and wake every sleeper. */
void coroi_wake_all(struct coro_scheduler *s);

/* coroi_at_rest - nothing can happen any more, at this moment. */
bool coroi_at_rest(struct coro_scheduler *s);

/* coroi_rested - who gave the last token back says so. */
void coroi_rested(struct coro_scheduler *s);

/* coroi_rest_await - sleep until the number of rests differs from seen. */
void coroi_rest_await(struct coro_scheduler *s, uint32_t seen);

#endif
