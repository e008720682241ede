/*
 * mutex.h - who holds a mutex, for mutex.c and for conditions, which give it back and take it
 * again.
 *
 * `owner` is one word that is changed by compare-and-swap: free 0, or the owner's owner (object.h),
 * with COROI_WAITED if there may be a queue. Only then does who unlocks look at the queue, under
 * the object's lock. A shared one is taken and given back with one compare-and-swap each; one that
 * is bound to a worker with plain ones.
 */
#ifndef COROI_MUTEX_H
#define COROI_MUTEX_H

#include "sync/object.h"

struct coroi_mutex {
	struct coroi_object object;
	struct coroi_waitq queue;
	uint64_t owner; /* atomic; Go too changes it by compare-and-swap */
};
COROI_VIEW(struct coroi_mutex, coro_mutex, coroi_mutex_of)
_Static_assert(offsetof(struct coroi_mutex, owner) == COROI_MUTEX_OWNER, "Go finds it there");

/* coroi_mutex_is_owner - relaxed: if it is the caller, nobody changes that. */
static inline bool coroi_mutex_is_owner(const struct coroi_mutex *m, uint64_t owner)
{
	return (at_load_rlx(&m->owner) & ~COROI_WAITED) == owner;
}

/* coroi_mutex_swap - the owner `to` owns it, instead of `from`; 0: nobody. False: `from` did not,
 * or it is bound elsewhere. */
static inline bool coroi_mutex_swap(struct coroi_mutex *m, uint64_t from, uint64_t to)
{
	if (coroi_likely(!m->object.home))
		return at_cas(&m->owner, &from, to);
	/* atomic for who asks from elsewhere */
	if (at_load_rlx(&m->owner) != from || !coroi_object_is_home(&m->object, coroi_here()))
		return false;
	at_store_rlx(&m->owner, to);
	return true;
}

/* coroi_mutex_lock_slow - coro_mutex_lock by mine. again: the caller's waiter, of a wait that is
 * over; then neither deadline nor cancel ends this one. Or NULL. */
COROI_NOINLINE int coroi_mutex_lock_slow(struct coroi_mutex *m, uint64_t mine, uint64_t deadline,
					 struct coroi_waiter *again);

#endif
