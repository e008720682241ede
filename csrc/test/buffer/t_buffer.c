/*
 * t_buffer.c - buffers in C: made, changed, freed; handles that are stale; limits and counts.
 */
#include "test.h"

#include "buffer/buffer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const size_t sizes[] = {0,     1,     63,    64,     65,       4096,    4097,
			       65535, 65536, 65537, 200000, 1u << 20, 3u << 20};
#define SIZES (sizeof sizes / sizeof *sizes)

static coro_buffer made_here(size_t bytes)
{
	coro_buffer b = {0};

	CHECK_EQ(coro_buffer_make(bytes, &b), CORO_OK);
	CHECK(b.id != 0);
	return b;
}

static void is_stale(coro_buffer b)
{
	size_t n = 1;

	CHECK(coro_buffer_at(b, &n) == NULL);
	CHECK_EQ(n, 0);
	CHECK_EQ(coro_buffer_free(b), CORO_ESTALE);
	CHECK_EQ(coro_buffer_resize(b, 1), CORO_ESTALE);
	CHECK_EQ(coro_buffer_cut(b, 0, 0), CORO_ESTALE);
}

static void fill(coro_buffer b, unsigned char with)
{
	size_t n;
	void *at = coro_buffer_at(b, &n);

	CHECK(at != NULL);
	CHECK_EQ((uintptr_t)at % 64, 0);
	memset(at, with, n);
}

static void each_size(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int round = 0; round < 3; round++) {
		coro_buffer all[SIZES];
		for (unsigned i = 0; i < SIZES; i++) {
			size_t n;
			all[i] = made_here(sizes[i]);
			CHECK(coro_buffer_at(all[i], &n) != NULL);
			CHECK_EQ(n, sizes[i]);
			fill(all[i], (unsigned char)i);
		}
		for (unsigned i = 0; i < SIZES; i++) {
			size_t n;
			unsigned char *at = coro_buffer_at(all[i], &n);
			CHECK(!n || (at[0] == i && at[n - 1] == i));
			CHECK_EQ(coro_buffer_free(all[i]), CORO_OK);
			is_stale(all[i]);
		}
	}
	is_stale((coro_buffer){0});
	is_stale((coro_buffer){UINT64_MAX});
	is_stale((coro_buffer){1});
}

TEST(buffer_of_each_size)
{
	coro_scheduler *s = start_with(1, 0);

	run_alone(s, NULL, each_size);
}

static void changes(void *arg, void *result)
{
	(void)arg;
	(void)result;
	coro_buffer b = made_here(10);
	size_t n;
	memcpy(coro_buffer_at(b, NULL), "0123456789", 10);
	CHECK_EQ(coro_buffer_resize(b, 5), CORO_OK);
	CHECK_EQ(coro_buffer_resize(b, 10), CORO_OK);
	CHECK(!memcmp(coro_buffer_at(b, &n), "0123456789", 10));
	CHECK_EQ(n, 10);
	for (unsigned i = 0; i < SIZES; i++) {
		if (sizes[i] < 10)
			continue;
		CHECK_EQ(coro_buffer_resize(b, sizes[i]), CORO_OK);
		CHECK(!memcmp(coro_buffer_at(b, &n), "0123456789", 10));
		CHECK_EQ(n, sizes[i]);
		memset((char *)coro_buffer_at(b, &n) + 10, 1, n - 10);
	}
	CHECK_EQ(coro_buffer_cut(b, 2, 8), CORO_OK);
	CHECK(!memcmp(coro_buffer_at(b, &n), "234567", 6));
	CHECK_EQ(n, 6);
	CHECK_EQ(coro_buffer_cut(b, 0, 7), CORO_EINVAL);
	CHECK_EQ(coro_buffer_cut(b, 4, 3), CORO_EINVAL);
	CHECK_EQ(coro_buffer_cut(b, 6, 6), CORO_OK);
	CHECK(coro_buffer_at(b, &n) != NULL);
	CHECK_EQ(n, 0);
	CHECK_EQ(coro_buffer_resize(b, CORO_BUFFER_MAX + 1), CORO_EINVAL);
	CHECK_EQ(coro_buffer_free(b), CORO_OK);
}

TEST(buffer_is_resized_and_cut)
{
	coro_scheduler *s = start_with(1, 0);

	run_alone(s, NULL, changes);
}

TEST(buffer_refuses_what_it_cannot_do)
{
	coro_scheduler *s = start_with(1, 0);
	coro_buffer b = {7};

	CHECK_EQ(coro_buffer_make(1, &b), CORO_EPERM);
	CHECK_EQ(coro_buffer_make(1, NULL), CORO_EINVAL);
	CHECK_EQ(coro_buffer_make_on(NULL, 1, &b), CORO_EINVAL);
	CHECK_EQ(coro_buffer_make_on(s, 1, NULL), CORO_EINVAL);
	CHECK_EQ(coro_buffer_make_on(s, CORO_BUFFER_MAX + 1, &b), CORO_EINVAL);
	CHECK_EQ(b.id, 7);
	for (unsigned i = 0; i < SIZES; i++) {
		CHECK_EQ(coro_buffer_make_on(s, sizes[i], &b), CORO_OK);
		fill(b, 1);
		CHECK_EQ(coro_buffer_free(b), CORO_OK);
		is_stale(b);
	}
	coro_stats t = stats(s);
	CHECK_EQ(t.buffers_made, SIZES);
	CHECK_EQ(t.buffers_freed, SIZES);
	CHECK_EQ(t.buffer_bytes, 0);
	finish(s);
}

/* Of several in one payload all are passed, or none. */
TEST(buffer_is_passed_or_not)
{
	coro_scheduler *s = start_with(1, 0);
	coro_buffer b[4] = {{0}}, sent[4];

	for (int i = 0; i < 3; i++)
		CHECK_EQ(coro_buffer_make_on(s, 100, &b[i]), CORO_OK);
	memcpy(sent, b, sizeof b);
	CHECK_EQ(coroi_buffers_pass(sent, 15), CORO_OK);
	for (int i = 0; i < 3; i++) {
		CHECK(sent[i].id != b[i].id);
		is_stale(b[i]);
		fill(sent[i], 2);
	}
	CHECK_EQ(sent[3].id, 0);
	coroi_buffers_unpass(sent, 15);
	for (int i = 0; i < 3; i++) {
		is_stale(sent[i]);
		fill(b[i], 3);
	}
	memcpy(sent, b, sizeof b);
	sent[3] = sent[0]; /* twice in one payload */
	CHECK_EQ(coroi_buffers_pass(sent, 15), CORO_ESTALE);
	fill(b[0], 1);
	fill(b[2], 1);
	memcpy(sent, b, sizeof b);
	CHECK_EQ(coroi_buffers_pass(sent, 2), CORO_OK); /* the second word alone */
	CHECK_EQ(sent[0].id, b[0].id);
	is_stale(b[1]);
	coro_buffer one = sent[1];
	memcpy(sent, b, sizeof b);
	CHECK_EQ(coroi_buffers_pass(sent, 7), CORO_ESTALE);
	b[1] = one;
	coroi_buffer_find(b[2].id)->word ^= 3; /* it is used */
	memcpy(sent, b, sizeof b);
	CHECK_EQ(coroi_buffers_pass(sent, 7), CORO_EBUSY);
	CHECK_EQ(coro_buffer_free(b[2]), CORO_EBUSY);
	CHECK_EQ(coro_buffer_resize(b[2], 1), CORO_EBUSY);
	CHECK_EQ(coro_buffer_cut(b[2], 0, 0), CORO_EBUSY);
	CHECK(coro_buffer_at(b[2], NULL) != NULL);
	coroi_buffer_find(b[2].id)->word ^= 3;
	fill(b[0], 1);
	memcpy(sent, b, sizeof b);
	CHECK_EQ(coroi_buffers_pass(sent, 15), CORO_OK);
	coroi_buffers_drop(sent, 15);
	coroi_buffers_drop(sent, 15); /* stale ones are nobody's */
	for (int i = 0; i < 4; i++)
		is_stale(sent[i]);
	coro_stats t = stats(s);
	CHECK_EQ(t.buffers_made, 3);
	CHECK_EQ(t.buffers_freed, 3);
	CHECK_EQ(t.buffer_bytes, 0);
	finish(s);
}

TEST(buffer_generations_wrap_around)
{
	coro_scheduler *s = start_with(1, 0);
	coro_buffer b, old, sent;

	CHECK_EQ(coro_buffer_make_on(s, 1, &b), CORO_OK);
	struct coroi_descriptor *d = coroi_buffer_find(b.id);
	d->word = ((UINT64_C(1) << 40) - 1) << 8 | COROI_BUFFER_OWNED;
	old.id = b.id = coroi_buffer_id(d, d->word);
	sent = b;
	CHECK_EQ(coroi_buffers_pass(&sent, 1), CORO_OK);
	CHECK_EQ(sent.id >> 24, 1);
	is_stale(old);
	coroi_buffers_unpass(&sent, 1);
	fill(b, 1);
	CHECK_EQ(coro_buffer_free(b), CORO_OK);
	is_stale(b);
	finish(s);
}

/* ------------------------------------------------------------------------------------- limits */

static void to_the_limit(void *arg, void *result)
{
	coro_buffer b[17];

	(void)arg;
	(void)result;
	for (int round = 0; round < 3; round++) {
		int n = 0;
		while (n < 17 && coro_buffer_make(65536, &b[n]) == CORO_OK)
			n++;
		CHECK_EQ(n, 16);
		CHECK_EQ(coro_buffer_make(1, &b[16]), CORO_ENOMEM);
		CHECK_EQ(coro_buffer_make(1 << 20, &b[16]), CORO_ENOMEM);
		CHECK_EQ(coro_buffer_resize(b[3], 65537), CORO_ENOMEM);
		CHECK_EQ(coro_buffer_resize(b[3], 1), CORO_OK);
		while (n)
			CHECK_EQ(coro_buffer_free(b[--n]), CORO_OK);
		CHECK_EQ(coro_buffer_make(1 << 20, &b[0]), CORO_OK);
		CHECK_EQ(coro_buffer_make(1, &b[1]), CORO_ENOMEM);
		CHECK_EQ(coro_buffer_free(b[0]), CORO_OK);
	}
}

TEST(buffer_limit_is_kept)
{
	coro_options o = options(1, 0);

	o.buffer_limit = 1 << 20;
	run_alone(start(&o), NULL, to_the_limit);
}

/* -------------------------------------------------------------------------------------- counts */

#define HELD 40

static uint64_t made, freed;
static coro_buffer shelf[HELD];

/* Any of the bodies frees what another has made: through the shelf, with exchanges. */
static void trades(void *arg, void *result)
{
	uint64_t seed = *(uint64_t *)arg, n = scaled(200000);

	(void)result;
	for (uint64_t i = 0; i < n; i++) {
		coro_buffer b = {0};
		uint64_t r = rnd(&seed);
		if (r % 8 < 5) {
			b = made_here(r >> 8 & (r % 64 ? 4095 : 131071));
			add_one(&made);
			memset(coro_buffer_at(b, NULL), 1, 1);
		}
		b.id = __atomic_exchange_n(&shelf[r >> 32 & 31].id, b.id, __ATOMIC_ACQ_REL);
		if (b.id) {
			if (r % 128 == 0)
				CHECK_EQ(coro_buffer_resize(b, r >> 40 & 0x1ffff), CORO_OK);
			CHECK_EQ(coro_buffer_free(b), CORO_OK);
			add_one(&freed);
		}
		if (r % 1024 == 0)
			coro_yield();
	}
}

static void *trades_outside(void *arg)
{
	uint64_t seed = 7, n = scaled(100000);

	for (uint64_t i = 0; i < n; i++) {
		coro_buffer b = {0};
		uint64_t r = rnd(&seed);
		if (r % 2) {
			CHECK_EQ(coro_buffer_make_on(arg, r >> 8 & 1023, &b), CORO_OK);
			add_one(&made);
		}
		b.id = __atomic_exchange_n(&shelf[r >> 32 & 31].id, b.id, __ATOMIC_ACQ_REL);
		if (b.id) {
			CHECK_EQ(coro_buffer_free(b), CORO_OK);
			add_one(&freed);
		}
	}
	return NULL;
}

static void counted(uint32_t workers, uint64_t limit)
{
	coro_options o = options(workers, 0);
	coro_scheduler *s[2];
	pthread_t thread;

	o.buffer_limit = limit;
	made = freed = 0;
	for (int k = 0; k < 2; k++)
		s[k] = start(&o);
	for (uint64_t i = 1; i <= 4; i++)
		for (int k = 0; k < 2; k++)
			spawn(s[k], trades, &i, sizeof i);
	thread_start(&thread, trades_outside, s[0]);
	thread_join(thread);
	for (int k = 0; k < 2; k++)
		CHECK_EQ(coro_scheduler_wait(s[k]), CORO_OK);
	uint64_t live = made - freed, all_made = 0, all_freed = 0;
	CHECK_EQ(coroi_buffers_list(NULL, 0), live);
	for (int k = 0; k < 2; k++) {
		coro_stats t = stats(s[k]);
		all_made += t.buffers_made;
		all_freed += t.buffers_freed;
	}
	CHECK_EQ(all_made, made);
	CHECK_EQ(all_freed, freed);
	finish(s[0]);
	for (int i = 0; i < HELD; i++)
		if (shelf[i].id) {
			CHECK_EQ(coro_buffer_free(shelf[i]), CORO_OK);
			shelf[i].id = 0;
		}
	CHECK_EQ(coroi_buffers_list(NULL, 0), 0);
	CHECK_EQ(stats(s[1]).buffer_bytes, 0);
	finish(s[1]);
	coroi_depot_trim();
}

TEST(buffer_counts_are_exact)
{
	counted(1, 0);
	counted(3, 0);
	counted(2, UINT64_C(1) << 30);
}

TEST(buffer_lists_say_what_is_left)
{
	coro_scheduler *s = start_with(1, 0);
	struct coroi_buffer_left left[2];
	coro_buffer b[3];

	for (int i = 0; i < 3; i++)
		CHECK_EQ(coro_buffer_make_on(s, (size_t)i + 1, &b[i]), CORO_OK);
	CHECK_EQ(coroi_buffers_list(left, 2), 3);
	CHECK(left[0].where != 0 && left[0].ledger == coroi_ledger_of(s));
	CHECK_EQ(left[0].id, b[0].id);
	CHECK_EQ(left[1].length, 2);
	finish(s); /* buffers outlive their scheduler */
	CHECK_EQ(coroi_buffers_list(left, 2), 3);
	for (int i = 0; i < 3; i++) {
		fill(b[i], 1);
		CHECK_EQ(coro_buffer_free(b[i]), CORO_OK);
	}
	CHECK_EQ(coroi_buffers_list(left, 2), 0);
	finish(start_with(1, 0)); /* frees the ledger */
}

/* The memory that free buffers keep is bounded, and can be given back. */
TEST(buffer_memory_is_bounded)
{
	enum { MANY = 3000 };
	coro_scheduler *s = start_with(1, 0);
	static coro_buffer b[MANY];

	for (int i = 0; i < MANY; i++)
		CHECK_EQ(coro_buffer_make_on(s, 4096, &b[i]), CORO_OK);
	CHECK_EQ(stats(s).buffer_bytes, MANY * 4096);
	for (int i = 0; i < MANY; i++)
		CHECK_EQ(coro_buffer_free(b[i]), CORO_OK);
	CHECK_EQ(coroi_depot_trim(), COROI_BUFFER_DEPOT_BYTES);
	CHECK_EQ(coroi_depot_trim(), 0);
	CHECK_EQ(coroi_depot_descriptors(), MANY);
	for (int i = 0; i < MANY; i++)
		CHECK_EQ(coro_buffer_make_on(s, 4096, &b[i]), CORO_OK);
	CHECK_EQ(coroi_depot_descriptors(), MANY); /* they are used again */
	for (int i = 0; i < MANY; i++)
		CHECK_EQ(coro_buffer_free(b[i]), CORO_OK);
	coroi_depot_trim();
	finish(s);
}

/* faults - nobody may read there: the kernel says so to write. */
static bool faults(const void *at)
{
	int pipes[2];

	CHECK_EQ(pipe(pipes), 0);
	ssize_t n = write(pipes[1], at, 1);
	CHECK(n == 1 || errno == EFAULT);
	close(pipes[0]);
	close(pipes[1]);
	return n < 0;
}

static void frees_and_looks(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (unsigned i = 0; i < SIZES; i++) {
		coro_buffer b = made_here(sizes[i]);
		fill(b, 1);
		const void *at = coro_buffer_at(b, NULL);
		CHECK(!faults(at));
		CHECK_EQ(coro_buffer_resize(b, 2 * sizes[i] + 5000), CORO_OK);
		CHECK_EQ(faults(at), at != coro_buffer_at(b, NULL));
		at = coro_buffer_at(b, NULL);
		CHECK_EQ(coro_buffer_free(b), CORO_OK);
		CHECK(faults(at));
	}
	for (int i = 0; i < 3000; i++) { /* some are unmapped */
		coro_buffer b = made_here(100);
		fill(b, 1);
		CHECK_EQ(coro_buffer_free(b), CORO_OK);
	}
}

TEST(buffer_faults_when_it_was_freed)
{
	coroi_buffers_unmap = true;
	coro_scheduler *s = start_with(1, 0);
	coro_buffer b;

	CHECK_EQ(coro_buffer_make_on(s, 10, &b), CORO_OK);
	const void *at = coro_buffer_at(b, NULL);
	CHECK_EQ(coro_buffer_free(b), CORO_OK);
	CHECK(faults(at));
	run_alone(s, NULL, each_size);
	s = start_with(1, 0);
	run_alone(s, NULL, frees_and_looks);
	CHECK_EQ(coroi_depot_trim(), 0);
}
