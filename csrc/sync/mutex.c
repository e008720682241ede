//go:build ignore
/* mutex.c - mutexes, see mutex.h. */
#include "sync/mutex.h"

int coro_mutex_init(coro_mutex *p, uint32_t flags)
{
	return coroi_object_init(p, sizeof(struct coroi_mutex), flags);
}

/* The owner of a destroyed mutex, so that no fast path takes it. */
#define DEAD (~UINT64_C(0) & ~COROI_WAITED)

/* mutex_is_held - if the mutex is not held, DEAD owns it from now on. Entered. */
static bool mutex_is_held(struct coroi_object *o)
{
	uint64_t free = 0;
	return !at_cas(&((struct coroi_mutex *)o)->owner, &free, DEAD);
}

int coro_mutex_destroy(coro_mutex *p)
{
	return coroi_object_destroy(p, mutex_is_held);
}

/* ---------------------------------------------------------------------------------- locking */

/* mutex_try - CORO_OK: mine owns m; CORO_EDEADLK: mine already did; COROI_WAITS: mine is to wait,
 * and COROI_WAITED is set; CORO_ETIMEDOUT: mine would have to wait, and may_wait is false. m is
 * entered. */
static int mutex_try(struct coroi_mutex *m, uint64_t mine, bool may_wait)
{
	uint64_t owner = at_load_rlx(&m->owner);

	if ((owner & ~COROI_WAITED) == mine)
		return CORO_EDEADLK;
	do {
		if (owner && !may_wait)
			return CORO_ETIMEDOUT;
	} while (!at_cas(&m->owner, &owner, owner ? owner | COROI_WAITED : mine));
	return owner ? COROI_WAITS : CORO_OK;
}

COROI_NOINLINE COROI_RETURNS_AFTER_SWITCH int coroi_mutex_lock_slow(struct coroi_mutex *m,
								    uint64_t mine,
								    uint64_t deadline,
								    struct coroi_waiter *again)
{
	static const struct coroi_wait_as as = {CORO_WAIT_MUTEX, "coro_mutex_lock"};
	struct coroi_rec *me;

	if (!mine)
		return CORO_EPERM;
	int status = coroi_object_enter(&m->object);
	if (status)
		return status;
	coroi_may_wait(&me); /* true, since there is an owner: only `me` is of interest */
	if ((status = mutex_try(m, mine, deadline && !(me && coroi_in_nowait(coroi_self())))) !=
	    COROI_WAITS) {
		coroi_object_leave(&m->object);
		return status == CORO_ETIMEDOUT
			       ? coroi_wont_wait(deadline ? CORO_ENOWAIT : status, as.call)
			       : status;
	}
	/* If there is no memory to wait with, COROI_WAITED stays: one unlock will look at the queue
	 * and find no waiter. */
	if (!again)
		return coroi_object_wait(coroi_here(), &m->object, m->object.home, &as, 0, mine,
					 deadline);
	coroi_waiter_init(again, &m->object, me, 0, NULL);
	again->owner = mine;
	return coroi_waiter_wait_in(again, &m->queue, as.what, deadline, true);
}

/* swap_mine - the usual path of a lock or an unlock: the current coroutine becomes the owner of p,
 * or owns it no more. False: the general way is to be taken. */
static inline bool swap_mine(coro_mutex *p, bool lock)
{
	struct coroi_worker *w = coroi_here();
	struct coroi_rec *me = coroi_current_here(w);

	if (coroi_unlikely(!p || !me))
		return false;
	struct coroi_mutex *m = coroi_mutex_of(p);
	uint64_t from = lock ? 0 : (uintptr_t)me, to = lock ? (uintptr_t)me : 0;
	if (w == m->object.worker && coroi_likely(coroi_is_pinned(me))) {
		if (coroi_unlikely(at_load_rlx(&m->owner) != from))
			return false;
		at_store_rlx(&m->owner, to);
		return true;
	}
	/* No load comes before the compare-and-swap: it would wait for the last swap of the word
	 * about as long as half a swap takes. */
	return coroi_likely(!m->object.home && at_cas(&m->owner, &from, to));
}

static COROI_NOINLINE int lock_general(coro_mutex *p, uint64_t deadline)
{
	if (!p)
		return CORO_EINVAL;
	uint64_t mine = coroi_lock_owner();
	struct coroi_mutex *m = coroi_mutex_of(p);
	return mine && coroi_mutex_swap(m, 0, mine)
		       ? CORO_OK
		       : coroi_mutex_lock_slow(m, mine, deadline, NULL);
}

int coro_mutex_lock(coro_mutex *p, uint64_t deadline)
{
	return coroi_likely(swap_mine(p, true)) ? CORO_OK : lock_general(p, deadline);
}

int coroi_mutex_lock_gowaiter(coro_mutex *p, uint64_t owner, struct coroi_gowaiter *g)
{
	struct coroi_mutex *m = coroi_mutex_of(p);
	int status = coroi_object_enter(&m->object);

	return status ? status
		      : coroi_object_answer_gowaiter(&m->object, mutex_try(m, owner, true), g, 0,
						     owner);
}

/* --------------------------------------------------------------------------------- unlocking */

static COROI_NOINLINE int unlock_slow(coro_mutex *p, uint64_t mine)
{
	struct coroi_mutex *m = coroi_mutex_of(p);
	int status = coroi_object_enter(&m->object);
	if (status)
		return status;
	uint64_t owner = at_load_rlx(&m->owner);
	if (!mine || (owner & ~COROI_WAITED) != mine)
		return coroi_object_answer(&m->object, CORO_EPERM);
	struct coroi_waiter *x = coroi_waitq_take(&m->queue);
	/* A release of what the mutex guards. */
	at_xchg(&m->owner, x ? x->owner | (m->queue.first ? COROI_WAITED : 0) : mine);
	coroi_object_leave(&m->object);
	/* No waiter was there. Setting the owner free is the last step, since the next owner may
	 * free the memory of the mutex. */
	if (!x)
		return coroi_mutex_unlock_as(p, mine);
	return coroi_waiter_wake_on(coroi_here(), x);
}

int coroi_mutex_unlock_as(coro_mutex *p, uint64_t owner)
{
	if (coroi_likely(owner && coroi_mutex_swap(coroi_mutex_of(p), owner, 0)))
		return CORO_OK;
	return unlock_slow(p, owner);
}

static COROI_NOINLINE int unlock_general(coro_mutex *p)
{
	return p ? coroi_mutex_unlock_as(p, coroi_lock_owner()) : CORO_EINVAL;
}

int coro_mutex_unlock(coro_mutex *p)
{
	return coroi_likely(swap_mine(p, false)) ? CORO_OK : unlock_general(p);
}
