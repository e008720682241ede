/*
 * door.h - the asymmetric lock around everything that a worker owns.
 *
 * The problem: the owner enters and leaves its own queue every few nanoseconds, a thief comes every
 * few microseconds, and a locked instruction costs more than a whole switch. So the owner pays two
 * plain stores and one load, and the thief pays for both sides. The thief asks first. Only if the
 * owner does not answer, the thief forces the owner's stores out with membarrier(2). (After Dice,
 * Huang, Yang, "Asymmetric Dekker Synchronization", 2001. That a busy owner serves the request
 * itself is after Acar, Charguéraud, Rainey, "Scheduling Parallel Programs by Work Stealing with
 * Private Deques", PPoPP 2013.)
 *
 *      req ∈ FREE | ASK·t | SERV·t | LOCK·t     one word a worker; t names the thief
 *
 *   owner
 *     DRO1  busy = 1
 *     DRO2  signal fence (no CPU fence: DRT3 makes up for it)
 *     DRO3  req == FREE: inside. Otherwise, slow:
 *           ASK·t    DRO4  CAS ASK·t -> SERV·t; put some of the queue into t's steal buffer; req =
 *                          FREE; inside
 *           LOCK·t   DRO5  busy = 0; wait until req changes; from DRO1. The same for an ASK·t whose
 *                          t is no worker, and wants the lock
 *     DRO6  leave: busy = 0 (release)
 *
 *   thief t
 *     DRT1  CAS FREE -> ASK·t; if it fails, another thief is here
 *     DRT2  for about a microsecond: req != ASK·t means that the owner has served t (DRT6)
 *     DRT3  membarrier: after it, either the owner's next DRO3 sees ASK, or DRT4 sees busy == 1
 *     DRT4  for a bounded time: req != ASK·t: DRT6. busy == 0: CAS ASK·t -> LOCK·t, and the door is
 *           t's until req = FREE (release); then t wakes the owner if that waits (DRO5)
 *     DRT5  busy stayed 1 (the owner is preempted inside): CAS ASK·t -> FREE and give up; if the
 *           CAS fails: DRT6
 *     DRT6  served: wait while req == SERV·t; the steal buffer, perhaps empty, is t's
 *
 * Why two are never inside: the owner is inside after it has read req == FREE or has served; a
 * thief after it has read busy == 0 and moved ASK to LOCK. Say the owner's DRO3 came before ASK was
 * visible: then its DRO1 is visible after DRT3. Say DRO3 came after: then the owner has read ASK.
 * Either it served the thief, whose CAS to LOCK fails, or it lost against LOCK and waits. An owner
 * that has found a LOCK leaves again by DRO5's busy = 0, which DRT4 sees.
 *
 * A worker that is busy is a thief, too (coroi_stir). It knocks in no door of its own: a thief
 * waits for an owner to come to its door, and two that waited inside their own would only give up
 * (DRT5).
 *
 * Where there is no membarrier, DRO1 is an exchange, DRO3 is sequentially consistent like it, and
 * DRT3 is a plain fence.
 */
#ifndef COROI_DOOR_H
#define COROI_DOOR_H

#include "kernel/worker.h"

enum { COROI_DOOR_FREE = 0, COROI_DOOR_ASK = 1, COROI_DOOR_SERV = 2, COROI_DOOR_LOCK = 3 };

#define COROI_DOOR_WORD(what, t) ((uint32_t)(what) | (uint32_t)(t) << 3)
#define COROI_DOOR_WHAT(word)    ((word)&3)
#define COROI_DOOR_WAITER        4u /* LOCK only: the owner sleeps on req */
#define COROI_DOOR_THIEF(word)   ((word) >> 3)
/* Thieves that are no workers, and have no steal buffer. COROI_FOREIGN wants the lock.
 * COROI_COLLECTOR wants credit (CRD1 of slab.h), and takes exactly a thief's steps: the owner gives
 * its credit up at DRO4 in place of some of its queue, and DRT6 finds nothing to take. One
 * collector knocks at a time (coroi_collect), since DRT4 and DRT5 know their own ASK by its
 * name. */
#define COROI_FOREIGN   0x1fffffffu
#define COROI_COLLECTOR 0x1ffffffeu

/* coroi_door_slow - the rest of coroi_door_enter: DRO3 has found another word than FREE. */
COROI_COLD void coroi_door_slow(struct coroi_worker *w);

/* coroi_door_enter - DRO1 to DRO3, and DRO4 or DRO5 if need be. Thread: w's own. Blocking: while a
 * thief holds the door. Cost: two plain stores and a load, with leave. */
static inline void coroi_door_enter(struct coroi_worker *w)
{
	uint32_t req = 0;

	if (coroi_unlikely(w->exchange)) {
		/* DRO1; pairs with the fence of DRT3. */
		at_xchg(&w->busy, 1);
		/* DRO3, seq_cst: with LDAPR an acquire may be done before the store of DRO1. */
		req = at_load_seq(&w->req);
	} else {
		at_store_rlx(&w->busy, 1); /* DRO1; DRT3 makes it visible */
		at_fence_signal();         /* DRO2 */
		/* DRO3; the acquire pairs with a thief's req = FREE: the owner sees what was
		 * taken. */
		req = at_load_acq(&w->req);
	}
	if (coroi_unlikely(req != COROI_DOOR_FREE))
		coroi_door_slow(w);
}

/* coroi_door_try - DRO1 to DRO3 for a fast path that makes no call. False: the door wants more than
 * two stores and a load, or fast paths are not to be taken (`unusual`). The caller then leaves the
 * door and takes its general path. Where doors are exchanges the result is always false: busy was 1
 * to no purpose, and delayed a thief at most. */
static inline __attribute__((always_inline)) bool coroi_door_try(struct coroi_worker *w)
{
	at_store_rlx(&w->busy, 1);
	at_fence_signal();
	return coroi_likely(!(at_load_rlx(&w->unusual) | at_load_acq(&w->req))); /* FREE is 0 */
}

/* coroi_door_leave - DRO6. Thread: w's own, which is inside. */
static inline void coroi_door_leave(struct coroi_worker *w)
{
	/* DRO6; pairs with DRT4: the next thread to lock sees what was done inside. */
	at_store_rel(&w->busy, 0);
}

/* The outcome of a knock. */
enum coroi_knock {
	COROI_REFUSED, /* another thief is there, or the owner stayed inside: try later */
	/* The owner has put some of its queue, perhaps nothing, into the thief's steal_buf[]. */
	COROI_SERVED,
	COROI_LOCKED, /* the caller holds the door until coroi_door_unlock */
};

/* coroi_door_knock - DRT1 to DRT6.
 * Thread: worker t; or any thread, a worker's in no door, with COROI_FOREIGN for t, which is never
 * served, or with COROI_COLLECTOR.
 * Blocking: for some microseconds, and for as long as a preempted owner is serving (DRT6). Cost: a
 * membarrier, unless the owner serves. */
enum coroi_knock coroi_door_knock(struct coroi_worker *victim, uint32_t t);

/* coroi_door_heavy - DRT3: after it, every store that a running thread of victim's scheduler made
 * before is visible here. Thread: any. Cost: a membarrier, some us. */
void coroi_door_heavy(const struct coroi_worker *victim);

/* coroi_door_lock - knock until the caller holds the door; coroi_door_unlock - DRT4's req = FREE.
 * Thread: any that is no worker, and of unlock also a thief that got COROI_LOCKED.
 * Blocking: until other thieves and an owner that is preempted inside are done. */
void coroi_door_lock(struct coroi_worker *victim);
void coroi_door_unlock(struct coroi_worker *victim);

#endif
