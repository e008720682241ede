//go:build cgo && linux
/* rwlock.c - reader-writer locks: nobody overtakes, so a reader waits behind a writer who waits. */
#include "sync/object.h"

struct rwlock {
	struct coroi_object object;
	struct coroi_waitq queue; /* n: 1 for a writer */
	uint32_t readers;         /* that hold it */
	uint32_t written;         /* a writer holds it */
	uint64_t writer;          /* who */
};
COROI_VIEW(struct rwlock, coro_rwlock, rwlock_of)

int coro_rwlock_init(coro_rwlock *p, uint32_t flags)
{
	return coroi_object_init(p, sizeof(struct rwlock), flags);
}

/* rwlock_take - it is free for a reader, or a writer. */
static bool rwlock_take(struct rwlock *l, bool write, uint64_t owner)
{
	if (l->written || (write && l->readers))
		return false;
	l->readers += !write;
	l->written = write;
	l->writer = write ? owner : 0;
	return true;
}

/* rwlock_grant - to the first in the queue: a writer, or all readers up to the next one. */
static void rwlock_grant(struct rwlock *l, struct coroi_chain *woken)
{
	for (struct coroi_waiter *x; (x = l->queue.first) && rwlock_take(l, x->n, x->owner);) {
		coroi_waitq_remove(x);
		coroi_chain_add(woken, x);
	}
}

/* rwlock_try - CORO_OK: mine has it, or CORO_EDEADLK already had, for writing; COROI_WAITS: it is
 * to wait. Entered. */
static int rwlock_try(struct rwlock *l, bool write, uint64_t mine)
{
	if (l->written && l->writer == mine)
		return CORO_EDEADLK;
	return !l->queue.first && rwlock_take(l, write, mine) ? CORO_OK : COROI_WAITS;
}

/* rwlock_left - somebody waits no more: a writer who has left makes way for readers. */
static void rwlock_left(struct rwlock *l)
{
	struct coroi_chain woken = {NULL, NULL};

	if (coroi_object_enter(&l->object))
		return;
	rwlock_grant(l, &woken);
	coroi_object_leave(&l->object);
	coroi_chain_wake(&woken);
}

static int rwlock_lock(coro_rwlock *p, bool write, uint64_t deadline)
{
	static const struct coroi_wait_as as[] = {{CORO_WAIT_READ, "coro_rwlock_read"},
						  {CORO_WAIT_WRITE, "coro_rwlock_write"}};
	struct rwlock *l = rwlock_of(p);

	if (!p)
		return CORO_EINVAL;
	uint64_t mine = coroi_lock_owner();
	if (!mine)
		return CORO_EPERM;
	int status = coroi_object_enter(&l->object);
	if (status)
		return status;
	if ((status = rwlock_try(l, write, mine)) != COROI_WAITS) {
		coroi_object_leave(&l->object);
		return status;
	}
	status = coroi_object_wait(coroi_here(), &l->object, l->object.home, &l->queue, &as[write],
				   write, mine, deadline);
	if (status)
		rwlock_left(l);
	return status;
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
	int status = coroi_object_enter(&l->object);

	if (status)
		return status;
	if ((status = rwlock_try(l, write, owner)) == COROI_WAITS && g) {
		g->x.n = write;
		g->x.owner = owner;
		g->withdraw = rwlock_withdraw;
		return coroi_gowaiter_wait(g, &l->object, &l->queue);
	}
	coroi_object_leave(&l->object);
	return status == COROI_WAITS ? CORO_ETIMEDOUT : status;
}

int coro_rwlock_read(coro_rwlock *p, uint64_t deadline)
{
	return rwlock_lock(p, false, deadline);
}

int coro_rwlock_write(coro_rwlock *p, uint64_t deadline)
{
	return rwlock_lock(p, true, deadline);
}

/* rwlock_unlock - entered; leaves. */
static int rwlock_unlock(struct rwlock *l, bool may)
{
	struct coroi_chain woken = {NULL, NULL};

	if (!may) {
		coroi_object_leave(&l->object);
		return CORO_EPERM;
	}
	if (l->written)
		l->written = 0;
	else
		l->readers--;
	rwlock_grant(l, &woken);
	coroi_object_leave(&l->object);
	coroi_chain_wake(&woken);
	return CORO_OK;
}

int coro_rwlock_unlock(coro_rwlock *p)
{
	struct rwlock *l = rwlock_of(p);

	if (!p)
		return CORO_EINVAL;
	int status = coroi_object_enter(&l->object);
	return status ? status
		      : rwlock_unlock(l, l->written ? l->writer == coroi_lock_owner()
						    : l->readers != 0);
}

int coroi_rwlock_unlock_as(coro_rwlock *p, bool write, uint64_t owner)
{
	struct rwlock *l = rwlock_of(p);
	int status = coroi_object_enter(&l->object);

	if (status)
		return status;
	return rwlock_unlock(l,
			     write ? l->written && l->writer == owner : !l->written && l->readers);
}

static inline int rwlock_lock_leaf(struct rwlock *l, bool write, uint64_t owner)
{
	if (!coroi_object_enter_leaf(&l->object))
		return COROI_BY_CALL;
	int status = rwlock_try(l, write, owner);
	coroi_object_leave(&l->object);
	return status == COROI_WAITS ? CORO_ETIMEDOUT : status;
}

static inline int rwlock_unlock_leaf(struct rwlock *l, bool write, uint64_t owner)
{
	if (!coroi_object_enter_leaf(&l->object))
		return COROI_BY_CALL;
	bool may = !l->queue.first &&
		   (write ? l->written && l->writer == owner : !l->written && l->readers);
	if (may && write)
		l->written = 0;
	else if (may)
		l->readers--;
	coroi_object_leave(&l->object);
	return may ? CORO_OK : COROI_BY_CALL;
}

int coroi_rwlock_read_leaf(coro_rwlock *p, const uint64_t *owner)
{
	return rwlock_lock_leaf(rwlock_of(p), false, *owner);
}

int coroi_rwlock_write_leaf(coro_rwlock *p, const uint64_t *owner)
{
	return rwlock_lock_leaf(rwlock_of(p), true, *owner);
}

int coroi_rwlock_unread_leaf(coro_rwlock *p, const uint64_t *owner)
{
	return rwlock_unlock_leaf(rwlock_of(p), false, *owner);
}

int coroi_rwlock_unwrite_leaf(coro_rwlock *p, const uint64_t *owner)
{
	return rwlock_unlock_leaf(rwlock_of(p), true, *owner);
}

int coro_rwlock_destroy(coro_rwlock *p)
{
	if (!p)
		return CORO_EINVAL;
	struct rwlock *l = rwlock_of(p);
	int status = coroi_object_enter_end(&l->object);
	/* else nobody waits */
	return status ? status : coroi_object_end(&l->object, l->written || l->readers);
}
