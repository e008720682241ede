/*
 * awaited.h - those that wait for a lock learn at once that the coroutine which owns it has ended.
 *
 * The problem: a coroutine that ends does not know which locks it owns, since locking one writes
 * nothing but the lock. To note it there would cost each lock and unlock. And a walk at the end
 * would have to find waiters that are threads and goroutines, too.
 *
 * So a lock is noted only while others wait for it, under the name of its owner, in a table of the
 * process. The paths of a lock without waiters know nothing of the table. The end of a coroutine
 * that has ever locked something looks there.
 *
 *   AWT1  before a caller waits in a queue that was empty, and when an owner hands the lock on
 *         while others go on waiting: under the lock's own lock, note (owner, lock) by a
 *         compare-and-swap; then look whether that owner has ended. It has: take the note back, and
 *         inherit the lock at once (MTX2 of mutex.h)
 *   AWT2  the end: first it can be seen that the coroutine has ended (JOI2 of join.c, or WKC4 of
 *         wait.c); then look for notes under its name. The worker's native stack goes through them
 *         (AWT4), in no door
 *   AWT3  a note is taken back under the lock's own lock: by the owner as it unlocks; by whoever
 *         gives the lock of an ended owner to another; and by a waiter that leaves the queue empty.
 *         So a lock that is noted has a caller inside of it, and its memory is there
 *   AWT4  with `ends` held, find a note of the ended owner, and try the lock's own lock. Not free:
 *         release `ends`, and look again. Free: take the note back, release `ends`, and give the
 *         lock to the first that waits
 *
 * AWT1 and AWT2 are a pair of a store and a look on each side, all sequentially consistent: so one
 * of them sees the other. AWT3 holds `ends` as well, unless it is the owner that takes its own note
 * back: that one is alive, and AWT4 has no business with its notes. So in AWT4 no lock that is
 * noted can vanish.
 *
 * MTX1 to MTX3 are those of mutex.h; a reader-writer lock does the same with its words.
 *
 * Without memory for a note the waiters are told when the next caller comes.
 */
#ifndef COROI_AWAITED_H
#define COROI_AWAITED_H

#include "sync/object.h"

/* A kind of lock that has owners. */
struct coroi_awaited_kind {
	/* AWT4: give the lock o, which is entered, and whose owner has ended, to the first that
	 * waits. Leaves. */
	void (*inherit)(struct coroi_object *o);
};

/* coroi_awaited - AWT1: o, which is entered, is waited for, or about to be. Where its owner is no
 * coroutine nothing is noted. False: the owner has ended, and nothing is noted. */
bool coroi_awaited(struct coroi_object *o, const struct coroi_awaited_kind *kind, uint64_t owner);

/* coroi_awaited_no_more - AWT3, by the owner: it unlocks o, which is entered. */
void coroi_awaited_no_more(struct coroi_object *o, uint64_t owner);

/* coroi_awaited_drop - AWT3, by others: nobody waits for o any more, which is entered, or its owner
 * has ended. owner may be 0. */
COROI_COLD void coroi_awaited_drop(struct coroi_object *o, uint64_t owner);

#endif
