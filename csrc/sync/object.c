//go:build cgo && linux
/* object.c - see object.h. */
#include "sync/object.h"

#include <string.h>

int coroi_object_init(void *p, size_t bytes, uint32_t flags)
{
	struct coroi_worker *w = coroi_self();
	struct coroi_object o;

	if (!p || (coroi_current(w) && coroi_is_hidden(coroi_current(w), p)))
		return CORO_EINVAL;
	int status = coroi_object_bind(&o, flags);

	if (!status) {
		memset(p, 0, bytes);
		*(struct coroi_object *)p = o;
	}
	return status;
}

int coroi_object_end(struct coroi_object *o, bool used)
{
	if (!used)
		coroi_object_kill(o);
	coroi_object_leave(o);
	return used ? CORO_EBUSY : CORO_OK;
}

COROI_NOINLINE int coroi_object_wait_slow(struct coroi_object *o, struct coroi_waitq *q,
					  const struct coroi_wait_as *as, uint8_t n, uint64_t owner,
					  uint64_t deadline)
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
	x->owner = owner;
	status = coroi_waiter_wait_in(x, q, as->what, deadline, false);
	coroi_waiter_end(me, x);
	return status;
}

static __thread uint64_t thread_mark __attribute__((aligned(8)));

COROI_NOINLINE uint64_t coroi_lock_owner_thread(void)
{
	struct coroi_rec *me;
	return coroi_may_wait(&me) ? (uintptr_t)&thread_mark | COROI_THREAD : 0;
}
