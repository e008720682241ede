//go:build ignore
/*
 * inspect.c - a scheduler from outside: statistics, blocked coroutines, trimming; and the texts of
 * codes.
 *
 * What the doors protect is read with every door locked, but for figures: these are atomic, and a
 * look at them stops nobody. The life lock keeps what is read there: a trim and a close hold it
 * when they free memory of workers.
 */
#include "kernel/dense.h"
#include "kernel/inbox.h"
#include "kernel/inner.h"
#include "kernel/life.h"
#include "kernel/batch.h"
#include "kernel/wait.h"

#include <string.h>

/* system_error - the text of a status that tells what a system call has failed with:
 * CORO_OF_ERRNO. */
static const char *system_error(int status)
{
	const char *text = status <= -4096 ? coroi_errno_text(-4096 - status) : NULL;

	return text ? text : "unknown status";
}

const char *coro_strerror(int status)
{
	switch (status) {
	case CORO_OK:
		return "ok";
	case CORO_MAY_RESUME:
		return "yielded, may be resumed";
	case CORO_FINISHED:
		return "finished";
	case CORO_ABORT:
		return "aborted";
	case CORO_FAILED:
		return "failed: coro_resume_error has code and text";
	case CORO_EINVAL:
		return "an argument is out of its range, or the object was destroyed";
	case CORO_EPERM:
		return "not callable here: outside a coroutine, or on a worker thread";
	case CORO_ENOMEM:
		return "out of memory: raise the limit, or vm.max_map_count, or let coroutines end";
	case CORO_ESTALE:
		return "the handle's coroutine has ended, or never was; or the buffer was sent or "
		       "freed";
	case CORO_ECANCELED:
		return "canceled, alone or because the scheduler is closing";
	case CORO_EDEADLK:
		return "deadlock: coroutines are left that nothing can wake, "
		       "or the caller holds the lock already";
	case CORO_ECLOSED:
		return "the scheduler, or the descriptor, is closed";
	case CORO_EBUSY:
		return "in use: it is running, or another waits for it";
	case CORO_EAGAIN:
		return "the system refused a thread or a descriptor: raise its limit, "
		       "or use fewer workers";
	case CORO_ENDED:
		return "the coroutine has ended: reset it first";
	case CORO_EABORTED:
		return "the coroutine aborted";
	case CORO_EOVERFLOW:
		return "too many permits, or a count out of its range: let them be taken first";
	case CORO_EFAILED:
		return "failed: coro_call_error has the text of a Go function, coro_join_error code and text of a coroutine";
	case CORO_ETOOBIG:
		return "the Go function's result is larger than the buffer";
	case CORO_ETIMEDOUT:
		return "the deadline came first";
	case CORO_ENOWAIT:
		return "would wait in a no-wait section, or without a deadline in a "
		       "finite-wait section";
	case CORO_EOWNERDEAD:
		return "the last owner of the lock ended without unlocking: the caller holds it now";
	case CORO_ENOTRECOVERABLE:
		return "the lock was not marked consistent after its owner had ended: make a new one";
	default:
		return system_error(status);
	}
}

const char *coro_wait_name(uint32_t kind)
{
	switch (kind) {
#define NAME(identifier, letter, name) \
	case CORO_WAIT_##identifier:   \
		return name;
		CORO_WAIT_KINDS(NAME)
#undef NAME
	default:
		return "unknown";
	}
}

struct blocked_list {
	coro_blocked *list;
	size_t cap, count;
	uint8_t daemon; /* of those to be listed: COROI_M_DAEMON or 0 */
};

/* collect - add r to the list if it waits, and is a daemon or not, as asked. */
static void collect(struct coroi_rec *r, void *ctx)
{
	struct blocked_list *b = ctx;
	uint8_t state = at_load_rlx(&r->state); /* relaxed: no door protects a free record */

	if (state != COROI_PARKED && state != COROI_WAITING && state != COROI_COMMITTED)
		return;
	if ((r->more & COROI_M_DAEMON) != b->daemon)
		return;
	const struct coroi_inner *in = coroi_inner_of(r);
	if (in && in->hidden)
		return;
	if (b->count < b->cap)
		b->list[b->count] = (coro_blocked){
			.handle = coroi_handle(r),
			.fn = coroi_user_fn(r),
			.worker = at_load_rlx(&r->home),
			.waits = r->waits,
			.daemon = b->daemon != 0,
		};
	b->count++;
}

size_t coro_scheduler_blocked(coro_scheduler *s, coro_blocked *list, size_t cap)
{
	struct blocked_list b = {.list = list, .cap = list ? cap : 0};

	if (!s || coroi_self())
		return 0;
	pthread_mutex_lock(&s->life_lock);
	if (!s->closed) {
		coroi_doors_lock(s);
		coroi_slab_each(&s->slab, collect, &b);
		b.daemon = COROI_M_DAEMON;
		if (at_load_seq(&s->has_daemons))
			coroi_slab_each(&s->slab, collect, &b);
		coroi_doors_unlock(s);
	}
	pthread_mutex_unlock(&s->life_lock);
	return b.count;
}

/* A list of functions, and how much of it is used. */
struct functions {
	coro_fn *list;
	size_t n, cap;
};

static void add_shielded(struct coroi_rec *r, void *arg)
{
	struct functions *f = arg;
	uint8_t state = at_load_rlx(&r->state);

	if ((state == COROI_PARKED || state == COROI_WAITING || state == COROI_COMMITTED) &&
	    r->canceled & COROI_C_SHIELDED && f->n < f->cap)
		f->list[f->n++] = coroi_user_fn(r);
}

size_t coroi_running(struct coro_scheduler *s, coro_fn *list, size_t cap)
{
	struct functions f = {list, 0, cap};

	pthread_mutex_lock(&s->life_lock);
	if (!s->closed) {
		coroi_doors_lock(s);
		for (uint32_t i = 0; i < s->workers && f.n < cap; i++)
			if (s->worker[i].current)
				list[f.n++] = coroi_user_fn(s->worker[i].current);
		coroi_slab_each(&s->slab, add_shielded, &f);
		coroi_doors_unlock(s);
		f.n += coroi_services_running(s, list + f.n, cap - f.n);
	}
	pthread_mutex_unlock(&s->life_lock);
	return f.n;
}

/* sent_of - the number of spawns in a list of nodes: an inbox, or undelivered ones. Nobody takes
 * out of it meanwhile. */
static uint64_t sent_of(uint64_t node)
{
	uint64_t n = 0;

	for (; node; node = *coroi_node_link(node)) {
		if ((node & COROI_NODE_KIND) == COROI_NODE_SPAWN)
			n++;
		else if ((node & COROI_NODE_KIND) == COROI_NODE_BATCH)
			n += coroi_batch_left(coroi_node_of(node));
	}
	return n;
}

uint64_t coroi_present(struct coro_scheduler *s)
{
	uint64_t n = 0;

	pthread_mutex_lock(&s->life_lock);
	if (!s->closed) {
		coroi_doors_lock(s);
		n = coroi_live(s);
		for (uint32_t i = 0; i <= s->workers; i++)
			n += sent_of(s->worker[i].undelivered.first) +
			     sent_of(at_load_acq(&s->worker[i].inbox));
		coroi_doors_unlock(s);
	}
	pthread_mutex_unlock(&s->life_lock);
	return n;
}

static void collect_from(struct coroi_worker *w)
{
	enum coroi_knock came;

	while ((came = coroi_door_knock(w, COROI_COLLECTOR)) == COROI_REFUSED) {
		uint32_t never = 0;
		coroi_futex_wait(&never, 0, COROI_PREEMPTED_NS); /* as coroi_door_lock */
	}
	if (came == COROI_LOCKED) {
		coroi_tasks_settle_locked(w, true);
		coroi_mags_surrender(&w->mags);
		coroi_door_unlock(w);
	}
}

void coroi_collect(struct coro_scheduler *s)
{
	pthread_mutex_lock(&s->life_lock);
	for (uint32_t i = 0; i < s->workers && !s->closed; i++)
		collect_from(&s->worker[i]);
	pthread_mutex_unlock(&s->life_lock);
	pthread_mutex_lock(&s->outside.lock);
	coroi_mags_surrender(&s->outside.mags);
	pthread_mutex_unlock(&s->outside.lock);
}

static void worker_stats(struct coroi_worker *w, coro_worker_stats *out)
{
	*out = (coro_worker_stats){
		.spawned = at_load_rlx(&w->spawned),
		.ended = at_load_rlx(&w->ended),
		.switches = coroi_turns(w),
		.steals = at_load_rlx(&w->count.steals),
		.stolen = at_load_rlx(&w->count.stolen),
		.served = at_load_rlx(&w->count.served),
		.forced = at_load_rlx(&w->count.forced),
		.missed = at_load_rlx(&w->count.missed),
		.parks = at_load_rlx(&w->count.parks),
		.remote_wakes = at_load_rlx(&w->count.remote_wakes),
		.queued = coroi_deque_length(&w->queue),
		.tid = at_load_rlx(&w->thread.tid),
		.cpu = w->thread.cpu,
	};
}

/* dense_stats - under the life lock: what frees a worker's `dense` holds it (coroi_dense_close).
 * The worker may open it meanwhile. */
static void dense_stats(struct coro_scheduler *s, coro_stats *out)
{
	uint64_t used[COROI_HEAP_CLASSES] = {0}, below = 0;

	for (uint32_t i = 0; i < s->workers; i++) {
		/* pairs with the release of open_locked in dense.c */
		const struct coroi_dense *d = at_load_acq(&s->worker[i].dense);
		if (!d)
			continue;
		out->dense_bytes += at_load_rlx(&d->heap.bytes);
		uint64_t exchanges = at_load_rlx(&d->exchanges);
		out->dense_copied_out += at_load_rlx(&d->evictions) + exchanges;
		out->dense_copied_in += at_load_rlx(&d->restores) + exchanges;
		out->dense_bytes_copied += at_load_rlx(&d->bytes_copied);
		out->dense_private += at_load_rlx(&d->privates);
		for (unsigned c = 0; c < COROI_HEAP_CLASSES; c++)
			used[c] += at_load_rlx(&d->heap.used[c]);
	}
	for (unsigned c = 0; c < COROI_HEAP_CLASSES; c++)
		out->dense_saved += used[c];
	for (unsigned c = 0; c < COROI_HEAP_CLASSES && below < out->dense_saved; c++) {
		below += used[c];
		if (!out->dense_p50 && 2 * below >= out->dense_saved)
			out->dense_p50 = coroi_heap_class_bytes(c);
		if (!out->dense_p99 && 100 * below >= 99 * out->dense_saved)
			out->dense_p99 = coroi_heap_class_bytes(c);
	}
}

/* totals - what the workers and the goworker have counted since the start. The ends are read first:
 * so none is counted without its spawn. */
static void totals(struct coro_scheduler *s, coro_stats *out)
{
	uint64_t daemons_ended = 0;

	for (uint32_t i = 0; i <= s->workers; i++) {
		struct coroi_worker *w = &s->worker[i];
		out->ended += at_load_acq(&w->ended);
		daemons_ended += at_load_acq(&w->daemons.ended);
		out->failed += at_load_rlx(&w->ends.failed);
		out->unstarted_no_stack += at_load_rlx(&w->ends.no_stack);
		out->unstarted_canceled += at_load_rlx(&w->ends.canceled);
		out->unstarted_closed += at_load_rlx(&w->ends.closed);
		out->inline_calls += at_load_rlx(&w->inline_calls);
	}
	out->go_live = at_load_acq(&coroi_threadless(s)->ended);
	uint64_t timed = 0, most;
	for (uint32_t i = 0; i < s->workers; i++) {
		out->lends += at_load_rlx(&s->worker[i].lends.n);
		timed += at_load_rlx(&s->worker[i].lends.timed);
		out->lent_ns += at_load_rlx(&s->worker[i].lends.ns);
		most = at_load_rlx(&s->worker[i].lends.most);
		if (most > out->lent_most_ns)
			out->lent_most_ns = most;
	}
	if (timed)
		out->lent_ns = (uint64_t)((double)out->lent_ns / (double)timed *
					  (double)out->lends);
	for (uint32_t i = 0; i <= s->workers; i++) {
		out->spawned += at_load_acq(&s->worker[i].spawned);
		out->daemons += at_load_acq(&s->worker[i].daemons.spawned);
	}
	out->go_spawned = at_load_acq(&coroi_threadless(s)->spawned);
	out->go_live = out->go_spawned - out->go_live;
	out->daemons -= daemons_ended;
	out->live = out->spawned - out->ended;
}

int coro_scheduler_stats(coro_scheduler *s, coro_stats *total, coro_worker_stats *per_worker,
			 uint32_t cap)
{
	if (!s || !total)
		return CORO_EINVAL;
	memset(total, 0, sizeof *total);
	total->workers = s->workers;
	uint64_t activity = at_load_seq(&s->activity);
	total->awake = COROI_AWAKE_OF(activity);
	total->outside = COROI_PENDING_OF(activity);
	totals(s, total);
	total->awaiting_stack = at_load_seq(&s->awaiting_stack);
	total->idle_ends = at_load_seq(&s->rests);
	total->membarrier = !s->worker[0].exchange;
	total->guard = coroi_guard_is_light();
	for (uint32_t i = 0; per_worker && i < s->workers && i < cap; i++)
		worker_stats(&s->worker[i], &per_worker[i]);

	pthread_mutex_lock(&s->life_lock);
	if (!s->closed) {
		struct coroi_stack_pool *p = &s->stacks;
		coroi_lock(&p->lock);
		total->stacks = p->stacks;
		total->stacks_idle = p->idle_count;
		total->stack_bytes = p->bytes;
		coroi_unlock(&p->lock);
		dense_stats(s, total);
		coroi_services_stats(s, total);
	}
	coroi_lock(&s->slab.lock);
	total->records = s->slab.records;
	total->records_idle = s->slab.idle;
	total->record_bytes = s->slab.chunks * (uint64_t)COROI_CHUNK_BYTES;
	total->records_retired = at_load_rlx(&s->slab.retired);
	coroi_unlock(&s->slab.lock);
	pthread_mutex_unlock(&s->life_lock);
	return CORO_OK;
}

size_t coro_scheduler_trim(coro_scheduler *s)
{
	size_t bytes = 0;

	if (!s || coroi_self())
		return 0;
	pthread_mutex_lock(&s->life_lock);
	if (!s->closed) {
		coroi_doors_lock(s);
		for (uint32_t i = 0; i < s->workers; i++) {
			bytes += coroi_deque_trim(&s->worker[i].queue);
			coroi_dense_trim_locked(&s->worker[i], coroi_live(s) != 0);
			coroi_stack_cache_flush(&s->worker[i].stacks);
			coroi_mags_flush(&s->worker[i].mags);
		}
		coroi_doors_unlock(s);
		bytes += coroi_stack_pool_trim(&s->stacks);
	}
	pthread_mutex_lock(&s->outside.lock);
	coroi_outside_close(s);
	coroi_mags_flush(&s->outside.mags);
	pthread_mutex_unlock(&s->outside.lock);
	bytes += coroi_batches_trim(&s->slab) + coroi_slab_trim(&s->slab);
	pthread_mutex_unlock(&s->life_lock);
	return bytes;
}
