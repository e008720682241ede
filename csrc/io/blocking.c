//go:build ignore
/* blocking.c - see blocking.h. */
#include "io/blocking.h"

#include "base/current.h"
#include "base/fault.h"
#include "base/list.h"
#include "kernel/kernel.h"

#define IDLE_NS      5000000000
#define THREADS_MOST 65536
#define SPINS        60 /* how often an idle thread looks for a job before it sleeps */

/* A thread of the pool, on its own stack. */
struct coroi_thread {
	struct coroi_thread *next;            /* in `idle` */
	struct coroi_thread *next_all, *prev; /* in `all` */
	struct coroi_job *job;
	coro_fn what; /* of the job that this thread does, or NULL; atomic, relaxed */
	bool looks_up;
	uint32_t ev;             /* atomic, a futex; 1: there is a job, or the thread is to end */
	struct coroi_rec *rec;   /* the coroutine whose job this thread does, or NULL */
	struct coroi_rec *rider; /* the coroutine that goes on here, or NULL */
	void *sp;                /* the context of the thread itself meanwhile */
	void *sigstack;
	struct coroi_fiber native;
};

static struct coroi_service pool_service;

struct coroi_pool *coroi_blocking_pool(struct coro_scheduler *s)
{
	return *coroi_service_state(s, &pool_service);
}

/* NULL: not a thread of a pool. The model is one whose access is async-signal-safe. */
static __thread __attribute__((tls_model("initial-exec"))) struct coroi_thread *thread_here;

/* here - this thread, if it is one of a pool. Not inline: a coroutine goes from one thread to
 * another. */
static COROI_NOINLINE struct coroi_thread *here(void)
{
	return thread_here;
}

/* ----------------------------------------------------------------------------------- the queue */

static void enqueue(struct coroi_pool *p, struct coroi_job *j)
{
	coroi_dlist_add(&p->queue, j);
	j->where = COROI_JOB_QUEUED;
}

static void dequeue(struct coroi_pool *p, struct coroi_job *j)
{
	coroi_dlist_remove(&p->queue, j);
	j->where = COROI_JOB_TAKEN;
}

/* admit - BLK2: may j have a thread? Else it is in the line. */
static bool admit(struct coroi_pool *p, struct coroi_job *j)
{
	if (!j->is_lookup)
		return true;
	if (p->lookups < p->lookups_most) {
		p->lookups++;
		return true;
	}
	coroi_dlist_add(&p->line, j);
	j->where = COROI_JOB_IN_LINE;
	return false;
}

/* next_lookup - BLK5. */
static void next_lookup(struct coroi_pool *p)
{
	struct coroi_job *j = p->line.first;

	if (j) {
		coroi_dlist_remove(&p->line, j);
		enqueue(p, j);
	} else {
		p->lookups--;
	}
}

/* empty - take all out of the queue and the line. Returns: the jobs, linked by next. */
static struct coroi_job *empty(struct coroi_pool *p)
{
	struct coroi_job *all = NULL, *j;

	while ((j = p->queue.first)) {
		dequeue(p, j);
		if (j->is_lookup)
			next_lookup(p);
		j->next = all;
		all = j;
	}
	return all;
}

/* ---------------------------------------------------------------------------------- the threads */

/* make - BLK4. */
static void make(struct coroi_thread *t, struct coroi_job *j)
{
	struct coroi_rec *rec = j->rec;
	struct coro_scheduler *s = j->pool->sched;

	t->rec = rec;
	t->looks_up = j->is_lookup;
	at_store_rlx(&t->what, j->what);
	j->fn(j->arg);
	at_store_rlx(&t->what, (coro_fn)NULL);
	t->rec = NULL;
	if (rec) {
		coroi_event_send(rec); /* the job is gone from now on */
		coroi_pending_end(s);
	}
}

/* still_idle - take t off the list of idle threads. False: a submit has taken it. With the lock. */
static bool still_idle(struct coroi_pool *p, struct coroi_thread *t)
{
	for (struct coroi_thread **at = &p->idle; *at; at = &(*at)->next)
		if (*at == t) {
			*at = t->next;
			return true;
		}
	return false;
}

/* next_job - wait for a job. NULL: the thread is to end. */
static struct coroi_job *next_job(struct coroi_pool *p, struct coroi_thread *t)
{
	coroi_lock(&p->lock);
	if (t->looks_up)
		next_lookup(p);
	t->looks_up = false;
	struct coroi_job *j = p->queue.first;
	if (j) {
		dequeue(p, j);
		coroi_unlock(&p->lock);
		return j;
	}
	if (p->closing) {
		coroi_unlock(&p->lock);
		return NULL;
	}
	t->job = NULL;
	at_store_rlx(&t->ev, 0);
	t->next = p->idle;
	p->idle = t;
	coroi_unlock(&p->lock);
	for (int i = 0; i < SPINS && !at_load_rlx(&t->ev); i++)
		at_relax();
	/* Acquire: pairs with the exchange in wake, so that the job is seen. */
	for (uint64_t until = coroi_now_ns() + p->idle_ns; !at_load_acq(&t->ev);) {
		uint64_t now = coroi_now_ns();
		if (now < until) {
			coroi_futex_wait(&t->ev, 0, (int64_t)(until - now));
			continue;
		}
		coroi_lock(&p->lock);
		bool mine = still_idle(p, t);
		coroi_unlock(&p->lock);
		if (mine)
			return NULL;
		until = CORO_FOREVER;
	}
	return t->job;
}

/* wake - give t, which is off the list, the job j. NULL: t is to end. */
static void wake(struct coroi_thread *t, struct coroi_job *j)
{
	uint32_t *ev = &t->ev;
	t->job = j;
	at_xchg(ev, 1);
	coroi_futex_wake(ev, 1); /* t may be gone by now: see coroi_waiter_wake */
}

static void enlist(struct coroi_pool *p, struct coroi_thread *t)
{
	t->prev = NULL;
	if ((t->next_all = p->all))
		p->all->prev = t;
	p->all = t;
}

static void delist(struct coroi_pool *p, struct coroi_thread *t)
{
	if (t->next_all)
		t->next_all->prev = t->prev;
	if (t->prev)
		t->prev->next_all = t->next_all;
	else
		p->all = t->next_all;
}

static void *thread_main(void *arg)
{
	struct coroi_job *j = arg;
	struct coroi_pool *p = j->pool;
	struct coroi_thread t = {.job = j};

	thread_here = &t;
	coroi_fiber_native(&t.native);
	coroi_name_thread(p->sched); /* as the workers, with the number after theirs */
	t.sigstack = coroi_sigstack_install();
	coroi_lock(&p->lock);
	enlist(p, &t);
	coroi_unlock(&p->lock);
	for (; j; j = next_job(p, &t))
		make(&t, j);

	coroi_lock(&p->lock);
	delist(p, &t);
	p->threads--;
	pthread_t before = p->dead;
	bool any = p->has_dead;
	p->dead = pthread_self();
	p->has_dead = true;
	at_add(&p->left, 1);
	coroi_unlock(&p->lock);
	coroi_futex_wake(&p->left, 1);
	if (any)
		pthread_join(before, NULL);
	coroi_sigstack_remove(t.sigstack);
	return NULL;
}

/* refuse - jobs that were in the queue, where no thread comes any more. */
COROI_COLD static void refuse(struct coro_scheduler *s, struct coroi_job *j)
{
	for (struct coroi_job *next; j; j = next) {
		struct coroi_rec *rec = j->rec;
		next = j->next;
		j->refused = true;
		if (!rec) {
			j->fn(j->arg);
			continue;
		}
		coroi_event_send(rec); /* the job is gone from now on */
		coroi_pending_end(s);
	}
}

/* not_started - BLK2 for a job for which no thread could be had. A thread has become idle
 * meanwhile, or there are others, or others are being started: each looks at the queue before it is
 * idle. If this was the last, what has queued for it is refused too. */
COROI_COLD static int not_started(struct coroi_pool *p, struct coroi_job *j)
{
	struct coroi_job *queued = NULL;

	coroi_lock(&p->lock);
	struct coroi_thread *t = p->idle;
	if (t)
		p->idle = t->next;
	uint32_t threads = --p->threads;
	if (threads && !t)
		enqueue(p, j);
	if (!threads) {
		if (j->is_lookup)
			next_lookup(p);
		queued = empty(p);
	}
	coroi_unlock(&p->lock);
	if (t)
		wake(t, j);
	refuse(p->sched, queued);
	return threads ? CORO_OK : CORO_EAGAIN;
}

/* submit - BLK2. CORO_EAGAIN: there is no thread, and none can be had. */
static int submit(struct coroi_pool *p, struct coroi_job *j)
{
	pthread_t thread;

	j->pool = p;
	coroi_lock(&p->lock);
	if (!admit(p, j)) {
		coroi_unlock(&p->lock);
		return CORO_OK;
	}
	struct coroi_thread *t = p->idle;
	if (t) {
		p->idle = t->next;
		coroi_unlock(&p->lock);
		wake(t, j);
		return CORO_OK;
	}
	if (p->threads == p->most) {
		enqueue(p, j);
		coroi_unlock(&p->lock);
		return CORO_OK;
	}
	p->threads++;
	coroi_unlock(&p->lock);
	return coroi_thread_start(&thread, thread_main, j) == 0 ? CORO_OK : not_started(p, j);
}

static int pool_init(struct coro_scheduler *s, const coro_options *o)
{
	struct coroi_pool *p;

	if (o->blocking_threads > THREADS_MOST)
		return CORO_EINVAL;
	if (!(p = coroi_alloc(sizeof *p, COROI_LINE)))
		return CORO_ENOMEM;
	p->sched = s;
	p->most = o->blocking_threads ? o->blocking_threads : COROI_BLOCKING_THREADS;
	p->lookups_most = p->most > 1 ? p->most / 2 : 1;
	p->idle_ns = IDLE_NS;
	*coroi_service_state(s, &pool_service) = p;
	return CORO_OK;
}

/* pool_close - end all threads. No coroutine of s is left. */
static void pool_close(struct coro_scheduler *s)
{
	struct coroi_pool *p = coroi_blocking_pool(s);

	if (!p) /* s was not made by coro_scheduler_init */
		return;
	coroi_lock(&p->lock);
	p->closing = true;
	struct coroi_thread *idle = p->idle;
	p->idle = NULL;
	coroi_unlock(&p->lock);
	for (struct coroi_thread *next; idle; idle = next) {
		next = idle->next;
		wake(idle, NULL);
	}
	for (;;) {
		uint32_t left = at_load_seq(&p->left);
		coroi_lock(&p->lock);
		bool any = p->threads > 0;
		coroi_unlock(&p->lock);
		if (!any)
			break;
		coroi_futex_wait(&p->left, left, -1);
	}
	if (p->has_dead)
		pthread_join(p->dead, NULL);
	p->has_dead = false;
}

static void pool_stats(struct coro_scheduler *s, coro_stats *out)
{
	struct coroi_pool *p = coroi_blocking_pool(s);

	if (!p)
		return;
	coroi_lock(&p->lock);
	out->blocking_threads = p->threads;
	for (struct coroi_thread *t = p->idle; t; t = t->next)
		out->blocking_idle++;
	for (struct coroi_job *j = p->queue.first; j; j = j->next)
		out->blocking_queued++;
	for (struct coroi_job *j = p->line.first; j; j = j->next)
		out->blocking_queued++;
	coroi_unlock(&p->lock);
}

/* pool_running - jobs that threads make; also those for which nobody waits any more. */
static size_t pool_running(struct coro_scheduler *s, coro_fn *list, size_t most)
{
	struct coroi_pool *p = coroi_blocking_pool(s);
	size_t n = 0;

	if (!p)
		return 0;
	coroi_lock(&p->lock);
	for (struct coroi_thread *t = p->all; t && n < most; t = t->next_all) {
		coro_fn what = at_load_rlx(&t->what);
		if (what)
			list[n++] = what;
	}
	coroi_unlock(&p->lock);
	return n;
}

static void pool_destroy(struct coro_scheduler *s)
{
	coroi_release(coroi_blocking_pool(s));
	*coroi_service_state(s, &pool_service) = NULL;
}

static struct coroi_service pool_service = {
	.init = pool_init,
	.stats = pool_stats,
	.running = pool_running,
	.close = pool_close,
	.destroy = pool_destroy,
};

static void end_elsewhere(void)
{
	coro_thread_end();
}

static bool layer_where(struct coroi_where *at)
{
	struct coroi_thread *t = here();

	if (!t)
		return false;
	if (t->rec)
		coroi_where_of(t->rec, at);
	if (t->rider) {
		at->what = "between coro_thread_begin and coro_thread_end, in";
	} else {
		at->what = t->rec ? "in a call of coro_blocking by"
				  : "on a thread for coro_blocking";
		at->stack = NULL; /* the coroutine waits */
	}
	return true;
}

static const struct coroi_layer layer = {.where = layer_where};

__attribute__((constructor)) static void pool_register(void)
{
	coroi_layer[COROI_LAYER_BLOCKING] = &layer;
	coroi_service_register(&pool_service);
	coroi_on_end_elsewhere = end_elsewhere;
}

/* -------------------------------------------------------------------------------- public calls */

bool coroi_blocking_take_back(struct coroi_job *j)
{
	struct coroi_pool *p = j->pool;

	coroi_lock(&p->lock);
	bool is_there = j->where != COROI_JOB_TAKEN;
	if (j->where == COROI_JOB_IN_LINE) {
		coroi_dlist_remove(&p->line, j);
	} else if (is_there) {
		dequeue(p, j);
		if (j->is_lookup)
			next_lookup(p);
	}
	coroi_unlock(&p->lock);
	if (is_there)
		coroi_pending_end(p->sched);
	return is_there;
}

static bool withdraw(void *arg)
{
	return coroi_blocking_take_back(arg);
}

int coro_blocking(void (*fn)(void *), void *arg)
{
	return coroi_blocking(fn, arg, (coro_fn)(uintptr_t)fn);
}

int coroi_blocking(void (*fn)(void *), void *arg, coro_fn what)
{
	struct coroi_worker *w = coroi_self();
	struct coroi_rec *me;

	if (!(me = coroi_current(w)))
		return CORO_EPERM;
	if (!fn || coroi_is_hidden(me, arg))
		return CORO_EINVAL;
	int status = coroi_nowait(w, "coro_blocking", CORO_FOREVER);
	if (status)
		return status;
	status = coroi_refused();
	if (status)
		return status;
	struct coro_scheduler *s = coroi_scheduler_of(w);
	struct coroi_job *j = coroi_aside(me, sizeof *j);
	if (!j)
		return CORO_ENOMEM;
	*j = (struct coroi_job){.fn = fn, .arg = arg, .rec = me, .what = what};
	coroi_escape(me);
	coroi_pending_begin(s, 1); /* BLK1 */
	status = submit(coroi_blocking_pool(s), j);
	if (status)
		coroi_pending_end(s);
	else
		status = coroi_wait(me, CORO_WAIT_BLOCKING, CORO_FOREVER, withdraw, j); /* BLK3 */
	if (!status && j->refused)
		status = CORO_EAGAIN;
	coroi_aside_end(me, j);
	return status;
}

int coroi_blocking_alone(struct coro_scheduler *s, struct coroi_job *j)
{
	j->rec = NULL;
	coroi_pending_begin(s, 1); /* BLK1 */
	int status = submit(coroi_blocking_pool(s), j);
	if (status)
		coroi_pending_end(s);
	return status;
}

/* ride - the job of coro_thread_begin: the coroutine goes on here. */
static void ride(void *arg)
{
	struct coroi_rec *rider = arg;
	struct coroi_thread *t = here();

	t->rider = rider;
	coroi_elsewhere_begin(rider, &t->sp);
}

/* leave - the errand of coro_thread_begin. */
static void leave(struct coroi_worker *w, void *arg)
{
	struct coroi_job *j = arg;
	struct coroi_rec *me = j->rec;

	/* BLK2. With CORO_OK another thread may go on with me at once. */
	int status = submit(coroi_blocking_pool(coroi_scheduler_of(w)), j);
	if (!status)
		return;
	coroi_errand_failed(w, me, status);
	coroi_pending_end(coroi_scheduler_of(w));
}

int coro_thread_begin(void)
{
	struct coroi_worker *w = coroi_self();
	struct coroi_rec *me;

	if (!(me = coroi_current(w)) || coroi_is_dense(me))
		return CORO_EPERM;
	int status = coroi_nowait(w, "coro_thread_begin", CORO_FOREVER);
	if (status)
		return status;
	status = coroi_refused();
	if (status)
		return status;
	struct coroi_where at = {.fn = 0};
	coroi_where_of(me, &at);
	struct coroi_job j = {.fn = ride, .arg = me, .rec = me, .what = (coro_fn)at.fn};
	coroi_escape(me);
	coroi_pending_begin(coroi_scheduler_of(w), 1); /* BLK1 */
	status = coroi_errand(w, me, CORO_WAIT_BLOCKING, leave, &j);
	return !status && j.refused ? CORO_EAGAIN : status;
}

int coro_thread_end(void)
{
	struct coroi_thread *t = here();
	struct coroi_rec *me = t ? t->rider : NULL;

	if (!me)
		return CORO_EPERM;
	t->rider = NULL;
	return coroi_elsewhere_end(me, t->sp, &t->native); /* the job is done: BLK4 is next */
}
