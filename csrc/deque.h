/*
 * deque.h - a worker's queue of runnable coroutines.
 *
 * The owner takes from the front and adds at the back, so that nothing that yields can starve; a thief takes
 * from the back. All of it happens inside the owner's door; only the length may be peeked at from outside.
 * The ring grows by doubling; if there is no memory for that, coroutines are linked to each other instead, and
 * nothing is lost.
 */
#ifndef COROI_DEQUE_H
#define COROI_DEQUE_H

#include "worker.h"

/* How many entries ahead records are prefetched: a miss takes about as long as this many short turns. */
#define COROI_AHEAD 16

int coroi_deque_init(struct coroi_deque *d);
void coroi_deque_destroy(struct coroi_deque *d);

/* coroi_deque_give - take want coroutines (no more than the queue has; at most a steal's worth are taken) from the
 * back of w's queue, in w's door, for worker t, where they are at home then. Returns how many. */
uint32_t coroi_deque_give(struct coroi_worker *w, uint16_t t, struct coroi_rec **out, uint32_t want);

void coroi_deque_push_slow(struct coroi_deque *d, struct coroi_rec *r);

static inline void coroi_list_add(struct coroi_list *l, struct coroi_rec *r)
{
	r->next = 0;
	if (l->count)
		l->last->next = (uintptr_t)r;
	else
		l->first = r;
	l->last = r;
	at_store_rlx(&l->count, l->count + 1);
}

static inline void coroi_list_add_first(struct coroi_list *l, struct coroi_rec *r)
{
	r->next = (uintptr_t)l->first;
	if (!l->count)
		l->last = r;
	l->first = r;
	at_store_rlx(&l->count, l->count + 1);
}

static inline struct coroi_rec *coroi_list_take(struct coroi_list *l)
{
	struct coroi_rec *r = l->first;
	if (!l->count)
		return NULL;
	l->first = (struct coroi_rec *)(uintptr_t)r->next;
	at_store_rlx(&l->count, l->count - 1);
	return r;
}

/* coroi_deque_length - exact inside the door; from outside a hint. */
static inline uint32_t coroi_deque_length(const struct coroi_deque *d)
{
	return at_load_rlx(&d->count) + at_load_rlx(&d->spill.count);
}

static inline void coroi_deque_push(struct coroi_deque *d, struct coroi_rec *r)
{
	uint32_t count = d->count;
	if (coroi_unlikely(count > d->mask || d->spill.count)) {
		coroi_deque_push_slow(d, r);
		return;
	}
	d->ring[(d->head + count) & d->mask] = r;
	at_store_rlx(&d->count, count + 1); /* relaxed: who takes entries holds the door; others only count */
}

static inline struct coroi_rec *coroi_deque_pop(struct coroi_deque *d)
{
	uint32_t head = d->head, count = d->count;
	if (coroi_unlikely(count == 0))
		return coroi_list_take(&d->spill);
	struct coroi_rec *r = d->ring[head & d->mask];
	coroi_prefetchw(d->ring[(head + COROI_AHEAD) & d->mask]);
	at_store_rlx(&d->head, head + 1);
	at_store_rlx(&d->count, count - 1);
	return r;
}

#endif
