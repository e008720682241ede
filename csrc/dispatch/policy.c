//go:build ignore
/* policy.c - see policy.h. */
#include "dispatch/policy.h"

#include "base/sys.h"

#include <stdio.h>

#define TLS      __attribute__((tls_model("initial-exec")))
#define IN_A_ROW 128

static __thread struct coroi_dispatch_thread *self TLS;

/* ------------------------------------------------------------------------------------- members */

/* more_locked - one more chunk of members for t. */
static bool more_locked(struct coroi_dispatch_thread *t)
{
	struct coro_dispatch_pool *p = t->pool;
	struct coroi_member_chunk *c = coroi_alloc(sizeof *c, COROI_LINE);

	if (!c)
		return false;
	pthread_mutex_lock(&p->lock);
	uint32_t n = p->chunks;
	p->chunks += n < COROI_MEMBER_CHUNKS;
	pthread_mutex_unlock(&p->lock);
	if (n == COROI_MEMBER_CHUNKS) {
		coroi_release(c);
		return false;
	}
	c->home = t;
	c->next = t->chunks;
	t->chunks = c;
	for (uint32_t i = COROI_MEMBERS; i--;) {
		struct coroi_member *m = &c->member[i];
		m->number = n * COROI_MEMBERS + i;
		m->generation = 1;
		m->next = t->unused;
		t->unused = m;
	}
	at_store_rel(&p->chunk[n], c);
	return true;
}

void coroi_member_end_locked(struct coroi_dispatch_thread *t, struct coroi_member *m)
{
	struct coro_dispatch_pool *p = t->pool;

	m->state = COROI_MEMBER_UNUSED;
	if (++m->generation) { /* 0: its generations are used up */
		m->next = t->unused;
		t->unused = m;
	}
	if (at_add(&p->live, -1) == 0) {
		pthread_mutex_lock(&p->lock);
		pthread_cond_broadcast(&p->ended);
		pthread_mutex_unlock(&p->lock);
	}
}

void coroi_member_end_unstarted_locked(struct coroi_dispatch_thread *t, struct coroi_member *m)
{
	coro_dispatch_drop(coroi_member_user(m));
	coroi_member_end_locked(t, m);
}

void coroi_members_cancel_locked(struct coroi_dispatch_thread *t)
{
	for (struct coroi_member_chunk *c = t->chunks; c; c = c->next) {
		for (uint32_t i = 0; i < COROI_MEMBERS; i++) {
			struct coroi_member *m = &c->member[i];
			if (m->state != COROI_MEMBER_PARKED)
				continue;
			m->state = COROI_MEMBER_READY;
			m->own.code = CORO_ECANCELED;
			coroi_members_add(&coroi_member_thread(m)->ready, m);
		}
	}
}

static struct coroi_member *get_locked(struct coroi_dispatch_thread *t)
{
	if (!t->unused && !more_locked(t))
		return NULL;
	struct coroi_member *m = t->unused;
	t->unused = m->next;
	return m;
}

static coro_dispatch_id id_of(const struct coroi_member *m)
{
	return (uint64_t)m->generation << 32 | m->number;
}

/* ------------------------------------------------------------------------------------- threads */

void coroi_dispatch_sleep_locked(struct coroi_dispatch_thread *t)
{
	t->hub->sleepers++;
	at_store_rlx(&t->sleeps, 1);
	coroi_spin_unlock(&t->hub->lock);
	while (at_load_acq(&t->sleeps))
		coroi_futex_wait(&t->sleeps, 1, -1);
	coroi_spin_lock(&t->hub->lock);
	t->hub->sleepers--;
}

static void *frames_get(void *thread, coro_dispatched *c, size_t bytes)
{
	(void)c;
	return coroi_heap_get(&((struct coroi_dispatch_thread *)thread)->heap, bytes);
}

static void frames_put(void *thread, coro_dispatched *c, void *buffer, size_t bytes)
{
	(void)c;
	(void)bytes;
	coroi_heap_put(&((struct coroi_dispatch_thread *)thread)->heap, buffer);
}

static void *thread_main(void *arg)
{
	struct coroi_dispatch_thread *t = arg;

	self = t;
	coroi_thread_name(t->pool->name, t->index);
	if (t->cpu >= 0 && !coroi_thread_pin((unsigned)t->cpu))
		t->cpu = -1;
	void *sigstack = coroi_sigstack_install(); /* NULL: an overflow would not be named */
	coro_dispatch_run(t->dispatcher);
	coroi_sigstack_remove(sigstack);
	return NULL;
}

static int thread_init(struct coro_dispatch_pool *p, uint32_t index,
		       const coro_dispatch_pool_options *o)
{
	struct coroi_dispatch_thread *t = &p->thread[index];

	t->pool = p;
	t->hub = p->policy == &coroi_gq ? p->thread : t;
	t->index = index;
	t->cpu = o->cpus ? o->cpus[index % o->cpu_count] : -1;
	t->policy = p->policy;
	coro_dispatch_policy policy = {
		.size = sizeof policy,
		.flags = o->flags,
		.next = p->policy->next,
		.alloc = frames_get,
		.free = frames_put,
		.user = t,
		.stack_bytes = o->stack_bytes,
	};
	int status = coro_dispatch_new(&t->dispatcher, &policy);
	if (status == CORO_OK)
		t->dispatcher->refused = p->policy->refused;
	return status;
}

/* end_threads - end the first n threads, which have started; no member is left. */
static void end_threads(struct coro_dispatch_pool *p, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct coroi_dispatch_thread *t = &p->thread[i];
		coroi_spin_lock(&t->hub->lock);
		t->quits = true;
		coroi_dispatch_rouse_locked(t);
		coroi_spin_unlock(&t->hub->lock);
	}
	for (uint32_t i = 0; i < n; i++)
		pthread_join(p->thread[i].thread, NULL);
}

/* --------------------------------------------------------------------------------------- pools */

/* free_all - free the pool. n of its threads were set up, and none runs. */
static void free_all(struct coro_dispatch_pool *p, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct coroi_dispatch_thread *t = &p->thread[i];
		coro_dispatch_free(t->dispatcher);
		coroi_heap_destroy(&t->heap);
	}
	for (uint32_t i = 0; i < p->chunks; i++)
		coroi_release(p->chunk[i]);
	if (p->chunk)
		coroi_unmap(p->chunk, COROI_MEMBER_CHUNKS * sizeof *p->chunk);
	coroi_release(p->thread);
	pthread_cond_destroy(&p->ended);
	pthread_mutex_destroy(&p->lock);
	coroi_release(p);
}

static int check(const coro_dispatch_pool_options *o)
{
	if (!o || (o->size && o->size != sizeof *o) || o->threads > CORO_WORKERS_MAX ||
	    (o->cpus && !o->cpu_count))
		return CORO_EINVAL;
	if (o->policy < CORO_DISPATCH_RR || o->policy > CORO_DISPATCH_GQ ||
	    (o->in_a_row && o->policy != CORO_DISPATCH_RR))
		return CORO_EINVAL;
	return CORO_OK;
}

int coro_dispatch_pool_new(coro_dispatch_pool **out, const coro_dispatch_pool_options *o)
{
	if (!out || check(o) != CORO_OK)
		return CORO_EINVAL;
	struct coro_dispatch_pool *p = coroi_alloc(sizeof *p, COROI_APART);
	if (!p)
		return CORO_ENOMEM;
	p->policy = o->policy == CORO_DISPATCH_RR   ? &coroi_rr
		    : o->policy == CORO_DISPATCH_LL ? &coroi_ll
						    : &coroi_gq;
	p->threads = o->threads                        ? o->threads
		     : coroi_cpus() < CORO_WORKERS_MAX ? coroi_cpus()
						       : CORO_WORKERS_MAX;
	p->in_a_row = o->in_a_row ? o->in_a_row : IN_A_ROW;
	snprintf(p->name, sizeof p->name, "%s", o->name ? o->name : "dispatch");
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->ended, NULL);
	p->thread = coroi_alloc(p->threads * sizeof *p->thread, COROI_APART);
	p->chunk = coroi_map(COROI_MEMBER_CHUNKS * sizeof *p->chunk, coroi_page(), "coro: members");
	int status = p->thread && p->chunk ? CORO_OK : CORO_ENOMEM;
	uint32_t set_up = 0, started = 0;
	while (status == CORO_OK && set_up < p->threads)
		status = thread_init(p, set_up++, o);
	while (status == CORO_OK && started < p->threads) {
		struct coroi_dispatch_thread *t = &p->thread[started];
		if (coroi_thread_start(&t->thread, thread_main, t))
			status = CORO_EAGAIN;
		else
			started++;
	}
	if (status != CORO_OK) {
		end_threads(p, started);
		free_all(p, set_up);
		return status;
	}
	*out = p;
	return CORO_OK;
}

int coro_dispatch_pool_spawn(coro_dispatch_pool *p, coro_dispatch_fn fn, void *arg, uint32_t group,
			     coro_dispatch_id *out)
{
	if (!p || !fn || (group && p->policy != &coroi_ll))
		return CORO_EINVAL;
	uint64_t which = p->policy == &coroi_rr ? (at_add(&p->turn, 1) - 1) / p->in_a_row : group;
	struct coroi_dispatch_thread *t = &p->thread[which % p->threads];
	struct coroi_member *m = NULL;
	int status = CORO_ECLOSED;

	coroi_spin_lock(&t->lock);
	if (!t->closed)
		status = (m = get_locked(t)) ? CORO_OK : CORO_ENOMEM;
	if (m) {
		coro_dispatch_init(coroi_member_user(m), t->dispatcher, fn, arg);
		m->permits = 0;
		m->on_its_way = 0;
		m->is_fresh = true;
		at_add(&p->live, 1);
		if (out)
			*out = id_of(m);
		p->policy->spawned(t, m, t == self);
		coroi_dispatch_rouse_locked(t);
	}
	coroi_spin_unlock(&t->lock);
	return status;
}

int coro_dispatch_park(void)
{
	struct coroi_dispatch_thread *t = self;

	if (coroi_unlikely(!t || coroi_manual()))
		return CORO_EPERM;
	return t->policy->park(t, t->running);
}

int coro_dispatch_wake(coro_dispatch_pool *p, coro_dispatch_id target)
{
	if (coroi_unlikely(!p))
		return CORO_EINVAL;
	uint32_t number = (uint32_t)target, n = number / COROI_MEMBERS;
	struct coroi_member_chunk *c = n < COROI_MEMBER_CHUNKS ? at_load_acq(&p->chunk[n]) : NULL;
	if (coroi_unlikely(!c))
		return CORO_ESTALE;
	return c->home->policy->wake(c->home, &c->member[number % COROI_MEMBERS],
				     (uint32_t)(target >> 32), c->home == self);
}

coro_dispatch_id coro_dispatch_id_self(void)
{
	coro_dispatched *c = coro_dispatch_self();
	return self && c ? id_of((struct coroi_member *)c) : 0;
}

int coro_dispatch_pool_wait(coro_dispatch_pool *p)
{
	if (!p)
		return CORO_EINVAL;
	if (self && self->pool == p)
		return CORO_EPERM;
	pthread_mutex_lock(&p->lock);
	while (at_load_seq(&p->live))
		pthread_cond_wait(&p->ended, &p->lock);
	pthread_mutex_unlock(&p->lock);
	return CORO_OK;
}

int coro_dispatch_pool_stop(coro_dispatch_pool *p)
{
	if (!p)
		return CORO_EINVAL;
	/* all are closed first: a member that is canceled finds no thread open */
	for (uint32_t i = 0; i < p->threads; i++) {
		coroi_spin_lock(&p->thread[i].lock);
		p->thread[i].closed = true;
		coroi_spin_unlock(&p->thread[i].lock);
	}
	for (uint32_t i = 0; i < p->threads; i++) {
		struct coroi_dispatch_thread *t = &p->thread[i];
		coroi_spin_lock(&t->hub->lock);
		if (!t->cancels) {
			t->cancels = true;
			p->policy->stopped(t);
			coroi_dispatch_rouse_locked(t);
		}
		coroi_spin_unlock(&t->hub->lock);
	}
	return CORO_OK;
}

int coro_dispatch_pool_free(coro_dispatch_pool *p)
{
	if (!p)
		return CORO_OK;
	if (self && self->pool == p)
		return CORO_EPERM;
	coro_dispatch_pool_stop(p);
	coro_dispatch_pool_wait(p);
	end_threads(p, p->threads);
	free_all(p, p->threads);
	return CORO_OK;
}
