//go:build cgo && linux
/* once.c - what is done once: by the first who comes, and the others wait until it is done. */
#include "sync/object.h"

struct once {
	struct coroi_object object;
	struct coroi_waitq queue;
	uint32_t state; /* atomic; Go too looks at it */
	uint64_t runs;  /* who is doing it */
};
COROI_VIEW(struct once, coro_once, once_of)
_Static_assert(offsetof(struct once, state) == COROI_ONCE_STATE, "Go finds it there");

enum { ONCE_NEW, ONCE_RUNS, ONCE_DONE = COROI_ONCE_DONE };

/* It is at home nowhere and never destroyed, so entering it cannot fail. */

/* once_begin - CORO_OK: it is done; COROI_YOURS: mine is to do it; COROI_WAITS: to wait;
 * CORO_EDEADLK: mine does it. Entered. */
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

int coroi_once_begin_gowaiter(coro_once *p, uint64_t owner, struct coroi_gowaiter *g)
{
	struct once *o = once_of(p);

	coroi_object_enter(&o->object);
	int status = once_begin(o, owner);
	if (status == COROI_WAITS && g)
		return coroi_gowaiter_wait(g, &o->object, &o->queue);
	coroi_object_leave(&o->object);
	return status == COROI_WAITS ? CORO_ETIMEDOUT : status;
}

int coro_once_do(coro_once *p, void (*fn)(void *), void *arg, uint64_t deadline)
{
	static const struct coroi_wait_as as = {CORO_WAIT_ONCE, "coro_once_do"};

	if (!p || !fn)
		return CORO_EINVAL;
	struct once *o = once_of(p);
	/* acquire: what fn has done is seen */
	if (coroi_likely(at_load_acq(&o->state) == ONCE_DONE))
		return CORO_OK;
	uint64_t mine = coroi_lock_owner();
	if (!mine)
		return CORO_EPERM;
	coroi_object_enter(&o->object);
	int status = once_begin(o, mine);
	if (status == COROI_WAITS)
		return coroi_object_wait(coroi_here(), &o->object, o->object.home, &o->queue, &as,
					 0, 0, deadline);
	coroi_object_leave(&o->object);
	if (status != COROI_YOURS)
		return status;
	fn(arg);
	coroi_once_end(p);
	return CORO_OK;
}
