/*
 * heap.h - memory of one worker in many small sizes, in huge pages but for the first chunk.
 *
 * What dense coroutines leave behind when they make way (dense.h), and what they show to others
 * while they wait: some hundred bytes each, millions of them, made and freed by one thread, and all
 * given back when they are gone.
 *
 *      chunk, 2 MiB   | runs' descriptions | run 0 | run 1 | ... | run 31 |
 *      run, 64 KiB    blocks of one size class, a list of the free ones, and how far it was cut
 *
 * As in Bonwick's slab allocator (USENIX 1994), found from a block's address. A class is 16 bytes
 * wide up to 1 KiB, above that a sixteenth of its power of two; what is larger than a quarter of a
 * run gets a mapping of its own.
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
	struct coroi_span *partial[COROI_HEAP_CLASSES]; /* runs with room */
	struct coroi_span *idle;                        /* runs of no class */
	struct coroi_heap_chunk *chunks;
	uint32_t empty;                    /* chunks all of whose runs are idle */
	uint64_t bytes;                    /* mapped; atomic, relaxed: others look */
	uint32_t used[COROI_HEAP_CLASSES]; /* blocks; the same */
};

/* A heap of zeros is an empty one. coroi_heap_destroy - all of it is unmapped, in use or not. */
void coroi_heap_destroy(struct coroi_heap *h);

/* coroi_heap_get - at least bytes (1 or more), 16-aligned, of any content. NULL: refused.
 * coroi_heap_put - back; never NULL. */
void *coroi_heap_get(struct coroi_heap *h, size_t bytes);
void coroi_heap_put(struct coroi_heap *h, void *block);

/* coroi_heap_room - of a block. */
size_t coroi_heap_room(const void *block);

/* coroi_heap_class_bytes - of the blocks of a class. */
size_t coroi_heap_class_bytes(unsigned class);

#endif
