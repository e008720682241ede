//go:build ignore
/*
 * life.c - a scheduler's life: made, run or waited for, closed, destroyed.
 */
#include "kernel/life.h"

#include "kernel/dense.h"
#include "kernel/hooks.h"
#include "kernel/idle.h"
#include "kernel/host.h"
#include "base/fault.h"
#include "kernel/run.h"
#include "kernel/wait.h"

#include <stdio.h>
#include <string.h>

const struct coroi_worker coroi_nobody = {.sched = (struct coro_scheduler *)&coroi_nobody};
__thread struct coroi_worker *coroi_worker_tls,
	*coroi_here_tls = (struct coroi_worker *)&coroi_nobody;

/* ------------------------------------------------------------------------------ worker threads */

bool coroi_work(struct coroi_worker *w)
{
	if (coroi_unlikely(w->calls.count && !w->masked_again && !(w->is_main && w->sched->host))) {
		coroi_thread_mask();
		w->masked_again = true;
	}
	do {
		if ((w->calls.count || at_load_seq(&w->sched->mode) == COROI_RUNNING) &&
		    coroi_run(w))
			return true;
		if (coroi_unlikely(coroi_host_asked(w)) || !coroi_idle(w))
			return false;
	} while (!w->calls.count); /* else a lender has left them */
	return true;
}

static void *worker_main(void *arg)
{
	struct coroi_worker *w = arg;
	struct coro_scheduler *s = w->sched;

	coroi_be(w);
	coroi_fiber_native(&w->native);
	coroi_thread_name(s->name, w->id);
	at_store_rlx(&w->thread.tid, coroi_thread_id());
	if (w->thread.cpu >= 0 && !coroi_thread_pin((unsigned)w->thread.cpu))
		w->thread.cpu = -1;
	w->thread.sigstack = coroi_sigstack_install();
	pthread_mutex_lock(&s->life_lock);
	s->started++;
	if (!w->thread.sigstack)
		s->unfit++;
	pthread_cond_broadcast(&s->life_changed);
	pthread_mutex_unlock(&s->life_lock);

	if ((!w->is_main || coroi_host_keep(w)) && coroi_work(w))
		coroi_hooks.serve(w);
	coroi_sigstack_remove(w->thread.sigstack);
	return NULL;
}

static int worker_init(struct coro_scheduler *s, uint32_t id, const coro_options *o)
{
	struct coroi_worker *w = &s->worker[id];

	w->id = (uint16_t)id;
	w->sched = s;
	w->exchange = id ? s->worker[0].exchange
			 : o->flags & CORO_NO_MEMBARRIER || !coroi_has_membarrier();
	w->budget = o->handover_budget < 0 ? 0
		    : o->handover_budget   ? (uint32_t)o->handover_budget
					   : COROI_CHAIN_FIRST;
	w->chain.is_fixed = o->handover_budget != 0;
	w->handovers.most = w->budget;
	w->spin.ns = COROI_SPIN_NS;
	w->steal.random = (id + 1) * UINT64_C(0x9e3779b97f4a7c15);
	w->is_main = o->flags & CORO_MAIN_WORKER && id + 1 == s->workers;
	w->kept = w->is_main;
	w->thread.cpu = o->cpus && !w->is_main ? o->cpus[id % o->cpu_count] : -1;
	w->forks.ring = coroi_alloc(COROI_FORKS_MOST * sizeof *w->forks.ring, COROI_LINE);
	if (!w->forks.ring || coroi_deque_init(&w->queue) || coroi_mags_init(&w->mags, &s->slab) ||
	    coroi_stack_cache_init(&w->stacks, &s->stacks,
				   o->stack_cache ? o->stack_cache : COROI_STACK_CACHE))
		return CORO_ENOMEM;
	w->timers = coroi_alloc(sizeof *w->timers, COROI_LINE);
	w->due = COROI_NEVER;
	coroi_turnclock_begin(&w->clock);
	w->poll_mask = COROI_POLL_TURNS - 1;
	w->waits.left = w->waits.every = 1;
	w->shares = !coroi_is_dedicated(w) && coroi_general(s) > 1;
	w->stir.next = id;
	w->steal.seen = coroi_alloc(s->workers * sizeof *w->steal.seen, COROI_LINE);
	return w->steal.seen && w->timers ? CORO_OK : CORO_ENOMEM;
}

static void stop_threads(struct coro_scheduler *s, uint32_t count)
{
	at_xchg(&s->mode, COROI_STOPPING);
	/* A worker that is about to sleep sees the mode at SLP2, or we see its bit and claim it. */
	coroi_wake_all(s);
	coroi_rested(s); /* wakes the threads in await: they look at the mode */
	for (uint32_t i = 0; i < count; i++)
		pthread_join(s->worker[i].thread.self, NULL);
}

static int start_threads(struct coro_scheduler *s)
{
	uint32_t n = 0;

	while (n < s->workers &&
	       coroi_thread_start(&s->worker[n].thread.self, worker_main, &s->worker[n]) == 0)
		n++;
	pthread_mutex_lock(&s->life_lock);
	while (s->started < n)
		pthread_cond_wait(&s->life_changed, &s->life_lock);
	pthread_mutex_unlock(&s->life_lock);
	if (n == s->workers && !s->unfit)
		return CORO_OK;
	stop_threads(s, n);
	return n < s->workers ? CORO_EAGAIN : CORO_ENOMEM;
}

/* ------------------------------------------------------------------------------ init, destroy */

static void free_workers(struct coro_scheduler *s)
{
	for (uint32_t i = 0; s->worker && i < s->workers; i++) {
		struct coroi_worker *w = &s->worker[i];
		coroi_deque_destroy(&w->queue);
		coroi_release(w->forks.ring);
		coroi_dense_close(w);
		coroi_stack_cache_destroy(&w->stacks);
		coroi_release(w->steal.seen);
		coroi_release(w->timers);
		w->timers = NULL;
		w->steal.seen = NULL;
	}
}

static void free_all(struct coro_scheduler *s)
{
	coroi_services_destroy(s);
	coroi_batches_trim(&s->slab);
	coroi_forget_failures(s);
	coroi_slab_destroy(&s->slab);
	coroi_release(s->worker);
	pthread_mutex_destroy(&s->outside.lock);
	pthread_mutex_destroy(&s->life_lock);
	pthread_cond_destroy(&s->life_changed);
	coroi_release(s);
}

static int check_options(const coro_options *o)
{
	uint32_t known = CORO_PAUSED | CORO_NO_MEMBARRIER | CORO_NO_STANDBY | CORO_NO_LENDING |
			 CORO_MAIN_WORKER;
	if ((o->size && o->size != sizeof *o) || o->flags & ~known || o->workers > CORO_WORKERS_MAX)
		return CORO_EINVAL;
	if (o->flags & CORO_MAIN_WORKER && (o->flags & CORO_PAUSED || !o->dedicated))
		return CORO_EINVAL;
	if (o->dedicated > CORO_WORKERS_MAX - 1 || o->workers + o->dedicated > CORO_WORKERS_MAX)
		return CORO_EINVAL;
	if (o->steal_batch > COROI_STEAL_MAX || o->handover_budget < -1 || o->stack_cache > 65536)
		return CORO_EINVAL;
	if (o->shared_stacks == 1 || o->shared_stacks > COROI_SHARED_STACKS_MOST ||
	    coroi_stack_class(o->shared_stack_bytes) < 0)
		return CORO_EINVAL;
	if ((o->cpus && !o->cpu_count) || coroi_stack_class(o->stack_bytes) < 0)
		return CORO_EINVAL;
	return CORO_OK;
}

static int build(struct coro_scheduler *s, const coro_options *o)
{
	s->dedicated = o->dedicated;
	s->workers = (o->workers ? o->workers : coroi_cpus()) + o->dedicated;
	if (s->workers > CORO_WORKERS_MAX)
		s->workers = CORO_WORKERS_MAX;
	s->flags = o->flags;
	s->steal_batch = o->steal_batch ? o->steal_batch : COROI_STEAL_BATCH;
	s->class = (uint8_t)coroi_stack_class(o->stack_bytes);
	s->dense_class = (uint8_t)coroi_stack_class(o->shared_stack_bytes);
	s->shared_stacks = (uint16_t)(o->shared_stacks ? o->shared_stacks : COROI_SHARED_STACKS);
	s->lends = !(o->flags & (CORO_PAUSED | CORO_NO_LENDING)) && !o->cpus;
	s->mode = o->flags & CORO_PAUSED ? COROI_PAUSED : COROI_RUNNING;
	s->hungry = COROI_HUNGRY_ALONE;
	snprintf(s->name, sizeof s->name, "%s", o->name ? o->name : "coro");
	s->worker = coroi_alloc((s->workers + 1) * sizeof *s->worker, COROI_APART);
	if (!s->worker)
		return CORO_ENOMEM;
	for (uint32_t i = 0; i < s->workers; i++)
		if (worker_init(s, i, o))
			return CORO_ENOMEM;
	if (coroi_mags_init(&s->outside.mags, &s->slab))
		return CORO_ENOMEM;
	coroi_threadless_init(s);
	s->driver = &coroi_futex_driver;
	int status = coroi_services_init(s, o);
	if (status)
		return status;
	s->activity = s->workers * COROI_AWAKE; /* each worker starts awake, and parks */
	return start_threads(s);
}

int coro_scheduler_init(coro_scheduler **out, const coro_options *opt)
{
	coro_options o = {.size = sizeof o};

	if (opt)
		o = *opt;
	if (!out || check_options(&o))
		return CORO_EINVAL;
	if (coroi_self())
		return CORO_EPERM;
	struct coro_scheduler *s = coroi_alloc(sizeof *s, COROI_APART);
	if (!s)
		return CORO_ENOMEM;
	pthread_mutex_init(&s->outside.lock, NULL);
	pthread_mutex_init(&s->life_lock, NULL);
	pthread_cond_init(&s->life_changed, NULL);
	coroi_fault_install();
	coroi_slab_init(&s->slab, s, o.record_limit);
	coroi_stack_pool_init(&s->stacks, o.stack_limit);
	int status = build(s, &o);
	if (status) {
		free_workers(s);
		coroi_stack_pool_destroy(&s->stacks);
		free_all(s);
		return status;
	}
	*out = s;
	return CORO_OK;
}

int coro_scheduler_destroy(coro_scheduler *s)
{
	if (!s)
		return CORO_OK;
	int status = coro_scheduler_close(s, 1);
	if (status)
		return status;
	pthread_mutex_lock(&s->life_lock);
	while (s->closers || s->hosts)
		pthread_cond_wait(&s->life_changed, &s->life_lock);
	pthread_mutex_unlock(&s->life_lock);
	coroi_await_wakers();
	free_all(s);
	return CORO_OK;
}

/* ----------------------------------------------------------------------------------- all doors */

void coroi_doors_lock(struct coro_scheduler *s)
{
	for (uint32_t i = 0; i < s->workers; i++)
		coroi_door_lock(&s->worker[i]);
}

void coroi_doors_unlock(struct coro_scheduler *s)
{
	for (uint32_t i = 0; i < s->workers; i++)
		coroi_door_unlock(&s->worker[i]);
}

/* is_empty - every coroutine has ended, the daemons too. */
static bool is_empty(struct coro_scheduler *s)
{
	return coroi_at_rest(s) && coroi_live(s) == 0;
}

/* await - wait until that is true of s, or s is stopped: the thread that stops the workers has seen
 * that s was empty, and counts one more rest. */
static void await(struct coro_scheduler *s, bool (*is_so)(struct coro_scheduler *))
{
	coroi_rest_waits(s, 1);
	for (;;) {
		uint32_t told = at_load_seq(&s->rests_told);
		if (is_so(s) || at_load_seq(&s->mode) == COROI_STOPPING)
			break;
		coroi_rest_await(s, told);
	}
	coroi_rest_waits(s, -1);
}

/* --------------------------------------------------------------------------------- run and wait */

static int begin_run(struct coro_scheduler *s)
{
	int status = CORO_OK;

	pthread_mutex_lock(&s->life_lock);
	if (s->closing)
		status = CORO_ECLOSED;
	else if (s->running)
		status = CORO_EBUSY;
	else
		s->running = 1;
	pthread_mutex_unlock(&s->life_lock);
	return status;
}

static void end_run(struct coro_scheduler *s)
{
	pthread_mutex_lock(&s->life_lock);
	s->running = 0;
	pthread_cond_broadcast(&s->life_changed);
	pthread_mutex_unlock(&s->life_lock);
}

/* resume_all - let the workers run, until the mode is COROI_PAUSED again. */
static void resume_all(struct coro_scheduler *s)
{
	at_xchg(&s->mode, COROI_RUNNING);
	coroi_wake_all(s);
}

/* pause_at_rest - wait for the rest, and pause then. A thread that claims a sleeper takes a token
 * before it looks at the mode. So it sees that we pause, or we see its token. If it has given the
 * token back by then, we see by `rises` that there was one. */
static void pause_at_rest(struct coro_scheduler *s)
{
	coroi_rest_waits(s, 1);
	for (;;) {
		uint32_t told = at_load_seq(&s->rests_told), rises = at_load_seq(&s->rises);
		/* If coroutines await a stack, the worker that gave the last token back is about to
		 * wake one of their workers: see NST3 of nostack.h. */
		if (coroi_at_rest(s) && !at_load_seq(&s->awaiting_stack)) {
			at_xchg(&s->mode, COROI_PAUSED);
			if (coroi_at_rest(s) && at_load_seq(&s->rises) == rises)
				break;
			resume_all(s);
		}
		coroi_rest_await(s, told);
	}
	coroi_rest_waits(s, -1);
}

int coro_scheduler_run(coro_scheduler *s)
{
	if (!s)
		return CORO_EINVAL;
	if (coroi_self() || !(s->flags & CORO_PAUSED))
		return CORO_EPERM;
	int status = begin_run(s);
	if (status)
		return status;
	resume_all(s);
	pause_at_rest(s);
	status = coroi_others(s) ? CORO_EDEADLK : CORO_OK;
	end_run(s);
	return status;
}

int coro_scheduler_wait(coro_scheduler *s)
{
	if (!s)
		return CORO_EINVAL;
	if (coroi_self() || s->flags & CORO_PAUSED)
		return CORO_EPERM;
	await(s, coroi_finished);
	return CORO_OK;
}

/* --------------------------------------------------------------------------------------- close */

void coroi_refuse(struct coro_scheduler *s)
{
	pthread_mutex_lock(&s->outside.lock);
	at_xchg(&s->outside.refusing, 1); /* a lender looks, outside of the lock: LND1 of lend.h */
	coroi_outside_close(s);
	pthread_mutex_unlock(&s->outside.lock);
}

static void cancel_one(struct coroi_rec *r, void *ctx)
{
	struct coro_scheduler *s = ctx;

	coroi_end_wait_locked(&s->worker[at_load_rlx(&r->home)], r, CORO_ECANCELED);
}

/* cancel - end every wait of now with CORO_ECANCELED. A later wait ends at once, and a fresh
 * coroutine ends unstarted. */
static void cancel(struct coro_scheduler *s)
{
	coroi_doors_lock(s);
	for (uint32_t i = 0; i < s->workers; i++)
		at_store_rlx(&s->worker[i].cancel, 1);
	coroi_slab_each(&s->slab, cancel_one, s);
	coroi_doors_unlock(s);
	for (uint32_t i = 0; i < s->workers; i++)
		coroi_notify_pushed(&s->worker[i]);
}

int coro_scheduler_close(coro_scheduler *s, int with_cancel)
{
	if (!s)
		return CORO_EINVAL;
	if (coroi_self())
		return CORO_EPERM;
	pthread_mutex_lock(&s->life_lock);
	if (s->closed) {
		pthread_mutex_unlock(&s->life_lock);
		return CORO_OK;
	}
	bool first = !s->closing;
	s->closing = 1;
	bool do_cancel = !s->canceled && (with_cancel || (s->flags & CORO_PAUSED && !s->running));
	s->canceled |= do_cancel;
	s->closers++; /* the workers' memory stays while a thread is in here */
	pthread_mutex_unlock(&s->life_lock);

	coroi_refuse(s);
	coroi_services_refuse(s);
	coroi_host_close(s);
	if (do_cancel)
		cancel(s);

	pthread_mutex_lock(&s->life_lock);
	if (first) {
		while (s->running)
			pthread_cond_wait(&s->life_changed, &s->life_lock);
		s->canceled |= s->flags & CORO_PAUSED;
		pthread_mutex_unlock(&s->life_lock);
		if (s->flags & CORO_PAUSED) {
			cancel(s); /* perhaps again: another closer may be about to do it */
			resume_all(s);
		} else {
			await(s, coroi_finished);
			if (coroi_live(s)) { /* daemons are left, and what they spawn meanwhile */
				pthread_mutex_lock(&s->life_lock);
				s->canceled = 1;
				pthread_mutex_unlock(&s->life_lock);
				cancel(s);
			}
		}
		await(s, is_empty);
		stop_threads(s, s->workers);
		coroi_services_close(s);
		pthread_mutex_lock(&s->life_lock);
		s->closed = 1;
		pthread_cond_broadcast(&s->life_changed);
	}
	while (!s->closed)
		pthread_cond_wait(&s->life_changed, &s->life_lock);
	if (--s->closers == 0) {
		free_workers(s);
		coroi_stack_pool_destroy(&s->stacks);
		pthread_cond_broadcast(&s->life_changed);
	}
	pthread_mutex_unlock(&s->life_lock);
	return CORO_OK;
}
