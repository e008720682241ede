//go:build ignore
/*
 * gq.c - a global queue: first in first out over all threads, and everything under one lock, the
 * first thread's. All members and the queue of the fresh ones are that thread's too.
 *
 * What is shared are the coroutines that have not begun: the thread that is free next takes one,
 * and begins it. From then on its frames have addresses of that thread's stack, so it runs there
 * and nowhere else: those that go on are in the `ready` queue of their own thread. Each member that
 * becomes ready gets the next number, and a thread takes the lower one of the heads of the two
 * queues: of all that it may run, what has been ready longest.
 *
 * A fresh member wakes one thread that sleeps, if there is one, and one that goes on wakes its own.
 * A thread sleeps only if, under the lock, both its queues are empty; so no member is left that a
 * thread which sleeps could run, but for one that has just been woken for it.
 */
#include "dispatch/locked.h"

/* gq_ready_locked - m becomes ready, in that queue, and its park returns CORO_OK. */
static void gq_ready_locked(struct coroi_dispatch_thread *hub, struct coroi_members *queue,
			    struct coroi_member *m)
{
	m->state = COROI_MEMBER_READY;
	m->own.code = CORO_OK;
	m->since = hub->readied++;
	coroi_members_add(queue, m);
}

/* gq_take_locked - the member that t is to run. NULL: none. */
static struct coroi_member *gq_take_locked(struct coroi_dispatch_thread *hub,
					   struct coroi_dispatch_thread *t)
{
	struct coroi_member *m, *own = t->ready.first;

	while ((m = hub->fresh.first) && !(own && own->since < m->since)) {
		coroi_members_take(&hub->fresh);
		m->own.dispatcher = t->dispatcher;
		if (!hub->canceled)
			return m;
		coroi_member_end_unstarted_locked(hub, m);
	}
	return coroi_members_take(&t->ready);
}

static coro_dispatched *gq_next(coro_dispatcher *d, void *thread)
{
	struct coroi_dispatch_thread *t = thread, *hub = t->hub;
	struct coroi_member *m = coroi_locked_next(hub, t);
	(void)d;

	if (m)
		gq_ready_locked(hub, &t->ready, m);
	while (!(m = gq_take_locked(hub, t)) && !t->quits)
		coroi_dispatch_sleep_locked(t);
	return coroi_locked_run(hub, t, m);
}

static int gq_park(struct coroi_dispatch_thread *t, struct coroi_member *m)
{
	return coroi_locked_park(t->hub, t, m);
}

static int gq_wake(struct coroi_dispatch_thread *hub, struct coroi_member *m, uint32_t generation,
		   bool here)
{
	bool parked = false;
	(void)here;

	coroi_spin_lock(&hub->lock);
	int status = coroi_locked_permit(m, generation, &parked);
	if (parked) {
		struct coroi_dispatch_thread *t = coroi_member_thread(m);
		gq_ready_locked(hub, &t->ready, m);
		coroi_dispatch_rouse_locked(t);
	}
	coroi_spin_unlock(&hub->lock);
	return status;
}

static void gq_spawned(struct coroi_dispatch_thread *hub, struct coroi_member *m, bool here)
{
	struct coroi_dispatch_thread *t = hub->pool->thread;
	(void)here;

	gq_ready_locked(hub, &hub->fresh, m);
	if (!hub->sleepers)
		return;
	/* one of them may be awake, and waiting for the lock: then none is found, or another is */
	for (uint32_t i = 0; i < hub->pool->threads; i++) {
		if (at_load_rlx(&t[i].sleeps)) {
			coroi_dispatch_rouse_locked(&t[i]);
			return;
		}
	}
}

const struct coroi_policy coroi_gq = {gq_next, gq_park,    coroi_locked_refused,
				      gq_wake, gq_spawned, coroi_locked_stopped};
