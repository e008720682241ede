//go:build cgo && linux
/* mutex.c - mutexes, see mutex.h. */
#include "sync/mutex.h"

int coro_mutex_init(coro_mutex *p, uint32_t flags)
{
	return coroi_object_init(p, sizeof(struct coroi_mutex), flags);
}

#define DEAD (~UINT64_C(0) & ~COROI_WAITED) /* an owner: it was destroyed */

/* take_or_wait - CORO_OK: mine has it, or CORO_EDEADLK already had; COROI_WAITS: it is to wait;
 * CORO_ETIMEDOUT: it would have to. Entered. */
static int take_or_wait(struct coroi_mutex *m, uint64_t mine, bool may_wait)
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
	coroi_may_wait(&me); /* it may: mine tells */
	if ((status = take_or_wait(m, mine, deadline && !(me && coroi_self()->nowait))) !=
	    COROI_WAITS) {
		coroi_object_leave(&m->object);
		return status == CORO_ETIMEDOUT
			       ? coroi_wont_wait(deadline ? CORO_ENOWAIT : status, as.call)
			       : status;
	}
	if (!again) /* no memory: COROI_WAITED stays, who unlocks looks once in vain */
		return coroi_object_wait(coroi_here(), &m->object, m->object.home, &m->queue, &as,
					 0, mine, deadline);
	coroi_waiter_init(again, &m->object, me, 0, NULL);
	again->owner = mine;
	return coroi_waiter_wait_in(again, &m->queue, as.what, deadline, true);
}

/* swap_mine - the usual path: the current coroutine owns p instead of nobody, or nobody instead of
 * it. False: the general way. */
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
	/* Without a look first, which would wait for the last swap as long as half of this one
	 * takes. */
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

	if (status)
		return status;
	if ((status = take_or_wait(m, owner, true)) == COROI_WAITS) {
		g->x.owner = owner;
		return coroi_gowaiter_wait(g, &m->object, &m->queue);
	}
	coroi_object_leave(&m->object);
	return status;
}

static COROI_NOINLINE int unlock_slow(coro_mutex *p, uint64_t mine)
{
	struct coroi_mutex *m = coroi_mutex_of(p);
	int status = coroi_object_enter(&m->object);
	if (status)
		return status;
	uint64_t owner = at_load_rlx(&m->owner);
	if (!mine || (owner & ~COROI_WAITED) != mine) {
		coroi_object_leave(&m->object);
		return CORO_EPERM;
	}
	struct coroi_waiter *x = coroi_waitq_take(&m->queue);
	/* a release for what it guards */
	at_xchg(&m->owner, x ? x->owner | (m->queue.first ? COROI_WAITED : 0) : mine);
	coroi_object_leave(&m->object);
	/* they have left. It is free as the last step: the next owner may free its memory */
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

int coro_mutex_destroy(coro_mutex *p)
{
	if (!p)
		return CORO_EINVAL;
	struct coroi_mutex *m = coroi_mutex_of(p);
	uint64_t free = 0;
	int status = coroi_object_enter_end(&m->object);
	/* so that no fast path takes it */
	return status ? status : coroi_object_end(&m->object, !at_cas(&m->owner, &free, DEAD));
}
