/*
 * idle.h - who sleeps, who is woken, and when everything is at its end. The protocol is told in idle.c.
 */
#ifndef COROI_IDLE_H
#define COROI_IDLE_H

#include "deque.h"

/* A worker's `ev`. */
enum { COROI_EV_NONE, COROI_EV_SLEEPS, COROI_EV_WOKEN };

/* How long a worker looks for work before it sleeps, at most and to begin with: as long as a sleep and a wake-up take. */
#define COROI_SPIN_NS 10000

/* What `hungry` says to a worker that has just queued something. */
#define COROI_HUNGRY_SURPLUS 1u /* a sleeper would like to have some, if there is more than one */
#define COROI_HUNGRY_ALONE 2u   /* nobody looks around: wake one for whatever there is */

COROI_COLD void coroi_idle_feed(struct coroi_worker *w);

/* coroi_idle_queued - w has queued something, in its door. One relaxed load while nobody sleeps; being wrong costs
 * time only, bounded by the standby. */
static inline void coroi_idle_queued(struct coroi_worker *w)
{
	uint32_t h = at_load_rlx(&w->sched->hungry);
	if (coroi_unlikely(h) && ((h & COROI_HUNGRY_ALONE) || coroi_deque_length(&w->queue) > 1))
		coroi_idle_feed(w);
}

/* coroi_idle_due - w, which is awake, has a deadline now that is earlier than all before it, ns: the standby is to look in
 * time. */
void coroi_idle_due(struct coroi_worker *w, uint64_t due);

/* coroi_idle_linger - w has nothing to run but who asks, who is about to wait for somebody elsewhere: for up to 2 us it looks, as it
 * would if it were idle, until happened(arg). That saves two switches, and lets more come together. False: in vain. */
bool coroi_idle_linger(struct coroi_worker *w, bool (*happened)(void *), void *arg);

/* coroi_idle_pushed - something was pushed to w's inbox: wake w if it sleeps, or see to it that somebody looks
 * around. Thread: any. */
void coroi_idle_pushed(struct coroi_worker *w);

/* coroi_share_stacks_locked - give the idle stacks that w keeps to the pool, and wake those who wait for one. In w's
 * door. */
void coroi_share_stacks_locked(struct coroi_worker *w);

/* coroi_idle - called on the native stack by a worker whose queue is empty: find or await work. False: stop. */
bool coroi_idle(struct coroi_worker *w);

/* coroi_at_rest - nothing can happen any more, at this moment. */
bool coroi_at_rest(struct coro_scheduler *s);

/* coroi_rested - who gave the last token back says so. */
void coroi_rested(struct coro_scheduler *s);

/* coroi_rest_await - sleep until the number of rests differs from seen. */
void coroi_rest_await(struct coro_scheduler *s, uint32_t seen);

/* coroi_wake_all - claim and wake every sleeper. */
void coroi_wake_all(struct coro_scheduler *s);

#endif
