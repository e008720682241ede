//go:build ignore
/*
 * rr.c - round robin: a ready queue for each thread, first in first out, and everything under the
 * thread's lock.
 *
 * The simplest policy for several threads, and a base for others.
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

	pthread_mutex_lock(&t->lock);
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
	pthread_mutex_unlock(&t->lock);
	return m ? coroi_member_user(m) : NULL;
}

/* rr_refused - if the member became ready meanwhile, its park returns that code; else it has no
 * permit. */
COROI_COLD static int rr_refused(void *thread, struct coroi_dispatched *own, int status)
{
	struct coroi_dispatch_thread *t = thread;
	struct coroi_member *m = (struct coroi_member *)own;

	pthread_mutex_lock(&t->lock);
	if (m->state == COROI_MEMBER_READY) {
		struct coroi_members rest = t->ready;
		t->ready.first = NULL;
		for (struct coroi_member *k; (k = coroi_members_take(&rest));)
			if (k != m)
				coroi_members_add(&t->ready, k);
		status = m->own.code;
	}
	m->state = COROI_MEMBER_RUNS;
	pthread_mutex_unlock(&t->lock);
	return status;
}

static int rr_park(struct coroi_dispatch_thread *t, struct coroi_member *m)
{
	int status = CORO_OK;
	bool waits = false;

	pthread_mutex_lock(&t->lock);
	if (m->permits) {
		m->permits--;
	} else if (t->canceled) {
		status = CORO_ECANCELED;
	} else {
		m->state = COROI_MEMBER_PARKED;
		waits = true;
	}
	pthread_mutex_unlock(&t->lock);
	return waits ? coroi_dispatch_suspend(&m->own) : status;
}

static int rr_wake(struct coroi_dispatch_thread *t, struct coroi_member *m, uint32_t generation,
		   bool here)
{
	int status = CORO_OK;
	(void)here;

	pthread_mutex_lock(&t->lock);
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
	pthread_mutex_unlock(&t->lock);
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
