/*
 * object.h - what semaphores, mutexes, reader-writer locks, conditions, latches and once have in
 * common.
 *
 * Each begins with {object, queue}: a coroi_object and one queue, served first come, first served.
 * A call that gives something back hands it to the first waiter in the queue, which owns it from
 * then on (WTQ2 of waitq.h), and no newcomer overtakes a waiter. So nothing is given to a waiter
 * that has left the queue; and a waiter that was given something before its cancel keeps it.
 *
 * A call enters the object, tries, and answers: it leaves the object and returns, or it waits in
 * the queue if the try came to COROI_WAITS.
 */
#ifndef COROI_OBJECT_H
#define COROI_OBJECT_H

#include "sync/gowait.h"

#include <stddef.h>

/* COROI_VIEW - of(p) is the object in the words of its public type, which are all zero at the
 * start. */
#define COROI_VIEW(type, public, of)                                                 \
	_Static_assert(sizeof(type) <= sizeof(public), "it fits its public type");   \
	_Static_assert(offsetof(type, object) == 0 &&                                \
			       offsetof(type, queue) == sizeof(struct coroi_object), \
		       "it begins with {object, queue}");                            \
	static inline type *of(public *p)                                            \
	{                                                                            \
		return (type *)(void *)p;                                            \
	}

/* Where a semaphore, or a latch, has a word for Go alone, which C never reads. */
#define COROI_GO_WORD 40

/* coroi_object_queue - the queue of o. */
static inline struct coroi_waitq *coroi_object_queue(struct coroi_object *o)
{
	return (struct coroi_waitq *)(void *)(o + 1);
}

/* coroi_object_init - all `bytes` at p become zero, but for the coroi_object at the start. An error
 * changes nothing. */
int coroi_object_init(void *p, size_t bytes, uint32_t flags);

/* coroi_object_destroy - destroy the object at p, which may be NULL. CORO_EBUSY: there are waiters,
 * or used(o) is true. used: called with o entered; may be NULL. */
int coroi_object_destroy(void *p, bool (*used)(struct coroi_object *o));

/* coroi_object_enter_at - coroi_object_enter of the object at p. NULL: CORO_EINVAL. */
static inline int coroi_object_enter_at(void *p)
{
	return coroi_likely(p != NULL) ? coroi_object_enter(p) : CORO_EINVAL;
}

/* coroi_object_leave_waking - leave o, which is entered, and wake the waiters in woken. Returns
 * CORO_OK. */
int coroi_object_leave_waking(struct coroi_object *o, const struct coroi_chain *woken);

/* coroi_object_take - move up to `most` waiters of o, which is entered, from its queue to `taken`
 * (WTQ2). Returns how many. */
uint64_t coroi_object_take(struct coroi_object *o, uint64_t most, struct coroi_chain *taken);

/* How a wait is reported: its kind, and the name of the call. */
struct coroi_wait_as {
	enum coro_wait_kind what;
	const char *call;
};

/* coroi_object_wait_slow - coroi_object_wait, the general way. */
COROI_NOINLINE int coroi_object_wait_slow(struct coroi_object *o, const struct coroi_wait_as *as,
					  uint8_t n, uint64_t owner, uint64_t deadline);

/* coroi_object_wait - WTQ1: the caller, at w (coroi_here), waits in the queue of o. o is entered,
 * and is left. home: o is bound. n, owner: of the waiter. */
static inline __attribute__((always_inline)) int
coroi_object_wait(struct coroi_worker *w, struct coroi_object *o, bool home,
		  const struct coroi_wait_as *as, uint8_t n, uint64_t owner, uint64_t deadline)
{
	struct coroi_rec *me, *next = coroi_wait_begin(w, deadline, &me);
	struct coroi_waiter x;

	if (coroi_unlikely(!next))
		return coroi_object_wait_slow(o, as, n, owner, deadline);
	coroi_waiter_init_as(&x, o, home, me, n, NULL);
	x.owner = owner;
	return coroi_waiter_hand_over(w, me, &x, o, home, coroi_object_queue(o), as->what, next);
}

/* coroi_object_answer - what a call returns that does not wait: status, or CORO_ETIMEDOUT for
 * COROI_WAITS. o is entered, and is left. */
static inline int coroi_object_answer(struct coroi_object *o, int status)
{
	if (status == COROI_WAITS)
		status = CORO_ETIMEDOUT;
	coroi_object_leave(o);
	return status;
}

/* coroi_object_answer_waiting - what a call returns after a try that came to status. For
 * COROI_WAITS the call waits, as coroi_object_wait. o is entered, and is left. */
static inline __attribute__((always_inline)) int
coroi_object_answer_waiting(struct coroi_object *o, int status, const struct coroi_wait_as *as,
			    uint8_t n, uint64_t owner, uint64_t deadline)
{
	if (status == COROI_WAITS)
		return coroi_object_wait(coroi_here(), o, o->home, as, n, owner, deadline);
	coroi_object_leave(o);
	return status;
}

/* coroi_object_answer_gowaiter - the same for a call by Go: g waits. NULL: the call does not
 * wait. */
int coroi_object_answer_gowaiter(struct coroi_object *o, int status, struct coroi_gowaiter *g,
				 uint8_t n, uint64_t owner);

/*
 * The owner of a lock, a number that is never another's:
 *
 *   a coroutine, of C or Go   its name (slab.h)
 *   a thread                  a number of its own, and COROI_THREAD, as coroi_numbered_owner says
 *   a goroutine               likewise, with COROI_GOROUTINE (gowait.h)
 *
 * 0 is nobody. COROI_WAITED is free for the lock. The end of a coroutine can be told from its name;
 * the end of a thread or a goroutine cannot.
 */
#define COROI_WAITED     (UINT64_C(1) << COROI_NAME_SHIFT)
#define COROI_THREAD     (UINT64_C(2) << COROI_NAME_SHIFT)
#define COROI_OWNER_KIND (COROI_THREAD | COROI_GOROUTINE)
#define COROI_OWNER_BITS 3
_Static_assert(((COROI_WAITED | COROI_OWNER_KIND) & ~COROI_NAME_FREE) == 0,
	       "names leave them free");

/* The owner of what nobody can lock any more. No caller is that. */
#define COROI_NO_OWNER (~COROI_WAITED)

/* coroi_numbered_owner - the owner of that kind with that number, below 2^61: the number's low bits
 * stand above the kind, and its high bits where a name has the generation. Go does the same. */
static inline uint64_t coroi_numbered_owner(uint64_t number, uint64_t kind)
{
	return (number << COROI_OWNER_BITS) << COROI_NAME_SHIFT |
	       (number << COROI_OWNER_BITS) >> COROI_NAME_SHIFT | kind;
}

/* coroi_lock_owner - the caller, as the owner of a lock. 0: the caller may own nothing.
 * coroi_lock_owner_slow - the same for a thread (me is NULL), or for a coroutine that was not named
 * yet. */
COROI_NOINLINE uint64_t coroi_lock_owner_slow(struct coroi_rec *me);

static inline uint64_t coroi_lock_owner(void)
{
	struct coroi_rec *me = coroi_current(coroi_self());

	return coroi_likely(me && coroi_is_named(me)) ? coroi_name(me) : coroi_lock_owner_slow(me);
}

/* coroi_lock_holder - the same for a caller that may own a lock already, in fewer instructions: of
 * a coroutine that was not named, and so owns nothing, a number that owns nothing. */
static inline uint64_t coroi_lock_holder(void)
{
	struct coroi_rec *me = coroi_current(coroi_self());

	return coroi_likely(me != NULL) ? coroi_name(me) : coroi_lock_owner_slow(NULL);
}

/* coroi_owner_has_ended - owner, which may be 0, is a coroutine that has ended. It may own a lock
 * still, and nobody unlocks that any more. All that it did is seen then. */
static inline bool coroi_owner_has_ended(uint64_t owner)
{
	return owner && !(owner & COROI_OWNER_KIND) && coroi_has_ended(owner);
}

/* What a lock's owners have left of what the lock guards. */
enum {
	COROI_SOUND,       /* nothing is known to be wrong */
	COROI_LEFT_LOCKED, /* an owner has ended: those that lock next are told, until it is repaired */
	COROI_LOST,        /* it was not repaired: nobody gets the lock any more */
};

/* coroi_object_fail - all waiters of o, which is entered, move to *taken with that status. */
void coroi_object_fail(struct coroi_object *o, int status, struct coroi_chain *taken);

#endif
