//go:build ignore
/* mutex.c - mutexes, see mutex.h. */
#include "sync/mutex.h"

#include "sync/awaited.h"

int coro_mutex_init(coro_mutex *p, uint32_t flags)
{
	return coroi_object_init(p, sizeof(struct coroi_mutex), flags);
}

/* take_over - MTX1 and MTX2: if the owner of m, which is entered, has ended, `to` owns m from now
 * on. Acquire: the owner's generation is seen, and no older one. */
static bool take_over(struct coroi_mutex *m, uint64_t to)
{
	uint64_t owner = at_load_acq(&m->owner);

	if (coroi_likely(!coroi_owner_has_ended(owner & ~COROI_WAITED)) ||
	    !at_cas(&m->owner, &owner, to))
		return false;
	if (owner & COROI_WAITED)
		coroi_awaited_drop(&m->object, owner & ~COROI_WAITED);
	return true;
}

/* mutex_is_held - if the mutex is not held, COROI_NO_OWNER owns it from now on. Entered. */
static bool mutex_is_held(struct coroi_object *o)
{
	struct coroi_mutex *m = (struct coroi_mutex *)o;
	uint64_t free = 0;

	if (m->state == COROI_LOST)
		return false;
	return !take_over(m, COROI_NO_OWNER) && !at_cas(&m->owner, &free, COROI_NO_OWNER);
}

int coro_mutex_destroy(coro_mutex *p)
{
	return coroi_object_destroy(p, mutex_is_held);
}

/* ---------------------------------------------------------------------------------- locking */

/* inherit - take_over by one that may lock m, and is to be told. */
static bool inherit(struct coroi_mutex *m, uint64_t owner)
{
	if (coroi_likely(!take_over(m, owner | COROI_WAITED)))
		return false;
	m->state = COROI_LEFT_LOCKED;
	return true;
}

static void mutex_inherit(struct coroi_object *o);
static const struct coroi_awaited_kind mutexes = {.inherit = mutex_inherit};

/* heir - if the owner of m, which is entered, has ended, the first waiter (NULL: there is none)
 * owns m from now on, and is to be woken after m was left. */
static struct coroi_waiter *heir(struct coroi_mutex *m)
{
	struct coroi_waiter *x = m->queue.first;

	if (coroi_likely(!x) || !inherit(m, x->owner))
		return NULL;
	coroi_waitq_remove(x);
	x->status = CORO_EOWNERDEAD;
	if (m->queue.first) /* true: x waits */
		coroi_awaited(&m->object, &mutexes, x->owner);
	return x;
}

/* mutex_inherit - AWT4 of awaited.h. */
static void mutex_inherit(struct coroi_object *o)
{
	struct coroi_waiter *x = heir((struct coroi_mutex *)o);

	coroi_object_leave(o);
	if (x)
		coroi_waiter_wake(x);
}

/* mutex_enter - coroi_object_enter. If the owner has ended and there are waiters, the first of them
 * owns m. */
static int mutex_enter(struct coroi_mutex *m)
{
	int status = coroi_object_enter(&m->object);
	struct coroi_waiter *x;

	while (!status && coroi_unlikely((x = heir(m)) != NULL)) {
		coroi_object_leave(&m->object);
		coroi_waiter_wake_on(coroi_here(), x);
		status = coroi_object_enter(&m->object);
	}
	return status;
}

/* mutex_left - the caller waits no more, and was given nothing. */
static COROI_COLD void mutex_left(struct coroi_mutex *m)
{
	if (coroi_object_enter(&m->object))
		return;
	if (!m->queue.first)
		coroi_awaited_drop(&m->object, at_load_rlx(&m->owner) & ~COROI_WAITED);
	coroi_object_leave(&m->object);
}

void coroi_mutex_look(coro_mutex *p)
{
	if (!mutex_enter(coroi_mutex_of(p)))
		coroi_object_leave(&coroi_mutex_of(p)->object);
}

/* mutex_try - CORO_OK or CORO_EOWNERDEAD: mine owns m; CORO_EDEADLK: mine already did;
 * CORO_ENOTRECOVERABLE; COROI_WAITS: mine is to wait, and COROI_WAITED is set; CORO_ETIMEDOUT: mine
 * would have to wait, and may_wait is false. m is entered, by mutex_enter. */
static int mutex_try(struct coroi_mutex *m, uint64_t mine, bool may_wait)
{
	uint64_t owner = at_load_rlx(&m->owner);

	if ((owner & ~COROI_WAITED) == mine)
		return CORO_EDEADLK;
	if (m->state == COROI_LOST)
		return CORO_ENOTRECOVERABLE;
	do {
		if (!m->queue.first && inherit(m, mine))
			return CORO_EOWNERDEAD;
		do {
			if (owner && !may_wait)
				return CORO_ETIMEDOUT;
		} while (!at_cas(&m->owner, &owner, owner ? owner | COROI_WAITED : mine));
		if (!owner)
			return CORO_OK;
		/* AWT1 of awaited.h: false, and the owner has ended meanwhile */
	} while (!m->queue.first && !coroi_awaited(&m->object, &mutexes, owner & ~COROI_WAITED));
	return COROI_WAITS;
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
	int status = mutex_enter(m);
	if (status)
		return status;
	coroi_may_wait(&me); /* true, since there is an owner: only `me` is of interest */
	bool may_wait = again || (deadline && !(me && coroi_in_nowait(coroi_self(), deadline)));
	if ((status = mutex_try(m, mine, may_wait)) != COROI_WAITS) {
		coroi_object_leave(&m->object);
		return status == CORO_ETIMEDOUT
			       ? coroi_wont_wait(deadline ? CORO_ENOWAIT : status, as.call)
			       : status;
	}
	/* If there is no memory to wait with, COROI_WAITED stays: one unlock will look at the queue
	 * and find no waiter. */
	if (!again) {
		status = coroi_object_wait(coroi_here(), &m->object, m->object.home, &as, 0, mine,
					   deadline);
		if (coroi_unlikely(status) && status != CORO_EOWNERDEAD)
			mutex_left(m);
		return status;
	}
	coroi_waiter_init(again, &m->object, me, 0, NULL);
	again->owner = mine;
	return coroi_waiter_wait_in(again, &m->queue, as.what, deadline, true);
}

/* owner_half - the half of a bound mutex's owner that has the generation (0) or the place (1). The
 * usual paths use halves, which takes fewer instructions than to put the name together. A thread
 * that may not use m may read one half before, and one after; that is nobody's name then. */
static inline coroi_half *owner_half(struct coroi_mutex *m, unsigned which)
{
	return (coroi_half *)&m->owner + which;
}

/* try_lock - the usual path of a lock: the current coroutine becomes the owner of p. False: the
 * general way is to be taken. No other thread writes the word of a bound mutex, which is read as a
 * plain one so that the comparison is one instruction. That of a shared mutex is not read before
 * the compare-and-swap: the load would wait for the last swap about as long as half a swap takes.
 * */
static inline bool try_lock(coro_mutex *p)
{
	struct coroi_worker *w = coroi_here();
	struct coroi_rec *me = coroi_current_here(w);
	uint64_t nobody = 0;

	if (coroi_unlikely(!p || !me) || coroi_spend(w))
		return false;
	struct coroi_mutex *m = coroi_mutex_of(p);
	if (w == m->object.worker) {
		if (coroi_unlikely(!coroi_is_pinned_named(me) || m->owner))
			return false;
		at_store_rlx(owner_half(m, 0), coroi_generation(me));
		at_store_rlx(owner_half(m, 1), coroi_low(me));
		return true;
	}
	return coroi_likely(!m->object.home && coroi_is_named(me) &&
			    at_cas(&m->owner, &nobody, coroi_name(me)));
}

/* try_unlock - the usual path of an unlock. A coroutine that was not named owns nothing, whatever
 * its name will be. One that owns a bound mutex was pinned when it locked: whether it still is, is
 * not asked here, on that worker. */
static inline bool try_unlock(coro_mutex *p)
{
	struct coroi_worker *w = coroi_here();
	struct coroi_rec *me = coroi_current_here(w);

	if (coroi_unlikely(!p || !me))
		return false;
	struct coroi_mutex *m = coroi_mutex_of(p);
	if (w == m->object.worker) {
		if (coroi_unlikely(*owner_half(m, 1) != coroi_low(me) ||
				   *owner_half(m, 0) != coroi_generation(me)))
			return false;
		at_store_rlx(&m->owner, 0);
		return true;
	}
	uint64_t mine = coroi_name(me);
	return coroi_likely(!m->object.home && at_cas(&m->owner, &mine, 0));
}

static COROI_NOINLINE int lock_general(coro_mutex *p, uint64_t deadline)
{
	if (!p)
		return CORO_EINVAL;
	if (coroi_has_spent(coroi_here()))
		coroi_spent(deadline);
	uint64_t mine = coroi_lock_owner();
	struct coroi_mutex *m = coroi_mutex_of(p);
	return mine && coroi_mutex_swap(m, 0, mine)
		       ? CORO_OK
		       : coroi_mutex_lock_slow(m, mine, deadline, NULL);
}

int coro_mutex_lock(coro_mutex *p, uint64_t deadline)
{
	return coroi_likely(try_lock(p)) ? CORO_OK : lock_general(p, deadline);
}

static bool mutex_withdraw(struct coroi_gowaiter *g)
{
	struct coroi_object *o = g->x.object;
	bool waits = coroi_waiter_withdraw(&g->x);

	if (waits)
		mutex_left((struct coroi_mutex *)o);
	return waits;
}

int coroi_mutex_lock_gowaiter(coro_mutex *p, uint64_t owner, struct coroi_gowaiter *g)
{
	struct coroi_mutex *m = coroi_mutex_of(p);
	int status = mutex_enter(m);

	if (g)
		g->withdraw = mutex_withdraw;
	return status ? status
		      : coroi_object_answer_gowaiter(&m->object, mutex_try(m, owner, g != NULL), g,
						     0, owner);
}

/* --------------------------------------------------------------------------------- unlocking */

/* lose - MTX3, of m, which is entered and is left: nobody gets it any more. */
static COROI_COLD int lose(struct coroi_mutex *m)
{
	struct coroi_chain woken = {NULL, NULL};

	m->state = COROI_LOST;
	at_xchg(&m->owner, COROI_NO_OWNER);
	coroi_object_fail(&m->object, CORO_ENOTRECOVERABLE, &woken);
	return coroi_object_leave_waking(&m->object, &woken);
}

static COROI_NOINLINE int unlock_slow(coro_mutex *p, uint64_t mine)
{
	struct coroi_mutex *m = coroi_mutex_of(p);
	int status = coroi_object_enter(&m->object);
	if (status)
		return status;
	uint64_t owner = at_load_rlx(&m->owner);
	if (!mine || (owner & ~COROI_WAITED) != mine)
		return coroi_object_answer(&m->object, CORO_EPERM);
	coroi_awaited_no_more(&m->object, mine);
	if (coroi_unlikely(m->state == COROI_LEFT_LOCKED))
		return lose(m);
	struct coroi_waiter *x = coroi_waitq_take(&m->queue);
	/* A release of what the mutex guards. */
	at_xchg(&m->owner, x ? x->owner | (m->queue.first ? COROI_WAITED : 0) : mine);
	if (m->queue.first) /* true: x waits */
		coroi_awaited(&m->object, &mutexes, x->owner);
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
	return p ? coroi_mutex_unlock_as(p, coroi_lock_holder()) : CORO_EINVAL;
}

int coro_mutex_unlock(coro_mutex *p)
{
	return coroi_likely(try_unlock(p)) ? CORO_OK : unlock_general(p);
}

int coroi_mutex_consistent_as(coro_mutex *p, uint64_t owner)
{
	struct coroi_mutex *m = coroi_mutex_of(p);
	int status = coroi_object_enter(&m->object);

	if (status)
		return status;
	if (!owner || !coroi_mutex_is_owner(m, owner))
		return coroi_object_answer(&m->object, CORO_EPERM);
	m->state = COROI_SOUND; /* a COROI_WAITED too many costs one slow unlock */
	return coroi_object_answer(&m->object, CORO_OK);
}

int coro_mutex_consistent(coro_mutex *p)
{
	return p ? coroi_mutex_consistent_as(p, coroi_lock_holder()) : CORO_EINVAL;
}
