//go:build ignore
/*
 * rr.c - round robin: a ready queue for each thread, first in first out, and everything under the
 * thread's lock. With locked.h, it is the simplest policy for several threads, and a base for
 * others.
 */
#include "dispatch/locked.h"

/* rr_ready_locked - m becomes ready, and its park returns CORO_OK. */
static void rr_ready_locked(struct coroi_dispatch_thread *t, struct coroi_member *m)
{
	m->state = COROI_MEMBER_READY;
	m->own.code = CORO_OK;
	coroi_members_add(&t->ready, m);
}

/* rr_take_locked - the first member that is to run. NULL: none. */
static struct coroi_member *rr_take_locked(struct coroi_dispatch_thread *t)
{
	struct coroi_member *m;

	while ((m = coroi_members_take(&t->ready)) && m->is_fresh && t->canceled)
		coroi_member_end_unstarted_locked(t, m);
	return m;
}

static coro_dispatched *rr_next(coro_dispatcher *d, void *thread)
{
	struct coroi_dispatch_thread *t = thread;
	struct coroi_member *m = coroi_locked_next(t, t);
	(void)d;

	if (m)
		rr_ready_locked(t, m);
	while (!(m = rr_take_locked(t)) && !t->quits)
		coroi_dispatch_sleep_locked(t);
	return coroi_locked_run(t, t, m);
}

static int rr_park(struct coroi_dispatch_thread *t, struct coroi_member *m)
{
	return coroi_locked_park(t, t, m);
}

static int rr_wake(struct coroi_dispatch_thread *t, struct coroi_member *m, uint32_t generation,
		   bool here)
{
	bool parked = false;
	(void)here;

	coroi_spin_lock(&t->lock);
	int status = coroi_locked_permit(m, generation, &parked);
	if (parked) {
		rr_ready_locked(t, m);
		coroi_dispatch_rouse_locked(t);
	}
	coroi_spin_unlock(&t->lock);
	return status;
}

static void rr_spawned(struct coroi_dispatch_thread *t, struct coroi_member *m, bool here)
{
	(void)here;
	rr_ready_locked(t, m);
}

const struct coroi_policy coroi_rr = {rr_next, rr_park,    coroi_locked_refused,
				      rr_wake, rr_spawned, coroi_locked_stopped};
