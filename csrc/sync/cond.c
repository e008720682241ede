//go:build ignore
/* cond.c - conditions: a waiter gives the mutex back while it waits, and owns it again when the
 * wait is over. */
#include "sync/cond.h"

#include "sync/mutex.h"

struct cond {
	struct coroi_object object;
	struct coroi_waitq queue;
};
COROI_VIEW(struct cond, coro_cond, cond_of)

int coro_cond_init(coro_cond *p, uint32_t flags)
{
	return coroi_object_init(p, sizeof(struct cond), flags);
}

int coro_cond_destroy(coro_cond *p)
{
	return coroi_object_destroy(p, NULL);
}

/* not_owner - what a wait returns whose caller does not own m. */
static COROI_COLD int not_owner(struct coroi_mutex *m)
{
	int status = coroi_object_enter(&m->object); /* CORO_EINVAL: it was destroyed */

	if (!status)
		coroi_object_leave(&m->object);
	return status ? status : CORO_EPERM;
}

int coro_cond_wait(coro_cond *p, coro_mutex *mutex, uint64_t deadline)
{
	struct cond *c = cond_of(p);
	struct coroi_mutex *m = coroi_mutex_of(mutex);
	struct coroi_rec *me;

	if (!p || !mutex)
		return CORO_EINVAL;
	uint64_t mine = coroi_lock_owner();
	if (!mine)
		return CORO_EPERM;
	if (!coroi_mutex_is_owner(m, mine))
		return not_owner(m);
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
	status = coroi_waiter_wait(x, CORO_WAIT_CONDITION, deadline, false);
	int locked = coroi_mutex_swap(m, 0, mine) ? CORO_OK
						  : coroi_mutex_lock_slow(m, mine, CORO_FOREVER, x);
	coroi_waiter_end(me, x);
	return locked ? locked : status;
}

int coroi_cond_wait_gowaiter(coro_cond *p, coro_mutex *mutex, uint64_t owner,
			     struct coroi_gowaiter *g)
{
	struct cond *c = cond_of(p);

	if (!coroi_mutex_is_owner(coroi_mutex_of(mutex), owner))
		return not_owner(coroi_mutex_of(mutex));
	int status = coroi_object_enter(&c->object);
	if (status)
		return status;
	coroi_gowaiter_wait(g, &c->object, &c->queue);
	coroi_mutex_unlock_as(mutex, owner);
	return COROI_WAITS;
}

static int cond_wake(coro_cond *p, uint64_t most)
{
	struct coroi_chain woken = {NULL, NULL};
	int status = coroi_object_enter_at(p);

	if (status)
		return status;
	coroi_object_take(&cond_of(p)->object, most, &woken);
	return coroi_object_leave_waking(&cond_of(p)->object, &woken);
}

int coro_cond_signal(coro_cond *p)
{
	return cond_wake(p, 1);
}

int coro_cond_broadcast(coro_cond *p)
{
	return cond_wake(p, UINT64_MAX);
}
