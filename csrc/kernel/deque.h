/*
 * deque.h - a worker's queue of coroutines that can run.
 *
 * The owner takes from the front and adds at the back, so that nothing that yields can starve; a
 * thief takes from the back. All of it happens inside the owner's door; only the length may be
 * peeked at from outside.
 *
 * A ring of runnables, and as many places for the arguments of those that have no record, in the
 * same memory behind it. It grows by doubling, and shrinks by a trim; if there is no memory for
 * that, those with records are linked to each other instead, and nothing is lost.
 */
#ifndef COROI_DEQUE_H
#define COROI_DEQUE_H

#include "kernel/runnable.h"
#include "kernel/worker.h"

/* How many entries ahead records are prefetched: a miss takes about as long as this many short
 * turns. */
#define COROI_AHEAD 16

int coroi_deque_init(struct coroi_deque *d);
void coroi_deque_destroy(struct coroi_deque *d);

/* coroi_deque_give - take want coroutines (no more than the queue has; at most a steal's worth are
 * taken) from the back of w's queue, in w's door, for worker t, where they are at home then. Pinned
 * ones stay, and all of a dedicated worker. Returns how many. */
uint32_t coroi_deque_give(struct coroi_worker *w, uint16_t t, struct coroi_steal_entry *out,
			  uint32_t want);

bool coroi_deque_grow(struct coroi_deque *d);

/* coroi_deque_trim - back to a ring that is no larger than twice what is in it. Inside the door.
 * Returns the bytes. */
size_t coroi_deque_trim(struct coroi_deque *d);

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

/* coroi_deque_is_unusual - it is empty (then 1 less is the largest of all), or something has
 * spilled. */
static inline bool coroi_deque_is_unusual(const struct coroi_deque *d)
{
	return d->count - 1 >= d->room;
}

/* coroi_deque_has_room - for one more, without growing, and nothing that has spilled comes before
 * it. */
static inline bool coroi_deque_has_room(const struct coroi_deque *d)
{
	return d->count < d->room;
}

/* coroi_deque_put - a runnable and its argument, where there is room. */
static inline void coroi_deque_put(struct coroi_deque *d, uint64_t runnable)
{
	d->ring[(d->head + d->count) & d->mask] = runnable;
	/* relaxed: who takes entries holds the door; others only count */
	at_store_rlx(&d->count, d->count + 1);
}

static inline uint64_t *coroi_deque_arg(struct coroi_deque *d, uint32_t at)
{
	return &d->ring[(at & d->mask) + d->mask + 1];
}

/* coroi_deque_spill - a runnable that has a record is linked to the others for which there was no
 * room. */
COROI_COLD void coroi_deque_spill(struct coroi_deque *d, uint64_t runnable);

/* coroi_deque_push - a runnable that has a record. It never fails. */
static inline void coroi_deque_push(struct coroi_deque *d, uint64_t runnable)
{
	if (coroi_likely(coroi_deque_has_room(d)) || (!d->spill.count && coroi_deque_grow(d)))
		coroi_deque_put(d, runnable);
	else
		coroi_deque_spill(d, runnable);
}

/* coroi_deque_push_new - one without a record. False: there is no room for it. */
static inline bool coroi_deque_push_new(struct coroi_deque *d, uint64_t runnable, uint64_t arg)
{
	if (coroi_unlikely(!coroi_deque_has_room(d)) && (d->spill.count || !coroi_deque_grow(d)))
		return false;
	if (coroi_runnable_words(runnable))
		*coroi_deque_arg(d, d->head + d->count) = arg;
	coroi_deque_put(d, runnable);
	return true;
}

/* coroi_deque_look_ahead - the front one is about to run: bring the record of one further back, and
 * of one that is nearer, whose record was brought before, what lies on top of its stack. So many
 * have that in the second cache anyway, which often has 512 KiB: a record's line and two of a stack
 * each; and from there it comes in time by itself. */
#define COROI_IN_CACHE 2048

static inline void coroi_deque_look_ahead(const struct coroi_deque *d)
{
	uint32_t head = d->head, mask = d->mask;

	if (coroi_likely(d->count <= COROI_IN_CACHE))
		return;
	coroi_prefetchw(coroi_runnable_resumed(d->ring[(head + COROI_AHEAD) & mask]));
	uint64_t near = d->ring[(head + COROI_AHEAD / 2) & mask];
	if (coroi_likely(!coroi_runnable_is_new(near)))
		coroi_prefetchw(at_load_rlx(&coroi_runnable_resumed(near)->sp));
}

COROI_COLD uint64_t coroi_deque_pop_spilled(struct coroi_deque *d);

/* coroi_deque_pop - the front one; 0: there is none. coroi_deque_popped_arg is its argument, until
 * the next push. */
static inline uint64_t coroi_deque_pop(struct coroi_deque *d)
{
	uint32_t head = d->head, count = d->count;
	if (coroi_unlikely(count == 0))
		return coroi_deque_pop_spilled(d);
	uint64_t runnable = d->ring[head & d->mask];
	if (coroi_runnable_has_record(runnable)) /* then the next ones probably have one too */
		coroi_prefetchw(coroi_runnable_record(d->ring[(head + COROI_AHEAD) & d->mask]));
	at_store_rlx(&d->head, head + 1);
	at_store_rlx(&d->count, count - 1);
	return runnable;
}

static inline const uint64_t *coroi_deque_popped_arg(struct coroi_deque *d)
{
	return coroi_deque_arg(d, d->head - 1);
}

/* coroi_deque_defer - the one just popped, which has no record, to the back: there is room for
 * it. */
static inline void coroi_deque_defer(struct coroi_deque *d, uint64_t runnable)
{
	*coroi_deque_arg(d, d->head + d->count) = *coroi_deque_popped_arg(d);
	coroi_deque_put(d, runnable);
}

#endif
