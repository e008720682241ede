/*
 * slab.h - records, allocated in chunks and handed round in magazines.
 *
 * After Bonwick and Adams, "Magazines and Vmem" (USENIX 2001). Each user has two magazines of its
 * own, and trades whole ones with the slab (the depot): one lock for 62 records. A user is a
 * worker, a submitter, or all threads that are no workers together. There are magazines enough for
 * all records of all chunks, and three for each user, so nothing needs memory when a record is
 * freed.
 *
 *      chunk    | header | hot 1 | hot 2 ...... | (header) | cold 1 | cold 2 ......... |   2 MiB
 *                           ▼ carved, 62 at a time
 *      slab       full, empty: lists of magazines
 *                           ▼ trades                        ▼ credit
 *      user       loaded, other: two magazines              credit
 *
 * A coroutine needs a record when it starts, but that there is none is an error of its spawn. So a
 * spawn takes a credit, and the end gives it back. Users get credit from the slab, COROI_CREDIT at
 * a time. The slab grants no more than it has mapped records for, less those that users may have in
 * their magazines:
 *
 *      granted <= limit
 *      granted <= capacity = usable records of all chunks - 2 magazines for each user - retired
 *      idle <= records                                        records carved, and in the lists
 *
 * A user that has credit therefore finds a record, and to map one more chunk, which may fail, is a
 * matter of granting. The words granted and capacity are changed by sequentially consistent
 * operations: a grant raises granted and then looks at capacity; a trim lowers capacity and then
 * looks at granted. The side that sees that it was too much takes its change back.
 *
 * Waiting for credit. Goroutines that wait for credit (SpawnWait) stand in a queue of Go's. Users
 * keep credit in hand, which the queue would never get; so the word `wanted` tells users that
 * somebody waits.
 *
 *   CRD1  Go: wanted = COROI_WANTED, then ask for a grant (coroi_slab_grant). No credit: the
 *         goroutine waits. If wanted was COROI_UNWANTED, all credit in hand is collected: by
 *         coroi_collect from the workers, by Go from its submitters If nothing is granted, and no
 *         chunk can be had (coroi_slab_is_exhausted, in one look under the lock), the goroutine has
 *         ErrNoMemory: no end of a coroutine would ring
 *   CRD2  a user that was collected is lean: it keeps no credit in hand. Each spawn borrows one,
 *         and each end gives one back
 *   CRD3  a thread that gives credit back, or raises capacity, looks at wanted then, and rings the
 *         bell
 *   CRD4  Go, rung: ask again, for those in front of the queue. When the queue is empty, wanted =
 *         COROI_WANTED_LATELY: users stay lean, since the next spawn is likely to wait too. When a
 *         quarter of the records is free, the bell rings once more, and wanted = COROI_UNWANTED
 *
 * No wait is missed: CRD1 writes wanted and then looks at granted, CRD3 writes granted and then
 * looks at wanted, all sequentially consistent. Lean is the two highest bits of the credit: a spawn
 * takes a credit below one, as a signed number, for none, and an end takes a credit above the most,
 * as an unsigned number, for too much. So the fast paths look at nothing new.
 *
 * The memory of a chunk goes to no other use than a slab's, so a stale handle always reads a
 * record, whose generation differs. A trimmed chunk reads as zeros, and no generation is zero.
 */
#ifndef COROI_SLAB_H
#define COROI_SLAB_H

#include "base/atomics.h"
#include "base/lock.h"
#include "kernel/policy.h"
#include "kernel/record.h"
#include "base/sys.h"

#define COROI_CHUNK_INDEX_BITS 14
#define COROI_CHUNKS_MAX       (1u << 15)
#define COROI_CHUNK_IDS        (1u << (32 - COROI_CHUNK_INDEX_BITS)) /* that an index can name */

_Static_assert(COROI_CHUNK_RECORDS == 1u << COROI_CHUNK_INDEX_BITS, "an index is chunk and number");

struct coro_scheduler;

#define COROI_CHUNK_USABLE ((int64_t)COROI_CHUNK_RECORDS - 1)

/*
 * The generations of a record are rank << COROI_RANK_SHIFT + 1 and what follows, up to the next
 * rank. Chunks whose addresses have the same low half have different ranks (see coroi_name).
 */
#define COROI_RANK_SHIFT 27
#define COROI_RANKS      31 /* one less than there is room for: no generation is 0 */

/* coroi_gen_is_used_up - a record that would get this generation is retired. */
static inline bool coroi_gen_is_used_up(uint32_t gen)
{
	return (gen & ((UINT32_C(1) << COROI_RANK_SHIFT) - 1)) == 0;
}

/* What lies where a chunk's first hot line would be. */
struct coroi_chunk {
	struct coro_scheduler *owner; /* atomic, relaxed: a thread with an old handle looks */
	uint32_t id;
};

/* The memory of several magazines. */
struct coroi_mag_block {
	struct coroi_mag_block *next, *next_fresh;
	size_t bytes;
	uint32_t count, used; /* magazines; the first `used` of them have been in use */
	uint32_t idle;        /* scratch of a trim */
	struct coroi_mag mags[] __attribute__((aligned(COROI_LINE)));
};

struct coroi_slab {
	struct coroi_lock lock;
	struct coro_scheduler *owner;
	struct coroi_mag *full; /* magazines with free records */
	struct coroi_mag *empty;
	struct coroi_mag_block *blocks; /* the memory of all magazines */
	struct coroi_mag_block *fresh;  /* the blocks that have magazines that were never in use */
	uint32_t mags, users; /* how many magazines, and how many users that may hold two */
	uint32_t *chunk;      /* the ids of the slab's chunks */
	uint32_t chunks, chunk_cap;
	/* The index in chunk[] of the first that is not carved to its end; == chunks: there is
	 * none. */
	uint32_t carving;
	struct coroi_batch *batches; /* spare ones, see batch.h */
	uint64_t records;            /* carved, and not given back by a trim */
	uint64_t idle;               /* how many of those are in `full` */
	uint64_t retired;            /* records that have used up their generations; atomic */

	/* granted and capacity are atomic, sequentially consistent, and apart from what the lock
	 * protects. */
	/* Credit that is out: coroutines that there may be. */
	int64_t granted __attribute__((aligned(COROI_APART)));
	int64_t capacity; /* credit that there could be, with the present chunks */
	int64_t limit;    /* credit that there may ever be */
	uint32_t wanted;  /* COROI_UNWANTED..., written by Go (CRD1, CRD4); atomic, as granted */
};

enum { COROI_UNWANTED, COROI_WANTED_LATELY, COROI_WANTED };

/* What one user has in hand: two magazines, which are always there, and credit. */
struct coroi_mags {
	struct coroi_slab *slab;
	struct coroi_mag *loaded, *other;
	uint32_t credit; /* or COROI_LEAN, with what was borrowed and is not spent yet */
};

#define COROI_LEAN (UINT32_C(3) << 30)

void coroi_slab_init(struct coroi_slab *s, struct coro_scheduler *owner, uint64_t limit_bytes);
void coroi_slab_destroy(struct coroi_slab *s);

/* coroi_slab_join - there is one user more, which may hold two magazines. Thread: any. Returns:
 * CORO_OK or CORO_ENOMEM. */
int coroi_slab_join(struct coroi_slab *s);

/* coroi_slab_grant - get credit for up to want coroutines. Thread: any. Cost: a compare-and-swap; a
 * lock and a mapping where a chunk is to be added. Returns: the credit; less than want only at the
 * limit, or when memory or chunks have run out. */
uint32_t coroi_slab_grant(struct coroi_slab *s, uint32_t want);
/* coroi_slab_refund - credit comes back. Thread: any. Cost: a locked addition. */
void coroi_slab_refund(struct coroi_slab *s, uint32_t credit);

/* coroi_slab_is_exhausted - no credit is granted, and the system has no memory for a chunk:
 * nobody's end can give credit back. False also if credit was given back meanwhile, or a chunk
 * mapped: a grant is worth another try. Thread: any. Blocking: for the slab's lock. Cost: that
 * lock, and a mapping. */
bool coroi_slab_is_exhausted(struct coroi_slab *s);

/* coroi_slab_at_once - how much credit a user gets at a time: COROI_CREDIT, or 1 while credit is
 * wanted. coroi_slab_is_roomy - a quarter of the records is free. Thread: any; racy. */
uint32_t coroi_slab_at_once(const struct coroi_slab *s);
bool coroi_slab_is_roomy(const struct coroi_slab *s);

/* coroi_slab_retire - a coroutine has ended whose record has used up its generations. The record is
 * in no list any more, and its credit comes back. Thread: any. */
void coroi_slab_retire(struct coroi_slab *s);

/* coroi_mags_init - join as a user, with two empty magazines and no credit. Returns: CORO_OK or
 * CORO_ENOMEM. */
int coroi_mags_init(struct coroi_mags *m, struct coroi_slab *s);
/* coroi_mags_flush - give records and credit to the slab. The two magazines stay.
 * coroi_mags_surrender - give credit to the slab; while credit is wanted, m is lean afterwards
 * (CRD2). coroi_mags_keep_one - the same with all credit but one. Thread: the user's, or one that
 * holds the user's door. */
void coroi_mags_flush(struct coroi_mags *m);
COROI_COLD void coroi_mags_keep_one(struct coroi_mags *m);
void coroi_mags_surrender(struct coroi_mags *m);

/* coroi_slab_trade_full - give an empty magazine (or NULL, if the user has none yet), and get one
 * with free records. coroi_slab_trade_empty - give one with free records, and get an empty one.
 * Thread: any. Blocking: for the slab's lock. Returns: the magazine. trade_full returns NULL, and
 * has taken nothing, if the slab has no record: with a credit in hand only if records were
 * retired. */
struct coroi_mag *coroi_slab_trade_full(struct coroi_slab *s, struct coroi_mag *empty);
struct coroi_mag *coroi_slab_trade_empty(struct coroi_slab *s, struct coroi_mag *full);

/* coroi_slab_give - give a magazine, with or without free records. Thread: any. */
void coroi_slab_give(struct coroi_slab *s, struct coroi_mag *m);
/* coroi_slab_put - one free record, and its credit, come back. Thread: any. */
void coroi_slab_put(struct coroi_slab *s, struct coroi_rec *r);

/* coroi_slab_trim - give back chunks that have all of their records in the slab's lists, and
 * magazines that are not needed then. Thread: any. Returns: the bytes. */
size_t coroi_slab_trim(struct coroi_slab *s);

/* coroi_slab_each - call fn(rec, ctx) for every record that was carved, whatever its state. fn runs
 * under the slab's lock. */
void coroi_slab_each(struct coroi_slab *s, void (*fn)(struct coroi_rec *, void *), void *ctx);

/* coroi_mags_load, coroi_mags_unload - coroi_mags_get and coroi_mags_put where `loaded` is empty,
 * is full. */
struct coroi_rec *coroi_mags_load(struct coroi_mags *m);
void coroi_mags_unload(struct coroi_mags *m, struct coroi_rec *r);

/* coroi_mags_less_one - the credit after one is spent; below 0: there is none in hand (CRD2). */
static inline int32_t coroi_mags_less_one(const struct coroi_mags *m)
{
	return (int32_t)(m->credit - 1);
}

/* coroi_mags_borrow - get credit from the slab. False: there is none. coroi_mags_repay - give back
 * all but COROI_CREDIT, or all while credit is wanted. */
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

/* coroi_mags_earn - a coroutine has ended: its credit comes back. The credit of a lean user is
 * always above the most (CRD2). */
static inline void coroi_mags_earn(struct coroi_mags *m)
{
	if (coroi_unlikely(++m->credit > 2 * COROI_CREDIT))
		coroi_mags_repay(m);
}

/* coroi_mags_get - a free record, for which a credit was spent. Its wake word holds its generation.
 * NULL only if records were retired since. */
static inline struct coroi_rec *coroi_mags_get(struct coroi_mags *m)
{
	uint32_t n = m->loaded->count;
	if (coroi_unlikely(n == 0))
		return coroi_mags_load(m);
	m->loaded->count = --n;
	if (n >= COROI_AHEAD)
		coroi_prefetchw(m->loaded->rec[n - COROI_AHEAD]);
	return m->loaded->rec[n];
}

/* coroi_mags_put - r becomes free; nobody has a handle of it that is valid. Its credit comes back
 * by coroi_mags_earn. */
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

/* The directory of all chunks of the process, by id. It has an entry for each chunk that an index
 * can name, so that no index need be checked; entries from COROI_CHUNKS_MAX on stay NULL. It only
 * grows, and is read without a lock. */
extern struct coroi_chunk *coroi_chunk_dir[COROI_CHUNK_IDS];
/* How many chunks exist; slab.c's own, under its lock. */
extern uint32_t coroi_chunk_count;

static inline struct coroi_chunk *coroi_chunk_of(const struct coroi_rec *r)
{
	return (struct coroi_chunk *)((uintptr_t)r & ~(uintptr_t)(COROI_CHUNK_BYTES - 1));
}

/* coroi_owner - the scheduler that r belongs to, as long as r has not ended. Else the result is
 * only to be compared with. */
static inline struct coro_scheduler *coroi_owner(const struct coroi_rec *r)
{
	return at_load_rlx(&coroi_chunk_of(r)->owner);
}

/* coroi_index - the chunk's id, and behind it the record's number: 18 and 14 bits. */
static inline uint32_t coroi_index(const struct coroi_rec *r)
{
	struct coroi_chunk *c = coroi_chunk_of(r);
	return c->id << COROI_CHUNK_INDEX_BITS | (uint32_t)(r - (struct coroi_rec *)c);
}

/* coroi_handle - generation and index of r. Relaxed: the caller sees to it that r does not end
 * meanwhile. */
static inline coro_handle coroi_handle(const struct coroi_rec *r)
{
	return at_load_rlx(&r->wake) >> COROI_GEN_SHIFT << COROI_GEN_SHIFT | coroi_index(r);
}

/*
 * A name is a number that no other coroutine of the process ever has: low << 32 | generation. low
 * is the low half of the record's address. Where two records have the same low half, their chunks
 * have different ranks, and so different generations. The bits of COROI_NAME_FREE are 0 in each
 * name, and free for others' use. No name is 0.
 *
 * A coroutine is named only after it has escaped (COROI_F_NAMED), since the record of another
 * passes on to the next coroutine with its generation.
 */
#define COROI_NAME_SHIFT 32
#define COROI_NAME_FREE  (UINT64_C(63) << COROI_NAME_SHIFT)
_Static_assert(sizeof(struct coroi_rec) == 64, "no address of a record has these bits");

/* coroi_generation, coroi_low - the halves of the name of r, a coroutine that has not ended.
 * Relaxed, and half of the wake word: while r has not ended, nobody changes that half. */
static inline uint32_t coroi_generation(const struct coroi_rec *r)
{
	return at_load_rlx((const coroi_half *)&r->wake + 1);
}

static inline uint32_t coroi_low(const struct coroi_rec *r)
{
	return (uint32_t)(uintptr_t)r;
}

/* coroi_name - the name of r, a coroutine that has not ended. */
static inline uint64_t coroi_name(const struct coroi_rec *r)
{
	uint32_t gen = coroi_generation(r);

	if (!gen)
		__builtin_unreachable();
	return (uint64_t)(uintptr_t)r << COROI_NAME_SHIFT | gen;
}

/* coroi_named - the record whose low half and rank are in a name; NULL: there is none. */
struct coroi_rec *coroi_named(uint64_t name);

/* coroi_chunk_at - the chunk in which the record at an index is; NULL if there never was one. The
 * acquire pairs with the release in chunk_take: id and owner are set. */
static inline struct coroi_chunk *coroi_chunk_at(uint32_t index)
{
	return at_load_acq(&coroi_chunk_dir[index >> COROI_CHUNK_INDEX_BITS]);
}

/* coroi_record_number - which record of its chunk, from 1. Number 0 is the chunk's header, which as
 * a record is one that was never used. */
static inline uint32_t coroi_record_number(uint32_t index)
{
	return index & (COROI_CHUNK_RECORDS - 1);
}

/* coroi_known - the record at an index that is known to be a record's. Relaxed: the index was taken
 * from the record inside the same door, and an entry never changes once it is set. */
static inline struct coroi_rec *coroi_known(uint32_t index)
{
	return (struct coroi_rec *)at_load_rlx(&coroi_chunk_dir[index >> COROI_CHUNK_INDEX_BITS]) +
	       coroi_record_number(index);
}

/* coroi_at - the record at an index; NULL if there was never a chunk, or the index is the
 * header's. */
static inline struct coroi_rec *coroi_at(uint32_t index)
{
	struct coroi_chunk *c = coroi_chunk_at(index);
	uint32_t number = coroi_record_number(index);
	return c && number ? (struct coroi_rec *)c + number : NULL;
}

#endif
