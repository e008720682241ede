/*
 * t_slab.c - records and magazines: generations, limits, trim. No record is lost or given twice.
 */
#include "test.h"

#include "kernel/slab.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* end - raise the generation, as the end of a coroutine does. */
static void end(struct coroi_rec *r)
{
	at_store_rlx(&r->wake, ((at_load_rlx(&r->wake) >> COROI_GEN_SHIFT) + 1) << COROI_GEN_SHIFT);
}

static struct coro_scheduler *const owner = (struct coro_scheduler *)0x1000;

static void make(struct coroi_slab *s, struct coroi_mags *m, int users, uint64_t limit)
{
	coroi_slab_init(s, owner, limit);
	for (int i = 0; i < users; i++)
		CHECK_EQ(coroi_mags_init(&m[i], s), CORO_OK);
}

/* get - a credit and a record, or NULL. put - give both back. */
static struct coroi_rec *get(struct coroi_mags *m)
{
	return coroi_mags_spend(m) ? coroi_mags_get(m) : NULL;
}

static void put(struct coroi_mags *m, struct coroi_rec *r)
{
	coroi_mags_earn(m);
	coroi_mags_put(m, r);
}

TEST(slab_records_are_distinct_and_found)
{
	enum { MANY = COROI_CHUNK_RECORDS * 3 };
	struct coroi_slab s;
	struct coroi_mags m;
	struct coroi_rec **r = calloc(MANY, sizeof *r);

	make(&s, &m, 1, 0);
	for (uint32_t i = 0; i < MANY; i++) {
		r[i] = get(&m);
		CHECK(r[i] && ((uintptr_t)r[i] & 63) == 0);
		CHECK(coroi_chunk_of(r[i])->owner == owner);
		CHECK((void *)r[i] != (void *)coroi_chunk_of(r[i]));
		CHECK(coroi_at(coroi_index(r[i])) == r[i]);
		CHECK_EQ(coroi_gen(r[i]->wake), 1);
		CHECK(coroi_chunk_of((struct coroi_rec *)coroi_cold(r[i])) == coroi_chunk_of(r[i]));
		r[i]->next = i; /* a second owner would overwrite this */
		memset(coroi_cold(r[i]), (int)i, sizeof(struct coroi_cold));
	}
	for (uint32_t i = 0; i < MANY; i++) {
		CHECK_EQ(r[i]->next, i);
		CHECK_EQ(coroi_cold(r[i])->payload[0], (unsigned char)i);
	}
	CHECK_EQ(s.chunks, 4); /* three would be full but for their headers */
	for (uint32_t i = 0; i < MANY; i++) {
		end(r[i]);
		put(&m, r[i]);
	}
	free(r);
	coroi_slab_destroy(&s);
}

/* resident - how many bytes of a chunk are resident. */
static size_t resident(struct coroi_chunk *c)
{
	static unsigned char page[COROI_CHUNK_BYTES / 4096];
	size_t size = coroi_page(), n = 0;

	CHECK_EQ(mincore(c, COROI_CHUNK_BYTES, page), 0);
	for (size_t i = 0; i < COROI_CHUNK_BYTES / size; i++)
		n += page[i] & 1 ? size : 0;
	return n;
}

TEST(slab_of_few_is_small)
{
	/* with a new chunk, and with one that was in use, the first or not */
	for (int again = 0; again < 2; again++) {
		struct coroi_slab s;
		struct coroi_mags m;

		make(&s, &m, 1, 0);
		struct coroi_rec *r = get(&m);
		CHECK(r && resident(coroi_chunk_of(r)) <= 4 * coroi_page());
		for (uint32_t i = 0; i < 2 * COROI_CHUNK_RECORDS; i++)
			CHECK(get(&m));
		coroi_slab_destroy(&s);
	}
}

TEST(slab_of_nothing_is_at_no_index)
{
	CHECK(coroi_at(0) == NULL);
	CHECK(coroi_at(1) == NULL);
	CHECK(coroi_at(UINT32_MAX) == NULL);
	struct coroi_slab s;
	struct coroi_mags m;
	make(&s, &m, 1, 0);
	CHECK(get(&m));
	CHECK(coroi_at(0) == NULL); /* the header */
	CHECK(coroi_at(1) != NULL);
	CHECK(coroi_at(COROI_CHUNK_RECORDS) == NULL);
	coroi_slab_destroy(&s);
}

/* All chunks that a process can have, and none is free: the next record is refused, and granted
 * when there is room. */
TEST(slab_directory_is_full)
{
	struct coroi_slab s;
	struct coroi_mags m;
	uint32_t count = coroi_chunk_count;

	make(&s, &m, 1, 0);
	coroi_chunk_count = COROI_CHUNKS_MAX;
	CHECK(!get(&m));
	CHECK_EQ(s.chunks, 0);
	CHECK_EQ(coroi_chunk_count, COROI_CHUNKS_MAX);
	coroi_chunk_count = count;
	CHECK(get(&m));
	CHECK_EQ(coroi_chunk_count, count + 1);
	coroi_slab_destroy(&s);
}

/* named - a record of a new slab, in a chunk at the address; NULL: there is no chunk. */
static struct coroi_rec *named(struct coroi_slab *s, void *at)
{
	struct coroi_mags m;

	make(s, &m, 1, 0);
	map_at = at;
	struct coroi_rec *r = get(&m);
	map_at = NULL;
	CHECK(!r || (void *)coroi_chunk_of(r) == at);
	return r;
}

/* Records whose addresses have the same low half have different names; if there can be no more of
 * them, the chunk is refused. */
TEST(slab_names_differ)
{
	struct coroi_slab s[COROI_RANKS + 1];
	struct coroi_rec *r[COROI_RANKS + 1];
	size_t bytes = (size_t)(COROI_RANKS + 2) << COROI_NAME_SHIFT;
	void *whole = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			   0);

	CHECK(whole != MAP_FAILED);
	CHECK_EQ(munmap(whole, bytes), 0);
	char *at = (char *)(((uintptr_t)whole + COROI_CHUNK_BYTES) & ~(COROI_CHUNK_BYTES - 1));
	for (uint64_t i = 0; i < COROI_RANKS; i++) {
		r[i] = named(&s[i], at + (i << COROI_NAME_SHIFT));
		CHECK(r[i] != NULL);
		CHECK_EQ(coroi_low(r[i]), coroi_low(r[0]));
		CHECK(coroi_named(coroi_name(r[i])) == r[i]);
		for (uint64_t k = 0; k < i; k++)
			CHECK(coroi_name(r[i]) != coroi_name(r[k]));
		uint32_t gen = coroi_generation(r[i]);
		CHECK(!coroi_gen_is_used_up(gen) && coroi_gen_is_used_up(gen - 1));
	}
	uint32_t count = coroi_chunk_count;
	CHECK(!named(&s[COROI_RANKS], at + ((uint64_t)COROI_RANKS << COROI_NAME_SHIFT)));
	CHECK_EQ(coroi_chunk_count, count);
	for (int i = 0; i <= COROI_RANKS; i++)
		coroi_slab_destroy(&s[i]);
	CHECK(coroi_named(UINT64_C(64) << COROI_NAME_SHIFT | UINT32_MAX) == NULL);
	CHECK(coroi_named(0) == NULL);
}

TEST(slab_limit)
{
	struct coroi_slab s;
	struct coroi_mags m;
	uint32_t n = 0;

	coroi_slab_init(&s, owner, UINT64_MAX);
	CHECK_EQ(s.limit, COROI_CHUNKS_MAX * COROI_CHUNK_USABLE);
	coroi_slab_init(&s, owner, 1);
	CHECK_EQ(s.limit, COROI_CHUNK_USABLE);
	make(&s, &m, 1, 2 * COROI_CHUNK_BYTES + 1);
	while (get(&m))
		n++;
	CHECK_EQ(n, 2 * (COROI_CHUNK_RECORDS - 1));
	CHECK_EQ(s.chunks, 3); /* one more for what lies in magazines */
	CHECK(get(&m) == NULL);
	put(&m, coroi_at(5)); /* one record comes back, one can be had */
	CHECK(get(&m) == coroi_at(5));
	CHECK(get(&m) == NULL);
	coroi_slab_destroy(&s);
}

TEST(slab_without_memory)
{
	struct coroi_slab s;
	struct coroi_mags m;

	coroi_slab_init(&s, owner, 0);
	fail_alloc = 0;
	CHECK_EQ(coroi_mags_init(&m, &s), CORO_ENOMEM);
	CHECK_EQ(coroi_mags_init(&m, &s), CORO_OK);
	/* the list of chunks; the magazines; the directory's list of free ones; the chunk */
	for (int i = 0; i < 4; i++) {
		*(i % 2 ? &fail_map : &fail_alloc) = 0;
		CHECK(get(&m) == NULL);
		CHECK_EQ(fail_alloc & fail_map, -1);
		CHECK_EQ(s.chunks, 0);
	}
	CHECK(get(&m) != NULL);
	CHECK_EQ(s.chunks, 1);
	coroi_slab_destroy(&s);
}

/* -------------------------------------------------------------------------------- random trades */

#define USERS     5
#define LIVE_MOST 40000

struct trader {
	struct coroi_slab *slab;
	struct coroi_mags mags;
	uint64_t seed, trades;
	struct coroi_rec *live[LIVE_MOST / USERS];
	uint32_t count;
};

static void count_up(struct coroi_rec *r, void *n)
{
	(void)r;
	++*(uint64_t *)n;
}

static void get_one(struct trader *t)
{
	struct coroi_rec *r = get(&t->mags);
	CHECK(r);
	/* nobody else has it */
	CHECK_EQ(__atomic_exchange_n(&r->wake_next, (uintptr_t)t, __ATOMIC_SEQ_CST), 0);
	t->live[t->count++] = r;
}

static void put_one(struct trader *t, uint64_t how)
{
	uint32_t i = (uint32_t)(rnd(&t->seed) % t->count);
	struct coroi_rec *r = t->live[i];

	t->live[i] = t->live[--t->count];
	end(r);
	CHECK_EQ(__atomic_exchange_n(&r->wake_next, 0, __ATOMIC_SEQ_CST), (uintptr_t)t);
	if (how % 4)
		put(&t->mags, r);
	else
		coroi_slab_put(t->slab, r);
}

/* Credit for many at once, as for a batch. Some of the credit is not used. */
static void batch(struct trader *t)
{
	uint32_t credit = coroi_slab_grant(t->slab, 200), use = (uint32_t)(rnd(&t->seed) % 201);

	CHECK_EQ(credit, 200);
	for (; use && t->count < LIVE_MOST / USERS; use--, credit--) {
		struct coroi_rec *r = coroi_mags_get(&t->mags);
		CHECK(r);
		CHECK_EQ(__atomic_exchange_n(&r->wake_next, (uintptr_t)t, __ATOMIC_SEQ_CST), 0);
		t->live[t->count++] = r;
	}
	coroi_slab_refund(t->slab, credit);
}

static void *trade(void *arg)
{
	struct trader *t = arg;

	for (uint64_t i = 0; i < t->trades; i++) {
		uint64_t what = rnd(&t->seed);
		/* in waves: magazines and chunks come and go */
		bool grow = (i / 20000) % 2 == 0;
		if (what % 1000 == 0)
			batch(t);
		else if (what % 5000 == 1)
			coroi_mags_flush(&t->mags);
		else if (what % 10007 == 2)
			coroi_slab_trim(t->slab);
		else if (t->count &&
			 (t->count == LIVE_MOST / USERS || what % 100 < (grow ? 30 : 70)))
			put_one(t, what >> 32);
		else
			get_one(t);
	}
	while (t->count)
		put_one(t, rnd(&t->seed));
	coroi_mags_flush(&t->mags);
	return NULL;
}

TEST_LIMIT(slab_random_trades_lose_nothing, 180)
{
	static struct trader t[USERS];
	struct coroi_slab s;
	pthread_t thread[USERS];

	coroi_slab_init(&s, owner, 0);
	for (int i = 0; i < USERS; i++) {
		CHECK_EQ(coroi_mags_init(&t[i].mags, &s), CORO_OK);
		t[i].slab = &s;
		t[i].seed = 100 + (uint64_t)i;
		t[i].trades = scaled(2000000);
		thread_start(&thread[i], trade, &t[i]);
	}
	for (int i = 0; i < USERS; i++)
		thread_join(thread[i]);
	uint64_t n = 0;
	coroi_slab_each(&s, count_up, &n);
	CHECK_EQ(n, s.records);
	CHECK_EQ(s.idle, s.records);
	uint64_t bytes = s.chunks * COROI_CHUNK_BYTES;
	CHECK(coroi_slab_trim(&s) >= bytes);
	CHECK_EQ(s.chunks, 0);
	CHECK_EQ(s.records, 0);
	CHECK_EQ(s.idle, 0);
	coroi_slab_destroy(&s);
}

/* ---------------------------------------------------------------------------------- generations */

/* A record's generations only rise, through trims and through other slabs: a handle never names two
 * coroutines. */
TEST(slab_generations_only_rise)
{
	enum { N = 1000 };
	uint32_t newest[N + 1] = {0};

	for (int slab = 0; slab < 3; slab++) {
		struct coroi_slab s;
		struct coroi_mags m;
		make(&s, &m, 1, 0);
		for (int round = 0; round < 20; round++) {
			struct coroi_rec *r[N];
			for (int i = 0; i < N; i++) {
				r[i] = get(&m);
				uint32_t at = coroi_index(r[i]) & (COROI_CHUNK_RECORDS - 1);
				if (at <= N) {
					CHECK(coroi_gen(r[i]->wake) > newest[at]);
					newest[at] = coroi_gen(r[i]->wake);
				}
			}
			for (int i = 0; i < N; i++) {
				end(r[i]);
				put(&m, r[i]);
			}
			if (round % 3 == 0) {
				coroi_mags_flush(&m);
				CHECK(coroi_slab_trim(&s) >= COROI_CHUNK_BYTES);
				/* trimmed memory reads as zeros: no coroutine's generation */
				CHECK_EQ(coroi_at(1)->wake, 0);
			}
		}
		coroi_slab_destroy(&s);
	}
	CHECK(newest[1] >= 60);
}

/* Trim spares what is in use, and what lies in a user's magazine. */
TEST(slab_trim_spares_what_is_in_use)
{
	struct coroi_slab s;
	struct coroi_mags m[2];
	struct coroi_rec *kept;

	make(&s, m, 2, 0);
	kept = get(&m[0]);
	kept->next = 4242;
	CHECK_EQ(coroi_slab_trim(&s), 0);
	CHECK_EQ(kept->next, 4242);
	struct coroi_rec *other = get(&m[1]);
	end(other);
	put(&m[1], other);
	coroi_mags_flush(&m[1]);
	coroi_mags_flush(&m[0]);
	CHECK_EQ(coroi_slab_trim(&s), 0);
	CHECK_EQ(kept->next, 4242);
	end(kept);
	put(&m[0], kept);
	CHECK_EQ(coroi_slab_trim(&s), 0); /* one record is in a magazine */
	coroi_mags_flush(&m[0]);
	CHECK(coroi_slab_trim(&s) >= COROI_CHUNK_BYTES);
	CHECK_EQ(coroi_slab_trim(&s), 0);
	CHECK(get(&m[0])); /* the user goes on */
	coroi_slab_destroy(&s);
}

/* More chunks than the list has room for at first. When the list cannot grow, the slab is
 * unchanged. */
TEST(slab_of_many_chunks)
{
	struct coroi_slab s;
	struct coroi_mags m;
	/* less what users may keep, and borrow */
	uint64_t n = 17 * (COROI_CHUNK_RECORDS - 1) - 2000, sum = 0;
	struct coroi_rec **all = malloc(n * sizeof *all);
	int refused = 0;

	make(&s, &m, 1, 0);
	for (uint64_t i = 0; i < n; i++) {
		fail_alloc = s.chunks == 16 && !refused ? 0 : -1;
		all[i] = get(&m);
		if (!all[i]) {
			CHECK_EQ(fail_alloc, -1);
			CHECK_EQ(s.chunks, 16);
			refused++;
			all[i] = get(&m);
		}
		CHECK(all[i] && coroi_at(coroi_index(all[i])) == all[i]);
		CHECK_EQ(all[i]->permits, 0);
		all[i]->permits = 1; /* nobody had it before */
	}
	fail_alloc = -1;
	CHECK_EQ(refused, 1);
	CHECK_EQ(s.chunks, 17);
	for (uint64_t i = 0; i < n; i++) {
		sum += all[i]->permits;
		put(&m, all[i]);
	}
	CHECK_EQ(sum, n);
	coroi_mags_flush(&m);
	CHECK_EQ(s.idle, s.records);
	CHECK(coroi_slab_trim(&s) >= 17 * COROI_CHUNK_BYTES);
	coroi_slab_destroy(&s);
	free(all);
}

/* empties, never_used - how many magazines are empty, and how many of those were never in use. */
static uint32_t never_used(const struct coroi_slab *s)
{
	uint32_t n = 0;
	for (const struct coroi_mag_block *b = s->fresh; b; b = b->next_fresh)
		n += b->count - b->used;
	return n;
}

static uint32_t empties(const struct coroi_slab *s)
{
	uint32_t n = never_used(s);
	for (const struct coroi_mag *m = s->empty; m;
	     m = (const struct coroi_mag *)(uintptr_t)m->next)
		n++;
	return n;
}

/* With a chunk go the magazines that its records needed, except for those that lie beside one in
 * use. */
TEST(slab_trim_gives_magazines_back)
{
	enum { CHUNKS = 8, N = (CHUNKS - 1) * COROI_CHUNK_RECORDS };
	struct coroi_slab s;
	struct coroi_mags m[3];
	struct coroi_rec **all = malloc(N * sizeof *all);

	make(&s, m, 3, 0);
	uint32_t at_first = s.mags;
	for (int round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < N; i++) {
			all[i] = get(&m[i % 3]);
			CHECK(all[i]);
		}
		CHECK(s.chunks >= CHUNKS - 1);
		uint32_t most = s.mags, each = (most - at_first) / s.chunks;
		for (uint32_t i = 0; i < N; i++) {
			end(all[i]);
			put(&m[i % 2], all[i]);
		}
		CHECK_EQ(s.mags, most);
		for (int i = 0; i < 3; i++)
			coroi_mags_flush(&m[i]);
		size_t gone = coroi_slab_trim(&s);
		CHECK_EQ(s.chunks, 0);
		CHECK(s.mags <= at_first + 6 * each); /* each user holds two */
		CHECK(gone >= (CHUNKS - 1) * COROI_CHUNK_BYTES +
				      (most - s.mags) * sizeof(struct coroi_mag));
		CHECK_EQ(empties(&s), s.mags - 6); /* none is lost */
		CHECK_EQ(coroi_slab_trim(&s), 0);
	}
	CHECK(s.mags < at_first + (CHUNKS - 1) * (COROI_CHUNK_RECORDS / COROI_MAG_RECORDS));
	coroi_slab_destroy(&s);
	free(all);
}

/* Magazines of records that are not made yet cost addresses, and no memory. */
TEST(slab_magazines_are_touched_when_they_are_needed)
{
	struct coroi_slab s;
	struct coroi_mags m;

	make(&s, &m, 1, 0);
	uint32_t at_first = s.mags, untouched = never_used(&s);
	CHECK_EQ(coroi_slab_grant(&s, 3 * COROI_CHUNK_RECORDS), 3 * COROI_CHUNK_RECORDS);
	CHECK(s.mags > at_first + 3 * (COROI_CHUNK_RECORDS / COROI_MAG_RECORDS));
	CHECK_EQ(never_used(&s) - untouched, s.mags - at_first);
	coroi_slab_refund(&s, 3 * COROI_CHUNK_RECORDS);
	coroi_mags_flush(&m);
	coroi_slab_destroy(&s);
}
