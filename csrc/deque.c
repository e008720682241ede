//go:build cgo && linux
/* deque.c - see deque.h. */
#include "deque.h"

#include <string.h>

#define RING_START 256

/* So a ring of that many entries never has to grow, and its size never overflows. */
_Static_assert(COROI_CHUNKS_MAX * (uint64_t)COROI_CHUNK_RECORDS <= UINT32_C(1) << 29, "there are no more records");

static uint64_t *ring_of(uint32_t entries)
{
	return coroi_alloc(2 * (size_t)entries * sizeof(uint64_t), COROI_LINE); /* tasks and arguments */
}

int coroi_deque_init(struct coroi_deque *d)
{
	memset(d, 0, sizeof *d);
	d->ring = ring_of(RING_START);
	d->mask = RING_START - 1;
	return d->ring ? CORO_OK : CORO_ENOMEM;
}

void coroi_deque_destroy(struct coroi_deque *d)
{
	coroi_release(d->ring);
	d->ring = NULL;
}

COROI_COLD bool coroi_deque_grow(struct coroi_deque *d)
{
	uint32_t entries = d->mask + 1, more = 2 * entries - 1;
	uint64_t *ring = ring_of(2 * entries);
	if (!ring)
		return false;
	for (uint32_t i = 0; i < d->count; i++) {
		uint32_t at = d->head + i;
		uint64_t task = d->ring[at & d->mask];
		ring[at & more] = task;
		if (!coroi_task_has_record(task) && coroi_task_words(task))
			ring[(at & more) + more + 1] = *coroi_deque_arg(d, at);
	}
	coroi_release(d->ring);
	d->ring = ring;
	d->mask = more;
	return true;
}

COROI_COLD uint64_t coroi_deque_pop_spilled(struct coroi_deque *d)
{
	struct coroi_rec *r = coroi_list_take(&d->spill);
	if (!r)
		return 0;
	if (r->state == COROI_FRESH)
		return coroi_task_fresh(r);
	return r->code == CORO_OK ? coroi_task_started(r) : coroi_task_coded(r);
}

uint32_t coroi_deque_give(struct coroi_worker *w, uint16_t t, struct coroi_gift *out, uint32_t want)
{
	struct coroi_deque *d = &w->queue;
	uint32_t n = want < w->sched->steal_batch ? want : w->sched->steal_batch;

	for (uint32_t i = 0; i < n; i++) {
		if (d->count) {
			uint32_t at = d->head + d->count - 1;
			at_store_rlx(&d->count, d->count - 1);
			out[i].task = d->ring[at & d->mask];
			out[i].arg = *coroi_deque_arg(d, at);
		} else {
			out[i].task = coroi_deque_pop_spilled(d);
		}
		/* Pairs with coroi_mail_locked, perhaps in t's door by another thief. */
		if (coroi_task_has_record(out[i].task))
			COROI_MUTANT(HOME_KEPT, at_store_rel(&coroi_task_record(out[i].task)->home, t), (void)0);
	}
	return n;
}
