/*
 * buffer.h - buffers: memory with one owner at a time.
 *
 * A descriptor says what a buffer is. Descriptors lie in chunks that are never freed, so a stale
 * handle always reads a descriptor, whose generation differs.
 *
 *      handle       generation:40 | index:24
 *                                      │
 *      directory    chunk 0, 1 …  ◄────┘ index / 1024, index % 1024
 *      descriptor   { word, at, length, room, … }
 *      word         generation:40 | state:8         FREE, OWNED or USED
 *
 * A free descriptor keeps its memory, in a list of its size class: of a worker, of Go's, or of the
 * depot, which has a lock. So what makes a buffer takes a descriptor out of a list that is its own,
 * and what frees one puts it there. Lists that are too long, or empty, trade some with the depot.
 *
 * Who owns a buffer has the only handle whose generation is the word's. All changes of an owner are
 * compare-and-swaps of the word, so of two that use one handle one comes first, and the other finds
 * the handle stale:
 *
 *   BUF1  make: the descriptor is the maker's, out of a list. All is written, and then the word:
 *         FREE -> OWNED, in Go FREE -> USED until the memory is filled (release). Nobody else has
 *         the handle yet
 *   BUF2  pass: OWNED -> OWNED with the next generation. The copy that travels gets the new handle;
 *         what hands the payload over is the release. If it is not handed over, the passer alone
 *         knows the new handle, and takes the generation back. Of several buffers in one payload
 *         either all are passed, or those before the one that is not are taken back. A payload
 *         that others may have seen is taken back by a compare-and-swap of each buffer to the
 *         generation before (acquire): one that they have sent on or freed stays theirs
 *   BUF3  use: OWNED -> USED, and then OWNED (release): by Go for each of its methods, and to
 *         resize or cut. While the buffer is used nobody passes or frees it (CORO_EBUSY)
 *   BUF4  free: OWNED -> FREE with the next generation (acquire: what users have done is over).
 *         Then the descriptor is the freer's, which puts it into a list
 *
 * A C body that has asked for the address reads and writes the memory without a look at the word:
 * that is the owner's right, and a body that keeps the address for longer is wrong.
 *
 * What counts. Each buffer counts in a ledger, that of the scheduler that it was made for. The
 * figures are kept apart by who counts: each worker, each of Go's lists, and all others together.
 * Sums are exact when nothing goes on. With a limit, and only then, bytes are also counted in one
 * word (`used`), which every make asks. A ledger outlives its scheduler until its last buffer is
 * freed.
 */
#ifndef COROI_BUFFER_H
#define COROI_BUFFER_H

#include "base/atomics.h"
#include "base/list.h"
#include "base/sanitize.h"
#include "base/sys.h"
#include "coro.h"

#include <stdbool.h>

/* The word of a descriptor. */
#define COROI_BUFFER_INDEX_BITS 24
#define COROI_BUFFER_STATE_BITS 8
enum { COROI_BUFFER_FREE, COROI_BUFFER_OWNED, COROI_BUFFER_USED };

/* Size classes: powers of two, and one for all that is larger. */
#define COROI_BUFFER_LEAST   64
#define COROI_BUFFER_MOST    ((size_t)64 << 10)
#define COROI_BUFFER_CLASSES 11
#define COROI_BUFFER_LARGE   COROI_BUFFER_CLASSES

/* What lists keep, in bytes of each class: one trade with the depot, and the depot. A list of a
 * worker, or of Go's, holds two trades. Enough for a worker that makes and frees by turns to trade
 * never, and little enough for 256 workers. */
#define COROI_BUFFER_TRADE_BYTES ((size_t)64 << 10)
#ifndef COROI_BUFFER_TRADE_MOST
#define COROI_BUFFER_TRADE_MOST 32
#endif
#define COROI_BUFFER_DEPOT_BYTES ((size_t)4 << 20)

#define COROI_BUFFER_GO_LISTS 16 /* Go's lists, a power of two */

/* coroi_buffer_trade - how many descriptors of a class are traded at a time. */
static inline uint32_t coroi_buffer_trade(uint32_t class)
{
	size_t fit = COROI_BUFFER_TRADE_BYTES / ((size_t)COROI_BUFFER_LEAST << class);

	return fit < COROI_BUFFER_TRADE_MOST ? (uint32_t)fit : COROI_BUFFER_TRADE_MOST;
}

/* What one that counts has counted. Atomic, relaxed: others read it. */
struct coroi_tally {
	uint64_t made, freed;
	uint64_t bytes; /* of those made, less of those freed: the sum of all tallies tells */
	uint64_t unused;
};

struct coroi_ledger {
	uint64_t limit; /* bytes; 0: none */
	uint64_t used;  /* with a limit: bytes; atomic */
	struct coroi_ledger *next;
	bool closed;             /* the scheduler is destroyed */
	struct coroi_tally gone; /* what the scheduler's workers had counted */
	struct coroi_tally others
		__attribute__((aligned(COROI_APART))); /* changed by atomic additions */
	struct {
		struct coroi_tally tally
			__attribute__((aligned(COROI_APART))); /* changed by who has the list */
	} go[COROI_BUFFER_GO_LISTS];
};

struct coroi_descriptor {
	uint64_t word;     /* atomic */
	unsigned char *at; /* NULL: a free descriptor without memory */
	uint64_t length;   /* bytes of the buffer, */
	uint64_t room;     /* and of its memory. Atomic, relaxed: others count */
	struct coroi_ledger *ledger;
	uintptr_t where;               /* the code that has made the buffer; 0: Go's */
	struct coroi_descriptor *next; /* in one list */
	uint32_t index;
	uint32_t class;
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct coroi_descriptor) == 64, "a descriptor is one cache line");

/* Free descriptors of one class. */
struct coroi_free_buffers {
	struct coroi_descriptor *first;
	uint32_t count, most;
};

#define COROI_BUFFER_CHUNK  1024
#define COROI_BUFFER_CHUNKS ((1u << COROI_BUFFER_INDEX_BITS) / COROI_BUFFER_CHUNK)

/* The directory of all descriptors. It only grows; an entry is written once (release), and read
 * without a lock. */
extern struct coroi_descriptor *coroi_buffer_dir[COROI_BUFFER_CHUNKS];

/* coroi_buffer_class - the class of buffers with so many bytes. */
static inline uint32_t coroi_buffer_class(size_t bytes)
{
	if (bytes <= COROI_BUFFER_LEAST)
		return 0;
	if (coroi_unlikely(bytes > COROI_BUFFER_MOST))
		return COROI_BUFFER_LARGE;
	return 58u - (uint32_t)__builtin_clzll(bytes - 1);
}

/* coroi_buffer_word - the word of a descriptor whose owner has the handle. */
static inline uint64_t coroi_buffer_word(uint64_t id)
{
	return id >> COROI_BUFFER_INDEX_BITS << COROI_BUFFER_STATE_BITS | COROI_BUFFER_OWNED;
}

/* coroi_buffer_next - the word with the next generation, which is never 0, and that state. */
static inline uint64_t coroi_buffer_next(uint64_t word, unsigned state)
{
	uint64_t gen = ((word >> COROI_BUFFER_STATE_BITS) + 1) & ((UINT64_C(1) << 40) - 1);

	return (gen ? gen : 1) << COROI_BUFFER_STATE_BITS | state;
}

static inline uint64_t coroi_buffer_id(const struct coroi_descriptor *d, uint64_t word)
{
	return word >> COROI_BUFFER_STATE_BITS << COROI_BUFFER_INDEX_BITS | d->index;
}

/* coroi_buffer_find - the descriptor that a handle names; NULL: there is none. Its word says
 * whether the handle is stale. */
static inline struct coroi_descriptor *coroi_buffer_find(uint64_t id)
{
	uint32_t index = (uint32_t)id & ((1u << COROI_BUFFER_INDEX_BITS) - 1);
	/* acquire; pairs with the release of the chunk that was added */
	struct coroi_descriptor *chunk = at_load_acq(&coroi_buffer_dir[index / COROI_BUFFER_CHUNK]);

	return chunk ? &chunk[index % COROI_BUFFER_CHUNK] : NULL;
}

/* ------------------------------------------------------------------------------------ buffer.c */

/* coroi_buffers_pass - BUF2 of each buffer of a payload: the words that mask names. One that is 0
 * is none. The payload is the copy that travels. Returns: CORO_OK; CORO_ESTALE, CORO_EBUSY: nothing
 * was changed. coroi_buffers_unpass - the payload was not handed over: the old
 * handles are valid again. Thread: any. */
COROI_COLD int coroi_buffers_pass(void *payload, uint64_t mask);
COROI_COLD void coroi_buffers_unpass(const void *payload, uint64_t mask);

/* coroi_buffers_reclaim - what was handed over is taken back. The payload is the passer's own: where
 * the one that had got a buffer has neither sent nor freed it, the passer's handle is valid again,
 * and the other's stale. Thread: any. */
COROI_COLD void coroi_buffers_reclaim(const void *payload, uint64_t mask);

/* coroi_buffers_drop - nobody receives the payload: its buffers are freed. Thread: any, also in a
 * door. Blocking: for the depot's lock. */
COROI_COLD void coroi_buffers_drop(const void *payload, uint64_t mask);

/* coroi_buffer_make_outside - make one that counts in l, by a thread that is no worker.
 * coroi_buffer_free_outside - what follows BUF4, by such a thread, in a door, or of a large one.
 * Thread: any. Blocking: for the depot's lock, and allocation. */
int coroi_buffer_make_outside(struct coroi_ledger *l, size_t bytes, uintptr_t where,
			      coro_buffer *out);
void coroi_buffer_free_outside(struct coroi_descriptor *d);

/* coroi_buffer_grow - give d, which is used, room for so many bytes, more than it has. Returns:
 * CORO_OK, CORO_ENOMEM. */
int coroi_buffer_grow(struct coroi_descriptor *d, size_t bytes);

/* coroi_buffers_sum - what was counted of the buffers of s. Thread: any, while s is not
 * destroyed. */
void coroi_buffers_sum(coro_scheduler *s, struct coroi_tally *out);

/* coroi_buffer_left - what there is: of one buffer that is not free. */
struct coroi_buffer_left {
	uint64_t id, length;
	uintptr_t where;
	const struct coroi_ledger *ledger;
};

/* coroi_buffers_list - the buffers that are not free, `most` at most. Returns: how many there
 * are. Thread: any; racy. */
size_t coroi_buffers_list(struct coroi_buffer_left *list, size_t most);

/* coroi_ledger_of - the ledger of s. Thread: any, while s is not destroyed. */
struct coroi_ledger *coroi_ledger_of(coro_scheduler *s);

/* -------------------------------------------------------------------------------------- pool.c */

/* coroi_ledger_new - NULL: no memory. coroi_ledger_close - the scheduler of l is destroyed; l is
 * freed when no buffer counts in it any more. */
struct coroi_ledger *coroi_ledger_new(uint64_t limit);
void coroi_ledger_close(struct coroi_ledger *l);

/* coroi_ledger_sum - what all tallies of l have, but those of its workers, is added to *sum. */
void coroi_ledger_sum(const struct coroi_ledger *l, struct coroi_tally *sum);

/* coroi_ledger_take - bytes are about to be used. False: the limit is reached.
 * coroi_ledger_give - they are not used any more. */
static inline bool coroi_ledger_take(struct coroi_ledger *l, uint64_t bytes)
{
	if (coroi_likely(!l->limit))
		return true;
	if (at_add(&l->used, bytes) <= l->limit)
		return true;
	at_add(&l->used, -bytes);
	return false;
}

static inline void coroi_ledger_give(struct coroi_ledger *l, uint64_t bytes)
{
	if (coroi_unlikely(l->limit))
		at_add(&l->used, -bytes);
}

/* coroi_depot_take - get *n free descriptors of a class, linked by `next`. *n becomes how many there
 * are, one at least. NULL: no memory. coroi_depot_give - n of them come back. Thread: any, also in
 * a door. Blocking: for the depot's lock, and allocation. */
struct coroi_descriptor *coroi_depot_take(uint32_t class, uint32_t *n);
void coroi_depot_give(struct coroi_descriptor *first, uint32_t class, uint32_t n);

/* coroi_buffers_unmap - for tests: each buffer is a mapping of its own, of class COROI_BUFFER_LARGE,
 * and the memory of one that was freed faults until many others were freed. Set before the first
 * buffer is made. */
extern bool coroi_buffers_unmap;

/* coroi_depot_take_large, coroi_depot_give_large - one of more than COROI_BUFFER_MOST bytes. */
struct coroi_descriptor *coroi_depot_take_large(size_t bytes);
void coroi_depot_give_large(struct coroi_descriptor *d);

/* coroi_depot_trim - free the memory of what is in the depot. Returns: the bytes. */
size_t coroi_depot_trim(void);

/* coroi_depot_descriptors - how many descriptors there are, used or not. */
uint32_t coroi_depot_descriptors(void);

#endif
