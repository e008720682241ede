/*
 * mutex.h - the owner of a mutex; for mutex.c, for Go, and for conditions, which unlock a mutex and
 * lock it again.
 *
 * `owner` is one word that is changed by compare-and-swap: 0, or the owner (object.h), with
 * COROI_WAITED if there may be waiters in the queue. Only with COROI_WAITED does an unlock look at
 * the queue, under the object's lock. A shared mutex is locked and unlocked with one
 * compare-and-swap each, a bound one with plain loads and stores.
 *
 * An owner that has ended never changes the word again. So the next caller that comes to the mutex
 * sees the end under the object's lock, and gives the mutex to the first waiter, or takes the mutex
 * itself. Where there are waiters, the end of the owner does the same (awaited.h):
 *
 *   MTX1  the word is not 0, and its owner has ended (coroi_owner_has_ended, an acquire)
 *   MTX2  the new owner takes that owner's place by a compare-and-swap, with COROI_WAITED, and
 *         `state` is COROI_LEFT_LOCKED. The new owner gets CORO_EOWNERDEAD. The swap fails if the
 *         owner unlocked between the two reads of MTX1, and then ended: it has left nothing
 *   MTX3  until `state` is COROI_SOUND again (coro_mutex_consistent), COROI_WAITED stays. So an
 *         unlock looks at `state`: the mutex is LOST, which nobody owns or can lock
 */
#ifndef COROI_MUTEX_H
#define COROI_MUTEX_H

#include "sync/object.h"

/* Go finds the owner at this offset, and changes it itself while there is no waiter. */
#define COROI_MUTEX_OWNER 32

struct coroi_mutex {
	struct coroi_object object;
	struct coroi_waitq queue;
	uint64_t owner; /* atomic */
	uint32_t state; /* COROI_SOUND... */
};
COROI_VIEW(struct coroi_mutex, coro_mutex, coroi_mutex_of)
_Static_assert(offsetof(struct coroi_mutex, owner) == COROI_MUTEX_OWNER, "Go finds it there");

/* coroi_mutex_is_owner - owner owns m. Relaxed: if owner is the caller, no other thread changes
 * the answer. */
static inline bool coroi_mutex_is_owner(const struct coroi_mutex *m, uint64_t owner)
{
	return (at_load_rlx(&m->owner) & ~COROI_WAITED) == owner;
}

/* coroi_mutex_swap - `to` owns m instead of `from`; 0 stands for no owner. False: `from` did not
 * own m, or there are waiters, or m is bound to another worker. */
static inline bool coroi_mutex_swap(struct coroi_mutex *m, uint64_t from, uint64_t to)
{
	if (coroi_likely(!m->object.home))
		return at_cas(&m->owner, &from, to);
	/* Relaxed: a thread that may not use m reads the owner, too. */
	if (at_load_rlx(&m->owner) != from || !coroi_object_is_home(&m->object, coroi_here()))
		return false;
	at_store_rlx(&m->owner, to);
	return true;
}

/* coroi_mutex_lock_slow - coro_mutex_lock by mine. again: NULL, or the caller's waiter, of a wait
 * that is over; then neither deadline nor cancel ends this wait. */
COROI_NOINLINE int coroi_mutex_lock_slow(struct coroi_mutex *m, uint64_t mine, uint64_t deadline,
					 struct coroi_waiter *again);

/* coroi_mutex_lock_gowaiter - coro_mutex_lock by owner, for which g waits. g may be NULL. */
int coroi_mutex_lock_gowaiter(coro_mutex *m, uint64_t owner, struct coroi_gowaiter *g);

/* coroi_mutex_unlock_as - coro_mutex_unlock by owner. */
int coroi_mutex_unlock_as(coro_mutex *m, uint64_t owner);

/* coroi_mutex_consistent_as - coro_mutex_consistent by owner. */
int coroi_mutex_consistent_as(coro_mutex *m, uint64_t owner);

/* coroi_mutex_look - MTX1, MTX2: if the owner has ended, the first waiter gets the mutex. */
void coroi_mutex_look(coro_mutex *m);

#endif
