//go:build ignore
/* deque.c - see deque.h. */
#include "kernel/deque.h"

#include "kernel/inlined.h"

#include <string.h>

/* So a ring of that many entries never has to grow, and its size in bytes never overflows. */
_Static_assert(COROI_CHUNKS_MAX *(uint64_t)COROI_CHUNK_RECORDS <= UINT32_C(1) << 29,
	       "there are no more records");

static size_t ring_bytes(uint32_t entries)
{
	return 2 * (size_t)entries * sizeof(uint64_t); /* runnables and arguments */
}

static uint64_t *ring_of(uint32_t entries)
{
	return coroi_alloc_large(ring_bytes(entries));
}

static void release_ring(struct coroi_deque *d)
{
	coroi_release_large(d->ring, ring_bytes(d->mask + 1));
}

int coroi_deque_init(struct coroi_deque *d)
{
	memset(d, 0, sizeof *d);
	d->ring = ring_of(COROI_RING_START);
	d->mask = COROI_RING_START - 1;
	d->room = COROI_RING_START;
	return d->ring ? CORO_OK : CORO_ENOMEM;
}

void coroi_deque_destroy(struct coroi_deque *d)
{
	release_ring(d);
	d->ring = NULL;
}

/* refit - move the entries to a ring of `entries`, in which there is room for them. False: no
 * memory, and nothing has changed. */
COROI_COLD static bool refit(struct coroi_deque *d, uint32_t entries)
{
	uint32_t mask = entries - 1;
	uint64_t *ring = ring_of(entries);

	if (!ring)
		return false;
	for (uint32_t i = 0; i < d->count; i++) {
		uint32_t at = d->head + i;
		uint64_t runnable = d->ring[at & d->mask];
		ring[at & mask] = runnable;
		if (!coroi_runnable_has_record(runnable) && coroi_runnable_words(runnable))
			ring[(at & mask) + entries] = *coroi_deque_arg(d, at);
	}
	release_ring(d);
	d->ring = ring;
	d->mask = mask;
	d->room = d->spill.count ? 0 : entries;
	return true;
}

COROI_COLD bool coroi_deque_grow(struct coroi_deque *d)
{
	return refit(d, 2 * (d->mask + 1));
}

size_t coroi_deque_trim(struct coroi_deque *d)
{
	uint32_t entries = d->mask + 1, enough = COROI_RING_START;

	while (enough < entries && enough < 2 * d->count)
		enough *= 2;
	return enough < entries && refit(d, enough) ? ring_bytes(entries) - ring_bytes(enough) : 0;
}

COROI_COLD void coroi_deque_spill(struct coroi_deque *d, uint64_t runnable)
{
	coroi_list_add(&d->spill, coroi_runnable_record(runnable));
	d->room = 0;
}

COROI_COLD uint64_t coroi_deque_pop_spilled(struct coroi_deque *d)
{
	struct coroi_rec *r = coroi_list_take(&d->spill);
	if (!r)
		return 0;
	if (!d->spill.count)
		d->room = d->mask + 1;
	if (r->state == COROI_FRESH)
		return coroi_runnable_fresh(r);
	return r->code == CORO_OK ? coroi_runnable_started(r) : coroi_runnable_coded(r);
}

static bool is_pinned(uint64_t runnable)
{
	if (!coroi_runnable_has_record(runnable))
		return false;
	const struct coroi_rec *r = coroi_runnable_record(runnable);
	return r->flags & COROI_F_PINNED || coroi_inlined_stays(r);
}

/* give_of_ring - move up to `most` from the back to out; pinned coroutines among them close up.
 * *looks is how many more entries may be looked at. */
static uint32_t give_of_ring(struct coroi_deque *d, struct coroi_steal_entry *out, uint32_t most,
			     uint32_t *looks)
{
	uint32_t end = d->head + d->count, at = end, kept = end, n = 0;

	for (; n < most && at != d->head && *looks; --*looks) {
		uint64_t runnable = d->ring[--at & d->mask];
		if (coroi_unlikely(is_pinned(runnable)))
			/* a pinned one has a record, so no argument */
			d->ring[--kept & d->mask] = runnable;
		else
			out[n++] = (struct coroi_steal_entry){runnable, *coroi_deque_arg(d, at)};
	}
	while (kept != end)
		d->ring[at++ & d->mask] = d->ring[kept++ & d->mask];
	at_store_rlx(&d->count, at - d->head);
	return n;
}

/* give_of_spill - the same from the front of what has spilled. */
static uint32_t give_of_spill(struct coroi_deque *d, struct coroi_steal_entry *out, uint32_t most,
			      uint32_t looks)
{
	uint32_t n = 0;

	for (uint32_t left = d->spill.count; n < most && left && looks; left--, looks--) {
		uint64_t runnable = coroi_deque_pop_spilled(d);
		if (is_pinned(runnable))
			coroi_deque_spill(d, runnable);
		else
			out[n++].runnable = runnable;
	}
	return n;
}

uint32_t coroi_deque_give(struct coroi_worker *w, uint16_t t, struct coroi_steal_entry *out,
			  uint32_t want)
{
	if (coroi_unlikely(coroi_is_dedicated(w)))
		return 0;
	struct coroi_deque *d = &w->queue;
	uint32_t most = want < w->sched->steal_batch ? want : w->sched->steal_batch,
		 looks = COROI_STEAL_LOOKS;
	uint32_t n = give_of_ring(d, out, most, &looks);

	if (coroi_unlikely(d->spill.count))
		n += give_of_spill(d, out + n, most - n, looks);
	at_store_rlx(&d->given, d->given + n);
	for (uint32_t i = 0; i < n; i++)
		if (coroi_runnable_has_record(out[i].runnable)) {
			coroi_inlined_move_locked(coroi_runnable_record(out[i].runnable), t);
			COROI_PROBE(MOVE, coroi_runnable_record(out[i].runnable));
		}
	return n;
}
