/*
 * buffer_copy.c - buffer/buffer.c and buffer/pool.c of the explored copy, and a look into all lists
 * of free descriptors.
 */
#include "buffer/buffer.c"
#include "buffer/pool.c"

#include "world.h"

void world_buffers(coro_scheduler *s, unsigned descriptors, unsigned in_hand)
{
	coro_buffer b[64];
	struct pool *p = of(s);
	struct coroi_free_buffers *list = &p->local[0].list[0];

	EX_CHECK(descriptors <= 64 && in_hand < descriptors);
	for (unsigned i = 0; i < descriptors; i++)
		EX_CHECK(coro_buffer_make_on(s, 1, &b[i]) == CORO_OK);
	for (unsigned i = 0; i < descriptors; i++)
		EX_CHECK(coro_buffer_free(b[i]) == CORO_OK);
	for (unsigned i = 0; i < in_hand; i++) {
		uint32_t one = 1;
		struct coroi_descriptor *d = coroi_depot_take(0, &one);
		d->next = list->first;
		list->first = d;
		list->count++;
	}
	world_region(&depot, sizeof depot);
}

/* mark - note the descriptors of a list, each once. */
static void mark(const struct coroi_free_buffers *list, uint32_t class, bool *seen)
{
	uint32_t n = 0;

	for (const struct coroi_descriptor *d = list->first; d; d = d->next, n++) {
		EX_CHECK(n < list->count && !seen[d->index]);
		EX_CHECK((d->word & 0xff) == COROI_BUFFER_FREE && d->class == class && d->at);
		seen[d->index] = true;
	}
	EX_CHECK(n == list->count);
}

void world_check_buffers(coro_scheduler *s, const struct coroi_free_buffers *outside)
{
	bool seen[COROI_BUFFER_CHUNK] = {false};
	struct pool *p = of(s);
	struct coroi_tally sum;
	uint64_t bytes = 0;
	uint32_t left = 0;

	if (outside)
		mark(outside, 0, seen);
	for (uint32_t class = 0; class < COROI_BUFFER_CLASSES; class ++) {
		mark(&depot.with[class], class, seen);
		for (uint32_t w = 0; w < p->workers; w++)
			mark(&p->local[w].list[class], class, seen);
	}
	for (const struct coroi_descriptor *d = depot.bare.first; d; d = d->next) {
		EX_CHECK(!seen[d->index] && !d->at);
		seen[d->index] = true;
	}
	for (uint32_t i = 0; i < depot.made; i++) {
		const struct coroi_descriptor *d = &coroi_buffer_dir[0][i];
		EX_CHECK(seen[i] == ((d->word & 0xff) == COROI_BUFFER_FREE));
		left += !seen[i];
		bytes += seen[i] ? 0 : d->room;
	}
	coroi_buffers_sum(s, &sum);
	EX_CHECK(sum.made - sum.freed == left && sum.bytes == bytes);
}
