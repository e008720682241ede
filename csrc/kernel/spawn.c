//go:build ignore
/*
 * spawn.c - new coroutines, from coroutines and from threads that are no workers.
 */
#include "kernel/spawn.h"

#include "kernel/dense.h"
#include "kernel/hooks.h"
#include "kernel/nowait.h"
#include "kernel/task.h"
#include "kernel/wait.h"

#include <string.h>

/* outside_worker - the worker for the next spawn from outside: not a dedicated one. */
static struct coroi_worker *outside_worker(struct coro_scheduler *s)
{
	return &s->worker[at_add(&s->outside.next_worker, 1) / COROI_OUTSIDE_RUN %
			  coroi_general(s)];
}

/* away - where a child that may run anywhere goes, if w, the worker of its parent, is dedicated: to
 * a worker that is not. NULL: w is not dedicated, or is no worker of s. */
static struct coroi_worker *away(struct coro_scheduler *s, const struct coroi_worker *w)
{
	return w && w->sched == s && coroi_is_dedicated(w) ? outside_worker(s) : NULL;
}

static inline bool is_daemon(const coro_attr *attr)
{
	return attr && attr->flags & CORO_DAEMON;
}

/* What check returns of a coroutine that carries. */
#define CARRIES 1

/* check_buffers - the rest of check, where words are said to be buffers. */
static COROI_COLD int check_buffers(const coro_attr *attr, coro_fn fn, size_t arg_bytes)
{
	if (attr->arg_buffers >> (arg_bytes / 8) ||
	    attr->result_buffers >> (attr->result_bytes / 8))
		return CORO_EINVAL;
	int status = coroi_carry_declare(fn, (uint8_t)attr->arg_buffers,
					 (uint8_t)attr->result_buffers);
	return status ? status : CARRIES;
}

/* check - check what a spawn asks for, and write it to *q. *home: the worker that it names, or
 * NULL. named: the caller gets the handle. Returns: CORO_OK, CARRIES, CORO_EINVAL; where it would
 * carry also CORO_ENOMEM. */
static int check(struct coro_scheduler *s, const coro_attr *attr, coro_fn fn, const void *arg,
		 size_t arg_bytes, bool named, struct coroi_fill *q, struct coroi_worker **home)
{
	*home = NULL;
	if (!fn || arg_bytes > CORO_INLINE_BYTES || (arg_bytes && !arg))
		return CORO_EINVAL;
	*q = (struct coroi_fill){.fn = fn, .class = s->class, .arg_bytes = (uint8_t)arg_bytes};
	if (!attr)
		return CORO_OK;
	if ((attr->size && attr->size != sizeof *attr) ||
	    attr->flags & ~(CORO_JOINABLE | CORO_DENSE | CORO_DAEMON) ||
	    attr->result_bytes > CORO_INLINE_BYTES ||
	    (attr->result_bytes && !(attr->flags & CORO_JOINABLE)) ||
	    (attr->flags & CORO_JOINABLE && !named))
		return CORO_EINVAL;
	struct coroi_worker *w = coroi_self();
	if (attr->worker > s->workers && attr->worker != CORO_ANYWHERE &&
	    !(attr->worker == CORO_HERE && w && w->sched == s))
		return CORO_EINVAL;
	if (attr->flags & CORO_DENSE) {
		if (attr->stack_bytes)
			return CORO_EINVAL;
		q->class = COROI_DENSE;
	} else if (attr->stack_bytes) {
		int class = coroi_stack_class(attr->stack_bytes);
		if (class < 0)
			return CORO_EINVAL;
		q->class = (uint8_t) class;
	}
	q->flags = attr->flags & CORO_JOINABLE ? COROI_F_JOINABLE : 0;
	if (is_daemon(attr) && !at_load_rlx(&s->has_daemons))
		at_xchg(&s->has_daemons, 1);
	if (attr->worker == CORO_ANYWHERE) {
		*home = away(s, w);
	} else if (attr->worker) {
		q->flags |= COROI_F_PINNED;
		*home = attr->worker == CORO_HERE ? w : &s->worker[attr->worker - 1];
		at_store_rlx(&(*home)->kept, 1);
	}
	q->result_bytes = (uint8_t)attr->result_bytes;
	return attr->arg_buffers | attr->result_buffers ? check_buffers(attr, fn, arg_bytes)
							: CORO_OK;
}

/* reveal - return r's handle, which is given to the spawning code. */
static coro_handle reveal(struct coroi_rec *r)
{
	uint64_t word = at_load_rlx(&r->wake);
	/* If r is not joinable, the word of an older generation stays, which no handle fits. */
	if (r->flags & COROI_F_JOINABLE)
		at_store_rlx(&coroi_cold(r)->join,
			     coroi_join_word(coroi_gen(word), COROI_JOIN_NOBODY, 0));
	/* release, pairs with coroi_find: code that finds r sees its join word and its home */
	at_store_rel(&r->wake, word | COROI_ESCAPED);
	return coroi_handle(r);
}

/* appear - r, which is filled in, is about to be known to others, or queued. named: the caller gets
 * the handle. A daemon's counts as known in any case: see COROI_M_DAEMON. */
static inline coro_handle appear(struct coroi_rec *r, bool daemon, bool named)
{
	if (coroi_unlikely(daemon))
		r->more = COROI_M_DAEMON;
	return named || coroi_unlikely(daemon) ? reveal(r) : 0;
}

/* count_spawn_locked - r came to be on w. */
static inline void count_spawn_locked(struct coroi_worker *w, bool daemon)
{
	at_bump(&w->spawned);
	if (coroi_unlikely(daemon))
		coroi_count_daemon(w);
}

/* is_plain - a runnable without a record can hold the function, with the argument beside it. */
static inline bool is_plain(coro_fn fn, size_t arg_bytes)
{
	return fn && (uintptr_t)fn <= COROI_ADDRESS && (arg_bytes == 0 || arg_bytes == 8);
}

/* spawn_slow - coro_spawn, the general way. The door is as coroi_door_try left it. */
static COROI_NOINLINE int spawn_slow(struct coroi_worker *w, coro_fn fn, const void *arg,
				     size_t arg_bytes)
{
	coroi_door_leave(w);
	return coro_spawn_attr(NULL, fn, arg, arg_bytes, NULL);
}

/* The usual path makes no call, as in coro_yield: the door is free, no sleeper is hungry, there is
 * a credit and room in the queue, and the argument is one word or none. */
int coro_spawn(coro_fn fn, const void *arg, size_t arg_bytes)
{
	struct coroi_worker *w = coroi_here();

	if (coroi_unlikely(!w->current))
		return CORO_EPERM;
	if (coroi_unlikely(!coroi_door_try(w) || at_load_rlx(&w->sched->hungry)))
		return spawn_slow(w, fn, arg, arg_bytes);
	struct coroi_deque *d = &w->queue;
	int32_t credit = coroi_mags_less_one(&w->mags);
	if (coroi_unlikely(credit < 0 || !coroi_deque_has_room(d) || !is_plain(fn, arg_bytes) ||
			   (arg_bytes && !arg)))
		return spawn_slow(w, fn, arg, arg_bytes);
	if (arg_bytes)
		memcpy(coroi_deque_arg(d, d->head + d->count), arg, 8);
	coroi_deque_put(d, coroi_runnable_new(fn, w->sched->class, arg_bytes != 0, false));
	w->mags.credit = (uint32_t)credit;
	at_bump(&w->spawned);
	coroi_door_leave(w);
	return CORO_OK;
}

/* record_locked - get a record for a spawn whose credit was taken, and fill it in. NULL: there is
 * none, and the credit was given back. */
static struct coroi_rec *record_locked(struct coroi_worker *w, const struct coroi_fill *q,
				       const void *arg)
{
	struct coroi_rec *r = coroi_mags_get(&w->mags);

	if (coroi_unlikely(!r)) { /* records were retired meanwhile */
		coroi_mags_earn(&w->mags);
		return NULL;
	}
	coroi_fill(r, q, w->id);
	coroi_fill_argument(r, arg, q->arg_bytes);
	return r;
}

/* send - hand r, which is filled in, to w, another worker than the caller, to start there. */
static void send(struct coroi_worker *w, struct coroi_rec *r, bool daemon, coro_handle *out)
{
	at_store_rlx(&r->home, w->id);
	coro_handle handle = appear(r, daemon, out != NULL);
	if (out)
		*out = handle;
	coroi_inbox_push(w, (uintptr_t)r | COROI_NODE_SPAWN);
	coroi_notify_pushed(w);
}

/* carry_here - start a coroutine that carries, with the argument that has passed. */
static int carry_here(struct coroi_worker *w, struct coroi_worker *home, const struct coroi_fill *q,
		      const void *arg, bool daemon, coro_handle *out)
{
	struct coroi_rec *r = NULL;

	coroi_door_enter(w);
	if (!coroi_mags_spend(&w->mags) || !(r = record_locked(w, q, arg))) {
		coroi_door_leave(w);
		return CORO_ENOMEM;
	}
	coroi_carry_mark(r);
	if (home && home != w) {
		coroi_door_leave(w);
		send(home, r, daemon, out);
		return CORO_OK;
	}
	coro_handle handle = appear(r, daemon, out != NULL);
	if (out)
		*out = handle;
	coroi_queue_fresh_locked(w, r);
	count_spawn_locked(w, daemon);
	coroi_notify_queued(w);
	coroi_door_leave(w);
	return CORO_OK;
}

/* carry_outside - the same, from a thread. */
static int carry_outside(struct coro_scheduler *s, struct coroi_worker *home,
			 const struct coroi_fill *q, const void *arg, bool daemon, coro_handle *out)
{
	struct coroi_rec *r = NULL;

	pthread_mutex_lock(&s->outside.lock);
	int status = s->outside.refusing ? CORO_ECLOSED : CORO_ENOMEM;
	if (!s->outside.refusing && coroi_mags_spend(&s->outside.mags) &&
	    !(r = coroi_mags_get(&s->outside.mags)))
		coroi_mags_earn(&s->outside.mags);
	if (r) {
		coroi_fill(r, q, 0);
		coroi_fill_argument(r, arg, q->arg_bytes);
		coroi_carry_mark(r);
		send(home ? home : outside_worker(s), r, daemon, out);
		status = CORO_OK;
	}
	pthread_mutex_unlock(&s->outside.lock);
	return status;
}

/* spawn_carrying - the buffers in the argument pass to the coroutine that starts, or stay. w: NULL:
 * from a thread. */
static COROI_COLD int spawn_carrying(struct coro_scheduler *s, struct coroi_worker *w,
				     struct coroi_worker *home, const struct coroi_fill *q,
				     const coro_attr *attr, const void *arg, coro_handle *out)
{
	uint64_t copy[CORO_INLINE_BYTES / 8] = {0};
	bool daemon = is_daemon(attr);

	if (q->arg_bytes)
		memcpy(copy, arg, q->arg_bytes);
	int status = coroi_carry.pass(copy, attr->arg_buffers);
	if (status)
		return status;
	status = w ? carry_here(w, home, q, copy, daemon, out)
		   : carry_outside(s, home, q, copy, daemon, out);
	if (status)
		coroi_carry.unpass(copy, attr->arg_buffers);
	return status;
}

int coro_spawn_attr(const coro_attr *attr, coro_fn fn, const void *arg, size_t arg_bytes,
		    coro_handle *out)
{
	struct coroi_worker *w = coroi_self();
	struct coroi_worker *home;
	struct coroi_rec *r;
	bool daemon = is_daemon(attr);
	struct coroi_fill q;

	if (!w || !w->current)
		return CORO_EPERM;
	int status = check(w->sched, attr, fn, arg, arg_bytes, out != NULL, &q, &home);
	if (coroi_unlikely(status))
		return status == CARRIES ? spawn_carrying(w->sched, w, home, &q, attr, arg, out)
					 : status;
	coroi_door_enter(w);
	if (!coroi_mags_spend(&w->mags)) {
		coroi_door_leave(w);
		return CORO_ENOMEM;
	}
	uint64_t word = 0;
	if (!out && !home && !daemon && is_plain(fn, arg_bytes)) {
		if (arg_bytes)
			memcpy(&word, arg, 8);
		if (coroi_deque_push_new(&w->queue,
					 coroi_runnable_new(fn, q.class, arg_bytes != 0, false),
					 word))
			goto done;
	}
	if (!(r = record_locked(w, &q, arg))) {
		coroi_door_leave(w);
		return CORO_ENOMEM;
	}
	if (coroi_unlikely(home && home != w)) {
		coroi_door_leave(w);
		send(home, r, daemon, out);
		return CORO_OK;
	}
	coro_handle handle = appear(r, daemon, out != NULL);
	if (out)
		*out = handle;
	coroi_queue_fresh_locked(w, r);
done:
	count_spawn_locked(w, daemon);
	coroi_notify_queued(w);
	coroi_door_leave(w);
	return CORO_OK;
}

/* first_apart_locked - the rest of coro_spawn_first where coroi_is_apart(w). */
static COROI_COLD int first_apart_locked(struct coroi_worker *w, struct coroi_rec *me,
					 struct coroi_rec *child, coro_fn fn)
{
	coroi_forks_suspend_locked(w);
	if (w->lent && !coroi_hooks.may_begin_locked(w, fn)) {
		coroi_queue_fresh_locked(w, child); /* to be first on w's own thread */
		coroi_queue_locked(w, me);
		return coroi_suspend_picked_locked(w, me);
	}
	coroi_queue_locked(w, me);
	coroi_notify_queued(w);
	return w->nowait ? coroi_suspend_inside_locked(w, me, coroi_runnable_fresh(child))
			 : coroi_suspend_slow(w, me, coroi_runnable_fresh(child));
}

int coro_spawn_first(const coro_attr *attr, coro_fn fn, const void *arg, size_t arg_bytes,
		     coro_handle *out)
{
	struct coroi_worker *w = coroi_self();
	struct coroi_worker *home;
	struct coroi_rec *me, *r;
	bool daemon = is_daemon(attr);
	struct coroi_fill q;

	if (!w || !(me = w->current))
		return CORO_EPERM;
	int status = check(w->sched, attr, fn, arg, arg_bytes, out != NULL, &q, &home);
	if (status)
		return status == CARRIES ? CORO_EINVAL : status;
	if (home && home != w)
		return CORO_EINVAL;
	if ((status = coroi_nowait(w, "coro_spawn_first", COROI_BOUNDED)))
		return status;
	coroi_door_enter(w);
	if (!coroi_mags_spend(&w->mags) || !(r = record_locked(w, &q, arg))) {
		coroi_door_leave(w);
		return CORO_ENOMEM;
	}
	coro_handle handle = appear(r, daemon, out != NULL);
	if (out)
		*out = handle;
	count_spawn_locked(w, daemon);
	if (coroi_unlikely(coroi_is_apart(w)))
		return first_apart_locked(w, me, r, fn);
	coroi_queue_locked(w, me);
	coroi_notify_queued(w); /* the child may run for long */
	return coroi_suspend_locked(w, me, coroi_runnable_fresh(r));
}

/* pack - fill p with one spawn, to be made n times, and close it. Nobody else knows p yet. */
static void pack(struct coroi_batch *p, const struct coroi_fill *q, const void *arg, uint32_t n)
{
	unsigned words = (q->arg_bytes + 7u) / 8;

	p->repeat = n;
	p->words[0] = coroi_runnable_new(q->fn, q->class, words, q->result_bytes != 0);
	coroi_clear_few(p->words + 1, 8 * words);
	if (words)
		coroi_copy_few(p->words + 1, arg, q->arg_bytes);
	at_store_rlx(&p->state, (1 + words) | COROI_BATCH_CLOSED);
}

uint64_t coroi_spawn_many(struct coro_scheduler *s, const struct coroi_fill *q, const void *arg,
			  uint64_t n, uint32_t first)
{
	struct coroi_batch *p[COROI_BATCHES_AT_ONCE];
	uint64_t done = 0;

	while (done < n) {
		uint64_t most = COROI_BATCHES_AT_ONCE * COROI_REPEAT_MOST,
			 left = n - done < most ? n - done : most;
		uint32_t credit = coroi_slab_grant(&s->slab, (uint32_t)left);
		uint32_t k = coroi_batch_open(&s->slab, p,
					      (credit + COROI_REPEAT_MOST - 1) / COROI_REPEAT_MOST);
		uint32_t sent = k * COROI_REPEAT_MOST < credit ? k * COROI_REPEAT_MOST : credit;
		coroi_slab_refund(&s->slab, credit - sent);
		for (uint32_t i = 0, rest = sent; i < k; i++) {
			uint32_t some = rest / (k - i);
			uint64_t node = (uintptr_t)p[i] | COROI_NODE_BATCH;
			struct coroi_worker *w = &s->worker[first++ % coroi_general(s)];
			pack(p[i], q, arg, some);
			rest -= some;
			coroi_inbox_push(w, node);
			coroi_notify_pushed(w);
		}
		done += sent;
		if (sent < left)
			break;
	}
	return done;
}

int coro_scheduler_spawn(coro_scheduler *s, const coro_attr *attr, coro_fn fn, const void *arg,
			 size_t arg_bytes, coro_handle *out)
{
	struct coroi_worker *home;
	bool daemon = is_daemon(attr);
	struct coroi_fill q;

	if (!s)
		return CORO_EINVAL;
	int status = check(s, attr, fn, arg, arg_bytes, out != NULL, &q, &home);
	if (status)
		return status == CARRIES ? spawn_carrying(s, NULL, home, &q, attr, arg, out)
					 : status;
	pthread_mutex_lock(&s->outside.lock);
	struct coroi_rec *r = NULL;
	status = s->outside.refusing ? CORO_ECLOSED : CORO_ENOMEM;
	if (!s->outside.refusing && coroi_mags_spend(&s->outside.mags) &&
	    !(r = coroi_mags_get(&s->outside.mags)))
		coroi_mags_earn(&s->outside.mags);
	if (r) {
		coroi_fill(r, &q, 0);
		coroi_fill_argument(r, arg, q.arg_bytes);
		send(home ? home : outside_worker(s), r, daemon, out);
		status = CORO_OK;
	}
	pthread_mutex_unlock(&s->outside.lock);
	return status;
}

/* -------------------------------------------------------------------------------------- tasks */

struct coroi_tasks coroi_tasks;

/* task_record - take a record of m, which is the caller's, and a credit, and fill the record in, if
 * change agrees. Returns: CORO_OK and *out, or NULL: nothing is to start; CORO_ENOMEM. */
static int task_record(struct coro_scheduler *s, struct coroi_mags *m, uint32_t pin, uint64_t arg,
		       bool (*change)(void *), void *ctx, struct coroi_rec **out)
{
	const struct coroi_fill q = {.fn = coroi_tasks.fn,
				     .class = s->class,
				     .flags = pin ? COROI_F_PINNED : 0,
				     .arg_bytes = 8};

	*out = NULL;
	if (!coroi_mags_spend(m))
		return CORO_ENOMEM;
	struct coroi_rec *r = coroi_mags_get(m);
	if (r && change(ctx)) {
		coroi_fill(r, &q, 0);
		coroi_fill_argument(r, &arg, sizeof arg);
		*out = r;
		return CORO_OK;
	}
	if (r)
		coroi_mags_put(m, r);
	coroi_mags_earn(m);
	return r ? CORO_OK : CORO_ENOMEM;
}

/* task_there - coroi_task_spawn on another worker: home, or NULL: one that is not dedicated. */
static int task_there(struct coro_scheduler *s, struct coroi_mags *m, struct coroi_worker *home,
		      uint32_t pin, uint64_t arg, bool (*change)(void *), void *ctx)
{
	struct coroi_rec *r;
	int status = task_record(s, m, pin, arg, change, ctx, &r);

	if (r)
		send(home ? home : outside_worker(s), r, false, NULL);
	return status;
}

bool coroi_publish(struct coroi_batch *p, struct coroi_worker *w, uint32_t words, bool last)
{
	bool detached = at_add(&p->state, words + (last ? COROI_BATCH_CLOSED : 0)) &
			COROI_BATCH_DETACHED;

	if (detached) {
		at_add(&p->state, -COROI_BATCH_DETACHED);
		coroi_inbox_push(w, (uintptr_t)p | COROI_NODE_BATCH);
	}
	coroi_notify_pushed(w);
	return detached;
}

void coroi_outside_close(struct coro_scheduler *s)
{
	if (s->outside.open)
		coroi_batch_close(&s->slab, s->outside.open);
	s->outside.open = NULL;
}

/* streams - do tasks stream in, COROI_STREAM_NS apart? Then they go into an open batch. A worker
 * that is busy looks at an open batch less often than at its inbox. */
static bool streams(struct coroi_outside *o)
{
	if (o->tasks++ % COROI_STREAM_TASKS == 0) {
		uint64_t now = coroi_now_ns();
		o->streams = now - o->looked < COROI_STREAM_TASKS * COROI_STREAM_NS;
		o->looked = now;
	}
	return o->streams;
}

/* open_batch - see to it that there is an open batch. It goes to another worker than the last one.
 * False: no memory. */
static bool open_batch(struct coro_scheduler *s)
{
	struct coroi_outside *o = &s->outside;

	if (o->open)
		return true;
	if (!coroi_batch_open(&s->slab, &o->open, 1))
		return false;
	o->used = 0;
	at_add(&o->next_worker, COROI_OUTSIDE_RUN);
	o->target = outside_worker(s);
	return true;
}

/* task_streams - coroi_task_spawn by a thread outside, into the open batch. */
static int task_streams(struct coro_scheduler *s, uint64_t arg, bool (*change)(void *), void *ctx)
{
	struct coroi_outside *o = &s->outside;
	struct coroi_batch *p = o->open;

	if (!coroi_mags_spend(&o->mags))
		return CORO_ENOMEM;
	if (!change(ctx)) {
		coroi_mags_earn(&o->mags);
		return CORO_OK;
	}
	p->words[o->used++] = coroi_task_runnable(o->target);
	p->words[o->used++] = arg;
	bool last = o->used > COROI_BATCH_WORDS - COROI_BATCH_ROOM;
	if (last)
		o->open = NULL;
	(void)coroi_publish(p, o->target, 2, last);
	return CORO_OK;
}

/* task_stays_locked - coroi_task_spawn of a task that is pinned to w. */
static int task_stays_locked(struct coroi_worker *w, uint64_t arg, bool (*change)(void *),
			     void *ctx)
{
	struct coroi_rec *r;
	int status = task_record(w->sched, &w->mags, w->id + 1u, arg, change, ctx, &r);

	if (r) {
		at_store_rlx(&r->home, w->id);
		coroi_queue_fresh_locked(w, r);
		at_bump(&w->spawned);
		coroi_notify_queued(w);
	}
	return status;
}

int coroi_task_put_locked(struct coroi_worker *w, uint64_t arg, bool (*change)(void *), void *ctx,
			  bool *out)
{
	struct coroi_deque *d = &w->queue;
	uint64_t runnable = coroi_task_runnable(w);
	bool fits = coroi_deque_make_room(d);
	struct coroi_rec *r = NULL;

	*out = false;
	if (!coroi_mags_spend(&w->mags))
		return CORO_ENOMEM;
	if (!fits && !(r = coroi_record_locked(w, runnable, &arg))) {
		coroi_mags_earn(&w->mags);
		return CORO_ENOMEM;
	}
	if (!change(ctx)) {
		if (r)
			coroi_mags_put(&w->mags, r);
		coroi_mags_earn(&w->mags);
		return CORO_OK;
	}
	if (r)
		coroi_queue_fresh_locked(w, r);
	else
		coroi_deque_push_new(d, runnable, arg);
	at_bump(&w->spawned);
	*out = true;
	return CORO_OK;
}

bool coroi_task_spawn_kept(struct coroi_worker *w, uint64_t arg, bool (*change)(void *), void *ctx)
{
	coroi_door_enter(w);
	bool starts = w->tasks.kept && coroi_deque_make_room(&w->queue) && change(ctx);
	if (starts)
		coroi_task_unkeep_locked(w, arg, true); /* there is room */
	coroi_door_leave(w);
	return starts;
}

bool coroi_task_unkeep_locked(struct coroi_worker *w, uint64_t arg, bool starts)
{
	if (!starts) {
		coroi_mags_earn(&w->mags);
	} else {
		if (!coroi_queue_new_locked(w, coroi_task_runnable(w), &arg))
			return false;
		at_bump(&w->spawned);
		coroi_notify_queued(w);
	}
	w->tasks.kept--;
	return true;
}

void coroi_task_ask(struct coroi_worker *w)
{
	if (at_xchg(&w->tasks.asked, 1))
		return;
	coroi_inbox_push(w, (uintptr_t)w | COROI_NODE_TASKS); /* WKW1 */
	coroi_notify_pushed(w);
}

int coroi_task_spawn(struct coro_scheduler *s, uint32_t pin, uint64_t arg, bool (*change)(void *),
		     void *ctx)
{
	struct coroi_worker *w = coroi_self(), *home = pin ? &s->worker[pin - 1] : NULL;
	bool put;
	int status;

	if (home && !at_load_rlx(&home->kept))
		at_store_rlx(&home->kept, 1);
	if (w && w->current && w->sched == s) {
		coroi_door_enter(w);
		if (!pin && !coroi_is_dedicated(w)) {
			status = coroi_task_put_locked(w, arg, change, ctx, &put);
			if (put)
				coroi_notify_queued(w);
			coroi_door_leave(w);
			return status;
		}
		/* the push to another worker's inbox is done in the door: it waits for nothing */
		status = pin == w->id + 1u ? task_stays_locked(w, arg, change, ctx)
					   : task_there(s, &w->mags, home, pin, arg, change, ctx);
		coroi_door_leave(w);
		return status;
	}
	pthread_mutex_lock(&s->outside.lock);
	if (s->outside.refusing)
		status = CORO_ECLOSED;
	else if (!home && streams(&s->outside) && open_batch(s))
		status = task_streams(s, arg, change, ctx);
	else
		status = task_there(s, &s->outside.mags, home, pin, arg, change, ctx);
	pthread_mutex_unlock(&s->outside.lock);
	return status;
}
