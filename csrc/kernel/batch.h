/*
 * batch.h - spawns from outside on their way to a worker.
 *
 * The problem: one by one, the record of each spawn, or at least the link of a list, would travel
 * from the sender's core to the worker's and back: a cache miss a line. So spawns are written one
 * after the other into a box: a runnable, then its words of argument, 8 to 56 bytes each. One line
 * travels for several spawns, and records stay with the worker.
 *
 *      | next taken repeat |  state  | runnable arg arg | runnable | runnable arg | free ... |
 *        the worker's        both                         ^ taken                  ^ words
 *
 * A closed batch is filled in first, and then pushed to the worker's inbox, once. An open batch is
 * still filled in, by one sender at a time, while the worker empties it. `state` tells both sides
 * how things are:
 *
 *      words      how many words are filled in
 *      CLOSED     nothing more will come
 *      DETACHED   no worker looks at the batch, and the next spawn must push it; taken == words
 *
 *  sender (internal/core/submit.go for goroutines, spawn.c for other threads)
 *          BTS1  write the runnable and its arguments behind the words
 *          BTS2  add their number to the state, sequentially consistent: a release for BTS1, and
 *                before the look at the sleeper's bit (WKW2 of idle.c)
 *          BTS3  the state had DETACHED: take DETACHED away, and push the batch to the inbox (WKW1)
 *          BTS4  the batch is full, or the sender closes it: CLOSED, in the same addition. From
 *                then on the batch is the worker's; if it was DETACHED and nothing was added, the
 *                sender's
 *  worker  BTW1  look at the state (acquire, pairs with BTS2), and take what has come; in its door
 *          BTW2  CLOSED, and everything is taken: the batch is free
 *          BTW3  before the worker sleeps (SLP2 of idle.c), and for a thief that has found nothing:
 *                CAS the state from `taken` words to the same with DETACHED. The CAS fails if
 *                something has come meanwhile
 *
 * Nothing is left lying: an addition comes before BTW3's CAS, which then fails, or after it, and
 * then finds DETACHED.
 */
#ifndef COROI_BATCH_H
#define COROI_BATCH_H

#include "kernel/slab.h"

#define COROI_BATCH_WORDS    255
#define COROI_BATCH_ROOM     7 /* words of the largest spawn: a runnable and six of argument */
#define COROI_BATCH_CLOSED   (1u << 16)
#define COROI_BATCH_DETACHED (1u << 17)
#define COROI_BATCH_COUNT    0xffffu

struct coroi_batch {
	/* Link in an inbox, in a worker's undelivered nodes, or among the spare batches. */
	uint64_t next;
	uint32_t taken; /* words that the worker has taken */
	/* How often the only spawn in the batch is still to be made. 0: each spawn is made once. */
	uint32_t repeat;
	/* words | CLOSED | DETACHED; atomic, see above. A line of its own: the senders write
	 * there. */
	uint32_t state __attribute__((aligned(COROI_LINE)));
	uint32_t spare;
	uint64_t words[COROI_BATCH_WORDS];
};

_Static_assert(sizeof(struct coroi_batch) == 2048 + COROI_LINE,
	       "the words' lines, and one for the worker");

/* coroi_batch_open - up to want (at most COROI_BATCHES_AT_ONCE) empty batches, detached.
 * Thread: any. Returns: how many there are in out; less than want: no memory. */
uint32_t coroi_batch_open(struct coroi_slab *s, struct coroi_batch **out, uint32_t want);
/* coroi_batch_drop - p becomes spare. Thread: any. */
void coroi_batch_drop(struct coroi_slab *s, struct coroi_batch *p);
/* coroi_batch_close - BTS4 where nothing is added. Thread: the sender. */
void coroi_batch_close(struct coroi_slab *s, struct coroi_batch *p);

/* coroi_batch_left - how many spawns in p the worker has not taken. The caller is inside the
 * worker's door. */
uint64_t coroi_batch_left(const struct coroi_batch *p);

/* coroi_batches_trim - free the spare batches. Thread: any. Returns: the bytes. */
size_t coroi_batches_trim(struct coroi_slab *s);

#endif
