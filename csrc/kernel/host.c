//go:build ignore
/* host.c - see host.h. */
#include "kernel/host.h"

#include "base/fault.h"
#include "base/sys.h"
#include "kernel/hooks.h"
#include "kernel/idle.h"
#include "kernel/life.h"
#include "kernel/run.h"
#include "kernel/wait.h"

static struct coroi_worker *main_worker(struct coro_scheduler *s)
{
	return &s->worker[s->workers - 1];
}

/* become - the calling thread is w from now on, in the lock. */
static void become(struct coroi_worker *w)
{
	coroi_be(w);
	coroi_fiber_native(&w->native);
	at_store_rlx(&w->thread.tid, coroi_thread_id());
}

/* ------------------------------------------------------------------------------------- keeper */

/* let_in - HST2, for each host that has come. Returns: has a close begun? */
static bool let_in(struct coroi_worker *w)
{
	struct coro_scheduler *s = w->sched;

	pthread_mutex_lock(&s->life_lock);
	while (s->host) {
		if (s->host->state == COROI_HOST_WANTED) {
			coroi_be_nobody();
			at_xchg(&w->asked, 0);
			s->host->state = COROI_HOST_HOSTED;
			pthread_cond_broadcast(&s->life_changed);
		}
		pthread_cond_wait(&s->life_changed, &s->life_lock);
	}
	if (!coroi_self())
		become(w);
	bool closes = s->host_closes;
	pthread_mutex_unlock(&s->life_lock);
	return closes;
}

/* await_host - w has something to run. */
static void await_host(struct coro_scheduler *s)
{
	pthread_mutex_lock(&s->life_lock);
	while (!s->host && !s->host_closes)
		pthread_cond_wait(&s->life_changed, &s->life_lock);
	pthread_mutex_unlock(&s->life_lock);
}

/* has_something - to run, once deadlines that have come were fired. */
static bool has_something(struct coroi_worker *w)
{
	coroi_door_enter(w);
	uint64_t now = at_load_rlx(&w->due) == COROI_NEVER ? 0 : coroi_now_ns();
	if (now && coroi_timers_are_due(w, now))
		coroi_timers_fire_locked(w, now);
	bool has = w->awaiting_stack.count || w->calls.count || w->errand.run;
	coroi_door_leave(w);
	return has || coroi_has_work(w);
}

bool coroi_host_keep(struct coroi_worker *w)
{
	while (!let_in(w)) {
		if (has_something(w))
			await_host(w->sched);
		else if (!coroi_idle(w))
			return false;
	}
	return true;
}

void coroi_host_close(struct coro_scheduler *s)
{
	pthread_mutex_lock(&s->life_lock);
	s->host_closes = 1;
	pthread_cond_broadcast(&s->life_changed);
	pthread_mutex_unlock(&s->life_lock);
}

/* --------------------------------------------------------------------------------------- host */

/* enter - HST1, in the lock, which is left meanwhile. Returns: CORO_OK: *me says whether the caller
 * is w; CORO_EBUSY, CORO_ECLOSED. */
static int enter(struct coroi_worker *w, struct coroi_host *me)
{
	struct coro_scheduler *s = w->sched;

	if (s->host_closes)
		return CORO_ECLOSED;
	if (s->host)
		return CORO_EBUSY;
	if (s->host_leaves) {
		s->host_leaves = 0;
		me->state = COROI_HOST_LEFT;
		return CORO_OK;
	}
	me->state = COROI_HOST_WANTED;
	s->host = me;
	at_xchg(&w->asked, 1);
	pthread_cond_broadcast(&s->life_changed);
	pthread_mutex_unlock(&s->life_lock);
	coroi_notify_pushed(w);
	pthread_mutex_lock(&s->life_lock);
	while (me->state == COROI_HOST_WANTED)
		pthread_cond_wait(&s->life_changed, &s->life_lock);
	return CORO_OK;
}

/* work - run w until HST4. Returns: has the worker ended? */
static bool work(struct coroi_worker *w)
{
	struct coro_scheduler *s = w->sched;

	coroi_door_enter(w);
	coroi_turnclock_soon(&w->clock, coroi_turns(w)); /* at `asked`, from now on */
	coroi_door_leave(w);
	if (coroi_work(w))
		coroi_hooks.serve(w);
	return at_load_seq(&s->mode) == COROI_STOPPING;
}

int coro_scheduler_host(coro_scheduler *s)
{
	if (!s)
		return CORO_EINVAL;
	if (coroi_self() || !(s->flags & CORO_MAIN_WORKER))
		return CORO_EPERM;
	struct coroi_worker *w = main_worker(s);
	struct coroi_rec **scheduled = coroi_scheduled_tls;
	struct coroi_host me;
	pthread_mutex_lock(&s->life_lock);
	s->hosts++;
	int status = enter(w, &me);
	if (status == CORO_OK && me.state == COROI_HOST_HOSTED) {
		pthread_mutex_unlock(&s->life_lock);
		void *sigstack = coroi_sigstack_borrow();
		become(w);
		if (work(w))
			status = CORO_ECLOSED;
		coroi_be_nobody();
		coroi_scheduled_tls = scheduled;
		coroi_sigstack_return(sigstack);
		pthread_mutex_lock(&s->life_lock);
		at_xchg(&w->asked, 0);
		s->host = NULL;
	}
	s->hosts--;
	pthread_cond_broadcast(&s->life_changed);
	pthread_mutex_unlock(&s->life_lock);
	return status;
}

int coro_scheduler_host_leave(coro_scheduler *s)
{
	if (!s)
		return CORO_EINVAL;
	if (!(s->flags & CORO_MAIN_WORKER))
		return CORO_EPERM;
	struct coroi_worker *w = main_worker(s);
	pthread_mutex_lock(&s->life_lock);
	bool hosted = s->host && s->host->state == COROI_HOST_HOSTED;
	if (hosted) {
		at_xchg(&w->asked, 1);
	} else if (s->host) {
		s->host->state = COROI_HOST_LEFT;
		s->host = NULL;
		at_xchg(&w->asked, 0);
		pthread_cond_broadcast(&s->life_changed);
	} else {
		s->host_leaves = 1;
	}
	pthread_mutex_unlock(&s->life_lock);
	if (hosted)
		coroi_notify_pushed(w);
	return CORO_OK;
}
