/*
 * slab.h - records, allocated in chunks, handed round in magazines.
 *
 * After Bonwick and Adams, "Magazines and Vmem" (USENIX 2001): each user has two magazines of its
 * own and trades whole ones with the slab (the depot), one lock for 62 records. Every chunk brings
 * enough magazines for all of its records, and every user two: nothing needs memory when a record
 * is freed.
 *
 * A coroutine needs a record when it starts, but running out of them is the error of whoever spawns
 * it. So a spawn takes a credit, and the end gives it back. Users get credit from the slab by the
 * dozen, and the slab grants no more than it has mapped records for, less those that users may have
 * in their magazines:
 *
 *      granted <= limit
 *      granted <= capacity = records of all chunks - 2 magazines for each user - retired ones
 *
 * Who has credit therefore finds a record, and mapping one more chunk, which may fail, is a matter
 * of granting. The two words are changed by sequentially consistent operations: a grant raises
 * granted and then looks at capacity, a trim lowers capacity and then looks at granted, and who
 * sees that it was too much takes it back.
 *
 * Waiting for credit. Goroutines may wait for it (SpawnWait), in a queue of Go's own. Users keep
 * credit in hand, which the queue would never get. So `wanted` tells them that somebody waits:
 *
 *   G1  Go: wanted = COROI_WANTED, then asks for a grant (coroi_slab_grant). None: the goroutine
 *       waits. If wanted was COROI_UNWANTED, all credit in hand is collected (coroi_collect, and
 *       Go's submitters give theirs up)
 *   G2  a user that has been collected keeps no credit in hand: it is lean. Its next spawn borrows
 *       one, and each end gives one back
 *   G3  whoever gives credit back, or raises capacity, looks at `wanted` then, and rings the bell
 *   G4  Go, rung: asks again, for those in front of the queue. When the queue is empty, wanted =
 *       COROI_WANTED_LATELY, and users stay lean, since the next goroutine is likely to wait too.
 *       When a quarter of the records is free, the bell rings once more: wanted = COROI_UNWANTED
 *
 * No wait is missed: G1 writes wanted and then looks at granted, G3 writes granted and then looks
 * at wanted, all sequentially consistent. Lean is the two highest bits of the credit: a spawn takes
 * what is below one, as a signed number, for none; an end takes what is above the most, as an
 * unsigned one, for too much. So neither looks at anything else than it does anyhow.
 *
 * Memory of chunks is never given back to anybody else than a slab, so that a stale handle always
 * reads a record, whose generation then differs. A trimmed chunk reads as zeros: no generation is
 * zero.
 */
#ifndef COROI_SLAB_H
#define COROI_SLAB_H

#include "base/atomics.h"
#include "base/lock.h"
#include "kernel/record.h"
#include "base/sys.h"

#define COROI_CHUNK_INDEX_BITS 14
#define COROI_CHUNKS_MAX       (1u << 15)
#define COROI_CHUNK_IDS        (1u << (32 - COROI_CHUNK_INDEX_BITS)) /* that an index can name */

_Static_assert(COROI_CHUNK_RECORDS == 1u << COROI_CHUNK_INDEX_BITS, "an index is chunk and place");

struct coro_scheduler;

#define COROI_CHUNK_USABLE ((int64_t)COROI_CHUNK_RECORDS - 1)

/* In the place of a chunk's first hot line. */
struct coroi_chunk {
	struct coro_scheduler *owner; /* atomic, relaxed: whoever has an old handle looks */
	uint32_t id;
};

/* The memory of several magazines. */
struct coroi_mag_block {
	struct coroi_mag_block *next, *next_fresh;
	size_t bytes;
	uint32_t count, used; /* magazines; of them, the first so many have been in use */
	uint32_t idle;        /* scratch of a trim */
	struct coroi_mag mags[] __attribute__((aligned(COROI_LINE)));
};

struct coroi_slab {
	struct coroi_lock lock;
	struct coro_scheduler *owner;
	struct coroi_mag *full; /* magazines with free records */
	struct coroi_mag *empty;
	struct coroi_mag_block *blocks; /* the memory of all magazines */
	struct coroi_mag_block *fresh;  /* those of them with magazines that were never in use */
	uint32_t mags, users;           /* how many magazines, and how many users hold two */
	uint32_t *chunk;                /* ids of its chunks */
	uint32_t chunks, chunk_cap;
	/* place in chunk[] of the first that is not carved to its end; chunks: none */
	uint32_t carving;
	struct coroi_batch *batches; /* spare ones, see batch.h */
	uint64_t records;            /* carved and not given back by a trim */
	uint64_t idle;               /* of them, in the lists above */
	uint64_t retired;            /* atomic */

	/* Both atomic, sequentially consistent; apart from what the lock protects. */
	int64_t granted __attribute__((aligned(COROI_APART))); /* coroutines that there may be */
	int64_t capacity; /* that there could be with the present chunks */
	int64_t limit;    /* that there may ever be */
	uint32_t wanted;  /* COROI_UNWANTED..., written by Go */
};

enum { COROI_UNWANTED, COROI_WANTED_LATELY, COROI_WANTED };

/* What one user has in hand: two magazines, both always there, and credit. */
struct coroi_mags {
	struct coroi_slab *slab;
	struct coroi_mag *loaded, *other;
	uint32_t credit; /* or COROI_LEAN, with what was borrowed and is not spent yet */
};

#define COROI_LEAN (UINT32_C(3) << 30)

void coroi_slab_init(struct coroi_slab *s, struct coro_scheduler *owner, uint64_t limit_bytes);
void coroi_slab_destroy(struct coroi_slab *s);

/* coroi_slab_join - one user more, who will hold up to two magazines. CORO_OK or CORO_ENOMEM. */
int coroi_slab_join(struct coroi_slab *s);

/* coroi_slab_grant - credit for up to want coroutines: less than that only at the limit of memory
 * or of chunks. A compare-and-swap, but for mapping a chunk now and then. coroi_slab_refund -
 * credit comes back. Thread: any. */
uint32_t coroi_slab_grant(struct coroi_slab *s, uint32_t want);
void coroi_slab_refund(struct coroi_slab *s, uint32_t credit);

/* coroi_slab_at_once - how much credit a user gets at a time: one, if somebody waits for it.
 * coroi_slab_is_roomy - a quarter of the records is free. Both racy. */
uint32_t coroi_slab_at_once(const struct coroi_slab *s);
bool coroi_slab_is_roomy(const struct coroi_slab *s);

/* coroi_slab_retire - a coroutine has ended whose record has used up its generations: nobody gets
 * it any more. */
void coroi_slab_retire(struct coroi_slab *s);

int coroi_mags_init(struct coroi_mags *m, struct coroi_slab *s);
/* coroi_mags_flush - records and credit to the slab; the two magazines stay. coroi_mags_surrender -
 * credit to the slab; lean afterwards, if it is wanted (G2). */
void coroi_mags_flush(struct coroi_mags *m);
void coroi_mags_surrender(struct coroi_mags *m);

/* coroi_slab_trade_full - give an empty magazine (or NULL, if the user has none yet), get one with
 * free records. NULL, and nothing was taken, when memory or the cap is used up.
 * coroi_slab_trade_empty - give one with free records, get an empty one. Thread: any. */
struct coroi_mag *coroi_slab_trade_full(struct coroi_slab *s, struct coroi_mag *empty);
struct coroi_mag *coroi_slab_trade_empty(struct coroi_slab *s, struct coroi_mag *full);

/* coroi_slab_give - give a magazine, with or without free records; coroi_slab_put - one free
 * record, and its credit. */
void coroi_slab_give(struct coroi_slab *s, struct coroi_mag *m);
void coroi_slab_put(struct coroi_slab *s, struct coroi_rec *r);

/* coroi_slab_trim - give chunks back all of whose records are in the slab's lists, and magazines
 * that nobody needs then. Returns bytes. */
size_t coroi_slab_trim(struct coroi_slab *s);

/* coroi_slab_each - call fn(rec, ctx) for every record that was carved, whatever its state. */
void coroi_slab_each(struct coroi_slab *s, void (*fn)(struct coroi_rec *, void *), void *ctx);

struct coroi_rec *coroi_mags_load(struct coroi_mags *m);
void coroi_mags_unload(struct coroi_mags *m, struct coroi_rec *r);

/* what users get at a time; one that has more than twice that gives some back */
#define COROI_CREDIT 128

/* coroi_mags_less_one - the credit after one is spent; below 0: there is none in hand (G2). */
static inline int32_t coroi_mags_less_one(const struct coroi_mags *m)
{
	return (int32_t)(m->credit - 1);
}

COROI_COLD bool coroi_mags_borrow(struct coroi_mags *m);
COROI_COLD void coroi_mags_repay(struct coroi_mags *m);

/* coroi_mags_spend - take a credit, for a coroutine that is spawned. False: CORO_ENOMEM. */
static inline bool coroi_mags_spend(struct coroi_mags *m)
{
	if (coroi_unlikely(coroi_mags_less_one(m) < 0) && !coroi_mags_borrow(m))
		return false;
	m->credit--;
	return true;
}

/* coroi_mags_earn - one has ended. Of lean ones this is above the most (G2). */
static inline void coroi_mags_earn(struct coroi_mags *m)
{
	if (coroi_unlikely(++m->credit > 2 * COROI_CREDIT))
		coroi_mags_repay(m);
}

/* coroi_mags_get - a free record, for which a credit was spent. Its wake word holds its generation.
 * NULL only if records were retired meanwhile. */
static inline struct coroi_rec *coroi_mags_get(struct coroi_mags *m)
{
	uint32_t n = m->loaded->count;
	if (coroi_unlikely(n == 0))
		return coroi_mags_load(m);
	m->loaded->count = --n;
	if (n >= 16)
		coroi_prefetchw(m->loaded->rec[n - 16]);
	return m->loaded->rec[n];
}

/* coroi_mags_put - a record that nobody has a handle of any more is free. Its credit is another
 * matter. */
static inline void coroi_mags_put(struct coroi_mags *m, struct coroi_rec *r)
{
	uint32_t n = m->loaded->count;
	if (coroi_unlikely(n == COROI_MAG_RECORDS)) {
		coroi_mags_unload(m, r);
		return;
	}
	m->loaded->rec[n] = r;
	m->loaded->count = n + 1;
}

/* The directory of all chunks of the process, by id: a place for each that an index can name, so
 * that none need be checked; those from COROI_CHUNKS_MAX on stay empty. Only grows; read without a
 * lock. coroi_chunk_count - how many exist; slab.c's own. */
extern struct coroi_chunk *coroi_chunk_dir[COROI_CHUNK_IDS];
extern uint32_t coroi_chunk_count;

static inline struct coroi_chunk *coroi_chunk_of(const struct coroi_rec *r)
{
	return (struct coroi_chunk *)((uintptr_t)r & ~(uintptr_t)(COROI_CHUNK_BYTES - 1));
}

/* coroi_owner - the scheduler that r belongs to, as long as it has not ended; else only to be
 * compared with. */
static inline struct coro_scheduler *coroi_owner(const struct coroi_rec *r)
{
	return at_load_rlx(&coroi_chunk_of(r)->owner);
}

static inline uint32_t coroi_index(const struct coroi_rec *r)
{
	struct coroi_chunk *c = coroi_chunk_of(r);
	return c->id << COROI_CHUNK_INDEX_BITS | (uint32_t)(r - (struct coroi_rec *)c);
}

static inline coro_handle coroi_handle(const struct coroi_rec *r)
{
	return at_load_rlx(&r->wake) >> COROI_GEN_SHIFT << COROI_GEN_SHIFT | coroi_index(r);
}

/* coroi_chunk_at - the chunk in which the record at an index is; NULL if there never was one.
 * coroi_record_number - which one there, from 1; 0 is the chunk's header, which as a record is one
 * that was never used. */
static inline struct coroi_chunk *coroi_chunk_at(uint32_t index)
{
	return at_load_acq(&coroi_chunk_dir[index >> COROI_CHUNK_INDEX_BITS]);
}

static inline uint32_t coroi_record_number(uint32_t index)
{
	return index & (COROI_CHUNK_RECORDS - 1);
}

/* coroi_known - the record of an index that is known to be one. */
static inline struct coroi_rec *coroi_known(uint32_t index)
{
	return (struct coroi_rec *)at_load_rlx(&coroi_chunk_dir[index >> COROI_CHUNK_INDEX_BITS]) +
	       coroi_record_number(index);
}

/* coroi_at - the record at an index; NULL if no chunk was ever there. */
static inline struct coroi_rec *coroi_at(uint32_t index)
{
	struct coroi_chunk *c = coroi_chunk_at(index);
	uint32_t place = coroi_record_number(index);
	return c && place ? (struct coroi_rec *)c + place : NULL;
}

#endif
