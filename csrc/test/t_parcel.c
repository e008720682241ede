/*
 * t_parcel.c - many spawns from outside in one box, as the Go side sends them.
 */
#include "test.h"

#include "../idle.h"
#include "../inbox.h"
#include "../spawn.h"

#include <string.h>

static uint64_t sum, count;

static void adds(void *arg, void *result)
{
	uint64_t n = 0;

	CHECK(result == NULL || (((uintptr_t)result & 15) == 0 && *(uint64_t *)result == 0));
	if (result)
		*(uint64_t *)result = 1; /* nobody reads it */
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

/* open_one - an empty parcel for coroutines with arguments of so many bytes; NULL: no records. */
static struct coroi_parcel *open_one(coro_scheduler *s, coro_fn fn, uint8_t arg_bytes, uint8_t result_bytes)
{
	struct coroi_parcel *p;

	if (!coroi_parcel_open(&s->slab, &p, 1))
		return NULL;
	p->fn = fn;
	p->class = s->class;
	p->arg_bytes = arg_bytes;
	p->result_bytes = result_bytes;
	p->same = 0;
	if (arg_bytes && p->most > COROI_PARCEL_ARGS / arg_bytes)
		p->most = COROI_PARCEL_ARGS / arg_bytes;
	return p;
}

static void send(coro_scheduler *s, struct coroi_parcel *p, uint32_t to)
{
	struct coroi_worker *w = &s->worker[to % s->workers];
	uint64_t node = (uintptr_t)p | COROI_NODE_BATCH;
	coroi_inbox_push(w, node, node);
	coroi_idle_pushed(w);
}

/* ------------------------------------------------------------------------ all arrive, with their arguments */

struct sender {
	coro_scheduler *s;
	uint64_t seed, n, sum;
};

static void *sends(void *arg)
{
	struct sender *d = arg;
	uint8_t bytes[CORO_INLINE_BYTES] = {0};

	for (uint64_t left = d->n; left;) {
		uint8_t size = (uint8_t)(8 + rnd(&d->seed) % (CORO_INLINE_BYTES - 7));
		struct coroi_parcel *p = open_one(d->s, adds, size, rnd(&d->seed) % 3 ? 0 : 8);
		CHECK(p && p->count == 0 && p->most > 0);
		if (rnd(&d->seed) % 8 == 0) { /* thought better of it */
			coroi_parcel_drop(&d->s->slab, p);
			continue;
		}
		uint64_t use = 1 + rnd(&d->seed) % p->most;
		for (; use && left; use--, left--) {
			uint64_t n = rnd(&d->seed) >> 20;
			d->sum += n;
			memcpy(bytes, &n, 8);
			memcpy(p->args + p->count++ * size, bytes, size);
		}
		send(d->s, p, (uint32_t)rnd(&d->seed));
	}
	return NULL;
}

TEST_LIMIT(parcel_arrives_whole, 60)
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

TEST(parcel_of_many_alike)
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

/* ------------------------------------------------------------------------ order */

static uint64_t next_one;

static void in_order(void *arg, void *result)
{
	uint64_t n;
	(void)result;
	memcpy(&n, arg, 8);
	CHECK_EQ(n, next_one);
	next_one++;
}

/* What one thread sends to one worker starts in the order in which it was sent, parcels and single ones. */
TEST(parcel_keeps_order)
{
	coro_scheduler *s = start_with(1, 0);
	uint64_t seed = 8, n = 0;

	for (int i = 0; i < 3000; i++) {
		if (rnd(&seed) % 4) {
			struct coroi_parcel *p = open_one(s, in_order, 8, 0);
			for (uint64_t use = 1 + rnd(&seed) % p->most; use; use--, n++)
				memcpy(p->args + p->count++ * 8, &n, 8);
			send(s, p, 0);
		} else {
			spawn(s, in_order, &n, sizeof n);
			n++;
		}
	}
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(next_one, n);
	finish(s);
}

/* ------------------------------------------------------------------------ the cap; closing */

TEST(parcel_at_the_cap)
{
	coro_options o = options(2, CORO_PAUSED);
	o.record_limit = 1;
	coro_scheduler *s = start(&o);

	for (int round = 0; round < 5; round++) {
		struct coroi_fill q = fill(s, counts, 0);
		count = 0;
		uint64_t n = coroi_spawn_many(s, &q, NULL, 1000000, 0);
		CHECK(n > 16000 && n < 16384);
		CHECK(open_one(s, counts, 0, 0) == NULL);
		CHECK_EQ(coroi_spawn_many(s, &q, NULL, 5, 0), 0);
		CHECK_EQ(coro_scheduler_run(s), CORO_OK);
		CHECK_EQ(count, n);
		coro_scheduler_trim(s); /* what workers keep in hand */
	}
	fail_alloc = 0;
	struct coroi_fill q = fill(s, counts, 0);
	count = 0;
	CHECK_EQ(coroi_spawn_many(s, &q, NULL, 100, 0), 0);
	CHECK_EQ(coroi_spawn_many(s, &q, NULL, 100, 0), 100);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(count, 100);
	finish(s);
}

static void must_not_start(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK(!"started");
}

/* Unopened ones count as never started; the leak checker looks for their boxes. */
TEST(parcel_dropped_by_close)
{
	for (uint32_t workers = 1; workers <= 3; workers++) {
		coro_scheduler *s = start_with(workers, CORO_PAUSED);
		struct coroi_fill q = fill(s, must_not_start, 0);
		CHECK_EQ(coroi_spawn_many(s, &q, NULL, 5000, 0), 5000);
		CHECK_EQ(coro_scheduler_close(s, 0), CORO_OK);
		CHECK_EQ(stats(s).live, 0);
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	}
}

/* A close while they stream in: each is started or dropped, and the close comes back. */
TEST(parcel_and_close_with_cancel)
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
