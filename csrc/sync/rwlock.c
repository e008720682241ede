//go:build ignore
/* rwlock.c - reader-writer locks. No newcomer overtakes: a reader waits behind a writer that
 * waits. */
#include "sync/rwlock.h"

#include "sync/awaited.h"

struct rwlock {
	struct coroi_object object;
	struct coroi_waitq queue; /* n: 1 for a writer. Not empty: the lock is held */
	uint32_t readers;         /* number of readers that hold it */
	uint32_t written;         /* WRITTEN... */
	uint64_t writer;          /* that writer's owner */
};
COROI_VIEW(struct rwlock, coro_rwlock, rwlock_of)

/* Bits of `written`. */
enum {
	WRITTEN = 1, /* a writer holds the lock */
	LEFT = 2,    /* COROI_LEFT_LOCKED (object.h) */
	LOST = 4,    /* COROI_LOST, and no other bit */
	AWAITED = 8, /* with WRITTEN: it is noted under its writer (awaited.h) */
};

int coro_rwlock_init(coro_rwlock *p, uint32_t flags)
{
	return coroi_object_init(p, sizeof(struct rwlock), flags);
}

static void rwlock_inherit_of(struct coroi_object *o);
static const struct coroi_awaited_kind rwlocks = {.inherit = rwlock_inherit_of};

/* forget - AWT3 of awaited.h, not by the writer. */
static COROI_COLD void forget(struct rwlock *l)
{
	coroi_awaited_drop(&l->object, l->writer);
	l->written &= (uint32_t)~AWAITED;
}

/* writer_has_ended - a writer that has ended holds the lock, which is entered. */
static COROI_NOINLINE bool writer_has_ended(const struct rwlock *l)
{
	return l->written & WRITTEN && coroi_owner_has_ended(l->writer);
}

static bool rwlock_is_held(struct coroi_object *o)
{
	const struct rwlock *l = (struct rwlock *)o;
	return (l->written & WRITTEN && !writer_has_ended(l)) || l->readers;
}

int coro_rwlock_destroy(coro_rwlock *p)
{
	return coroi_object_destroy(p, rwlock_is_held);
}

/* --------------------------------------------------- steps of all calls; the lock is entered */

/* rwlock_take - true: the lock was free for a reader, or a writer, and was taken. */
static bool rwlock_take(struct rwlock *l, bool write, uint64_t owner)
{
	if (l->written & (WRITTEN | LOST) || (write && l->readers))
		return false;
	l->readers += !write;
	l->written |= write;
	l->writer = write ? owner : 0;
	return true;
}

/* rwlock_got - what a call returns that has got the lock. */
static inline int rwlock_got(const struct rwlock *l)
{
	return coroi_likely(!(l->written & LEFT)) ? CORO_OK : CORO_EOWNERDEAD;
}

/* rwlock_try - CORO_OK or CORO_EOWNERDEAD: mine holds the lock; CORO_EDEADLK: mine already held it
 * for writing; CORO_ENOTRECOVERABLE; COROI_WAITS: mine is to wait, unless writer_has_ended. */
static int rwlock_try(struct rwlock *l, bool write, uint64_t mine)
{
	if (!l->queue.first && rwlock_take(l, write, mine))
		return rwlock_got(l);
	if (l->written & WRITTEN && l->writer == mine)
		return CORO_EDEADLK;
	return l->written & LOST ? CORO_ENOTRECOVERABLE : COROI_WAITS;
}

/* rwlock_await - AWT1 of awaited.h: a caller is to wait for the lock, which is entered, or does.
 * False: a writer that has ended holds it. */
static COROI_NOINLINE bool rwlock_await(struct rwlock *l)
{
	if (!(l->written & WRITTEN))
		return true;
	if (l->written & AWAITED)
		return !writer_has_ended(l);
	if (!coroi_awaited(&l->object, &rwlocks, l->writer))
		return false;
	l->written |= AWAITED;
	return true;
}

/* rwlock_may_unlock - the owner `owner` holds the lock for writing, or a reader holds it. */
static inline bool rwlock_may_unlock(const struct rwlock *l, bool write, uint64_t owner)
{
	return write ? l->written & WRITTEN && l->writer == owner
		     : !(l->written & WRITTEN) && l->readers;
}

/* rwlock_give_back - not for a writer that was told, and has not repaired. */
static inline void rwlock_give_back(struct rwlock *l)
{
	if (l->written & WRITTEN)
		l->written = 0;
	else
		l->readers--;
}

/* rwlock_grant - give the lock to the first waiter if that is a writer, or to all readers before
 * the next writer. Leaves. */
static int rwlock_grant(struct rwlock *l)
{
	struct coroi_chain woken = {NULL, NULL};

	struct coroi_waiter *x;

	while ((x = l->queue.first) && rwlock_take(l, x->n, x->owner)) {
		coroi_waitq_remove(x);
		x->status = (int8_t)rwlock_got(l);
		coroi_chain_add(&woken, x);
	}
	if (x) /* true: the writer, if there is one, has not ended, or is looked at later */
		rwlock_await(l);
	return coroi_object_leave_waking(&l->object, &woken);
}

/* rwlock_inherit - a writer has ended that held the lock, which is entered: those that wait get it,
 * and are told. Leaves. */
static COROI_COLD void rwlock_inherit(struct rwlock *l)
{
	if (l->written & AWAITED)
		forget(l);
	l->written = LEFT;
	rwlock_grant(l);
}

/* rwlock_inherit_of - AWT4 of awaited.h. */
static void rwlock_inherit_of(struct coroi_object *o)
{
	struct rwlock *l = (struct rwlock *)o;

	if (writer_has_ended(l))
		rwlock_inherit(l);
	else
		coroi_object_leave(o);
}

void coroi_rwlock_look(coro_rwlock *p)
{
	struct rwlock *l = rwlock_of(p);

	if (coroi_object_enter(&l->object))
		return;
	if (writer_has_ended(l))
		rwlock_inherit(l);
	else
		coroi_object_leave(&l->object);
}

/* rwlock_enter_and_try - enter the lock, and try. *status: what the try came to, or why the lock
 * could not be entered, which is false then. */
static inline __attribute__((always_inline)) bool rwlock_enter_and_try(struct rwlock *l, bool write,
								       uint64_t mine, int *status)
{
	for (;;) {
		*status = coroi_object_enter(&l->object);
		if (coroi_unlikely(*status))
			return false;
		*status = rwlock_try(l, write, mine);
		if (coroi_likely(*status != COROI_WAITS) || rwlock_await(l))
			return true;
		rwlock_inherit(l);
	}
}

/* ---------------------------------------------------------------------------------- locking */

/* rwlock_left - a waiter has left the queue: a writer that has left makes way for readers. */
static void rwlock_left(struct rwlock *l)
{
	if (coroi_object_enter(&l->object))
		return;
	if (!l->queue.first && l->written & AWAITED)
		forget(l);
	rwlock_grant(l);
}

static int rwlock_lock(coro_rwlock *p, bool write, uint64_t deadline)
{
	static const struct coroi_wait_as as[] = {{CORO_WAIT_READ, "coro_rwlock_read"},
						  {CORO_WAIT_WRITE, "coro_rwlock_write"}};
	struct rwlock *l = rwlock_of(p);

	if (!p)
		return CORO_EINVAL;
	if (coroi_spend_here(coroi_here()))
		coroi_spent(deadline);
	uint64_t mine = coroi_lock_owner();
	int status;
	if (!mine)
		return CORO_EPERM;
	if (!rwlock_enter_and_try(l, write, mine, &status))
		return status;
	status = coroi_object_answer_waiting(&l->object, status, &as[write], write, mine, deadline);
	if (status && status != CORO_EOWNERDEAD)
		rwlock_left(l);
	return status;
}

int coro_rwlock_read(coro_rwlock *p, uint64_t deadline)
{
	return rwlock_lock(p, false, deadline);
}

int coro_rwlock_write(coro_rwlock *p, uint64_t deadline)
{
	return rwlock_lock(p, true, deadline);
}

static bool rwlock_withdraw(struct coroi_gowaiter *g)
{
	struct coroi_object *o = g->x.object;
	bool waits = coroi_waiter_withdraw(&g->x);

	if (waits)
		rwlock_left((struct rwlock *)o);
	return waits;
}

int coroi_rwlock_lock_gowaiter(coro_rwlock *p, bool write, uint64_t owner, struct coroi_gowaiter *g)
{
	struct rwlock *l = rwlock_of(p);
	int status;

	if (!rwlock_enter_and_try(l, write, owner, &status))
		return status;
	if (g)
		g->withdraw = rwlock_withdraw;
	return coroi_object_answer_gowaiter(&l->object, status, g, write, owner);
}

static inline int rwlock_lock_leaf(struct rwlock *l, bool write, uint64_t owner)
{
	if (!coroi_object_enter_leaf(&l->object, COROI_SPIN_PAUSE))
		return COROI_BY_CALL;
	int status = rwlock_try(l, write, owner);
	if (coroi_unlikely(status == COROI_WAITS) && writer_has_ended(l))
		status = COROI_BY_CALL;
	return coroi_object_answer(&l->object, status);
}

int coroi_rwlock_read_leaf(coro_rwlock *p, const uint64_t *owner)
{
	return rwlock_lock_leaf(rwlock_of(p), false, *owner);
}

int coroi_rwlock_write_leaf(coro_rwlock *p, const uint64_t *owner)
{
	return rwlock_lock_leaf(rwlock_of(p), true, *owner);
}

/* --------------------------------------------------------------------------------- unlocking */

/* rwlock_lose - nobody gets l any more, which is entered, and is left. */
static COROI_COLD int rwlock_lose(struct rwlock *l)
{
	struct coroi_chain woken = {NULL, NULL};

	l->written = LOST;
	coroi_object_fail(&l->object, CORO_ENOTRECOVERABLE, &woken);
	return coroi_object_leave_waking(&l->object, &woken);
}

/* rwlock_unlock_rare - rwlock_unlock with other bits than WRITTEN. */
static COROI_NOINLINE int rwlock_unlock_rare(struct rwlock *l)
{
	if (l->written & AWAITED) {
		coroi_awaited_no_more(&l->object, l->writer);
		l->written &= (uint32_t)~AWAITED;
	}
	if (l->written == (WRITTEN | LEFT))
		return rwlock_lose(l);
	rwlock_give_back(l);
	return rwlock_grant(l);
}

/* rwlock_unlock - l is entered, and is left. */
static inline __attribute__((always_inline)) int rwlock_unlock(struct rwlock *l, bool may)
{
	if (!may)
		return coroi_object_answer(&l->object, CORO_EPERM);
	if (coroi_unlikely(l->written & ~(uint32_t)WRITTEN))
		return rwlock_unlock_rare(l);
	rwlock_give_back(l);
	return rwlock_grant(l);
}

int coro_rwlock_unlock(coro_rwlock *p)
{
	struct rwlock *l = rwlock_of(p);
	int status = coroi_object_enter_at(p);

	return status ? status
		      : rwlock_unlock(l, l->written & WRITTEN ? l->writer == coroi_lock_holder()
							      : l->readers != 0);
}

int coroi_rwlock_unlock_as(coro_rwlock *p, bool write, uint64_t owner)
{
	struct rwlock *l = rwlock_of(p);
	int status = coroi_object_enter(&l->object);

	return status ? status : rwlock_unlock(l, rwlock_may_unlock(l, write, owner));
}

static inline int rwlock_unlock_leaf(struct rwlock *l, bool write, uint64_t owner)
{
	if (!coroi_object_enter_leaf(&l->object, COROI_SPIN_PAUSE))
		return COROI_BY_CALL;
	bool may = !l->queue.first && !(l->written & ~(uint32_t)WRITTEN) &&
		   rwlock_may_unlock(l, write, owner);
	if (may)
		rwlock_give_back(l);
	return coroi_object_answer(&l->object, may ? CORO_OK : COROI_BY_CALL);
}

int coroi_rwlock_unread_leaf(coro_rwlock *p, const uint64_t *owner)
{
	return rwlock_unlock_leaf(rwlock_of(p), false, *owner);
}

int coroi_rwlock_unwrite_leaf(coro_rwlock *p, const uint64_t *owner)
{
	return rwlock_unlock_leaf(rwlock_of(p), true, *owner);
}

int coroi_rwlock_consistent_as(coro_rwlock *p, uint64_t owner)
{
	struct rwlock *l = rwlock_of(p);
	int status = coroi_object_enter(&l->object);

	if (status)
		return status;
	if (!rwlock_may_unlock(l, true, owner))
		return coroi_object_answer(&l->object, CORO_EPERM);
	l->written &= (uint32_t)~LEFT;
	return coroi_object_answer(&l->object, CORO_OK);
}

int coro_rwlock_consistent(coro_rwlock *p)
{
	return p ? coroi_rwlock_consistent_as(p, coroi_lock_holder()) : CORO_EINVAL;
}
