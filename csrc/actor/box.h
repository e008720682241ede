/*
 * box.h - an actor's mailbox in one word, and who runs the actor.
 *
 *      bit 63..48   47..6                5     4     3     2     1        0
 *      generation   newest message, or 0       IDLE  LIVE  STOP  CONTROL  ACTIVE
 *      generation   a worker's number    HOME        LIVE                 ACTIVE
 *
 *   no LIVE           no actor; the generation is that of the next one
 *   LIVE alone        dormant: no message, no turn
 *   LIVE, and more    active: one turn is queued, or runs, or is suspended; with HOME, perhaps none
 *
 * Messages are linked from the newest to the oldest one. A message has its depth: 1 and how many
 * were in the box before it. The generation stands in the same word as the message, so that a
 * reference is checked and a message pushed in one step: a stale reference cannot deliver into the
 * place's next actor.
 *
 * Send, on any thread:
 *
 *   SND1  CAS box: the reference's generation, LIVE, old -> m, where m->next is the message of old,
 *         and CONTROL and STOP stay. Another generation, or not LIVE: refused. Release, pairs with
 *         TRN1: what is in the message is seen by the turn. If old is dormant the sender has taken
 *         before what a turn needs (kernel/task.h), so that SND2 cannot fail
 *   SND2  old was dormant: start a turn
 *   SND3  m->depth + what the turn has taken and not handled > 256: the sender yields once.
 *         Relaxed: a hint; the message before may be another's by now. A thread that is no worker
 *         yields its CPU, until a turn has taken m and is not that far behind, for 2 us a message
 *         at most
 *
 * Turn, by one coroutine at a time:
 *
 *   TRN1  `pending`, if there is one; else x = exchange box -> ACTIVE, and reverse: oldest first.
 *         Acquire, pairs with SND1 of each message. It is an exchange, since senders push
 *         meanwhile. The generation is the turn's own: nobody else changes it
 *   TRN2  handle the oldest first, until the clock says 20 us. Before each call `pending` is the
 *         first message of that call: if the behaviour ends the coroutine, what is left is found
 *         there
 *   TRN3  the time is over, and messages are left: `pending` = the rest, before the next turn is
 *         started, which may run on another worker at once. The start is a release for it (the door
 *         of the worker's queue)
 *   TRN4  nothing is left: `pending` = none; then CAS box ACTIVE -> dormant. Release, pairs with
 *         SND1 of the sender that wakes the actor next, and so with its turn: that one sees the
 *         state as this turn has left it. The CAS fails: something has come, TRN1. It is a CAS,
 *         since a store would lose what has come
 *
 * At home. Many an actor gets its messages from coroutines of one worker, w. It is at home at w
 * then, and neither a send nor a turn needs an atomic step. Its box stays HOME while turns come and
 * go, and w has a note of the actor (home.h) while none of them runs: its turn waits in w's queue,
 * and the note has the end of `pending`; or the actor lingers: it has no message and no turn, and
 * what the next turn needs is kept (kernel/task.h). w's own thread makes and uses notes, in its
 * door, and that of an actor that lingers may be used by any thread that is in w's door.
 *
 *   HOM1  comes home: a turn ends on w that an SND2 of w has started. In w's door the CAS of TRN4
 *         is to HOME, with w's number; then the note: the actor lingers
 *   HOM2  send, by a coroutine of w, in w's door: there is a note, and the box is HOME. The actor
 *         lingers: `pending` = m, and its turn is started. Or the turn waits, and nobody has taken
 *         from the queue since the note was made: m goes to the end of `pending`. Otherwise: SND1
 *   HOM3  SND1 and CTL2 take HOME away. The thread that has done so asks w to look, by w's inbox.
 *         In w's door, where the box of an actor that lingers is not HOME: its turn is started. On
 *         w itself nobody asks unless the actor lingers there: else its turn waits, or runs, and
 *         finds what has come at TRN4
 *   HOM4  the turn begins, on w, and there is a note, and the box is HOME: what is in `pending` is
 *         all that there is. No note is left. TRN3 makes one. Nothing is left, on w, in w's door,
 *         and the box is HOME: a note, in place of TRN4. The loads of the box are relaxed: its
 *         state and its messages are w's
 *   HOM5  leaves home. A turn begins elsewhere, or without a note: CAS box HOME -> ACTIVE, which
 *         fails if HOM3 was first. TRN4 of a turn at home: CAS box HOME -> dormant. A w with
 *         nothing to run does that, in its door, for all actors that linger. If the CAS fails: HOM3
 *   HOM6  send, by the actor's turn, in a call of its behaviour, and the box is HOME: m goes to the
 *         end of `pending`, which is the turn's. Otherwise: SND1
 *
 * Control, on any thread:
 *
 *   CTL1  put what is to be done in the place's side table, in its lock. A stop needs nothing there
 *   CTL2  CAS box old -> old | CONTROL, or STOP. As SND1: if old is dormant, with all that a turn
 *         needs, and then SND2
 *   CTL3  turn: at TRN1, and before each call of TRN2 by a look (relaxed: a hint, TRN1 and TRN4 are
 *         sure): CONTROL is taken with the messages (TRN1) or by an AND; then the side table is
 *         looked at. That look comes after the AND or the exchange, since CTL1 comes before CTL2.
 *         While the next message is one that has overtaken, CONTROL stays in the box. STOP: END1
 *
 * Stop, by the turn alone:
 *
 *   END1  x = exchange box -> the next generation, not LIVE. What was in it, and `pending` before
 *         it, becomes dead letters, in order, and so does what was to be sent later (LTR2 of
 *         later.c). Afterwards nothing is accepted any more
 *   END2  the side table, in its lock: who watches, and what waits there. It comes after END1,
 *         since others look at the box in that lock before they put something there
 *   END3  the place goes to the free ones. The next actor there begins with a store of LIVE.
 *         Release, pairs with SND1's load: who has the new reference sees the new actor
 *
 * There is at most one turn. The thread that changes the box from dormant to active starts the turn
 * (SND2, CTL2). So does a turn that ends active (TRN3), and, in w's door, a thread that finds an
 * actor that lingers, which then lingers no more (HOM2, HOM3). Dormant comes from TRN4 and HOM5
 * alone, after which the turn does nothing with the actor.
 *
 * None is lost: a message that was pushed is in the box, or in `pending`, or a turn has it; while
 * one is in the box, the box is active; TRN4 succeeds only if none is. A box that is HOME has none.
 * If one comes while the actor lingers, w is asked, and looks at its inbox before it sleeps; or
 * HOM5 comes first, and finds HOME gone.
 *
 * The messages of each sender are in the order of its CASes of SND1: the turn takes all at once and
 * reverses, and `pending` goes first. While the box is HOME, what the sender has sent before is
 * handled, or in `pending`; what it sends later goes behind that, or into the box.
 *
 * ABA is harmless: SND1 pushes one, TRN1 and END1 take all. If a message leaves and comes again
 * between SND1's look and its CAS, its link is the right one: it is what is in the box.
 */
#ifndef COROI_BOX_H
#define COROI_BOX_H

#include "actor/policy.h"
#include "base/atomics.h"
#include "coro_actor.h"

#define COROI_BOX_ACTIVE  UINT64_C(1)
#define COROI_BOX_CONTROL UINT64_C(2)
#define COROI_BOX_STOP    UINT64_C(4)
#define COROI_BOX_LIVE    UINT64_C(8)
#define COROI_BOX_IDLE    UINT64_C(16) /* PSV1 of passive.c; gone with the next push */
#define COROI_BOX_HOME    UINT64_C(32) /* HOM1: in place of a message there is a worker's number */

#define COROI_BOX_GEN_SHIFT 48
#define COROI_BOX_GEN       (UINT64_C(0xffff) << COROI_BOX_GEN_SHIFT)
#define COROI_BOX_MESSAGE   (~COROI_BOX_GEN & ~UINT64_C(63))
#define COROI_BOX_SHIFT     6 /* of the worker's number */

#define COROI_DEPTH_MOST 0xffffu /* a message's depth, at most */

static inline struct coro_message *coroi_box_message(uint64_t box)
{
	return coroi_unlikely(box & COROI_BOX_HOME)
		       ? NULL
		       : (struct coro_message *)(uintptr_t)(box & COROI_BOX_MESSAGE);
}

/* coroi_box_worker - at which worker an actor is at home. */
static inline uint32_t coroi_box_worker(uint64_t box)
{
	return (uint32_t)((box & COROI_BOX_MESSAGE) >> COROI_BOX_SHIFT);
}

static inline bool coroi_box_is_dormant(uint64_t box)
{
	return (box & ~COROI_BOX_GEN) == COROI_BOX_LIVE;
}

/* coroi_box_of - the box of the actor with this reference, while it is dormant. */
static inline uint64_t coroi_box_of(coro_actor ref)
{
	return (ref & COROI_BOX_GEN) | COROI_BOX_LIVE;
}

/* coroi_box_home - the box of the actor with this reference, while it is at home at that worker. */
static inline uint64_t coroi_box_home(coro_actor ref, uint32_t worker)
{
	return coroi_box_of(ref) | COROI_BOX_ACTIVE | COROI_BOX_HOME |
	       (uint64_t)worker << COROI_BOX_SHIFT;
}

/* coroi_box_takes - the box is that of the actor with this reference, which has not ended. */
static inline bool coroi_box_takes(uint64_t box, coro_actor ref)
{
	return !((box ^ ref) & COROI_BOX_GEN) && box & COROI_BOX_LIVE;
}

/* coroi_box_look - the box, for SND1 and CTL2. The acquire pairs with END3. */
static inline uint64_t coroi_box_look(const uint64_t *box)
{
	return at_load_acq(box);
}

/* coroi_depth - relaxed: the message may be another's by now. */
static inline uint32_t coroi_depth(const struct coro_message *m)
{
	return at_load_rlx(&m->depth_);
}

/* coroi_box_push - SND1: push the messages first to last, n of them, linked from the last one back
 * to the first. *depth: of the last. False: the box has changed, and *old is what it is now. */
static inline __attribute__((always_inline)) bool coroi_box_push(uint64_t *box, uint64_t *old,
								 struct coro_message *first,
								 struct coro_message *last,
								 uint32_t n, uint32_t *depth)
{
	struct coro_message *before = coroi_box_message(*old);
	uint32_t all = before ? coroi_depth(before) + n : n;

	first->next_ = before;
	*depth = all < COROI_DEPTH_MOST ? all : COROI_DEPTH_MOST;
	at_store_rlx(&last->depth_, (uint16_t)*depth);
	return at_cas(
		box, old,
		(*old & ~(COROI_BOX_MESSAGE | COROI_BOX_ACTIVE | COROI_BOX_IDLE | COROI_BOX_HOME)) |
			(uintptr_t)last);
}

/* coroi_box_mark - CTL2. False: as coroi_box_push. */
static inline bool coroi_box_mark(uint64_t *box, uint64_t *old, uint64_t mark)
{
	uint64_t kept = *old & COROI_BOX_HOME ? *old & ~(COROI_BOX_MESSAGE | COROI_BOX_HOME) : *old;

	return at_cas(box, old, kept | mark);
}

/* coroi_box_take - TRN1: all that has come. */
static inline uint64_t coroi_box_take(uint64_t *box, coro_actor self)
{
	return at_xchg(box, coroi_box_of(self) | COROI_BOX_ACTIVE);
}

/* coroi_box_unmark - CTL3: take CONTROL. */
static inline void coroi_box_unmark(uint64_t *box)
{
	/* the turn has nothing else to show for being active, if there is no message */
	uint64_t old = at_load_rlx(box);
	while (!at_cas(box, &old, (old & ~COROI_BOX_CONTROL) | COROI_BOX_ACTIVE))
		;
}

/* coroi_box_rest - TRN4. False: something has come. */
static inline bool coroi_box_rest(uint64_t *box, coro_actor self)
{
	uint64_t active = coroi_box_of(self) | COROI_BOX_ACTIVE;

	return at_cas(box, &active, coroi_box_of(self));
}

/* coroi_box_leave_home - HOM5: the actor is at home no more. Others may have seen to that. */
static inline void coroi_box_leave_home(uint64_t *box, uint64_t home)
{
	at_cas(box, &home, home & ~(COROI_BOX_MESSAGE | COROI_BOX_HOME));
}

/* coroi_box_rest_home - TRN4 of an actor that is at home. False: something has come. */
static inline bool coroi_box_rest_home(uint64_t *box, uint64_t home)
{
	return at_cas(box, &home, home & ~(COROI_BOX_MESSAGE | COROI_BOX_HOME | COROI_BOX_ACTIVE));
}

/* coroi_box_go_home - HOM1, in place of TRN4. False: something has come. */
static inline bool coroi_box_go_home(uint64_t *box, coro_actor self, uint64_t home)
{
	uint64_t active = coroi_box_of(self) | COROI_BOX_ACTIVE;

	return at_cas(box, &active, home);
}

/* coroi_box_end - END1: no message of this generation is accepted any more. After the last
 * generation the generation is 0, which no reference has. Returns: what was there. */
static inline uint64_t coroi_box_end(uint64_t *box, coro_actor self)
{
	uint64_t next = (self & COROI_BOX_GEN) + (UINT64_C(1) << COROI_BOX_GEN_SHIFT);

	return at_xchg(box, next);
}

/* coroi_box_end_idle - PSV2: END1 if nothing has come. */
static inline bool coroi_box_end_idle(uint64_t *box, coro_actor self)
{
	uint64_t active = coroi_box_of(self) | COROI_BOX_ACTIVE;
	uint64_t next = (self & COROI_BOX_GEN) + (UINT64_C(1) << COROI_BOX_GEN_SHIFT);

	return at_cas(box, &active, next);
}

/* coroi_box_begin - END3: an actor begins in a free place. Returns: its generation, where a
 * reference has it. */
static inline uint64_t coroi_box_begin(uint64_t *box)
{
	uint64_t gen = at_load_rlx(box);

	if (!gen) /* of memory that was never used */
		gen = UINT64_C(1) << COROI_BOX_GEN_SHIFT;
	at_store_rel(box, gen | COROI_BOX_LIVE);
	return gen;
}

/* coroi_box_reverse - the messages in a box, oldest first. *n: how many. */
static inline struct coro_message *coroi_box_reverse(uint64_t box, uint32_t *n)
{
	struct coro_message *m = coroi_box_message(box), *list = NULL;
	uint32_t k = 0;

	for (; m; k++) {
		struct coro_message *before = m->next_;
		m->next_ = list;
		list = m;
		m = before;
	}
	*n = k;
	return list;
}

#endif
