//go:build cgo && linux
/*
 * spawn.c - new coroutines, from inside and from outside.
 */
#include "spawn.h"

#include "wait.h"

#include <string.h>

static int check(struct coro_scheduler *s, const coro_attr *attr, coro_fn fn, const void *arg, size_t arg_bytes,
		 bool named, struct coroi_fill *q)
{
	if (!fn || arg_bytes > CORO_INLINE_BYTES || (arg_bytes && !arg))
		return CORO_EINVAL;
	*q = (struct coroi_fill){.fn = fn, .class = s->class, .arg_bytes = (uint8_t)arg_bytes};
	if (!attr)
		return CORO_OK;
	if (attr->size != sizeof *attr || attr->flags & ~CORO_JOINABLE || attr->result_bytes > CORO_INLINE_BYTES ||
	    (attr->result_bytes && !(attr->flags & CORO_JOINABLE)) || (attr->flags & CORO_JOINABLE && !named) ||
	    attr->reserved)
		return CORO_EINVAL;
	if (attr->stack_bytes) {
		int class = coroi_stack_class(attr->stack_bytes);
		if (class < 0)
			return CORO_EINVAL;
		q->class = (uint8_t)class;
	}
	q->flags = attr->flags & CORO_JOINABLE ? COROI_F_JOINABLE : 0;
	q->result_bytes = (uint8_t)attr->result_bytes;
	return CORO_OK;
}

/* reveal - r's handle is about to be given to somebody. */
static coro_handle reveal(struct coroi_rec *r)
{
	uint64_t word = at_load_rlx(&r->wake);
	if (r->flags & COROI_F_JOINABLE) /* otherwise an older generation stays there, which fits nobody */
		at_store_rlx(&coroi_cold(r)->join, coroi_join_word(coroi_gen(word), COROI_JOIN_NOBODY, 0));
	at_store_rel(&r->wake, word | COROI_ESCAPED); /* its join word and home are seen by who finds it */
	return coroi_handle(r);
}

static COROI_NOINLINE int spawn_slow(struct coroi_worker *w, coro_fn fn, const void *arg, size_t arg_bytes)
{
	coroi_door_leave(w);
	return coro_spawn_attr(NULL, fn, arg, arg_bytes, NULL);
}

/* As coro_yield: what is nearly always so is taken for granted, and nothing is called. The argument is whole words. */
int coro_spawn(coro_fn fn, const void *arg, size_t arg_bytes)
{
	struct coroi_worker *w = coroi_self();

	if (coroi_unlikely(!w || !w->current))
		return CORO_EPERM;
	if (coroi_unlikely(!coroi_door_try(w) || at_load_rlx(&w->sched->hungry)))
		return spawn_slow(w, fn, arg, arg_bytes);
	struct coroi_deque *d = &w->queue;
	struct coroi_mag *m = w->mags.loaded;
	if (coroi_unlikely(m->count == 0 || d->count > d->mask || d->spill.count || !fn ||
			   arg_bytes > CORO_INLINE_BYTES || arg_bytes % 8 || (arg_bytes && !arg)))
		return spawn_slow(w, fn, arg, arg_bytes);
	struct coroi_fill q = {.fn = fn, .class = w->sched->class, .arg_bytes = (uint8_t)arg_bytes};
	struct coroi_rec *r = m->rec[--m->count];
	coroi_fill(r, &q, w->id);
	for (size_t i = 0; i < arg_bytes; i += 8)
		memcpy(coroi_cold(r)->payload + i, (const char *)arg + i, 8);
	d->ring[(d->head + d->count) & d->mask] = r;
	at_store_rlx(&d->count, d->count + 1);
	at_bump(&w->spawned);
	coroi_door_leave(w);
	return CORO_OK;
}

/* spawn_locked - the general form, in the door. */
static int spawn_locked(struct coroi_worker *w, const struct coroi_fill *q, const void *arg, coro_handle *out,
			struct coroi_rec **child)
{
	struct coroi_rec *r = coroi_mags_get(&w->mags);
	if (!r)
		return CORO_ENOMEM;
	coroi_fill(r, q, w->id);
	coroi_fill_argument(r, arg, q->arg_bytes);
	if (out)
		*out = reveal(r);
	at_bump(&w->spawned);
	*child = r;
	return CORO_OK;
}

int coro_spawn_attr(const coro_attr *attr, coro_fn fn, const void *arg, size_t arg_bytes, coro_handle *out)
{
	struct coroi_worker *w = coroi_self();
	struct coroi_rec *r;
	struct coroi_fill q;

	if (!w || !w->current)
		return CORO_EPERM;
	int status = check(w->sched, attr, fn, arg, arg_bytes, out != NULL, &q);
	if (status)
		return status;
	coroi_door_enter(w);
	status = spawn_locked(w, &q, arg, out, &r);
	if (status == CORO_OK) {
		coroi_queue_locked(w, r);
		coroi_idle_queued(w);
	}
	coroi_door_leave(w);
	return status;
}

int coro_spawn_first(const coro_attr *attr, coro_fn fn, const void *arg, size_t arg_bytes, coro_handle *out)
{
	struct coroi_worker *w = coroi_self();
	struct coroi_rec *me, *r;
	struct coroi_fill q;

	if (!w || !(me = w->current))
		return CORO_EPERM;
	int status = check(w->sched, attr, fn, arg, arg_bytes, out != NULL, &q);
	if (status)
		return status;
	coroi_door_enter(w);
	status = spawn_locked(w, &q, arg, out, &r);
	if (status) {
		coroi_door_leave(w);
		return status;
	}
	me->code = CORO_OK;
	coroi_queue_locked(w, me);
	coroi_idle_queued(w); /* the child may run for long */
	return coroi_suspend_locked(w, me, r);
}

uint64_t coroi_spawn_many(struct coro_scheduler *s, const struct coroi_fill *q, const void *arg, uint64_t n, uint32_t first)
{
	struct coroi_parcel *p[COROI_PARCELS_AT_ONCE];
	uint64_t done = 0;

	while (done < n) {
		uint64_t want = (n - done + COROI_MAG_RECORDS - 1) / COROI_MAG_RECORDS;
		uint32_t k = coroi_parcel_open(&s->slab, p, want < COROI_PARCELS_AT_ONCE ? (uint32_t)want : COROI_PARCELS_AT_ONCE);
		if (k == 0)
			break;
		for (uint32_t i = 0; i < k; i++) {
			p[i]->fn = q->fn;
			p[i]->class = q->class;
			p[i]->arg_bytes = q->arg_bytes;
			p[i]->result_bytes = q->result_bytes;
			p[i]->same = 1;
			p[i]->count = n - done < p[i]->most ? (uint32_t)(n - done) : p[i]->most;
			done += p[i]->count;
			if (q->arg_bytes)
				memcpy(p[i]->args, arg, q->arg_bytes);
			if (i > 0)
				p[i]->next = (uintptr_t)p[i - 1] | COROI_NODE_BATCH;
		}
		struct coroi_worker *w = &s->worker[first++ % s->workers];
		coroi_inbox_push(w, (uintptr_t)p[k - 1] | COROI_NODE_BATCH, (uintptr_t)p[0] | COROI_NODE_BATCH);
		coroi_idle_pushed(w);
	}
	return done;
}

#define OUTSIDE_RUN 64 /* spawns from outside that go to one worker before the next has its turn */

static struct coroi_worker *outside_worker(struct coro_scheduler *s)
{
	return &s->worker[s->next_worker++ / OUTSIDE_RUN % s->workers];
}

int coro_scheduler_spawn(coro_scheduler *s, const coro_attr *attr, coro_fn fn, const void *arg, size_t arg_bytes,
			 coro_handle *out)
{
	struct coroi_fill q;

	if (!s)
		return CORO_EINVAL;
	int status = check(s, attr, fn, arg, arg_bytes, out != NULL, &q);
	if (status)
		return status;
	pthread_mutex_lock(&s->outside_lock);
	struct coroi_rec *r = NULL;
	status = s->refusing ? CORO_ECLOSED : CORO_ENOMEM;
	if (!s->refusing)
		r = coroi_mags_get(&s->outside);
	if (r) {
		struct coroi_worker *w = outside_worker(s);
		coroi_fill(r, &q, w->id);
		coroi_fill_argument(r, arg, q.arg_bytes);
		if (out)
			*out = reveal(r);
		coroi_inbox_push(w, (uintptr_t)r | COROI_NODE_SPAWN, (uintptr_t)r | COROI_NODE_SPAWN);
		coroi_idle_pushed(w);
		status = CORO_OK;
	}
	pthread_mutex_unlock(&s->outside_lock);
	return status;
}
