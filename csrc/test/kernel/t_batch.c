/*
 * t_batch.c - batches: many spawns from outside in one node, as the Go side sends them.
 */
#include "test.h"

#include "kernel/idle.h"
#include "kernel/inbox.h"
#include "kernel/run.h"
#include "kernel/spawn.h"

#include <stdio.h>
#include <string.h>

static uint64_t sum, count;

static void adds(void *arg, void *result)
{
	uint64_t n = 0;

	CHECK(result == NULL || (((uintptr_t)result & 15) == 0 && *(uint64_t *)result == 0));
	if (result)
		*(uint64_t *)result = 1; /* a result without a reader */
	memcpy(&n, arg, 8);
	__atomic_add_fetch(&sum, n, __ATOMIC_RELAXED);
	__atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
	if (n % 8 == 0)
		CHECK_EQ(coro_yield(), CORO_OK);
}

static void counts(void *arg, void *result)
{
	(void)result;
	CHECK(arg == NULL);
	__atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
}

static struct coroi_fill fill(coro_scheduler *s, coro_fn fn, uint8_t arg_bytes)
{
	return (struct coroi_fill){.fn = fn, .class = s->class, .arg_bytes = arg_bytes};
}

/* open_one - an empty batch, and credit for all that the batch can hold. */
static struct coroi_batch *open_one(coro_scheduler *s, uint32_t *credit)
{
	struct coroi_batch *p;

	*credit = coroi_slab_grant(&s->slab, COROI_BATCH_WORDS);
	if (!*credit || !coroi_batch_open(&s->slab, &p, 1))
		return NULL;
	CHECK_EQ(p->state, COROI_BATCH_DETACHED);
	return p;
}

/* add - BTS1. Returns how many words the spawn takes. */
static uint32_t add(struct coroi_batch *p, uint32_t at, coro_scheduler *s, coro_fn fn,
		    const void *arg, size_t arg_bytes, bool result)
{
	uint32_t words = (uint32_t)(arg_bytes + 7) / 8;

	CHECK(at + 1 + words <= COROI_BATCH_WORDS);
	p->words[at] = coroi_runnable_new(fn, s->class, words, result);
	if (words) {
		p->words[at + words] = 0;
		memcpy(&p->words[at + 1], arg, arg_bytes);
	}
	return 1 + words;
}

static bool has_room(uint32_t words)
{
	return words + COROI_BATCH_ROOM <= COROI_BATCH_WORDS;
}

/* send - send a closed batch. */
static void send(coro_scheduler *s, struct coroi_batch *p, uint32_t words, uint32_t to)
{
	at_store_rlx(&p->state, words | COROI_BATCH_CLOSED);
	struct coroi_worker *w = &s->worker[to % s->workers];
	uint64_t node = (uintptr_t)p | COROI_NODE_BATCH;
	coroi_inbox_push(w, node);
	coroi_notify_pushed(w);
}

/* ------------------------------------------------------------- all arrive, with their arguments */

struct sender {
	coro_scheduler *s;
	uint64_t seed, n, sum;
};

static void *sends(void *arg)
{
	struct sender *d = arg;
	uint8_t bytes[CORO_INLINE_BYTES] = {0};

	for (uint64_t left = d->n; left;) {
		uint32_t credit, words = 0;
		struct coroi_batch *p = open_one(d->s, &credit);
		CHECK(p && credit == COROI_BATCH_WORDS);
		if (rnd(&d->seed) % 8 == 0) { /* the sender changes its mind */
			coroi_batch_drop(&d->s->slab, p);
			coroi_slab_refund(&d->s->slab, credit);
			continue;
		}
		for (uint64_t use = 1 + rnd(&d->seed) % COROI_BATCH_WORDS;
		     use && left && has_room(words); use--, left--) {
			uint64_t n = rnd(&d->seed) >> 20;
			d->sum += n;
			memcpy(bytes, &n, 8);
			words += add(p, words, d->s, adds, bytes, 8 + n % (CORO_INLINE_BYTES - 7),
				     n % 3 == 0);
			credit--;
		}
		coroi_slab_refund(&d->s->slab, credit);
		send(d->s, p, words, (uint32_t)rnd(&d->seed));
	}
	return NULL;
}

TEST_LIMIT(batch_arrives_whole, 180)
{
	enum { SENDERS = 3 };

	for (uint32_t workers = 1; workers <= 4; workers++) {
		coro_scheduler *s = start_with(workers, workers == 2 ? CORO_NO_STANDBY : 0);
		struct sender d[SENDERS];
		pthread_t t[SENDERS];
		uint64_t want = 0;
		sum = count = 0;
		for (uint64_t i = 0; i < SENDERS; i++) {
			d[i] = (struct sender){s, i + 1, scaled(100000), 0};
			thread_start(&t[i], sends, &d[i]);
		}
		for (int i = 0; i < SENDERS; i++) {
			thread_join(t[i]);
			want += d[i].sum;
		}
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(count, SENDERS * scaled(100000));
		CHECK(sum == want);
		finish(s);
	}
}

TEST(batch_of_many_alike)
{
	uint64_t seed = 4;

	for (uint32_t workers = 1; workers <= 3; workers++) {
		coro_scheduler *s = start_with(workers, CORO_PAUSED);
		for (int round = 0; round < 50; round++) {
			uint64_t n = rnd(&seed) % 5000, arg = rnd(&seed) >> 30;
			struct coroi_fill q = fill(s, adds, 8), none = fill(s, counts, 0);
			sum = count = 0;
			CHECK_EQ(coroi_spawn_many(s, &q, &arg, n, (uint32_t)round), n);
			CHECK_EQ(coroi_spawn_many(s, &none, NULL, n, (uint32_t)round), n);
			CHECK_EQ(count, 0);
			CHECK_EQ(coro_scheduler_run(s), CORO_OK);
			CHECK_EQ(count, 2 * n);
			CHECK(sum == n * arg);
		}
		finish(s);
	}
}

/* ---------------------------------------------------------------------------------------- order */

static uint64_t next_one;

static void in_order(void *arg, void *result)
{
	uint64_t n;
	(void)result;
	memcpy(&n, arg, 8);
	CHECK_EQ(n, next_one);
	next_one++;
}

/* What one thread sends to one worker starts in the order of sending, in batches and one by one. */
TEST(batch_keeps_order)
{
	coro_scheduler *s = start_with(1, 0);
	uint64_t seed = 8, n = 0;

	for (int i = 0; i < 3000; i++) {
		if (rnd(&seed) % 4) {
			uint32_t credit, words = 0;
			struct coroi_batch *p = open_one(s, &credit);
			CHECK(p);
			for (uint64_t use = 1 + rnd(&seed) % 100; use; use--, n++, credit--)
				words += add(p, words, s, in_order, &n, 8, false);
			coroi_slab_refund(&s->slab, credit);
			send(s, p, words, 0);
		} else {
			spawn(s, in_order, &n, sizeof n);
			n++;
		}
	}
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(next_one, n);
	finish(s);
}

/* ----------------------------------------------------------------------- batches that stay open */

/* A sender that spawns one by one, as internal/core/submit.go does. */
struct single {
	coro_scheduler *s;
	uint32_t to;
	struct coroi_batch *open;
	uint32_t used, credit;
	uint64_t seed, n, sum, pushes;
	bool pauses;
};

/* shut - close the open batch, if there is one. */
static void shut(struct single *d)
{
	if (d->open)
		coroi_batch_close(&d->s->slab, d->open);
	d->open = NULL;
}

static void one(struct single *d, const void *arg, size_t bytes)
{
	if (!d->credit)
		d->credit = coroi_slab_grant(&d->s->slab, COROI_CREDIT);
	CHECK(d->credit);
	d->credit--;
	if (!d->open) {
		CHECK_EQ(coroi_batch_open(&d->s->slab, &d->open, 1), 1);
		d->used = 0;
	}
	struct coroi_batch *p = d->open;
	struct coroi_worker *w = &d->s->worker[d->to];
	uint32_t words = add(p, d->used, d->s, adds, arg, bytes, false);
	d->used += words;
	bool last = !has_room(d->used);
	if (last)
		d->open = NULL;
	d->pushes += coroi_publish(p, w, words, last);
}

static void *singles(void *arg)
{
	struct single *d = arg;
	uint8_t bytes[CORO_INLINE_BYTES] = {0};

	for (uint64_t i = 0; i < d->n; i++) {
		uint64_t n = rnd(&d->seed) >> 20;
		d->sum += n;
		memcpy(bytes, &n, 8);
		one(d, bytes, 8 + (n >> 8) % 5 * 10);
		if (d->pauses && n % 64 == 0)
			/* the worker goes to sleep meanwhile, or is about to */
			sleep_us(n % 3 ? 1 : 30);
	}
	shut(d);
	coroi_slab_refund(&d->s->slab, d->credit);
	return NULL;
}

static void trickle(uint32_t workers, uint32_t flags, bool pauses, uint64_t n)
{
	enum { SENDERS = 3 };
	coro_scheduler *s = start_with(workers, flags);
	struct single d[SENDERS];
	pthread_t t[SENDERS];
	uint64_t want = 0, pushes = 0;

	sum = count = 0;
	for (uint32_t i = 0; i < SENDERS; i++) {
		d[i] = (struct single){
			.s = s, .to = i % workers, .seed = i + 7, .n = n, .pauses = pauses};
		thread_start(&t[i], singles, &d[i]);
	}
	for (int i = 0; i < SENDERS; i++) {
		thread_join(t[i]);
		want += d[i].sum;
		pushes += d[i].pushes;
	}
	CHECK_EQ(flags & CORO_PAUSED ? coro_scheduler_run(s) : coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(count, SENDERS * n);
	CHECK(sum == want);
	CHECK(pushes >= SENDERS);
	/* every credit has come back: all workers are at rest */
	CHECK_EQ(at_load_seq(&s->slab.granted), s->outside.mags.credit);
	finish(s);
}

TEST_LIMIT(batch_open_ones_lose_nothing, 180)
{
	for (uint32_t workers = 1; workers <= 4; workers++)
		trickle(workers, 0, false, scaled(60000));
}

TEST_LIMIT(batch_open_ones_and_sleepers, 180)
{
	for (uint32_t workers = 1; workers <= 3; workers++)
		trickle(workers, CORO_NO_STANDBY | (workers == 2 ? CORO_NO_MEMBARRIER : 0), true,
			scaled(6000));
}

TEST(batch_open_ones_into_a_pause)
{
	trickle(2, CORO_PAUSED, false, 2000);
}

/* A coroutine that will be joined comes with its record, among others that have none. */
TEST(batch_with_a_record)
{
	coro_scheduler *s = start_with(2, 0);
	uint64_t n = 8;

	sum = count = 0;
	for (uint64_t i = 0; i < 1000; i++) {
		uint32_t credit, words;
		struct coroi_batch *p = open_one(s, &credit);
		struct coroi_mag *m = coroi_slab_trade_full(&s->slab, NULL);
		struct coroi_fill q = fill(s, adds, 8);
		CHECK(p && m);
		struct coroi_rec *r = m->rec[--m->count];
		coroi_slab_give(&s->slab, m);
		coroi_fill(r, &q, (uint16_t)(i % 2));
		coroi_fill_argument(r, &n, 8);
		words = add(p, 0, s, adds, &n, 8, false);
		p->words[words++] = coroi_runnable_fresh(r);
		words += add(p, words, s, adds, &n, 8, true);
		coroi_slab_refund(&s->slab, credit - 3);
		send(s, p, words, (uint32_t)i);
	}
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(count, 3000);
	CHECK_EQ(sum, 3000 * n);
	finish(s);
}

static uint32_t over, computing;

static void computes(void *arg, void *result)
{
	(void)arg;
	(void)result;
	at_store_rel(&computing, 1);
	while (!at_load_acq(&over))
		at_relax();
}

/* What comes into the open batch of a worker that computes is run by another worker. Nobody
 * knocks. */
TEST(batch_of_one_that_computes)
{
	coro_scheduler *s = start_with(2, 0);
	struct single d = {.s = s, .seed = 3};
	uint64_t n = 8;

	over = computing = 0;
	spawn(s, computes, NULL, 0);
	while (!at_load_acq(&computing))
		sleep_us(20);
	count = sum = 0;
	for (int i = 1; i <= 50; i++) {
		for (d.to = 0; d.to < 2; d.to++) {
			one(&d, &n, 8);
			shut(&d);
		}
		while (__atomic_load_n(&count, __ATOMIC_RELAXED) < (uint64_t)i * 2)
			sleep_us(20);
		CHECK_EQ(__atomic_load_n(&count, __ATOMIC_RELAXED), i * 2);
	}
	at_store_rel(&over, 1);
	coroi_slab_refund(&s->slab, d.credit);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	finish(s);
}

/* A worker on its sender's CPU coalesces wakes while several spawns come together. One that comes
 * after the other is merely delayed by that: soon the worker sleeps, and is woken. */
TEST(batch_of_one_is_not_several)
{
	uint64_t sent = scaled(400);
	coro_scheduler *s = start_on_this_cpu();
	struct single d = {.s = s, .seed = 3};
	uint64_t n = 8;
	count = sum = 0;
	for (uint64_t i = 1; i <= sent; i++) {
		one(&d, &n, 8);
		shut(&d);
		while (__atomic_load_n(&count, __ATOMIC_RELAXED) < i)
			sched_yield();
	}
	uint64_t parks = at_load_rlx(&s->worker[0].count.parks);
	printf("   slept %llu times for %llu spawns\n", (unsigned long long)parks,
	       (unsigned long long)sent);
	CHECK(parks >= sent / 2);
	coroi_slab_refund(&s->slab, d.credit);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	finish(s);
}

/* ----------------------------------------------------------------------------- the cap; closing */

TEST(batch_at_the_cap)
{
	coro_options o = options(2, CORO_PAUSED);
	o.record_limit = 1;
	coro_scheduler *s = start(&o);

	for (int round = 0; round < 5; round++) {
		struct coroi_fill q = fill(s, counts, 0);
		count = 0;
		uint64_t n = coroi_spawn_many(s, &q, NULL, 1000000, 0);
		uint32_t credit;
		CHECK_EQ(n, COROI_CHUNK_USABLE);
		CHECK(open_one(s, &credit) == NULL);
		CHECK_EQ(coroi_spawn_many(s, &q, NULL, 5, 0), 0);
		CHECK_EQ(coro_scheduler_run(s), CORO_OK);
		CHECK_EQ(count, n);
	}
	coro_scheduler_trim(s); /* no spare records */
	fail_alloc = 0;
	struct coroi_fill q = fill(s, counts, 0);
	count = 0;
	CHECK_EQ(coroi_spawn_many(s, &q, NULL, 100, 0), 0);
	CHECK_EQ(coroi_spawn_many(s, &q, NULL, 100, 0), 100);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(count, 100);
	finish(s);
}

/* Spawns that are never delivered count as never started. The leak checker looks for their
 * batches. */
TEST(batch_dropped_by_close)
{
	for (uint32_t workers = 1; workers <= 3; workers++) {
		coro_scheduler *s = start_with(workers, CORO_PAUSED);
		struct coroi_fill q = fill(s, never, 0);
		CHECK_EQ(coroi_spawn_many(s, &q, NULL, 5000, 0), 5000);
		CHECK_EQ(coro_scheduler_close(s, 0), CORO_OK);
		CHECK_EQ(stats(s).live, 0);
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	}
}

/* A close while batches stream in: each spawn is started or dropped, and the close returns. */
TEST(batch_and_close_with_cancel)
{
	for (uint64_t i = 0; i < scaled(200); i++) {
		coro_scheduler *s = start_with(1 + (uint32_t)i % 3, 0);
		struct coroi_fill q = fill(s, counts, 0);
		count = 0;
		CHECK_EQ(coroi_spawn_many(s, &q, NULL, 3000, 0), 3000);
		CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
		CHECK(count <= 3000);
		CHECK_EQ(stats(s).live, 0);
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	}
}
