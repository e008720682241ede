//go:build cgo && linux
/* sync.c - semaphores, mutexes, reader-writer locks, conditions, latches and once; channels are in chan.c. */
#include "sync.h"

#include <string.h>

int coroi_sync_init(void *p, size_t bytes, uint32_t flags)
{
	struct coroi_worker *w = coroi_self();
	struct coroi_object o;

	if (!p || (w && w->current && coroi_is_hidden(w->current, p)))
		return CORO_EINVAL;
	int status = coroi_object_bind(&o, flags);

	if (!status) {
		memset(p, 0, bytes);
		*(struct coroi_object *)p = o;
	}
	return status;
}

int coroi_sync_end(struct coroi_object *o, bool used)
{
	if (!used)
		coroi_object_kill(o);
	coroi_object_leave(o);
	return used ? CORO_EBUSY : CORO_OK;
}

COROI_NOINLINE int coroi_sync_wait_slow(struct coroi_object *o, struct coroi_waitq *q, const struct coroi_wait_as *as, uint32_t n,
					uint64_t mark, uint64_t deadline)
{
	struct coroi_rec *me;
	int status = coroi_must_wait(&me, deadline);

	if (coroi_unlikely(status)) {
		coroi_object_leave(o);
		return coroi_wont_wait(status, as->call);
	}
	struct coroi_waiter *x = coroi_waiter_for(o, me, 0, &status);
	if (!x)
		return status;
	coroi_waiter_init(x, o, me, n, NULL);
	x->mark = mark;
	status = coroi_waiter_wait_in(x, q, as->what, deadline, false);
	coroi_waiter_end(me, x);
	return status;
}

static __thread uint64_t thread_mark __attribute__((aligned(8)));

COROI_NOINLINE uint64_t coroi_mark_of_thread(void)
{
	struct coroi_rec *me;
	return coroi_may_wait(&me) ? (uintptr_t)&thread_mark | COROI_THREAD : 0;
}

/* ------------------------------------------------------------------------------------ semaphores */

struct sem {
	struct coroi_object object;
	struct coroi_waitq queue; /* not empty: permits is 0 */
	uint64_t permits;
};
COROI_VIEW(struct sem, coro_sem, sem_of)

int coro_sem_init(coro_sem *p, uint64_t permits, uint32_t flags)
{
	int status = permits <= CORO_PERMITS_MAX ? coroi_sync_init(p, sizeof(struct sem), flags) : CORO_EINVAL;

	if (!status)
		sem_of(p)->permits = permits;
	return status;
}

static COROI_NOINLINE int sem_wait(struct coroi_worker *w, struct sem *s, uint64_t deadline)
{
	static const struct coroi_wait_as as = {'s', "coro_sem_acquire"};
	return coroi_sync_wait(w, &s->object, &s->queue, &as, 0, 0, deadline);
}

/* sem_acquire - entered; leaves. */
static inline int sem_acquire(struct coroi_worker *w, struct sem *s, uint64_t deadline)
{
	if (coroi_unlikely(!s->permits))
		return sem_wait(w, s, deadline);
	s->permits--;
	coroi_object_leave(&s->object);
	return CORO_OK;
}

static COROI_NOINLINE int sem_acquire_slow(coro_sem *p, uint64_t deadline)
{
	int status = p ? coroi_object_enter(&sem_of(p)->object) : CORO_EINVAL;
	return status ? status : sem_acquire(coroi_self(), sem_of(p), deadline);
}

int coro_sem_acquire(coro_sem *p, uint64_t deadline)
{
	struct coroi_worker *w = coroi_self();

	if (coroi_unlikely(!p || !coroi_object_try(&sem_of(p)->object, w)))
		return sem_acquire_slow(p, deadline);
	return sem_acquire(w, sem_of(p), deadline);
}

int coroi_sem_acquire_guest(coro_sem *p, struct coroi_guest *g)
{
	struct sem *s = sem_of(p);
	int status = coroi_object_enter(&s->object);

	if (status)
		return status;
	if (!s->permits)
		return coroi_guest_wait(g, &s->object, &s->queue);
	s->permits--;
	coroi_object_leave(&s->object);
	return CORO_OK;
}

/* sem_release_many - entered; leaves. */
static COROI_NOINLINE int sem_release_many(struct sem *s, uint64_t n)
{
	struct coroi_chain woken = {NULL, NULL};
	struct coroi_waiter *x;

	if (n > CORO_PERMITS_MAX || s->permits + n > CORO_PERMITS_MAX) {
		coroi_object_leave(&s->object);
		return CORO_EOVERFLOW;
	}
	for (; n && (x = coroi_waitq_take(&s->queue)); n--)
		coroi_chain_add(&woken, x);
	s->permits += n;
	coroi_object_leave(&s->object);
	coroi_chain_wake(&woken);
	return CORO_OK;
}

/* sem_release - entered; leaves. */
static inline int sem_release(struct coroi_worker *w, struct sem *s, uint64_t n)
{
	struct coroi_waiter *x;
	bool home = s->object.home;

	if (coroi_unlikely(n != 1))
		return sem_release_many(s, n);
	if (s->queue.first && coroi_likely((x = coroi_waitq_take(&s->queue)) != NULL)) {
		coroi_object_leave(&s->object);
		return home ? coroi_waiter_wake_home(w, x) : coroi_waiter_wake_on(w, x);
	}
	if (coroi_unlikely(s->permits == CORO_PERMITS_MAX))
		return sem_release_many(s, n);
	s->permits++;
	coroi_object_leave(&s->object);
	return CORO_OK;
}

static COROI_NOINLINE int sem_release_slow(coro_sem *p, uint64_t n)
{
	int status = p && n ? coroi_object_enter(&sem_of(p)->object) : CORO_EINVAL;
	return status ? status : sem_release(coroi_self(), sem_of(p), n);
}

int coro_sem_release(coro_sem *p, uint64_t n)
{
	struct coroi_worker *w = coroi_self();

	if (coroi_unlikely(!p || !n || !coroi_object_try(&sem_of(p)->object, w)))
		return sem_release_slow(p, n);
	return sem_release(w, sem_of(p), n);
}

int coroi_sem_acquire_leaf(coro_sem *p, void *unused)
{
	struct sem *s = sem_of(p);
	(void)unused;

	if (!coroi_object_enter_leaf(&s->object))
		return COROI_BY_CALL;
	bool may = s->permits > 0;
	s->permits -= may;
	coroi_object_leave(&s->object);
	return may ? CORO_OK : CORO_ETIMEDOUT;
}

int coroi_sem_release_leaf(coro_sem *p, void *unused)
{
	struct sem *s = sem_of(p);
	(void)unused;

	if (!coroi_object_enter_leaf(&s->object))
		return COROI_BY_CALL;
	bool may = !s->queue.first && s->permits < CORO_PERMITS_MAX;
	s->permits += may;
	coroi_object_leave(&s->object);
	return may ? CORO_OK : COROI_BY_CALL;
}

int coro_sem_destroy(coro_sem *p)
{
	if (!p)
		return CORO_EINVAL;
	int status = coroi_object_enter_end(&sem_of(p)->object);
	return status ? status : coroi_sync_end(&sem_of(p)->object, sem_of(p)->queue.first);
}

/* --------------------------------------------------------------------------------------- mutexes */

/*
 * `owner` is who holds it, one word that is changed by compare-and-swap: free 0, or the owner's mark (sync.h), with COROI_WAITED if
 * there may be a queue. Only then does who unlocks look at the queue, under the object's lock.
 * A shared one is taken and given back with one compare-and-swap each; one that is bound to a worker with plain ones.
 */
struct coroi_mutex {
	struct coroi_object object;
	struct coroi_waitq queue;
	uint64_t owner; /* atomic; Go too changes it by compare-and-swap */
};
COROI_VIEW(struct coroi_mutex, coro_mutex, coroi_mutex_of)
_Static_assert(offsetof(struct coroi_mutex, owner) == COROI_MUTEX_OWNER, "Go finds it there");

/* coroi_mutex_is_owner - relaxed: if it is the caller, nobody changes that. */
static inline bool coroi_mutex_is_owner(const struct coroi_mutex *m, uint64_t mark)
{
	return (at_load_rlx(&m->owner) & ~COROI_WAITED) == mark;
}

/* coroi_mutex_swap - the mark `to` owns it, instead of `from`; 0: nobody. False: `from` did not, or it is bound to another worker. */
static inline bool coroi_mutex_swap(struct coroi_mutex *m, uint64_t from, uint64_t to)
{
	if (coroi_likely(!m->object.home))
		return at_load_rlx(&m->owner) == from && at_cas(&m->owner, &from, to);
	if (at_load_rlx(&m->owner) != from || !coroi_object_is_home(&m->object)) /* atomic for who asks from elsewhere */
		return false;
	at_store_rlx(&m->owner, to);
	return true;
}

int coro_mutex_init(coro_mutex *p, uint32_t flags)
{
	return coroi_sync_init(p, sizeof(struct coroi_mutex), flags);
}

#define DEAD (~UINT64_C(0) & ~COROI_WAITED) /* an owner: it was destroyed */

/* take_or_wait - CORO_OK: mine has it, or CORO_EDEADLK already had; COROI_WAITS: it is to wait; CORO_ETIMEDOUT: it would have to.
 * Entered. */
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

/* coroi_mutex_lock_slow - again: the caller's waiter, of a wait that is over; then neither deadline nor cancel ends this one. Or NULL. */
static COROI_NOINLINE int coroi_mutex_lock_slow(struct coroi_mutex *m, uint64_t mine, uint64_t deadline, struct coroi_waiter *again)
{
	static const struct coroi_wait_as as = {'m', "coro_mutex_lock"};
	struct coroi_rec *me;

	if (!mine)
		return CORO_EPERM;
	int status = coroi_object_enter(&m->object);
	if (status)
		return status;
	coroi_may_wait(&me); /* it may: mine tells */
	if ((status = take_or_wait(m, mine, deadline && !(me && coroi_self()->nowait))) != COROI_WAITS) {
		coroi_object_leave(&m->object);
		return status == CORO_ETIMEDOUT ? coroi_wont_wait(deadline ? CORO_ENOWAIT : status, as.call) : status;
	}
	if (!again) /* no memory: COROI_WAITED stays, who unlocks looks once in vain */
		return coroi_sync_wait(coroi_self(), &m->object, &m->queue, &as, 0, mine, deadline);
	coroi_waiter_init(again, &m->object, me, 0, NULL);
	again->mark = mine;
	return coroi_waiter_wait_in(again, &m->queue, as.what, deadline, true);
}

/* swap_mine - the usual path: the current coroutine owns p instead of nobody, or nobody instead of it. False: the general way. */
static inline bool swap_mine(coro_mutex *p, bool lock)
{
	struct coroi_worker *w = coroi_self();
	struct coroi_rec *me = coroi_current(w);

	if (coroi_unlikely(!p || !me))
		return false;
	struct coroi_mutex *m = coroi_mutex_of(p);
	uint64_t from = lock ? 0 : (uintptr_t)me, to = lock ? (uintptr_t)me : 0;
	if (coroi_unlikely(at_load_rlx(&m->owner) != from))
		return false;
	if (!m->object.home)
		return coroi_likely(at_cas(&m->owner, &from, to));
	if (coroi_unlikely(m->object.worker != w || !(me->flags & COROI_F_PINNED)))
		return false;
	at_store_rlx(&m->owner, to);
	return true;
}

static COROI_NOINLINE int lock_general(coro_mutex *p, uint64_t deadline)
{
	if (!p)
		return CORO_EINVAL;
	uint64_t mine = coroi_mark();
	struct coroi_mutex *m = coroi_mutex_of(p);
	return mine && coroi_mutex_swap(m, 0, mine) ? CORO_OK : coroi_mutex_lock_slow(m, mine, deadline, NULL);
}

int coro_mutex_lock(coro_mutex *p, uint64_t deadline)
{
	return coroi_likely(swap_mine(p, true)) ? CORO_OK : lock_general(p, deadline);
}

int coroi_mutex_lock_guest(coro_mutex *p, uint64_t mark, struct coroi_guest *g)
{
	struct coroi_mutex *m = coroi_mutex_of(p);
	int status = coroi_object_enter(&m->object);

	if (status)
		return status;
	if ((status = take_or_wait(m, mark, true)) == COROI_WAITS) {
		g->x.mark = mark;
		return coroi_guest_wait(g, &m->object, &m->queue);
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
	at_xchg(&m->owner, x ? x->mark | (m->queue.first ? COROI_WAITED : 0) : mine); /* a release for what it guards */
	coroi_object_leave(&m->object);
	if (!x) /* they have left. It is free as the last step: the next owner may free its memory */
		return coroi_mutex_unlock_as(p, mine);
	return coroi_waiter_wake_on(coroi_self(), x);
}

int coroi_mutex_unlock_as(coro_mutex *p, uint64_t mark)
{
	if (coroi_likely(mark && coroi_mutex_swap(coroi_mutex_of(p), mark, 0)))
		return CORO_OK;
	return unlock_slow(p, mark);
}

static COROI_NOINLINE int unlock_general(coro_mutex *p)
{
	return p ? coroi_mutex_unlock_as(p, coroi_mark()) : CORO_EINVAL;
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
	return status ? status : coroi_sync_end(&m->object, !at_cas(&m->owner, &free, DEAD)); /* so that no fast path takes it */
}

/* ----------------------------------------------------------------------------- reader-writer locks */

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
	return coroi_sync_init(p, sizeof(struct rwlock), flags);
}

/* rwlock_take - it is free for a reader, or a writer. */
static bool rwlock_take(struct rwlock *l, bool write, uint64_t mark)
{
	if (l->written || (write && l->readers))
		return false;
	l->readers += !write;
	l->written = write;
	l->writer = write ? mark : 0;
	return true;
}

/* rwlock_grant - to the first in the queue: a writer, or all readers up to the next one. */
static void rwlock_grant(struct rwlock *l, struct coroi_chain *woken)
{
	for (struct coroi_waiter *x; (x = l->queue.first) && rwlock_take(l, x->n, x->mark);) {
		coroi_waitq_remove(&l->queue, x);
		coroi_chain_add(woken, x);
	}
}

/* rwlock_try - CORO_OK: mine has it, or CORO_EDEADLK already had, for writing; COROI_WAITS: it is to wait. Entered. */
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
	static const struct coroi_wait_as as[] = {{'r', "coro_rwlock_read"}, {'w', "coro_rwlock_write"}};
	struct rwlock *l = rwlock_of(p);

	if (!p)
		return CORO_EINVAL;
	uint64_t mine = coroi_mark();
	if (!mine)
		return CORO_EPERM;
	int status = coroi_object_enter(&l->object);
	if (status)
		return status;
	if ((status = rwlock_try(l, write, mine)) != COROI_WAITS) {
		coroi_object_leave(&l->object);
		return status;
	}
	status = coroi_sync_wait(coroi_self(), &l->object, &l->queue, &as[write], write, mine, deadline);
	if (status)
		rwlock_left(l);
	return status;
}

static bool rwlock_withdraw(struct coroi_guest *g)
{
	struct coroi_object *o = g->x.object;
	bool waits = coroi_waiter_withdraw(&g->x);

	if (waits)
		rwlock_left((struct rwlock *)o);
	return waits;
}

int coroi_rwlock_lock_guest(coro_rwlock *p, bool write, uint64_t mark, struct coroi_guest *g)
{
	struct rwlock *l = rwlock_of(p);
	int status = coroi_object_enter(&l->object);

	if (status)
		return status;
	if ((status = rwlock_try(l, write, mark)) == COROI_WAITS && g) {
		g->x.n = write;
		g->x.mark = mark;
		g->withdraw = rwlock_withdraw;
		return coroi_guest_wait(g, &l->object, &l->queue);
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
	return status ? status : rwlock_unlock(l, l->written ? l->writer == coroi_mark() : l->readers != 0);
}

int coroi_rwlock_unlock_as(coro_rwlock *p, bool write, uint64_t mark)
{
	struct rwlock *l = rwlock_of(p);
	int status = coroi_object_enter(&l->object);

	if (status)
		return status;
	return rwlock_unlock(l, write ? l->written && l->writer == mark : !l->written && l->readers);
}

static inline int rwlock_lock_leaf(struct rwlock *l, bool write, uint64_t mark)
{
	if (!coroi_object_enter_leaf(&l->object))
		return COROI_BY_CALL;
	int status = rwlock_try(l, write, mark);
	coroi_object_leave(&l->object);
	return status == COROI_WAITS ? CORO_ETIMEDOUT : status;
}

static inline int rwlock_unlock_leaf(struct rwlock *l, bool write, uint64_t mark)
{
	if (!coroi_object_enter_leaf(&l->object))
		return COROI_BY_CALL;
	bool may = !l->queue.first && (write ? l->written && l->writer == mark : !l->written && l->readers);
	if (may && write)
		l->written = 0;
	else if (may)
		l->readers--;
	coroi_object_leave(&l->object);
	return may ? CORO_OK : COROI_BY_CALL;
}

int coroi_rwlock_read_leaf(coro_rwlock *p, const uint64_t *mark)
{
	return rwlock_lock_leaf(rwlock_of(p), false, *mark);
}

int coroi_rwlock_write_leaf(coro_rwlock *p, const uint64_t *mark)
{
	return rwlock_lock_leaf(rwlock_of(p), true, *mark);
}

int coroi_rwlock_unread_leaf(coro_rwlock *p, const uint64_t *mark)
{
	return rwlock_unlock_leaf(rwlock_of(p), false, *mark);
}

int coroi_rwlock_unwrite_leaf(coro_rwlock *p, const uint64_t *mark)
{
	return rwlock_unlock_leaf(rwlock_of(p), true, *mark);
}

int coro_rwlock_destroy(coro_rwlock *p)
{
	if (!p)
		return CORO_EINVAL;
	struct rwlock *l = rwlock_of(p);
	int status = coroi_object_enter_end(&l->object);
	return status ? status : coroi_sync_end(&l->object, l->written || l->readers || l->queue.first);
}

/* ------------------------------------------------------------------------------------ conditions */

struct cond {
	struct coroi_object object;
	struct coroi_waitq queue;
};
COROI_VIEW(struct cond, coro_cond, cond_of)

int coro_cond_init(coro_cond *p, uint32_t flags)
{
	return coroi_sync_init(p, sizeof(struct cond), flags);
}

int coro_cond_wait(coro_cond *p, coro_mutex *mutex, uint64_t deadline)
{
	struct cond *c = cond_of(p);
	struct coroi_rec *me;

	if (!p || !mutex)
		return CORO_EINVAL;
	struct coroi_mutex *m = coroi_mutex_of(mutex);
	uint64_t mine = coroi_mark();
	if (!mine || !coroi_mutex_is_owner(m, mine))
		return CORO_EPERM;
	int status = coroi_object_enter(&c->object);
	if (status)
		return status;
	if ((status = coroi_must_wait(&me, deadline))) {
		coroi_object_leave(&c->object);
		return coroi_wont_wait(status, "coro_cond_wait");
	}
	struct coroi_waiter *x = coroi_waiter_for(&c->object, me, 0, &status);
	if (!x)
		return status;
	coroi_waiter_init(x, &c->object, me, 0, NULL);
	coroi_waitq_add(&c->queue, x);
	coroi_object_leave(&c->object);
	coro_mutex_unlock(mutex);
	status = coroi_waiter_wait(x, 'c', deadline, false);
	int locked = coroi_mutex_swap(m, 0, mine) ? CORO_OK : coroi_mutex_lock_slow(m, mine, CORO_FOREVER, x);
	coroi_waiter_end(me, x);
	return locked ? locked : status;
}

int coroi_cond_wait_guest(coro_cond *p, coro_mutex *mutex, uint64_t mark, struct coroi_guest *g)
{
	struct cond *c = cond_of(p);

	if (!coroi_mutex_is_owner(coroi_mutex_of(mutex), mark))
		return CORO_EPERM;
	int status = coroi_object_enter(&c->object);
	if (status)
		return status;
	coroi_guest_wait(g, &c->object, &c->queue);
	coroi_mutex_unlock_as(mutex, mark);
	return COROI_WAITS;
}

static int cond_wake(coro_cond *p, uint32_t most)
{
	struct coroi_chain woken = {NULL, NULL};

	if (!p)
		return CORO_EINVAL;
	struct cond *c = cond_of(p);
	int status = coroi_object_enter(&c->object);
	if (status)
		return status;
	for (struct coroi_waiter *x; most-- && (x = coroi_waitq_take(&c->queue));)
		coroi_chain_add(&woken, x);
	coroi_object_leave(&c->object);
	coroi_chain_wake(&woken);
	return CORO_OK;
}

int coro_cond_signal(coro_cond *p)
{
	return cond_wake(p, 1);
}

int coro_cond_broadcast(coro_cond *p)
{
	return cond_wake(p, UINT32_MAX);
}

int coro_cond_destroy(coro_cond *p)
{
	if (!p)
		return CORO_EINVAL;
	struct cond *c = cond_of(p);
	int status = coroi_object_enter_end(&c->object);
	return status ? status : coroi_sync_end(&c->object, c->queue.first);
}

/* --------------------------------------------------------------------------------------- latches */

struct latch {
	struct coroi_object object;
	struct coroi_waitq queue; /* not empty: count is not 0 */
	uint64_t count;
};
COROI_VIEW(struct latch, coro_latch, latch_of)

int coro_latch_init(coro_latch *p, uint64_t count, uint32_t flags)
{
	int status = count <= CORO_PERMITS_MAX ? coroi_sync_init(p, sizeof(struct latch), flags) : CORO_EINVAL;

	if (!status)
		latch_of(p)->count = count;
	return status;
}

int coro_latch_add(coro_latch *p, int64_t n)
{
	struct coroi_chain woken = {NULL, NULL};

	if (!p)
		return CORO_EINVAL;
	struct latch *l = latch_of(p);
	int status = coroi_object_enter(&l->object);
	if (status)
		return status;
	if (n < 0 && l->count < -(uint64_t)n) {
		coroi_object_leave(&l->object);
		return CORO_EINVAL;
	}
	if (n > 0 && ((uint64_t)n > CORO_PERMITS_MAX || l->count + (uint64_t)n > CORO_PERMITS_MAX)) {
		coroi_object_leave(&l->object);
		return CORO_EOVERFLOW;
	}
	l->count += (uint64_t)n;
	for (struct coroi_waiter *x; !l->count && (x = coroi_waitq_take(&l->queue));)
		coroi_chain_add(&woken, x);
	coroi_object_leave(&l->object);
	coroi_chain_wake(&woken);
	return CORO_OK;
}

int coro_latch_wait(coro_latch *p, uint64_t deadline)
{
	static const struct coroi_wait_as as = {'l', "coro_latch_wait"};

	if (!p)
		return CORO_EINVAL;
	struct latch *l = latch_of(p);
	int status = coroi_object_enter(&l->object);
	if (status)
		return status;
	if (!l->count) {
		coroi_object_leave(&l->object);
		return CORO_OK;
	}
	return coroi_sync_wait(coroi_self(), &l->object, &l->queue, &as, 0, 0, deadline);
}

int coroi_latch_wait_guest(coro_latch *p, struct coroi_guest *g)
{
	struct latch *l = latch_of(p);
	int status = coroi_object_enter(&l->object);

	if (status)
		return status;
	if (l->count && g)
		return coroi_guest_wait(g, &l->object, &l->queue);
	status = l->count ? CORO_ETIMEDOUT : CORO_OK;
	coroi_object_leave(&l->object);
	return status;
}

int coroi_latch_add_leaf(coro_latch *p, const int64_t *n)
{
	struct latch *l = latch_of(p);

	if (!coroi_object_enter_leaf(&l->object))
		return COROI_BY_CALL;
	uint64_t count = l->count + (uint64_t)*n; /* more than there may be, if it would be less than 0 */
	bool may = count <= CORO_PERMITS_MAX && (count || !l->queue.first);
	if (may)
		l->count = count;
	coroi_object_leave(&l->object);
	return may ? CORO_OK : COROI_BY_CALL;
}

int coroi_latch_wait_leaf(coro_latch *p, void *unused)
{
	struct latch *l = latch_of(p);
	(void)unused;

	if (!coroi_object_enter_leaf(&l->object))
		return COROI_BY_CALL;
	bool over = !l->count;
	coroi_object_leave(&l->object);
	return over ? CORO_OK : CORO_ETIMEDOUT;
}

int coro_latch_destroy(coro_latch *p)
{
	if (!p)
		return CORO_EINVAL;
	struct latch *l = latch_of(p);
	int status = coroi_object_enter_end(&l->object);
	return status ? status : coroi_sync_end(&l->object, l->queue.first);
}

/* ------------------------------------------------------------------------------------------ once */

struct once {
	struct coroi_object object;
	struct coroi_waitq queue;
	uint32_t state; /* atomic; Go too looks at it */
	uint64_t runs;  /* who is doing it */
};
COROI_VIEW(struct once, coro_once, once_of)
_Static_assert(offsetof(struct once, state) == COROI_ONCE_STATE, "Go finds it there");

enum { ONCE_NEW, ONCE_RUNS, ONCE_DONE = COROI_ONCE_DONE };

/* once_begin - CORO_OK: it is done; COROI_YOURS: mine is to do it; COROI_WAITS: to wait; CORO_EDEADLK: mine does it. Entered. */
static int once_begin(struct once *o, uint64_t mine)
{
	if (o->state == ONCE_DONE)
		return CORO_OK;
	if (o->state == ONCE_RUNS)
		return o->runs == mine ? CORO_EDEADLK : COROI_WAITS;
	at_store_rlx(&o->state, ONCE_RUNS);
	o->runs = mine;
	return COROI_YOURS;
}

void coroi_once_end(coro_once *p)
{
	struct once *o = once_of(p);
	struct coroi_chain woken = {NULL, NULL};

	coroi_object_enter(&o->object);
	at_store_rel(&o->state, ONCE_DONE);
	for (struct coroi_waiter *x; (x = coroi_waitq_take(&o->queue));)
		coroi_chain_add(&woken, x);
	coroi_object_leave(&o->object);
	coroi_chain_wake(&woken);
}

int coroi_once_begin_guest(coro_once *p, uint64_t mark, struct coroi_guest *g)
{
	struct once *o = once_of(p);
	int status = coroi_object_enter(&o->object);

	if (status)
		return status;
	if ((status = once_begin(o, mark)) == COROI_WAITS && g)
		return coroi_guest_wait(g, &o->object, &o->queue);
	coroi_object_leave(&o->object);
	return status == COROI_WAITS ? CORO_ETIMEDOUT : status;
}

int coro_once_do(coro_once *p, void (*fn)(void *), void *arg, uint64_t deadline)
{
	static const struct coroi_wait_as as = {'o', "coro_once_do"};

	if (!p || !fn)
		return CORO_EINVAL;
	struct once *o = once_of(p);
	if (coroi_likely(at_load_acq(&o->state) == ONCE_DONE)) /* acquire: what fn has done is seen */
		return CORO_OK;
	uint64_t mine = coroi_mark();
	if (!mine)
		return CORO_EPERM;
	int status = coroi_object_enter(&o->object);
	if (status)
		return status;
	if ((status = once_begin(o, mine)) == COROI_WAITS)
		return coroi_sync_wait(coroi_self(), &o->object, &o->queue, &as, 0, 0, deadline);
	coroi_object_leave(&o->object);
	if (status != COROI_YOURS)
		return status;
	fn(arg);
	coroi_once_end(p);
	return CORO_OK;
}
