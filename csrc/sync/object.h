/*
 * object.h - what semaphores, mutexes, reader-writer locks, conditions, latches and once have in
 * common.
 *
 * Each is a coroi_object with one queue, served first come, first served: whoever gives something
 * back hands it to the first in the queue, who owns it from then on (Q2 of waitq.h), and nobody
 * overtakes those who wait. So nothing is given to one who has left, and whoever finds at a cancel
 * that it has been given it keeps it.
 */
#ifndef COROI_OBJECT_H
#define COROI_OBJECT_H

#include "sync/gowait.h"

/* COROI_VIEW - of(p) is what lies in the words of its public type, all zero at the start. */
#define COROI_VIEW(type, public, of)                                               \
	_Static_assert(sizeof(type) <= sizeof(public), "it fits its public type"); \
	static inline type *of(public *p)                                          \
	{                                                                          \
		return (type *)(void *)p;                                          \
	}

/* coroi_object_init - all zeros but for the object, which is the first of p's bytes. An error
 * changes nothing. */
int coroi_object_init(void *p, size_t bytes, uint32_t flags);

/* coroi_object_end - o is destroyed, if nobody uses it. Entered; leaves. */
int coroi_object_end(struct coroi_object *o, bool used);

/* Who waits, as it is reported. */
struct coroi_wait_as {
	enum coro_wait_kind what;
	const char *call;
};

/* coroi_object_wait_slow - coroi_object_wait, the general way. */
COROI_NOINLINE int coroi_object_wait_slow(struct coroi_object *o, struct coroi_waitq *q,
					  const struct coroi_wait_as *as, uint8_t n, uint64_t owner,
					  uint64_t deadline);

/* coroi_object_wait - Q1: the caller, at w (coroi_here), waits in q of o, which is entered, bound
 * (home) or not, and is left. */
static inline __attribute__((always_inline)) int
coroi_object_wait(struct coroi_worker *w, struct coroi_object *o, bool home, struct coroi_waitq *q,
		  const struct coroi_wait_as *as, uint8_t n, uint64_t owner, uint64_t deadline)
{
	struct coroi_rec *me, *next = coroi_wait_begin(w, deadline, &me);
	struct coroi_waiter x;

	if (coroi_unlikely(!next))
		return coroi_object_wait_slow(o, q, as, n, owner, deadline);
	coroi_waiter_init_as(&x, o, home, me, n, NULL);
	x.owner = owner;
	return coroi_waiter_hand_over(w, me, &x, o, home, q, as->what, next);
}

/* coroi_lock_owner - who the caller is, as the owner of a lock: the coroutine's record, or
 * (COROI_THREAD set) the thread's owner. 0: nobody who may own anything. A goroutine's has
 * COROI_GOROUTINE set (gowait.h). */
#define COROI_THREAD UINT64_C(2)
COROI_NOINLINE uint64_t coroi_lock_owner_thread(void);

static inline uint64_t coroi_lock_owner(void)
{
	struct coroi_worker *w = coroi_self();
	return coroi_likely(coroi_current(w) != NULL) ? (uintptr_t)coroi_current(w)
						      : coroi_lock_owner_thread();
}

#endif
