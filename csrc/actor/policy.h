/*
 * policy.h - what actors do to be fast, and could do without: switches and tuning constants, as in
 * kernel/policy.h.
 */
#ifndef COROI_ACTOR_POLICY_H
#define COROI_ACTOR_POLICY_H

#include <stddef.h>
#include <stdint.h>

/* -------------------------------------------------------------------------------- locality */

/* An actor that one worker's coroutines send to is at home there: HOM1 to HOM6 of box.h. */
#define COROI_HAS_HOME 1
/* Places of a worker to note an actor that is at home there; two that share one are so by turns.
 * By judgement. */
#ifndef COROI_HOMES /* the explorer has its own */
#define COROI_HOMES 128u
#endif
/* The share by which the wakes between two tries to come home become fewer, each time that one
 * comes home: an eighth. They double each time that home is lost. By judgement. */
#define COROI_SKIPS_PART 8

/* ----------------------------------------------------------------------- far ahead, and turns */

/* Messages: a sender that is further ahead of an actor yields (SND3 of box.h): 16 KiB, half of a
 * first cache. By judgement. */
#define COROI_SOFT_BOUND 256u
/* ns and messages: a thread outside that is far ahead yields its CPU for as long, for each of that
 * number of messages at most. Commits "actor: a send from outside takes two atomic steps, not
 * five" (fjthrput 205 to 52 ns) and "actor: a thread outside that sends many at once is held back
 * for as long as for each of them". */
#define COROI_PAUSE_NS   2000u
#define COROI_PAUSE_MOST 8u

/* ns: how long a turn is, once the clock was read. As long as the waits of a coroutine:
 * docs/fairness.md, docs/actors.md. */
#define COROI_ACTOR_TURN_NS 20000u
/* ns: from look to look at the clock, at most: half of that. */
#define COROI_ACTOR_LOOK_NS 10000u
/* Messages from look to look, as a power of two: of a new actor, and at most. */
#define COROI_PACE_FIRST 2
#define COROI_PACE_MOST  8

/* ---------------------------------------------------------------------------------- memory */

/* Messages of a magazine: 4 KiB. By judgement. */
#define COROI_HAND 64u
/* Messages that a worker has in hand: those of a full mailbox (COROI_SOFT_BOUND) and some more, so
 * that those which one worker sends and handles go round without a trade. */
#ifndef COROI_IN_HAND /* the explorer has its own */
#define COROI_IN_HAND (6 * COROI_HAND)
#endif
/* Bytes of a chunk of messages. By judgement. */
#define COROI_MESSAGES_BYTES ((size_t)256 << 10)
/* Gets before it is used: a spare message is fetched as early. By judgement. */
#define COROI_SPARE_AHEAD 4u
/* Hands, each with a lock, that threads outside share; a power of two. By judgement. */
#define COROI_HANDS_OUTSIDE 16u
/* Locks that the side tables of a scheduler's actors share. By judgement. */
#define COROI_SIDE_LOCKS 64u
/* Lists of actors that wait for an answer (ask.c), and actors of a circle of questions that its
 * report names. By judgement. */
#define COROI_ASK_BUCKETS 256u
#define COROI_CYCLE_MOST  64u
/* Messages that are to be sent later: room at first; it doubles. By judgement. */
#define COROI_LATER_FIRST 64u
/* Sweeps for idle actors in the shortest time after which one rests (passive.c). By judgement. */
#define COROI_SWEEPS 8

#endif
