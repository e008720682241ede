/*
 * heap.h - blocks of many small sizes for one worker, in huge pages but for the first 8 MiB.
 *
 * The blocks hold the frames that dense coroutines leave behind when they make way (dense.h), and
 * what these show to others while they wait: some hundred bytes each, millions of them, made and
 * freed by one thread, and all given back when they are gone.
 *
 *      chunk, 2 MiB   | descriptions of spans | span 0 | span 1 | ... | span 31 |
 *      span, 64 KiB   blocks of one size class; a list of the free ones, and how far it was cut
 *
 * As in Bonwick's slab allocator (USENIX 1994), a span is found from a block's address. A class is
 * 16 bytes wide up to 1 KiB, above that a sixteenth of its power of two. A block larger than a
 * quarter of a span gets a mapping of its own.
 */
#ifndef COROI_HEAP_H
#define COROI_HEAP_H

#include "base/atomics.h"
#include "base/sys.h"

#include <stdbool.h>
#include <stddef.h>

#define COROI_HEAP_CLASSES 128

struct coroi_span;
struct coroi_heap_chunk;

struct coroi_heap {
	struct coroi_span *partial[COROI_HEAP_CLASSES]; /* spans with room */
	struct coroi_span *idle;                        /* spans of no class */
	struct coroi_heap_chunk *chunks;
	uint32_t empty;                    /* chunks with idle spans only */
	uint64_t bytes;                    /* mapped; atomic, relaxed: others look */
	uint32_t used[COROI_HEAP_CLASSES]; /* blocks in use; atomic, relaxed: others look */
};

/* A heap of zeros is an empty one. coroi_heap_destroy - unmap all of it, in use or not. */
void coroi_heap_destroy(struct coroi_heap *h);

/* coroi_heap_get - a block of at least bytes (1 or more), 16-aligned, of any content. NULL:
 * refused. coroi_heap_put - give a block back; never NULL. */
void *coroi_heap_get(struct coroi_heap *h, size_t bytes);
void coroi_heap_put(struct coroi_heap *h, void *block);

/* coroi_heap_room - bytes of a block. */
size_t coroi_heap_room(const void *block);

/* coroi_heap_class_bytes - bytes of each block of a class. */
size_t coroi_heap_class_bytes(unsigned class);

#endif
