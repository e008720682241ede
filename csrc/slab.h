/*
 * slab.h - records, allocated in chunks, handed round in magazines.
 *
 * After Bonwick and Adams, "Magazines and Vmem" (USENIX 2001): each user has two magazines of its own and
 * trades whole ones with the slab (the depot), one lock for 62 records. Every chunk brings enough magazines
 * for all of its records, and every user two: nothing needs memory when a record is freed.
 *
 * Memory of chunks is never given back to anybody else than a slab, so that a stale handle always reads a
 * record, whose generation then differs. A trimmed chunk reads as zeros: no generation is zero.
 */
#ifndef COROI_SLAB_H
#define COROI_SLAB_H

#include "atomics.h"
#include "lock.h"
#include "record.h"
#include "sys.h"

#define COROI_CHUNK_INDEX_BITS 14
#define COROI_CHUNKS_MAX (1u << 15)

_Static_assert(COROI_CHUNK_RECORDS == 1u << COROI_CHUNK_INDEX_BITS, "an index is chunk and place");

struct coro_scheduler;

/* In the place of a chunk's first hot line. */
struct coroi_chunk {
	struct coro_scheduler *owner;
	uint32_t id;
};

struct coroi_slab {
	struct coroi_lock lock;
	struct coro_scheduler *owner;
	struct coroi_mag *full;  /* magazines with free records */
	struct coroi_mag *empty;
	struct coroi_mag_block *blocks; /* the memory of all magazines */
	uint32_t mags, users;           /* how many magazines, and how many users hold two */
	uint32_t *chunk;                /* ids of its chunks */
	uint32_t chunks, chunk_cap, chunk_limit;
	uint32_t carving;               /* place in chunk[] of the one that is carved, or chunks if none */
	struct coroi_parcel *parcels;   /* spare ones, see parcel.h */
	uint64_t records;               /* carved and not given back by a trim */
	uint64_t idle;                  /* of them, in the lists above */
	uint64_t retired;
};

/* The two magazines of one user. Both always exist. The rest is a worker's, of parcels that it has opened: it goes back
 * now and then, so that the lock is taken once for several. */
struct coroi_mags {
	struct coroi_slab *slab;
	struct coroi_mag *loaded, *other;
	struct coroi_mag *back;  /* with free records */
	struct coroi_mag *spare; /* empty */
	struct coroi_parcel *parcels, *parcels_last;
	uint32_t owed;           /* how many parcels that were */
};

void coroi_slab_init(struct coroi_slab *s, struct coro_scheduler *owner, uint64_t limit_bytes);
void coroi_slab_destroy(struct coroi_slab *s);

/* coroi_slab_join - one user more, who will hold up to two magazines. CORO_OK or CORO_ENOMEM. */
int coroi_slab_join(struct coroi_slab *s);

/* coroi_slab_open - a magazine with free records for a batch that will travel; NULL: none. coroi_slab_shut ends
 * it, with what comes back of the magazine, or NULL if it travels. */
struct coroi_mag *coroi_slab_open(struct coroi_slab *s);
void coroi_slab_shut(struct coroi_slab *s, struct coroi_mag *m);
struct coroi_mag *coroi_slab_open_locked(struct coroi_slab *s);

/* coroi_slab_give_locked - give all magazines of a list. */
void coroi_slab_give_locked(struct coroi_slab *s, struct coroi_mag *list);

int coroi_mags_init(struct coroi_mags *m, struct coroi_slab *s);
void coroi_mags_flush(struct coroi_mags *m); /* records to the slab; the two magazines stay */
void coroi_mags_settle(struct coroi_mags *m); /* what is left of parcels to the slab */

/* coroi_slab_trade_full - give an empty magazine (or NULL, if the user has none yet), get one with free
 * records. NULL, and nothing was taken, when memory or the cap is used up. coroi_slab_trade_empty - give one with free records, get an
 * empty one. Thread: any. */
struct coroi_mag *coroi_slab_trade_full(struct coroi_slab *s, struct coroi_mag *empty);
struct coroi_mag *coroi_slab_trade_empty(struct coroi_slab *s, struct coroi_mag *full);

/* coroi_slab_give - give a magazine, with or without free records; coroi_slab_put - one free record. */
void coroi_slab_give(struct coroi_slab *s, struct coroi_mag *m);
void coroi_slab_put(struct coroi_slab *s, struct coroi_rec *r);

/* coroi_slab_trim - give chunks back all of whose records are in the slab's lists. Returns bytes. */
size_t coroi_slab_trim(struct coroi_slab *s);

/* coroi_slab_each - call fn(rec, ctx) for every record that was carved, whatever its state. */
void coroi_slab_each(struct coroi_slab *s, void (*fn)(struct coroi_rec *, void *), void *ctx);

struct coroi_rec *coroi_mags_load(struct coroi_mags *m);
void coroi_mags_unload(struct coroi_mags *m, struct coroi_rec *r);

/* coroi_mags_get - a free record, or NULL. Its wake word holds its generation. */
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

/* coroi_mags_put - a record whose generation has been raised is free. */
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

/* The directory of all chunks of the process, by id. Only grows; read without a lock. */
extern struct coroi_chunk *coroi_chunk_dir[COROI_CHUNKS_MAX];

static inline struct coroi_chunk *coroi_chunk_of(const struct coroi_rec *r)
{
	return (struct coroi_chunk *)((uintptr_t)r & ~(uintptr_t)(COROI_CHUNK_BYTES - 1));
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

/* coroi_at - the record at an index; NULL if no chunk was ever there. */
static inline struct coroi_rec *coroi_at(uint32_t index)
{
	uint32_t id = index >> COROI_CHUNK_INDEX_BITS, place = index & (COROI_CHUNK_RECORDS - 1);
	if (id >= COROI_CHUNKS_MAX || place == 0)
		return NULL;
	struct coroi_chunk *c = at_load_acq(&coroi_chunk_dir[id]);
	return c ? (struct coroi_rec *)c + place : NULL;
}

#endif
