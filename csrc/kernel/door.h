/*
 * door.h - the asymmetric lock around everything that a worker owns.
 *
 * The problem: the owner enters and leaves its own queue every few nanoseconds, a thief comes every
 * few microseconds, and a locked instruction costs more than a whole switch. So the owner pays two
 * plain stores and one load, and the thief pays for both sides: it asks first, and only if the
 * owner does not answer forces the owner's stores out with membarrier(2) (after Dice, Huang, Yang,
 * "Asymmetric Dekker Synchronization", 2001, and the request that a busy owner serves itself after
 * Acar, Charguéraud, Rainey, "Scheduling Parallel Programs by Work Stealing with Private Deques",
 * PPoPP 2013).
 *
 *      req ∈ FREE | ASK·t | SERV·t | LOCK·t     one word a worker; t names the thief
 *
 *   owner
 *     D1  busy = 1
 *     D2  signal fence (no CPU fence: T3 makes up for it)
 *     D3  req == FREE: inside. Otherwise, slow:
 *           ASK·t    D4  CAS ASK·t -> SERV·t; put some of the queue into t's steal buffer; req = FREE; inside
 *           LOCK·t   D5  busy = 0; wait until req changes; from D1
 *     D6  leave: busy = 0 (release)
 *
 *   thief t
 *     T1  CAS FREE -> ASK·t; if it fails, another thief is here
 *     T2  for some hundred ns: req != ASK·t means that the owner has served us (T6)
 *     T3  membarrier: after it, either our ASK is seen by the owner's next D3, or its busy == 1 is seen by T4
 *     T4  for a bounded time: req != ASK·t: T6. busy == 0: CAS ASK·t -> LOCK·t, and the door is
 *         ours until req = FREE (release), then wake the owner if it waits (D5)
 *     T5  it stayed busy (preempted inside): CAS ASK·t -> FREE and give up; if that fails: T6
 *     T6  served: wait while req == SERV·t; the steal buffer, perhaps empty, is ours
 *
 * Why two are never inside: the owner is inside after reading req == FREE or serving; a thief after
 * reading busy == 0 and moving ASK to LOCK. If the owner's D3 came before ASK was visible, its D1
 * is visible after T3; if D3 came after, it read ASK and either served it, and the thief's CAS to
 * LOCK fails, or lost against LOCK and waits. D5's busy = 0 is what lets T4 see an owner that has
 * found a LOCK leave again.
 *
 * Where membarrier is not to be had, D1 is an exchange and D3 sequentially consistent like it, and
 * T3 a plain fence.
 */
#ifndef COROI_DOOR_H
#define COROI_DOOR_H

#include "kernel/worker.h"

enum { COROI_DOOR_FREE = 0, COROI_DOOR_ASK = 1, COROI_DOOR_SERV = 2, COROI_DOOR_LOCK = 3 };

#define COROI_DOOR_WORD(what, t) ((uint32_t)(what) | (uint32_t)(t) << 3)
#define COROI_DOOR_WHAT(word)    ((word)&3)
#define COROI_DOOR_WAITER        4u /* LOCK only: the owner sleeps on req */
#define COROI_DOOR_THIEF(word)   ((word) >> 3)
/* Thieves that are no workers: one wants the lock, not a steal buffer; the other wants credit (G1 of
 * slab.h), and the owner gives it up at D4 */
#define COROI_FOREIGN   0x1fffffffu
#define COROI_COLLECTOR 0x1ffffffeu

COROI_COLD void coroi_door_slow(struct coroi_worker *w);

static inline void coroi_door_enter(struct coroi_worker *w)
{
	uint32_t req = 0;

	if (coroi_unlikely(w->exchange)) {
		/* D1; pairs with the fence at T3 */
		at_xchg(&w->busy, 1);
		/* D3, seq_cst: an acquire may pass the store of D1 where there is LDAPR */
		req = at_load_seq(&w->req);
	} else {
		at_store_rlx(&w->busy, 1); /* D1; pushed out by T3 */
		at_fence_signal();         /* D2 */
		/* D3; acquire pairs with a thief's req = FREE: we see what it took */
		req = at_load_acq(&w->req);
	}
	if (coroi_unlikely(req != COROI_DOOR_FREE))
		coroi_door_slow(w);
}

/* coroi_door_try - D1 to D3 for a fast path that makes no call: false if the door wants more than
 * two stores and a load, or the scheduler is being canceled. The caller leaves then, and takes its
 * general path. Where doors are exchanges it is always false: then busy was 1 for nothing, which
 * keeps a thief waiting, and no more. */
static inline bool coroi_door_try(struct coroi_worker *w)
{
	at_store_rlx(&w->busy, 1);
	at_fence_signal();
	return coroi_likely(!(at_load_rlx(&w->unusual) | at_load_acq(&w->req))); /* FREE is 0 */
}

static inline void coroi_door_leave(struct coroi_worker *w)
{
	/* D6; pairs with T4: what we did inside is seen by who locks next */
	at_store_rel(&w->busy, 0);
}

/* What came of knocking. */
enum coroi_knock {
	COROI_REFUSED, /* another is there, or the owner stayed inside: try later */
	/* the owner has put a steal buffer, perhaps empty, into the thief's steal_buf[] */
	COROI_SERVED,
	COROI_LOCKED, /* the door is held; coroi_door_unlock ends it */
};

/* coroi_door_knock - T1 to T6, for worker t, or from any other thread: t is COROI_FOREIGN, which is
 * never served, and insists for some milliseconds before it is refused; or COROI_COLLECTOR. */
enum coroi_knock coroi_door_knock(struct coroi_worker *victim, uint32_t t);

/* coroi_door_lock - knock from a thread that is no worker until the door is ours. */
void coroi_door_lock(struct coroi_worker *victim);
void coroi_door_unlock(struct coroi_worker *victim);

#endif
