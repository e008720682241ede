//go:build ignore
/* once.c - work that is done once: the first caller does it, and the others wait until it is
 * done. */
#include "sync/once.h"

/* A once is never bound. A call that has begun one ends it before anybody destroys it. */
struct once {
	struct coroi_object object;
	struct coroi_waitq queue;
	uint32_t state; /* atomic; Go reads it, too */
	uint64_t runs;  /* the owner that is doing it */
};
COROI_VIEW(struct once, coro_once, once_of)
_Static_assert(offsetof(struct once, state) == COROI_ONCE_STATE, "Go finds it there");

enum { ONCE_NEW, ONCE_RUNS, ONCE_DONE = COROI_ONCE_DONE, ONCE_DEAD };

/* runs - if the function of the once does not run, the once is dead from now on, so that no fast
 * path takes it for done. Entered. */
static bool runs(struct coroi_object *p)
{
	struct once *o = (struct once *)p;

	if (o->state == ONCE_RUNS && !coroi_owner_has_ended(o->runs))
		return true;
	at_store_rlx(&o->state, ONCE_DEAD);
	return false;
}

int coro_once_destroy(coro_once *p)
{
	return coroi_object_destroy(p, runs);
}

/* once_begin - CORO_OK: it is done; COROI_YOURS: mine is to do it; COROI_WAITS: mine is to wait;
 * CORO_EDEADLK: mine is doing it. An owner that has ended does it no more. o is entered. */
static int once_begin(struct once *o, uint64_t mine)
{
	if (o->state == ONCE_DONE)
		return CORO_OK;
	if (o->state == ONCE_RUNS && o->runs == mine)
		return CORO_EDEADLK;
	if (o->state == ONCE_RUNS && !coroi_owner_has_ended(o->runs))
		return COROI_WAITS;
	at_store_rlx(&o->state, ONCE_RUNS);
	o->runs = mine;
	return COROI_YOURS;
}

int coroi_once_begin_gowaiter(coro_once *p, uint64_t owner, struct coroi_gowaiter *g)
{
	struct once *o = once_of(p);
	int status = coroi_object_enter(&o->object);

	return status ? status
		      : coroi_object_answer_gowaiter(&o->object, once_begin(o, owner), g, 0, owner);
}

void coroi_once_end(coro_once *p)
{
	struct once *o = once_of(p);
	struct coroi_chain woken = {NULL, NULL};

	coroi_object_enter(&o->object);
	at_store_rel(&o->state, ONCE_DONE);
	coroi_object_take(&o->object, UINT64_MAX, &woken);
	coroi_object_leave_waking(&o->object, &woken);
}

/* once_leave - the owner ends; *left is the once that it has begun, or NULL if that is done: the
 * first waiter is to do it. */
static void once_leave(void *left)
{
	struct once *o = once_of(*(coro_once **)left);

	if (!o || coroi_object_enter(&o->object))
		return;
	struct coroi_waiter *x = coroi_waitq_take(&o->queue);
	if (x) {
		o->runs = x->owner;
		x->status = COROI_YOURS;
	} else {
		at_store_rlx(&o->state, ONCE_NEW);
	}
	coroi_object_leave(&o->object);
	if (x)
		coroi_waiter_wake_on(coroi_here(), x);
}

int coro_once_do(coro_once *p, void (*fn)(void *), void *arg, uint64_t deadline)
{
	static const struct coroi_wait_as as = {CORO_WAIT_ONCE, "coro_once_do"};
	struct once *o = once_of(p);

	if (!p || !fn)
		return CORO_EINVAL;
	/* Acquire: pairs with the release of coroi_once_end, so that what fn has done is seen. */
	if (coroi_likely(at_load_acq(&o->state) == ONCE_DONE))
		return CORO_OK;
	uint64_t mine = coroi_lock_owner();
	if (!mine)
		return CORO_EPERM;
	int status = coroi_object_enter(&o->object);
	if (status)
		return status;
	status = coroi_object_answer_waiting(&o->object, once_begin(o, mine), &as, 0, mine,
					     deadline);
	if (status != COROI_YOURS)
		return status;
	/* Without memory for this, the next caller alone finds that the owner has ended. */
	struct coroi_rec *me = coroi_current(coroi_self());
	struct coro_once **left = me ? coro_malloc(sizeof *left) : NULL;
	if (left) {
		*left = p;
		if (coro_defer(once_leave, left))
			left = NULL;
	}
	fn(arg);
	if (left)
		*left = NULL;
	coroi_once_end(p);
	return CORO_OK;
}
