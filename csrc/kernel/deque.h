/*
 * deque.h - a worker's queue of coroutines that can run.
 *
 * The owner takes from the front and adds at the back, so that nothing that yields can starve. A
 * thief takes from the back. All of that happens inside the owner's door. From outside, only the
 * length may be peeked at.
 *
 *      ring   | runnables: .. front ...... back .. | arguments, at the same indexes |
 *               0    head & mask                mask   mask + 1
 *      spill  those that came while the ring could not grow, linked by their records
 *
 * An argument belongs to a runnable that has no record. The ring grows by doubling, and a trim
 * makes it smaller. Where there is no memory to grow, runnables that have records are linked to
 * each other instead, and nothing is lost.
 */
#ifndef COROI_DEQUE_H
#define COROI_DEQUE_H

#include "kernel/runnable.h"
#include "kernel/worker.h"

/* Returns: CORO_OK or CORO_ENOMEM. */
int coroi_deque_init(struct coroi_deque *d);
void coroi_deque_destroy(struct coroi_deque *d);

/* coroi_deque_give - take up to want coroutines, no more than the scheduler's steal_batch, from the
 * back of w's queue for worker t, whose home they get. Pinned coroutines stay, and all of a
 * dedicated worker. The caller is inside w's door. Returns: how many there are in out, the back
 * first. */
uint32_t coroi_deque_give(struct coroi_worker *w, uint16_t t, struct coroi_steal_entry *out,
			  uint32_t want);

/* coroi_deque_grow - double the ring. The caller is inside the door. False: no memory, and nothing
 * has changed. */
bool coroi_deque_grow(struct coroi_deque *d);

/* coroi_deque_trim - shrink the ring, to at least twice what is in it. The caller is inside the
 * door. Returns: the bytes that were freed. */
size_t coroi_deque_trim(struct coroi_deque *d);

/* coroi_list_add, coroi_list_add_first - add r at the back, at the front; coroi_list_take - take
 * the front, or NULL. */
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

/* coroi_deque_length - how many entries there are: exact inside the door, a hint from outside. */
static inline uint32_t coroi_deque_length(const struct coroi_deque *d)
{
	return at_load_rlx(&d->count) + at_load_rlx(&d->spill.count);
}

/* coroi_deque_is_unusual - the queue is empty (count - 1 is then the largest number), or something
 * has spilled (room is 0). */
static inline bool coroi_deque_is_unusual(const struct coroi_deque *d)
{
	return d->count - 1 >= d->room;
}

/* coroi_deque_has_room - one more fits without growing, and nothing that has spilled comes before
 * it. */
static inline bool coroi_deque_has_room(const struct coroi_deque *d)
{
	return d->count < d->room;
}

/* coroi_deque_put - add a runnable at the back, where there is room. Its argument is already
 * written. */
static inline void coroi_deque_put(struct coroi_deque *d, uint64_t runnable)
{
	d->ring[(d->head + d->count) & d->mask] = runnable;
	/* Relaxed: a thread that takes entries holds the door, and others only count. */
	at_store_rlx(&d->count, d->count + 1);
}

/* coroi_deque_arg - the argument beside the entry at (free-running, as head is). */
static inline uint64_t *coroi_deque_arg(struct coroi_deque *d, uint32_t at)
{
	return &d->ring[(at & d->mask) + d->mask + 1];
}

/* coroi_deque_put_near - add a runnable that has a record behind the first n, where there is room.
 * The first n move, with their arguments: thieves take from the back, so that the caller cannot
 * know that they all have records. */
static inline void coroi_deque_put_near(struct coroi_deque *d, uint32_t n, uint64_t runnable)
{
	uint32_t head = d->head - 1;

	for (uint32_t i = head; i != head + n; i++) {
		d->ring[i & d->mask] = d->ring[(i + 1) & d->mask];
		*coroi_deque_arg(d, i) = *coroi_deque_arg(d, i + 1);
	}
	d->ring[(head + n) & d->mask] = runnable;
	at_store_rlx(&d->head, head);
	at_store_rlx(&d->count, d->count + 1);
}

/* coroi_deque_spill - link a runnable that has a record to the others for which there was no
 * room. */
COROI_COLD void coroi_deque_spill(struct coroi_deque *d, uint64_t runnable);

/* coroi_deque_make_room - see to it that one more fits. False: it does not, and nothing has
 * changed. */
static inline bool coroi_deque_make_room(struct coroi_deque *d)
{
	return coroi_likely(coroi_deque_has_room(d)) || (!d->spill.count && coroi_deque_grow(d));
}

/* coroi_deque_push - add a runnable that has a record. It never fails. */
static inline void coroi_deque_push(struct coroi_deque *d, uint64_t runnable)
{
	if (coroi_likely(coroi_deque_make_room(d)))
		coroi_deque_put(d, runnable);
	else
		coroi_deque_spill(d, runnable);
}

/* coroi_deque_push_new - add a runnable that has no record. False: there is no room for it. */
static inline bool coroi_deque_push_new(struct coroi_deque *d, uint64_t runnable, uint64_t arg)
{
	if (coroi_unlikely(!coroi_deque_make_room(d)))
		return false;
	if (coroi_runnable_words(runnable))
		*coroi_deque_arg(d, d->head + d->count) = arg;
	coroi_deque_put(d, runnable);
	return true;
}

/* coroi_deque_look_at_stack - bring the top of a stack: see coroi_deque_look_ahead. */
static inline void coroi_deque_look_at_stack(const struct coroi_deque *d, uint32_t head)
{
	uint64_t near = d->ring[(head + COROI_AHEAD / 2) & d->mask];

	if (coroi_likely(!coroi_runnable_is_new(near)))
		coroi_prefetchw(at_load_rlx(&coroi_runnable_resumed(near)->sp));
}

/* coroi_deque_look_ahead - the front is about to run. Bring the record of an entry COROI_AHEAD
 * behind it, and the top of the stack of one half as far, whose record was brought before. Up to
 * COROI_IN_CACHE coroutines have these lines in the second cache anyway. */
static inline void coroi_deque_look_ahead(const struct coroi_deque *d)
{
	uint32_t head = d->head, mask = d->mask;

	if (!COROI_HAS_LOOK_AHEAD || coroi_likely(d->count <= COROI_IN_CACHE))
		return;
	coroi_prefetchw(coroi_runnable_resumed(d->ring[(head + COROI_AHEAD) & mask]));
	coroi_deque_look_at_stack(d, head);
}

/* coroi_deque_pop_spilled - coroi_deque_pop where the ring is empty. */
COROI_COLD uint64_t coroi_deque_pop_spilled(struct coroi_deque *d);

/* coroi_deque_pop - take the front; 0: the queue is empty. */
static inline uint64_t coroi_deque_pop(struct coroi_deque *d)
{
	uint32_t head = d->head, count = d->count;
	if (coroi_unlikely(count == 0))
		return coroi_deque_pop_spilled(d);
	uint64_t runnable = d->ring[head & d->mask];
	if (COROI_HAS_LOOK_AHEAD &&
	    coroi_runnable_has_record(runnable)) { /* the next ones probably have one, too */
		coroi_prefetchw(coroi_runnable_record(d->ring[(head + COROI_AHEAD) & d->mask]));
		if (coroi_unlikely(count > COROI_IN_CACHE))
			coroi_deque_look_at_stack(d, head);
	}
	at_store_rlx(&d->head, head + 1);
	at_store_rlx(&d->count, count - 1);
	return runnable;
}

/* coroi_deque_popped_arg - the argument of what was popped last, until the next push. */
static inline const uint64_t *coroi_deque_popped_arg(struct coroi_deque *d)
{
	return coroi_deque_arg(d, d->head - 1);
}

/* coroi_deque_defer - add the runnable that was just popped, which has no record, at the back
 * again. There is room for it. */
static inline void coroi_deque_defer(struct coroi_deque *d, uint64_t runnable)
{
	*coroi_deque_arg(d, d->head + d->count) = *coroi_deque_popped_arg(d);
	coroi_deque_put(d, runnable);
}

#endif
