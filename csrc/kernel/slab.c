//go:build ignore
/* slab.c - see slab.h. */
#include "kernel/slab.h"

#include "kernel/hooks.h"

#include <string.h>

#define CARVE_MAGS ((COROI_CHUNK_RECORDS + COROI_MAG_RECORDS - 1) / COROI_MAG_RECORDS)

struct coroi_chunk *coroi_chunk_dir[COROI_CHUNK_IDS];

/* What is known of a chunk outside of its memory, which a trim zeroes. */
static struct {
	uint32_t first_gen; /* the generation that carving gives its records */
	uint32_t carved;    /* records that were carved, and 1 for the header */
	uint32_t idle;      /* scratch of a trim */
} chunk_info[COROI_CHUNKS_MAX];

/* The chunks by rank, and by the low half of their address / COROI_CHUNK_BYTES: id + 1, or 0.
 * Atomic; an entry is set once. */
#define PLACES ((UINT64_C(1) << COROI_NAME_SHIFT) / COROI_CHUNK_BYTES)
static uint16_t chunk_named[COROI_RANKS][PLACES];
_Static_assert(COROI_CHUNKS_MAX <= UINT16_MAX, "id + 1 fits");

static pthread_mutex_t dir_lock = PTHREAD_MUTEX_INITIALIZER;
uint32_t coroi_chunk_count;
static uint32_t *dir_free; /* ids of the chunks that no slab has; room for all */
static uint32_t dir_frees;

/* rank_of - the rank of c, a chunk that was mapped now and will be chunk `id`. COROI_RANKS: there
 * are chunks of all ranks at such an address. The caller holds dir_lock. */
static uint32_t rank_of(const struct coroi_chunk *c, uint32_t id)
{
	size_t low = (uint32_t)(uintptr_t)c / COROI_CHUNK_BYTES;
	uint32_t rank = 0;

	while (rank < COROI_RANKS && at_load_rlx(&chunk_named[rank][low]))
		rank++;
	if (rank < COROI_RANKS)
		at_store_rlx(&chunk_named[rank][low], (uint16_t)(id + 1));
	return rank;
}

struct coroi_rec *coroi_named(uint64_t name)
{
	uint32_t rank = (uint32_t)name >> COROI_RANK_SHIFT, low = name >> COROI_NAME_SHIFT;
	/* Relaxed: chunk_dir is looked at by an acquire. */
	uint32_t id = rank < COROI_RANKS ? at_load_rlx(&chunk_named[rank][low / COROI_CHUNK_BYTES])
					 : 0;

	return id ? coroi_at((id - 1) << COROI_CHUNK_INDEX_BITS |
			     low % COROI_CHUNK_BYTES / sizeof(struct coroi_rec))
		  : NULL;
}

/* chunk_take - a zeroed chunk for a slab: one that another slab gave back, or a new one. huge: of
 * huge pages, which is for a slab that has other chunks already (see record.h). NULL: no memory, or
 * there are COROI_CHUNKS_MAX. */
static struct coroi_chunk *chunk_take(struct coro_scheduler *owner, bool huge)
{
	struct coroi_chunk *c = NULL;

	pthread_mutex_lock(&dir_lock);
	if (!dir_free)
		dir_free = coroi_alloc(COROI_CHUNKS_MAX * sizeof *dir_free, COROI_LINE);
	if (dir_free && dir_frees) {
		uint32_t id = dir_free[--dir_frees];
		c = coroi_chunk_dir[id];
		coroi_huge(c, COROI_CHUNK_BYTES, huge);
		c->id = id;
		at_store_rlx(&c->owner, owner);
	} else if (dir_free && coroi_chunk_count < COROI_CHUNKS_MAX) {
		c = coroi_map(COROI_CHUNK_BYTES, COROI_CHUNK_BYTES, "coro: records");
		uint32_t rank = c ? rank_of(c, coroi_chunk_count) : 0;
		if (rank == COROI_RANKS) { /* 31 chunks lie multiples of 4 GiB from here */
			coroi_unmap(c, COROI_CHUNK_BYTES);
			c = NULL;
		}
		if (c) {
			coroi_huge(c, COROI_CHUNK_BYTES, huge);
			c->id = coroi_chunk_count++;
			at_store_rlx(&c->owner, owner);
			chunk_info[c->id].first_gen = (rank << COROI_RANK_SHIFT) + 1;
			/* Release; pairs with coroi_chunk_at: id and owner are set before the chunk
			 * is found. */
			at_store_rel(&coroi_chunk_dir[c->id], c);
		}
	}
	if (c)
		chunk_info[c->id].carved = 1;
	pthread_mutex_unlock(&dir_lock);
	return c;
}

/* chunk_give - no record of the chunk is in use any more. The generations of its next use start
 * above all that were given out, also above those of coroutines that nobody has joined. Returns the
 * bytes that went back to the operating system. */
static size_t chunk_give(uint32_t id)
{
	struct coroi_rec *r = (struct coroi_rec *)coroi_chunk_dir[id];
	uint32_t gen = chunk_info[id].first_gen;

	for (uint32_t i = 1; i < chunk_info[id].carved; i++) {
		uint32_t g = coroi_gen(at_load_rlx(&r[i].wake)) + (r[i].state != COROI_FREE);
		if (g > gen)
			gen = g;
	}
	bool gone = coroi_discard(r, COROI_CHUNK_BYTES);
	if (!gone) {
		/* One store a word: a thread with a stale handle may look. */
		for (uint32_t i = 1; i < chunk_info[id].carved; i++)
			at_store_rlx(&r[i].wake, 0);
		at_store_rlx(&((struct coroi_chunk *)r)->owner, NULL);
		memset(r + 1, 0, COROI_CHUNK_BYTES - sizeof *r);
	}
	pthread_mutex_lock(&dir_lock);
	chunk_info[id].first_gen = gen;
	if (!coroi_gen_is_used_up(gen))
		dir_free[dir_frees++] = id;
	pthread_mutex_unlock(&dir_lock);
	return gone ? COROI_CHUNK_BYTES : 0;
}

static bool is_large(const struct coroi_mag_block *b)
{
	return b->bytes >= COROI_LARGE;
}

static struct coroi_mag_block *block_new(uint32_t n)
{
	struct coroi_mag_block *b;
	size_t bytes = sizeof *b + n * sizeof b->mags[0];

	if (!(b = coroi_alloc_large(bytes)))
		return NULL;
	b->bytes = bytes;
	b->count = n;
	return b;
}

static struct coroi_mag_block *block_of(struct coroi_mag *m)
{
	return (struct coroi_mag_block *)((char *)(m - m->number) -
					  offsetof(struct coroi_mag_block, mags));
}

void coroi_slab_init(struct coroi_slab *s, struct coro_scheduler *owner, uint64_t limit_bytes)
{
	memset(s, 0, sizeof *s);
	s->owner = owner;
	uint64_t chunks = limit_bytes ? limit_bytes / COROI_CHUNK_BYTES : COROI_CHUNKS_MAX;
	s->limit = COROI_CHUNK_USABLE * (int64_t)(chunks == 0                 ? 1
						  : chunks > COROI_CHUNKS_MAX ? COROI_CHUNKS_MAX
									      : chunks);
}

void coroi_slab_destroy(struct coroi_slab *s)
{
	for (uint32_t i = 0; i < s->chunks; i++)
		chunk_give(s->chunk[i]);
	for (struct coroi_mag_block *b = s->blocks, *next; b; b = next) {
		next = b->next;
		coroi_release_large(b, b->bytes);
	}
	coroi_release(s->chunk);
}

static void push(struct coroi_mag **list, struct coroi_mag *m)
{
	m->next = (uintptr_t)*list;
	*list = m;
}

static struct coroi_mag *pop(struct coroi_mag **list)
{
	struct coroi_mag *m = *list;
	if (m)
		*list = (struct coroi_mag *)(uintptr_t)m->next;
	return m;
}

/* mags_needed - for that many chunks and users. In the list of full magazines at most the first is
 * not full. A user holds two magazines, and one more for a moment. So the magazines for the records
 * of all chunks, three for each user and the one that is not full are all that is ever needed. */
static uint32_t mags_needed(uint32_t chunks, uint32_t users)
{
	return chunks * CARVE_MAGS + users * 3 + 1;
}

/* have_mags - see to it that there are magazines enough. False: no memory. */
static bool have_mags(struct coroi_slab *s, uint32_t chunks, uint32_t users)
{
	uint32_t need = mags_needed(chunks, users);
	if (s->mags >= need)
		return true;
	uint32_t n = need - s->mags;
	struct coroi_mag_block *b = block_new(n);
	if (!b)
		return false;
	struct coroi_mag_block **at = &s->blocks;
	/* Blocks of the C library come first: leak checkers do not look into mappings. */
	while (is_large(b) && *at && !is_large(*at))
		at = &(*at)->next;
	b->next = *at;
	*at = b;
	s->mags = need;
	b->next_fresh = s->fresh;
	s->fresh = b;
	return true;
}

/* take_empty - an empty magazine. The caller is a user, so there is one (mags_needed). A magazine
 * that was never in use has its memory touched only now: there are magazines for the records of all
 * chunks, and runnables without records leave many of them unused. */
static struct coroi_mag *take_empty(struct coroi_slab *s)
{
	struct coroi_mag *m = pop(&s->empty);
	struct coroi_mag_block *b = s->fresh;

	if (m)
		return m;
	m = &b->mags[b->used];
	m->number = b->used++;
	if (b->used == b->count)
		s->fresh = b->next_fresh;
	return m;
}

/* drop_mags - free the blocks whose magazines are all empty and not needed. Returns the bytes. */
static size_t drop_mags(struct coroi_slab *s)
{
	struct coroi_mag *list = s->empty, *m;
	size_t gone = 0;

	for (struct coroi_mag_block *b = s->blocks; b; b = b->next)
		b->idle = b->count - b->used;
	for (m = list; m; m = (struct coroi_mag *)(uintptr_t)m->next)
		block_of(m)->idle++;
	for (struct coroi_mag_block *b = s->blocks; b; b = b->next) {
		if (b->idle == b->count && s->mags - b->count >= mags_needed(s->chunks, s->users))
			s->mags -= b->count;
		else
			b->idle = 0;
	}
	s->empty = NULL;
	s->fresh = NULL;
	while ((m = pop(&list)))
		if (!block_of(m)->idle)
			push(&s->empty, m);
	for (struct coroi_mag_block **at = &s->blocks, *b; (b = *at);) {
		if (!b->idle) {
			if (b->used < b->count) {
				b->next_fresh = s->fresh;
				s->fresh = b;
			}
			at = &b->next;
			continue;
		}
		*at = b->next;
		gone += b->bytes;
		coroi_release_large(b, b->bytes);
	}
	return gone;
}

/* give - m comes back with its free records. Two magazines that are not full become one, as far as
 * the records fit. */
static void give(struct coroi_slab *s, struct coroi_mag *m)
{
	struct coroi_mag *head = s->full;

	s->idle += m->count;
	while (head && head->count < COROI_MAG_RECORDS && m->count)
		head->rec[head->count++] = m->rec[--m->count];
	push(m->count ? &s->full : &s->empty, m);
}

/* roomy - of the credit that there could be, a quarter is left. */
static bool roomy(const struct coroi_slab *s, int64_t granted)
{
	int64_t capacity = at_load_seq(&s->capacity),
		most = capacity < s->limit ? capacity : s->limit;
	return granted <= most - most / COROI_ROOMY_PART;
}

bool coroi_slab_is_roomy(const struct coroi_slab *s)
{
	return roomy(s, at_load_seq(&s->granted));
}

/* tell_waiters - CRD3: there may be credit now. */
static inline void tell_waiters(struct coroi_slab *s, int64_t granted)
{
	uint32_t wanted = at_load_seq(&s->wanted);

	if (coroi_unlikely(wanted) && (wanted == COROI_WANTED || roomy(s, granted)))
		coroi_hooks.look(s->owner);
}

/* raise_capacity - there could be n more. */
static void raise_capacity(struct coroi_slab *s, int64_t n)
{
	at_add(&s->capacity, n);
	tell_waiters(s, at_load_seq(&s->granted));
}

static bool add_chunk(struct coroi_slab *s)
{
	if (s->chunks == s->chunk_cap) {
		uint32_t cap = s->chunk_cap ? 2 * s->chunk_cap : 16;
		uint32_t *list = coroi_alloc(cap * sizeof *list, COROI_LINE);
		if (!list)
			return false;
		if (s->chunks)
			memcpy(list, s->chunk, s->chunks * sizeof *list);
		coroi_release(s->chunk);
		s->chunk = list;
		s->chunk_cap = cap;
	}
	if (!have_mags(s, s->chunks + 1, s->users))
		return false;
	struct coroi_chunk *c = chunk_take(s->owner, s->chunks > 0);
	if (!c)
		return false;
	s->chunk[s->chunks++] = c->id;
	raise_capacity(s, COROI_CHUNK_USABLE);
	return true;
}

/* carve - fill m, which is empty, with records that were never used. They are taken out of m in
 * rising order. */
static void carve(struct coroi_slab *s, struct coroi_mag *m)
{
	uint32_t id = s->chunk[s->carving], at = chunk_info[id].carved;
	struct coroi_rec *r = (struct coroi_rec *)coroi_chunk_dir[id] + at;
	uint32_t n = COROI_CHUNK_RECORDS - at < COROI_MAG_RECORDS ? COROI_CHUNK_RECORDS - at
								  : COROI_MAG_RECORDS;

	for (uint32_t i = 0; i < n; i++) {
		at_store_rlx(&r[i].wake, (uint64_t)chunk_info[id].first_gen << COROI_GEN_SHIFT);
		m->rec[n - 1 - i] = &r[i];
	}
	m->count = n;
	s->records += n;
	chunk_info[id].carved = at + n;
	if (at + n == COROI_CHUNK_RECORDS)
		s->carving++;
}

/* load - a magazine with free records; empty, or NULL, is given for it. NULL: there is no record.
 * Under the lock. */
static struct coroi_mag *load(struct coroi_slab *s, struct coroi_mag *empty)
{
	struct coroi_mag *m = pop(&s->full);
	if (m) {
		s->idle -= m->count;
		if (empty)
			push(&s->empty, empty);
	} else if (s->carving < s->chunks) {
		m = empty ? empty : take_empty(s);
		carve(s, m);
	}
	return m;
}

/* prefetch - all records of m are about to be filled in. The caller has just waited for a lock; now
 * it waits for many cache lines at once, and not for one after another. */
static struct coroi_mag *prefetch(struct coroi_mag *m)
{
	for (uint32_t i = m ? m->count : 0; i > 0; i--)
		coroi_prefetchw(m->rec[i - 1]);
	return m;
}

struct coroi_mag *coroi_slab_trade_full(struct coroi_slab *s, struct coroi_mag *empty)
{
	coroi_lock(&s->lock);
	struct coroi_mag *m = load(s, empty);
	coroi_unlock(&s->lock);
	return prefetch(m);
}

struct coroi_mag *coroi_slab_trade_empty(struct coroi_slab *s, struct coroi_mag *full)
{
	struct coroi_mag *m;

	coroi_lock(&s->lock);
	give(s, full);
	m = take_empty(s);
	coroi_unlock(&s->lock);
	return m;
}

void coroi_slab_give(struct coroi_slab *s, struct coroi_mag *m)
{
	coroi_lock(&s->lock);
	give(s, m);
	coroi_unlock(&s->lock);
}

void coroi_slab_put(struct coroi_slab *s, struct coroi_rec *r)
{
	coroi_lock(&s->lock);
	struct coroi_mag *m = take_empty(s);
	m->rec[m->count++] = r;
	give(s, m);
	coroi_unlock(&s->lock);
	coroi_slab_refund(s, 1);
}

/* hoard - the records that n users may have in their magazines. */
static int64_t hoard(uint32_t n)
{
	return (int64_t)n * 2 * COROI_MAG_RECORDS;
}

int coroi_slab_join(struct coroi_slab *s)
{
	coroi_lock(&s->lock);
	bool ok = have_mags(s, s->chunks, s->users + 1);
	if (ok) {
		s->users++;
		at_add(&s->capacity, -hoard(1));
	}
	coroi_unlock(&s->lock);
	return ok ? CORO_OK : CORO_ENOMEM;
}

/* take_credit - up to want of the credit that is left. Sequentially consistent, as slab.h says. */
static uint32_t take_credit(struct coroi_slab *s, uint32_t want)
{
	int64_t granted = at_load_seq(&s->granted);

	for (;;) {
		int64_t most = at_load_seq(&s->capacity),
			left = (most < s->limit ? most : s->limit) - granted;
		if (left <= 0)
			return 0;
		uint32_t n = left < want ? (uint32_t)left : want;
		if (!at_cas(&s->granted, &granted, granted + n))
			continue;
		if (coroi_likely(granted + n <= at_load_seq(&s->capacity)))
			return n;
		coroi_slab_refund(s, n); /* a trim lowered capacity in between */
		granted = at_load_seq(&s->granted);
	}
}

uint32_t coroi_slab_grant(struct coroi_slab *s, uint32_t want)
{
	uint32_t n = take_credit(s, want);

	if (coroi_likely(n == want))
		return n;
	coroi_lock(&s->lock);
	for (;;) {
		n += take_credit(s, want - n);
		if (n == want || at_load_seq(&s->capacity) >= s->limit || !add_chunk(s))
			break;
	}
	coroi_unlock(&s->lock);
	return n;
}

bool coroi_slab_is_exhausted(struct coroi_slab *s)
{
	coroi_lock(&s->lock);
	/* Under the lock capacity does not rise. So nothing has been granted between the two
	 * looks. */
	bool none = at_load_seq(&s->capacity) <= 0 && at_load_seq(&s->granted) == 0 &&
		    !add_chunk(s);
	coroi_unlock(&s->lock);
	return none;
}

void coroi_slab_refund(struct coroi_slab *s, uint32_t credit)
{
	if (credit)
		tell_waiters(s, at_add(&s->granted, -(int64_t)credit));
}

void coroi_slab_retire(struct coroi_slab *s)
{
	at_add(&s->retired, 1);
	at_add(&s->capacity, -1);
	coroi_slab_refund(s, 1);
}

int coroi_mags_init(struct coroi_mags *m, struct coroi_slab *s)
{
	*m = (struct coroi_mags){.slab = s};
	if (coroi_slab_join(s))
		return CORO_ENOMEM;
	coroi_lock(&s->lock);
	m->loaded = take_empty(s);
	m->other = take_empty(s);
	coroi_unlock(&s->lock);
	return CORO_OK;
}

/* is_idle - all records of the chunk are in the slab's lists. */
static bool is_idle(uint32_t id)
{
	return chunk_info[id].idle + 1 == chunk_info[id].carved;
}

/* spare - what has been granted does not need the chunk. True: capacity is without it from now
 * on. */
static bool spare(struct coroi_slab *s)
{
	int64_t capacity = at_add(&s->capacity, -COROI_CHUNK_USABLE),
		granted = at_load_seq(&s->granted);
	if (granted <= capacity || granted == 0)
		return true;
	raise_capacity(s, COROI_CHUNK_USABLE);
	return false;
}

/* drop_records - take the records of chunks that are idle, and are about to go, out of the full
 * magazines. */
static void drop_records(struct coroi_slab *s)
{
	struct coroi_mag *list = s->full, *m;

	s->full = NULL;
	s->idle = 0;
	while ((m = pop(&list))) {
		uint32_t n = 0;
		for (uint32_t i = 0; i < m->count; i++) {
			uint32_t id = coroi_chunk_of(m->rec[i])->id;
			if (!is_idle(id))
				m->rec[n++] = m->rec[i];
		}
		m->count = n;
		give(s, m);
	}
}

size_t coroi_slab_trim(struct coroi_slab *s)
{
	size_t gone = 0;

	coroi_lock(&s->lock);
	for (uint32_t i = 0; i < s->chunks; i++)
		chunk_info[s->chunk[i]].idle = 0;
	for (struct coroi_mag *m = s->full; m; m = (struct coroi_mag *)(uintptr_t)m->next)
		for (uint32_t i = 0; i < m->count; i++)
			chunk_info[coroi_chunk_of(m->rec[i])->id].idle++;
	for (uint32_t i = s->chunks; i-- > 0;)
		if (is_idle(s->chunk[i]) && !spare(s))
			chunk_info[s->chunk[i]].idle = UINT32_MAX - 1; /* the chunk stays */
	drop_records(s);

	uint32_t kept = 0, carving = 0;
	for (uint32_t i = 0; i < s->chunks; i++) {
		uint32_t id = s->chunk[i];
		if (is_idle(id)) {
			s->records -= chunk_info[id].idle;
			gone += chunk_give(id);
		} else {
			carving += i < s->carving;
			s->chunk[kept++] = id;
		}
	}
	s->chunks = kept;
	s->carving = carving;
	gone += drop_mags(s);
	coroi_unlock(&s->lock);
	return gone;
}

void coroi_slab_each(struct coroi_slab *s, void (*fn)(struct coroi_rec *, void *), void *ctx)
{
	coroi_lock(&s->lock);
	for (uint32_t i = 0; i < s->chunks; i++) {
		struct coroi_rec *r = (struct coroi_rec *)coroi_chunk_dir[s->chunk[i]];
		for (uint32_t k = 1; k < chunk_info[s->chunk[i]].carved; k++)
			fn(&r[k], ctx);
	}
	coroi_unlock(&s->lock);
}
