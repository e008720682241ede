//go:build cgo && linux
/* deque.c - see deque.h. */
#include "deque.h"

#include <string.h>

#define RING_START 256
#define RING_MOST (UINT32_C(1) << 30)

int coroi_deque_init(struct coroi_deque *d)
{
	memset(d, 0, sizeof *d);
	d->ring = coroi_alloc(RING_START * sizeof *d->ring, COROI_LINE);
	d->mask = RING_START - 1;
	return d->ring ? CORO_OK : CORO_ENOMEM;
}

void coroi_deque_destroy(struct coroi_deque *d)
{
	coroi_release(d->ring);
	d->ring = NULL;
}

static bool grow(struct coroi_deque *d)
{
	uint32_t entries = d->mask + 1;
	if (entries == RING_MOST)
		return false;
	struct coroi_rec **ring = coroi_alloc(2 * (size_t)entries * sizeof *ring, COROI_LINE);
	if (!ring)
		return false;
	for (uint32_t i = 0; i < d->count; i++)
		ring[(d->head + i) & (2 * entries - 1)] = d->ring[(d->head + i) & d->mask];
	coroi_release(d->ring);
	d->ring = ring;
	d->mask = 2 * entries - 1;
	return true;
}

COROI_NOINLINE void coroi_deque_push_slow(struct coroi_deque *d, struct coroi_rec *r)
{
	if (!d->spill.count && grow(d))
		coroi_deque_push(d, r);
	else
		coroi_list_add(&d->spill, r);
}

uint32_t coroi_deque_give(struct coroi_worker *w, uint16_t t, struct coroi_rec **out, uint32_t want)
{
	struct coroi_deque *d = &w->queue;
	uint32_t n = want < w->sched->steal_batch ? want : w->sched->steal_batch;

	for (uint32_t i = 0; i < n; i++) {
		if (d->count) {
			at_store_rlx(&d->count, d->count - 1);
			out[i] = d->ring[(d->head + d->count) & d->mask];
		} else {
			out[i] = coroi_list_take(&d->spill);
		}
		at_store_rel(&out[i]->home, t); /* pairs with coroi_mail_locked, perhaps in t's door by another thief */
	}
	return n;
}
