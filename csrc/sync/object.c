//go:build ignore
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

int coroi_object_destroy(void *p, bool (*used)(struct coroi_object *o))
{
	struct coroi_object *o = p;
	int status = p ? coroi_object_enter_end(o) : CORO_EINVAL;

	if (status)
		return status;
	if (coroi_object_queue(o)->first || (used && used(o)))
		status = CORO_EBUSY;
	else
		coroi_object_kill(o);
	coroi_object_leave(o);
	return status;
}

uint64_t coroi_object_take(struct coroi_object *o, uint64_t most, struct coroi_chain *taken)
{
	struct coroi_waiter *x;
	uint64_t n = 0;

	for (; n < most && (x = coroi_waitq_take(coroi_object_queue(o))); n++)
		coroi_chain_add(taken, x);
	return n;
}

int coroi_object_leave_waking(struct coroi_object *o, const struct coroi_chain *woken)
{
	coroi_object_leave(o);
	coroi_chain_wake(woken);
	return CORO_OK;
}

/* The two ways of coroi_object_wait_slow, for a caller that may wait: me, or a thread (NULL). They
 * are functions of their own so that few registers lie on a stack while it waits: each line of it
 * is a cache miss when the wait ends. */
static inline int wait_with(struct coroi_waiter *x, struct coroi_object *o, struct coroi_rec *me,
			    const struct coroi_wait_as *as, uint8_t n, uint64_t owner,
			    uint64_t deadline)
{
	coroi_waiter_init(x, o, me, n, NULL);
	x->owner = owner;
	return coroi_waiter_wait_in(x, coroi_object_queue(o), as->what, deadline, false);
}

static COROI_NOINLINE int wait_on_stack(struct coroi_object *o, struct coroi_rec *me,
					const struct coroi_wait_as *as, uint8_t n, uint64_t owner,
					uint64_t deadline)
{
	struct coroi_waiter x COROI_ALONE;

	return wait_with(&x, o, me, as, n, owner, deadline);
}

static COROI_COLD int wait_aside(struct coroi_object *o, struct coroi_rec *me,
				 const struct coroi_wait_as *as, uint8_t n, uint64_t owner,
				 uint64_t deadline)
{
	int status;
	struct coroi_waiter *x = coroi_waiter_aside(o, me, 0, &status);

	if (!x)
		return status;
	status = wait_with(x, o, me, as, n, owner, deadline);
	coroi_waiter_end(me, x);
	return status;
}

COROI_NOINLINE int coroi_object_wait_slow(struct coroi_object *o, const struct coroi_wait_as *as,
					  uint8_t n, uint64_t owner, uint64_t deadline)
{
	struct coroi_rec *me;
	int status = coroi_must_wait(&me, deadline);

	if (coroi_unlikely(status)) {
		coroi_object_leave(o);
		return coroi_wont_wait(status, as->call);
	}
	if (coroi_unlikely(me && coroi_is_dense(me)))
		return wait_aside(o, me, as, n, owner, deadline);
	return wait_on_stack(o, me, as, n, owner, deadline);
}

int coroi_object_answer_gowaiter(struct coroi_object *o, int status, struct coroi_gowaiter *g,
				 uint8_t n, uint64_t owner)
{
	if (status != COROI_WAITS || !g)
		return coroi_object_answer(o, status);
	g->x.n = n;
	g->x.owner = owner;
	return coroi_gowaiter_wait(g, o, coroi_object_queue(o));
}

void coroi_object_fail(struct coroi_object *o, int status, struct coroi_chain *taken)
{
	for (struct coroi_waiter *x; (x = coroi_waitq_take(coroi_object_queue(o)));) {
		x->status = (int8_t)status;
		coroi_chain_add(taken, x);
	}
}

static uint64_t threads; /* atomic; threads that have locked something */
static __thread uint64_t thread_number;

COROI_NOINLINE uint64_t coroi_lock_owner_slow(struct coroi_rec *me)
{
	if (me) {
		coroi_be_named(me);
		return coroi_name(me);
	}
	if (!coroi_may_wait(&me))
		return 0;
	if (coroi_unlikely(!thread_number))
		thread_number = at_add(&threads, 1);
	return coroi_numbered_owner(thread_number, COROI_THREAD);
}
