//go:build ignore
/*
 * ll.c - locality: the ready queue and the members are the thread's own, and a wake there takes no
 * lock.
 *
 * A woken member goes to the front, so that members that wake each other run while their frames are
 * in cache, and one group comes to its end before the next has its turn. Every 257th wake, and each
 * spawn, goes to the back: so each of finitely many members comes to the front some time.
 *
 * Remote wakes, and spawns from other threads:
 *   LLW1  under the thread's lock the sender sees that the generation is the one meant, counts in
 *         `on_its_way`, puts the member into `remote_wake` unless it is there, and sets `news`
 *   LLW2  the thread looks at `news` before each turn and each wait, without the lock, and takes
 *         all of `remote_wake` under it, to the back of its queue. It sleeps only if, under the
 *         lock, there are no news
 *   LLW3  an end takes all of `remote_wake` first, and changes the generation under the lock: so no
 *         member in `remote_wake` has ended
 * `permits` and `state` are the thread's own, of a spawn from another thread once LLW2 has taken
 * it. LLW1 looks at `permits` too, for the limit alone: relaxed.
 */
#include "dispatch/policy.h"

#define BUDGET 256 /* wakes to the front before one goes to the back */

/* give - m gets n permits, and becomes ready if it waits for one. */
static inline void give(struct coroi_dispatch_thread *t, struct coroi_member *m, uint32_t n,
			bool front)
{
	if (n && m->state == COROI_MEMBER_PARKED) {
		m->state = COROI_MEMBER_READY;
		n--;
		if (front)
			coroi_members_add_first(&t->ready, m);
		else
			coroi_members_add(&t->ready, m);
	}
	at_bump_by(&m->permits, n);
}

static void take_wake_locked(struct coroi_dispatch_thread *t)
{
	struct coroi_member *m = t->remote_wake.first, *next;

	t->remote_wake.first = NULL;
	at_store_rlx(&t->news, 0);
	for (; m; m = next) {
		next = m->wake_next;
		m->is_woken_remotely = false;
		if (m->state == COROI_MEMBER_SENT) {
			m->state = COROI_MEMBER_READY;
			coroi_members_add(&t->ready, m);
		}
		give(t, m, m->on_its_way, false);
		m->on_its_way = 0;
	}
	if (t->cancels && !t->canceled) {
		t->canceled = true;
		coroi_members_cancel_locked(t);
	}
}

COROI_COLD static void take_wake(struct coroi_dispatch_thread *t)
{
	coroi_spin_lock(&t->lock);
	take_wake_locked(t);
	coroi_spin_unlock(&t->lock);
}

static void remote_wake_locked(struct coroi_dispatch_thread *t, struct coroi_member *m)
{
	if (!m->is_woken_remotely) {
		m->is_woken_remotely = true;
		coroi_fifo_add(&t->remote_wake, m, wake_next);
	}
	at_store_rlx(&t->news, 1);
	coroi_dispatch_rouse_locked(t);
}

/* end_member - LLW3. */
static void end_member(struct coroi_dispatch_thread *t, struct coroi_member *m, bool unstarted)
{
	coroi_spin_lock(&t->lock);
	take_wake_locked(t);
	if (unstarted)
		coroi_member_end_unstarted_locked(t, m);
	else
		coroi_member_end_locked(t, m);
	coroi_spin_unlock(&t->lock);
}

/* wait - sleep until there are news. False: the thread is to quit. */
static bool wait(struct coroi_dispatch_thread *t)
{
	coroi_spin_lock(&t->lock);
	while (!at_load_rlx(&t->news) && !t->quits)
		coroi_dispatch_sleep_locked(t);
	bool news = at_load_rlx(&t->news);
	if (news)
		take_wake_locked(t);
	coroi_spin_unlock(&t->lock);
	return news;
}

static coro_dispatched *ll_next(coro_dispatcher *d, void *thread)
{
	struct coroi_dispatch_thread *t = thread;
	struct coroi_member *m = t->running;
	(void)d;

	t->running = NULL;
	if (m && coroi_unlikely(coroi_member_has_ended(m))) {
		end_member(t, m, false);
	} else if (m &&
		   coroi_unlikely(m->state == COROI_MEMBER_RUNS)) { /* by coro_dispatch_block */
		m->state = COROI_MEMBER_READY;
		coroi_members_add(&t->ready, m);
	}
	if (coroi_unlikely(at_load_rlx(&t->news)))
		take_wake(t);
	for (;;) {
		m = coroi_members_take(&t->ready);
		if (coroi_likely(m && !(m->is_fresh && t->canceled))) {
			m->state = COROI_MEMBER_RUNS;
			m->is_fresh = false;
			t->running = m;
			return coroi_member_user(m);
		}
		if (m)
			end_member(t, m, true);
		else if (!wait(t))
			return NULL;
	}
}

static int ll_park(struct coroi_dispatch_thread *t, struct coroi_member *m)
{
	if (!m->permits && coroi_unlikely(at_load_rlx(&t->news))) /* LLW2 */
		take_wake(t);
	if (m->permits) {
		at_store_rlx(&m->permits, m->permits - 1);
		return CORO_OK;
	}
	if (coroi_unlikely(t->canceled))
		return CORO_ECANCELED;
	m->state = COROI_MEMBER_PARKED;
	return coroi_dispatch_suspend(&m->own);
}

/* ll_refused - the member has no permit, and this thread has woken none meanwhile. */
COROI_COLD static int ll_refused(void *thread, struct coroi_dispatched *own, int status)
{
	(void)thread;
	((struct coroi_member *)own)->state = COROI_MEMBER_RUNS;
	return status;
}

/* wake_from_elsewhere - LLW1. */
static int wake_from_elsewhere(struct coroi_dispatch_thread *t, struct coroi_member *m,
			       uint32_t generation)
{
	int status = CORO_OK;

	coroi_spin_lock(&t->lock);
	if (m->generation != generation) {
		status = CORO_ESTALE;
	} else if (at_load_rlx(&m->permits) + m->on_its_way >= COROI_MEMBER_PERMITS) {
		status = CORO_EOVERFLOW;
	} else {
		m->on_its_way++;
		remote_wake_locked(t, m);
	}
	coroi_spin_unlock(&t->lock);
	return status;
}

static int ll_wake(struct coroi_dispatch_thread *t, struct coroi_member *m, uint32_t generation,
		   bool here)
{
	if (!here)
		return wake_from_elsewhere(t, m, generation);
	if (coroi_unlikely(m->generation != generation))
		return CORO_ESTALE;
	if (coroi_unlikely(m->permits >= COROI_MEMBER_PERMITS))
		return CORO_EOVERFLOW;
	bool front = true;
	if (m->state == COROI_MEMBER_PARKED && coroi_unlikely(!t->budget--)) {
		t->budget = BUDGET;
		front = false;
	}
	give(t, m, 1, front);
	return CORO_OK;
}

static void ll_spawned(struct coroi_dispatch_thread *t, struct coroi_member *m, bool here)
{
	if (here) {
		m->state = COROI_MEMBER_READY;
		coroi_members_add(&t->ready, m);
	} else {
		m->state = COROI_MEMBER_SENT;
		remote_wake_locked(t, m);
	}
}

static void ll_stopped(struct coroi_dispatch_thread *t)
{
	at_store_rlx(&t->news, 1);
}

const struct coroi_policy coroi_ll = {ll_next, ll_park,    ll_refused,
				      ll_wake, ll_spawned, ll_stopped};
