/*
 * locked.h - what the policies rr.c and gq.c have in common: all is done under a lock, that of a
 * thread, the hub. rr: each thread is its own hub. gq: the first thread is the hub of all.
 *
 * A member that is to wait leaves the lock to the policy, which is asked next for the member to
 * run: one section instead of two. Nothing between the two runs anybody else's code.
 *
 * The functions are inline: a hub that is the thread itself costs nothing.
 */
#ifndef COROI_LOCKED_H
#define COROI_LOCKED_H

#include "dispatch/policy.h"

/* coroi_locked_next - begin `next` of t: take the lock, and end the member that ran last. Returns
 * that member, if it has only yielded (coro_dispatch_block); else NULL. */
static inline struct coroi_member *coroi_locked_next(struct coroi_dispatch_thread *hub,
						     struct coroi_dispatch_thread *t)
{
	struct coroi_member *m = t->running;

	if (!t->holds)
		coroi_spin_lock(&hub->lock);
	t->holds = false;
	t->running = NULL;
	if (m && coroi_member_has_ended(m)) {
		coroi_member_end_locked(hub, m);
		return NULL;
	}
	return m && m->state == COROI_MEMBER_RUNS ? m : NULL;
}

/* coroi_locked_run - end `next`: m runs on t. NULL: the thread quits. */
static inline coro_dispatched *coroi_locked_run(struct coroi_dispatch_thread *hub,
						struct coroi_dispatch_thread *t,
						struct coroi_member *m)
{
	if (m) {
		m->state = COROI_MEMBER_RUNS;
		m->is_fresh = false;
		t->running = m;
	}
	coroi_spin_unlock(&hub->lock);
	return m ? coroi_member_user(m) : NULL;
}

static inline int coroi_locked_park(struct coroi_dispatch_thread *hub,
				    struct coroi_dispatch_thread *t, struct coroi_member *m)
{
	coroi_spin_lock(&hub->lock);
	if (!m->permits && !hub->canceled) {
		m->state = COROI_MEMBER_PARKED;
		t->holds = true;
		return coroi_dispatch_suspend(&m->own);
	}
	int status = m->permits ? CORO_OK : CORO_ECANCELED;
	m->permits -= status == CORO_OK;
	coroi_spin_unlock(&hub->lock);
	return status;
}

/* coroi_locked_refused - the member has no permit. If it was about to wait, it has the lock. */
static inline int coroi_locked_refused(void *thread, struct coroi_dispatched *own, int status)
{
	struct coroi_dispatch_thread *t = thread;
	struct coroi_member *m = (struct coroi_member *)own;

	if (t->holds) {
		m->state = COROI_MEMBER_RUNS;
		t->holds = false;
		coroi_spin_unlock(&t->hub->lock);
	}
	return status;
}

/* coroi_locked_permit - a wake of m, under the lock. *parked: m is to become ready, and takes the
 * permit with it. */
static inline int coroi_locked_permit(struct coroi_member *m, uint32_t generation, bool *parked)
{
	if (m->generation != generation)
		return CORO_ESTALE;
	*parked = m->state == COROI_MEMBER_PARKED;
	if (!*parked && m->permits == COROI_MEMBER_PERMITS)
		return CORO_EOVERFLOW;
	m->permits += !*parked;
	return CORO_OK;
}

static inline void coroi_locked_stopped(struct coroi_dispatch_thread *t)
{
	t->hub->canceled = true;
	coroi_members_cancel_locked(t);
}

#endif
