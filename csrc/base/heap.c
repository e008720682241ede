//go:build ignore
/* heap.c - see heap.h. */
#include "base/heap.h"

#include "base/list.h"

#define CHUNK_BYTES   ((size_t)2 << 20)
#define SMALL_PAGES   ((size_t)8 << 20)
#define SPAN_BYTES    ((size_t)64 << 10)
#define SPANS         (CHUNK_BYTES / SPAN_BYTES)
#define SMALL_BYTES   ((size_t)1 << 10)
#define SMALL_CLASSES 64u
#define STEPS         16u /* classes from one power of two to the next, above that */
#define BLOCK_MOST    ((size_t)16 << 10)
#define OWN_MAPPING   UINT32_MAX /* the class of a block that has one */

struct free_block {
	struct free_block *next;
};

struct coroi_span {
	/* in `partial` of its class while it has room, or in `idle` */
	struct coroi_span *next, *prev;
	struct free_block *free;
	size_t bytes; /* of a block */
	/* offsets in the chunk: of the first byte never handed out, and of the span's end */
	uint32_t cut, end;
	uint32_t used;
	uint32_t class;
};

struct coroi_heap_chunk {
	struct coroi_heap_chunk *next, *prev;
	size_t bytes;  /* mapped */
	uint32_t idle; /* spans of no class */
	struct coroi_span span[SPANS];
};

#define FIRST_BLOCK 2048u /* the descriptions of the spans end here */
_Static_assert(sizeof(struct coroi_heap_chunk) <= FIRST_BLOCK, "there is room for them");

static inline struct coroi_heap_chunk *chunk_of(const void *block)
{
	return (struct coroi_heap_chunk *)((uintptr_t)block & ~(CHUNK_BYTES - 1));
}

static inline struct coroi_span *span_of(const void *block)
{
	return &chunk_of(block)->span[((uintptr_t)block & (CHUNK_BYTES - 1)) / SPAN_BYTES];
}

static inline unsigned class_of(size_t bytes)
{
	if (coroi_likely(bytes <= SMALL_BYTES))
		return (unsigned)((bytes + 15) / 16 - 1);
	/* 2^shift < bytes <= 2^(shift+1) */
	unsigned shift = 63 - (unsigned)__builtin_clzll(bytes - 1);
	return SMALL_CLASSES + STEPS * (shift - 10) +
	       (unsigned)((bytes - 1) >> (shift - 4) & (STEPS - 1));
}

size_t coroi_heap_class_bytes(unsigned class)
{
	if (class < SMALL_CLASSES)
		return 16 * (size_t)(class + 1);
	class -= SMALL_CLASSES;
	return (SMALL_BYTES << class / STEPS) / STEPS * (STEPS + 1 + class % STEPS);
}

static struct coroi_heap_chunk *map(struct coroi_heap *h, size_t bytes)
{
	struct coroi_heap_chunk *c = coroi_map(bytes, CHUNK_BYTES, "coro: heap");

	if (!c)
		return NULL;
	/* The first SMALL_PAGES bytes need no huge pages: the CPU's translation buffers cover as
	 * much. A huge page that is used in part would be a large share of a small heap. */
	coroi_huge(c, bytes, h->bytes >= SMALL_PAGES && bytes % CHUNK_BYTES == 0);
	c->bytes = bytes;
	coroi_dstack_add(&h->chunks, c);
	at_bump_by(&h->bytes, bytes);
	return c;
}

static void unmap(struct coroi_heap *h, struct coroi_heap_chunk *c)
{
	coroi_dstack_remove(&h->chunks, c);
	at_store_rlx(&h->bytes, h->bytes - c->bytes);
	coroi_unmap(c, c->bytes);
}

static bool grow(struct coroi_heap *h)
{
	struct coroi_heap_chunk *c = map(h, CHUNK_BYTES);

	if (!c)
		return false;
	for (unsigned i = SPANS; i--;)
		coroi_dstack_add(&h->idle, &c->span[i]); /* the first span is used first */
	c->idle = SPANS;
	h->empty++;
	return true;
}

/* begin_span - an idle span begins to serve the class. */
static struct coroi_span *begin_span(struct coroi_heap *h, unsigned class)
{
	if (!h->idle && !grow(h))
		return NULL;
	struct coroi_span *r = h->idle;
	struct coroi_heap_chunk *c = chunk_of(r);
	uint32_t index = (uint32_t)(r - c->span);

	coroi_dstack_remove(&h->idle, r);
	if (c->idle-- == SPANS)
		h->empty--;
	r->free = NULL;
	r->bytes = coroi_heap_class_bytes(class);
	r->cut = index ? index * (uint32_t)SPAN_BYTES : FIRST_BLOCK;
	r->end = (index + 1) * (uint32_t)SPAN_BYTES;
	r->class = class;
	coroi_dstack_add(&h->partial[class], r);
	return r;
}

/* end_span - no block of r is in use. One empty chunk is kept, so that a block that comes and goes
 * costs no mapping. */
static void end_span(struct coroi_heap *h, struct coroi_span *r)
{
	struct coroi_heap_chunk *c = chunk_of(r);

	coroi_dstack_remove(&h->partial[r->class], r);
	coroi_dstack_add(&h->idle, r);
	if (++c->idle < SPANS)
		return;
	if (!h->empty++)
		return;
	for (unsigned i = 0; i < SPANS; i++)
		coroi_dstack_remove(&h->idle, &c->span[i]);
	h->empty--;
	unmap(h, c);
}

static inline bool has_block(const struct coroi_span *r)
{
	return r->free || r->cut + r->bytes <= r->end;
}

static COROI_NOINLINE void *get_large(struct coroi_heap *h, size_t bytes)
{
	size_t page = coroi_page();
	struct coroi_heap_chunk *c = bytes < SIZE_MAX / 2
					     ? map(h,
						   (FIRST_BLOCK + bytes + page - 1) & ~(page - 1))
					     : NULL;

	if (!c)
		return NULL;
	c->span[0].class = OWN_MAPPING;
	c->span[0].bytes = c->bytes - FIRST_BLOCK;
	return (char *)c + FIRST_BLOCK;
}

void *coroi_heap_get(struct coroi_heap *h, size_t bytes)
{
	if (coroi_unlikely(bytes > BLOCK_MOST))
		return get_large(h, bytes);
	unsigned class = class_of(bytes);
	struct coroi_span *r = h->partial[class];
	if (coroi_unlikely(!r) && !(r = begin_span(h, class)))
		return NULL;
	void *block = r->free;
	if (coroi_likely(block != NULL)) {
		r->free = r->free->next;
	} else {
		block = (char *)chunk_of(r) + r->cut;
		r->cut += (uint32_t)r->bytes;
	}
	r->used++;
	at_store_rlx(&h->used[class], h->used[class] + 1);
	if (coroi_unlikely(!has_block(r)))
		coroi_dstack_remove(&h->partial[class], r);
	return block;
}

void coroi_heap_put(struct coroi_heap *h, void *block)
{
	struct coroi_span *r = span_of(block);

	if (coroi_unlikely(r->class == OWN_MAPPING)) {
		unmap(h, chunk_of(block));
		return;
	}
	if (coroi_unlikely(!has_block(r)))
		coroi_dstack_add(&h->partial[r->class], r);
	struct free_block *f = block;
	f->next = r->free;
	r->free = f;
	at_store_rlx(&h->used[r->class], h->used[r->class] - 1);
	if (coroi_unlikely(--r->used == 0))
		end_span(h, r);
}

size_t coroi_heap_room(const void *block)
{
	return span_of(block)->bytes;
}

void coroi_heap_destroy(struct coroi_heap *h)
{
	for (struct coroi_heap_chunk *c = h->chunks, *next; c; c = next) {
		next = c->next;
		coroi_unmap(c, c->bytes);
	}
	*h = (struct coroi_heap){.chunks = NULL};
}
