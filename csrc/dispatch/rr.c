//go:build ignore
/*
 * rr.c - round robin: a ready queue for each thread, first in first out, and everything under the
 * thread's lock.
 *
 * The simplest policy for several threads, and a base for others. A member that is to wait leaves
 * the lock to the policy, which is asked next for the member to run: one section instead of two.
 * Nothing between the two runs anybody else's code.
 */
#include "dispatch/policy.h"

/* ready_locked - m becomes ready, and its park returns code. */
static void ready_locked(struct coroi_dispatch_thread *t, struct coroi_member *m, int8_t code)
{
	m->state = COROI_MEMBER_READY;
	m->own.code = code;
	coroi_members_add(&t->ready, m);
}

/* take_locked - the first member that is to run. NULL: none. */
static struct coroi_member *take_locked(struct coroi_dispatch_thread *t)
{
	struct coroi_member *m;

	while ((m = coroi_members_take(&t->ready)) && m->is_fresh && t->canceled)
		coroi_member_end_unstarted_locked(t, m);
	return m;
}

static coro_dispatched *rr_next(coro_dispatcher *d, void *thread)
{
	struct coroi_dispatch_thread *t = thread;
	struct coroi_member *m;
	(void)d;

	if (!t->holds)
		coroi_spin_lock(&t->lock);
	t->holds = false;
	if ((m = t->running) && coroi_member_has_ended(m))
		coroi_member_end_locked(t, m);
	else if (m && m->state == COROI_MEMBER_RUNS) /* by coro_dispatch_block */
		ready_locked(t, m, CORO_OK);
	t->running = NULL;
	while (!(m = take_locked(t)) && !t->quits)
		coroi_dispatch_sleep_locked(t);
	if (m) {
		m->state = COROI_MEMBER_RUNS;
		m->is_fresh = false;
		t->running = m;
	}
	coroi_spin_unlock(&t->lock);
	return m ? coroi_member_user(m) : NULL;
}

/* rr_refused - the member has no permit. If it was about to wait, it has the lock. */
COROI_COLD static int rr_refused(void *thread, struct coroi_dispatched *own, int status)
{
	struct coroi_dispatch_thread *t = thread;
	struct coroi_member *m = (struct coroi_member *)own;

	if (t->holds) {
		m->state = COROI_MEMBER_RUNS;
		t->holds = false;
		coroi_spin_unlock(&t->lock);
	}
	return status;
}

static int rr_park(struct coroi_dispatch_thread *t, struct coroi_member *m)
{
	coroi_spin_lock(&t->lock);
	if (!m->permits && !t->canceled) {
		m->state = COROI_MEMBER_PARKED;
		t->holds = true;
		return coroi_dispatch_suspend(&m->own);
	}
	int status = m->permits ? CORO_OK : CORO_ECANCELED;
	m->permits -= status == CORO_OK;
	coroi_spin_unlock(&t->lock);
	return status;
}

static int rr_wake(struct coroi_dispatch_thread *t, struct coroi_member *m, uint32_t generation,
		   bool here)
{
	int status = CORO_OK;
	(void)here;

	coroi_spin_lock(&t->lock);
	if (m->generation != generation) {
		status = CORO_ESTALE;
	} else if (m->state == COROI_MEMBER_PARKED) {
		ready_locked(t, m, CORO_OK);
		coroi_dispatch_rouse_locked(t);
	} else if (m->permits == COROI_MEMBER_PERMITS) {
		status = CORO_EOVERFLOW;
	} else {
		m->permits++;
	}
	coroi_spin_unlock(&t->lock);
	return status;
}

static void rr_spawned(struct coroi_dispatch_thread *t, struct coroi_member *m, bool here)
{
	(void)here;
	ready_locked(t, m, CORO_OK);
}

static void rr_stopped(struct coroi_dispatch_thread *t)
{
	t->canceled = true;
	coroi_members_cancel_locked(t);
}

const struct coroi_policy coroi_rr = {rr_next, rr_park,    rr_refused,
				      rr_wake, rr_spawned, rr_stopped};
