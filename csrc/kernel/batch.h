/*
 * batch.h - spawns from outside on their way to a worker.
 *
 * The problem: one by one, the record of each spawn, or at least a list's link, would travel from
 * the core of the sender to the worker's and back, at some 50 ns a line. So spawns are written one
 * after the other into a box: a runnable, then its words of argument, 8 to 56 bytes each. What
 * travels is a line for several spawns; records stay with the worker.
 *
 * A closed batch is filled in first and pushed to the worker's inbox then, once. An open one goes
 * on being filled in while the worker empties it, by one sender at a time, and `state` tells both
 * how things are:
 *
 *      words | CLOSED: nothing more will come | DETACHED: no worker looks at it, and the next spawn
 *      must push it
 *
 *   sender  A1  write the runnable and its arguments behind the words
 *           A2  add their number to the state, sequentially consistent: a release for A1, and
 *               before the look at the sleeper's bit (N2 of idle.c)
 *           A3  the state had DETACHED: take it away, and push the batch to the inbox (N1)
 *           A4  it is full, or the sender closes: CLOSED, in the same addition. Then the batch is
 *               the worker's; if it is detached and empty, the sender's
 *   worker  B1  look at the state (acquire, pairs with A2), and take what has come; in its door
 *           B2  CLOSED, and all is taken: it is free
 *           B3  before it sleeps (P2 of idle.c), and for a thief that has found nothing: CAS the
 *               state with all taken to the same with DETACHED. That fails if something has come
 *               meanwhile
 *
 * Nothing is left lying: an addition comes before B3's CAS, which then fails, or after it, and then
 * finds DETACHED.
 */
#ifndef COROI_BATCH_H
#define COROI_BATCH_H

#include "kernel/slab.h"

#define COROI_BATCH_WORDS    255
#define COROI_BATCH_ROOM     7 /* words of the largest spawn */
#define COROI_BATCH_CLOSED   (1u << 16)
#define COROI_BATCH_DETACHED (1u << 17)
#define COROI_BATCH_COUNT    0xffffu

struct coroi_batch {
	/* in an inbox, in a worker's list of undelivered ones, or in a list of spare ones */
	uint64_t next;
	uint32_t taken; /* words that the worker has taken */
	/* how often the one spawn in it is still to be made; 0: each that is in it once */
	uint32_t repeat;
	uint32_t state __attribute__((aligned(COROI_LINE))); /* atomic */
	uint32_t spare;
	uint64_t words[COROI_BATCH_WORDS];
};

_Static_assert(sizeof(struct coroi_batch) == 2048 + COROI_LINE,
	       "the words' lines, and one for the worker");

#define COROI_BATCHES_AT_ONCE 8
#define COROI_REPEAT_MOST     1024 /* so that there is something for each worker */

/* coroi_batch_open - up to want (at most COROI_BATCHES_AT_ONCE) empty batches, detached. Returns
 * how many; 0: no memory. coroi_batch_drop - one goes back. Thread: any. */
uint32_t coroi_batch_open(struct coroi_slab *s, struct coroi_batch **out, uint32_t want);
void coroi_batch_drop(struct coroi_slab *s, struct coroi_batch *p);

/* coroi_batch_left - spawns in it that the worker has not taken. Inside the worker's door. */
uint64_t coroi_batch_left(const struct coroi_batch *p);

/* coroi_batches_trim - free the spare ones. Returns the bytes. */
size_t coroi_batches_trim(struct coroi_slab *s);

#endif
