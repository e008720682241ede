/*
 * t_stream.c - streams: each byte arrives once and in order; ends, codes, deadlines and cancels.
 */
#include "dense_bodies.h"

#include "coro_io.h"

#include "sync/stream.h"

#include <string.h>

static uint64_t done;

/* byte_at - the byte at a position of every stream of these tests. */
static unsigned char byte_at(uint64_t at)
{
	uint64_t x = (at + 1) * UINT64_C(0x9e3779b97f4a7c15);

	return (unsigned char)(x >> 40 ^ x >> 56);
}

static void fill(unsigned char *to, uint64_t at, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = byte_at(at + i);
}

static void check_bytes(const unsigned char *got, uint64_t at, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (got[i] != byte_at(at + i))
			CHECK_EQ(got[i], byte_at(at + i));
}

static coro_stream *ends[2];

static void open_stream(size_t bytes)
{
	CHECK_EQ(coro_stream_new(&ends[0], &ends[1], bytes), CORO_OK);
	done = 0;
}

static void free_stream(void)
{
	CHECK_EQ(coro_stream_free(ends[0]), CORO_OK);
	CHECK_EQ(coro_stream_free(ends[1]), CORO_OK);
}

static int64_t read_now(coro_stream *s, void *to, size_t n)
{
	return coro_stream_read(s, to, n, 0);
}

static int64_t write_now(coro_stream *s, const void *from, size_t n)
{
	return coro_stream_write(s, from, n, 0);
}

/* -------------------------------------------------------------------------------- without waits */

TEST(stream_arguments)
{
	coro_stream *a, *b;
	char c = 0;

	CHECK_EQ(coro_stream_new(NULL, &b, 1), CORO_EINVAL);
	CHECK_EQ(coro_stream_new(&a, NULL, 1), CORO_EINVAL);
	CHECK_EQ(coro_stream_new(&a, &b, 0), CORO_EINVAL);
	CHECK_EQ(coro_stream_new(&a, &b, CORO_STREAM_BYTES_MAX + 1), CORO_EINVAL);
	CHECK_EQ(coro_stream_new(&a, &b, CORO_STREAM_BYTES_MAX), CORO_OK); /* not allocated yet */
	CHECK_EQ(coro_stream_read(NULL, &c, 1, 0), CORO_EINVAL);
	CHECK_EQ(coro_stream_read(a, NULL, 1, 0), CORO_EINVAL);
	CHECK_EQ(coro_stream_write(NULL, &c, 1, 0), CORO_EINVAL);
	CHECK_EQ(coro_stream_write(a, NULL, 1, 0), CORO_EINVAL);
	CHECK_EQ(coro_stream_read(a, NULL, 0, 0), 0);
	CHECK_EQ(coro_stream_write(a, NULL, 0, 0), 0);
	CHECK_EQ(coro_stream_close(NULL, CORO_STREAM_IN, 0), CORO_EINVAL);
	CHECK_EQ(coro_stream_close(a, 0, 0), CORO_EINVAL);
	CHECK_EQ(coro_stream_close(a, 1, 0), CORO_EINVAL);
	CHECK_EQ(coro_stream_close(a, 0x100, 0), CORO_EINVAL);
	CHECK_EQ(coro_stream_close(a, 0x107, 0), CORO_EINVAL);
	CHECK_EQ(coro_stream_close(a, CORO_STREAM_IN, 1), CORO_EINVAL);
	CHECK_EQ(coro_stream_free(NULL), CORO_OK);
	CHECK_EQ(coro_stream_free(a), CORO_OK);
	CHECK_EQ(coro_stream_free(b), CORO_OK);
}

/* All sizes of reads and writes, around all places of the ring. */
TEST(stream_bytes_go_around)
{
	unsigned char from[64], to[64];
	uint64_t sent = 0, got = 0, seed = 7;

	open_stream(20); /* 32 */
	for (int i = 0; i < 20000; i++) {
		size_t n = rnd(&seed) % 40, room = 32 - (sent - got);
		if (i % 2) {
			fill(from, sent, n);
			int64_t k = write_now(ends[0], from, n);
			CHECK_EQ(k, n && !room ? CORO_ETIMEDOUT : (int64_t)(n < room ? n : room));
			sent += k > 0 ? (uint64_t)k : 0;
		} else {
			size_t have = sent - got;
			int64_t k = read_now(ends[1], to, n);
			CHECK_EQ(k, n && !have ? CORO_ETIMEDOUT : (int64_t)(n < have ? n : have));
			check_bytes(to, got, k > 0 ? (size_t)k : 0);
			got += k > 0 ? (uint64_t)k : 0;
		}
	}
	free_stream();
}

TEST(stream_of_one_byte)
{
	char c = 0;

	open_stream(1);
	for (char i = 0; i < 10; i++) {
		CHECK_EQ(write_now(ends[1], &i, 1), 1);
		CHECK_EQ(write_now(ends[1], &i, 1), CORO_ETIMEDOUT);
		CHECK_EQ(read_now(ends[0], &c, 1), 1);
		CHECK_EQ(c, i);
		CHECK_EQ(read_now(ends[0], &c, 1), CORO_ETIMEDOUT);
	}
	free_stream();
}

/* The two directions do not know each other. */
TEST(stream_ends_and_codes)
{
	char c[8];

	open_stream(8);
	CHECK_EQ(write_now(ends[0], "abc", 3), 3);
	CHECK_EQ(write_now(ends[1], "xyz", 3), 3);
	CHECK_EQ(coro_stream_close(ends[0], CORO_STREAM_OUT, 0), CORO_OK);
	CHECK_EQ(coro_stream_close(ends[0], CORO_STREAM_OUT, -5), CORO_OK); /* changes nothing */
	CHECK_EQ(write_now(ends[0], "d", 1), CORO_ECLOSED);
	CHECK_EQ(read_now(ends[1], c, 2), 2);
	CHECK_EQ(read_now(ends[1], c, 2), 1);
	CHECK_EQ(read_now(ends[1], c, 2), 0);
	CHECK_EQ(read_now(ends[1], c, 2), 0);
	CHECK_EQ(coro_stream_close(ends[0], CORO_STREAM_IN, -77), CORO_OK);
	CHECK_EQ(write_now(ends[1], "d", 1), -77);
	CHECK_EQ(read_now(ends[0], c, 1), CORO_ECLOSED);
	free_stream();

	open_stream(8);
	CHECK_EQ(write_now(ends[0], "abc", 3), 3);
	CHECK_EQ(coro_stream_close(ends[0], CORO_STREAM_IN | CORO_STREAM_OUT, 0), CORO_OK);
	CHECK_EQ(write_now(ends[1], "d", 1), CORO_ECLOSED);
	CHECK_EQ(read_now(ends[1], c, 8), 3);
	CHECK_EQ(read_now(ends[1], c, 8), 0);
	free_stream();

	open_stream(8); /* an end that is given up has an error, if it was not closed */
	CHECK_EQ(write_now(ends[0], "abc", 3), 3);
	coro_stream_drop(ends[0]);
	CHECK_EQ(read_now(ends[1], c, 8), 3);
	CHECK_EQ(read_now(ends[1], c, 8), CORO_ECANCELED);
	CHECK_EQ(write_now(ends[1], "d", 1), CORO_ECANCELED);
	CHECK_EQ(coro_stream_free(ends[1]), CORO_OK);
}

/* The bytes of a direction are freed when both ends have closed it, in either order. */
TEST(stream_frees_its_bytes)
{
	for (int first = 0; first < 2; first++) {
		open_stream(100000);
		struct coroi_pipe *p = ends[0]->out;
		CHECK(!p->ring);
		CHECK_EQ(write_now(ends[0], "abc", 3), 3);
		CHECK(p->ring != NULL);
		CHECK_EQ(
			coro_stream_close(ends[first], first ? CORO_STREAM_IN : CORO_STREAM_OUT, 0),
			CORO_OK);
		CHECK(p->ring != NULL);
		CHECK_EQ(coro_stream_close(ends[!first], first ? CORO_STREAM_OUT : CORO_STREAM_IN,
					   0),
			 CORO_OK);
		CHECK(!p->ring);
		free_stream();
	}
}

static const uint32_t directions[3] = {CORO_STREAM_IN, CORO_STREAM_OUT,
				       CORO_STREAM_IN | CORO_STREAM_OUT};

/* Either end, each direction, each code: the other end is told what it was closed with, the end
 * itself that it has closed, and what is open goes on. */
TEST(stream_codes_go_both_ways)
{
	static const int codes[] = {
		0, CORO_ECLOSED, CORO_ECANCELED, CORO_ETIMEDOUT, CORO_OF_ERRNO(5), -77, INT32_MIN};

	for (size_t i = 0; i < 2 * 3 * sizeof codes / sizeof *codes; i++) {
		coro_stream *here, *there;
		uint32_t closed = directions[i / 2 % 3];
		int code = codes[i / 6];
		bool in = (closed & CORO_STREAM_IN & 3) != 0;
		bool out = (closed & CORO_STREAM_OUT & 3) != 0;
		char c = 0;
		open_stream(8);
		here = ends[i % 2];
		there = ends[!(i % 2)];
		CHECK_EQ(write_now(here, "a", 1), 1);
		CHECK_EQ(write_now(there, "b", 1), 1);
		CHECK_EQ(coro_stream_close(here, closed, code), CORO_OK);
		CHECK_EQ(read_now(there, &c, 1), 1);
		CHECK_EQ(c, 'a');
		CHECK_EQ(read_now(there, &c, 1), out ? code : CORO_ETIMEDOUT);
		CHECK_EQ(write_now(there, "c", 1), in ? (code ? code : CORO_ECLOSED) : 1);
		CHECK_EQ(write_now(here, "d", 1), out ? CORO_ECLOSED : 1);
		CHECK_EQ(read_now(here, &c, 1), in ? CORO_ECLOSED : 1);
		/* The other end closes as well: what it was told stays. */
		CHECK_EQ(coro_stream_close(there, directions[2], -3), CORO_OK);
		CHECK_EQ(read_now(there, &c, 1), CORO_ECLOSED);
		CHECK_EQ(write_now(here, "e", 1), out ? CORO_ECLOSED : -3);
		free_stream();
	}
}

/* Either end is given up first, with nothing, one direction or both closed before, with and without
 * bytes on their way. */
TEST(stream_is_freed_in_each_order)
{
	for (int i = 0; i < 2 * 4 * 2; i++) {
		coro_stream *first, *last;
		int closed = i / 2 % 4, written = i / 8;
		char c[8];
		open_stream(8);
		first = ends[i % 2];
		last = ends[!(i % 2)];
		if (written) {
			CHECK_EQ(write_now(first, "abc", 3), 3);
			CHECK_EQ(write_now(last, "xyz", 3), 3);
		}
		if (closed)
			CHECK_EQ(coro_stream_close(first, directions[closed - 1], -9), CORO_OK);
		CHECK_EQ(coro_stream_free(first), CORO_OK);
		if (written)
			CHECK_EQ(read_now(last, c, 8), 3);
		CHECK_EQ(read_now(last, c, 8), closed & 2 ? -9 : CORO_ECANCELED);
		CHECK_EQ(write_now(last, "d", 1), closed & 1 ? -9 : CORO_ECANCELED);
		CHECK_EQ(coro_stream_free(last), CORO_OK);
	}
}

/* Each direction has its own bytes: either first write fails, and the same write is done later. */
TEST(stream_without_memory)
{
	char c;

	fail_alloc = 0;
	CHECK_EQ(coro_stream_new(&ends[0], &ends[1], 8), CORO_ENOMEM);
	for (int i = 0; i < 4; i++) {
		int *fails = i / 2 ? &fail_map : &fail_alloc;
		open_stream(i / 2 ? 100000 : 8);
		for (int k = 0; k < 2; k++) {
			coro_stream *from = ends[i % 2 != k], *to = ends[i % 2 == k];
			*fails = 0;
			CHECK_EQ(write_now(from, "abc", 3), CORO_ENOMEM);
			*fails = 0;
			CHECK_EQ(coro_stream_write(from, "abc", 3, CORO_FOREVER), CORO_ENOMEM);
			CHECK_EQ(read_now(to, &c, 1), CORO_ETIMEDOUT);
			CHECK_EQ(write_now(from, "abc", 3), 3);
			CHECK_EQ(read_now(to, &c, 1), 1);
			*fails = 0; /* no later write allocates */
			CHECK_EQ(write_now(from, "defghi", 6), 6);
			CHECK_EQ(coro_stream_close(from, CORO_STREAM_OUT, 0), CORO_OK);
			CHECK_EQ(coro_stream_close(to, CORO_STREAM_IN, 0), CORO_OK);
			CHECK_EQ(*fails, 0);
			*fails = -1;
		}
		free_stream();
	}
	open_stream(8); /* nothing was written: the end needs no bytes */
	fail_alloc = 0;
	CHECK_EQ(write_now(ends[0], "abc", 3), CORO_ENOMEM);
	CHECK_EQ(coro_stream_close(ends[0], CORO_STREAM_OUT, -9), CORO_OK);
	CHECK_EQ(read_now(ends[1], &c, 1), -9);
	CHECK_EQ(write_now(ends[0], "abc", 3), CORO_ECLOSED);
	free_stream();
}

/* --------------------------------------------------------------------------------------- waits */

static int64_t outcome;

static void reads_one(void *arg, void *result)
{
	char c = 0;
	(void)result;

	outcome = coro_stream_read(ends[0], &c, 1, *(uint64_t *)arg);
	if (outcome == 1)
		CHECK_EQ(c, 'a');
}

static void writes_many(void *arg, void *result)
{
	unsigned char bytes[24];
	(void)result;

	fill(bytes, 0, sizeof bytes);
	outcome = coro_stream_write(ends[0], bytes, sizeof bytes, *(uint64_t *)arg);
}

/* body - start fn, and wait until it waits. */
static coro_handle body(coro_scheduler *s, coro_fn fn, uint64_t deadline, bool dense)
{
	coro_handle h;
	coro_attr a = {.size = sizeof a, .flags = dense ? CORO_DENSE : 0};

	CHECK_EQ(coro_scheduler_spawn(s, &a, fn, &deadline, sizeof deadline, &h), CORO_OK);
	if (deadline == CORO_FOREVER)
		until_waiting(s, 1);
	return h;
}

static int64_t result_in(coro_scheduler *s)
{
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	return outcome;
}

static void check_waits(coro_scheduler *s, bool dense)
{
	unsigned char got[32];
	coro_handle h;

	open_stream(16);
	body(s, reads_one, coro_now() + MS, dense);
	CHECK_EQ(result_in(s), CORO_ETIMEDOUT);
	h = body(s, reads_one, CORO_FOREVER, dense);
	CHECK_EQ(coro_stream_read(ends[0], got, 1, 0), CORO_EBUSY);
	CHECK_EQ(write_now(ends[1], "a", 1), 1);
	CHECK_EQ(result_in(s), 1);
	h = body(s, reads_one, CORO_FOREVER, dense);
	CHECK_EQ(coro_cancel(h), CORO_OK);
	CHECK_EQ(result_in(s), CORO_ECANCELED);
	h = body(s, reads_one, CORO_FOREVER, dense);
	CHECK_EQ(coro_stream_close(ends[0], CORO_STREAM_IN, 0), CORO_OK); /* its own end */
	CHECK_EQ(result_in(s), CORO_ECLOSED);

	h = body(s, writes_many, CORO_FOREVER, dense);
	CHECK_EQ(coro_stream_write(ends[0], got, 1, 0), CORO_EBUSY);
	CHECK_EQ(read_now(ends[1], got, 7), 7);
	CHECK_EQ(read_now(ends[1], got + 7, 1), 1); /* half of it is free: it goes on */
	CHECK_EQ(result_in(s), 24);
	CHECK_EQ(read_now(ends[1], got + 8, 24), 16);
	check_bytes(got, 0, 24);
	body(s, writes_many, coro_now() + MS, dense);
	CHECK_EQ(result_in(s), 16);
	body(s, writes_many, coro_now() + MS, dense);
	CHECK_EQ(result_in(s), CORO_ETIMEDOUT);
	h = body(s, writes_many, CORO_FOREVER, dense);
	CHECK_EQ(coro_cancel(h), CORO_OK);
	CHECK_EQ(result_in(s), CORO_ECANCELED);
	h = body(s, writes_many, CORO_FOREVER, dense);
	for (int i = 0; i < 17; i++) /* the old bytes, and one of the new */
		CHECK_EQ(coro_stream_read(ends[1], got, 1, CORO_FOREVER), 1);
	CHECK_EQ(coro_stream_close(ends[1], CORO_STREAM_IN, -9), CORO_OK);
	int64_t n = result_in(s);
	CHECK(n == 8 || n == 16);
	body(s, writes_many, CORO_FOREVER - 1, dense);
	CHECK_EQ(result_in(s), -9);
	free_stream();

	open_stream(16); /* the other end is given up */
	body(s, reads_one, CORO_FOREVER, dense);
	CHECK_EQ(coro_stream_free(ends[1]), CORO_OK);
	CHECK_EQ(result_in(s), CORO_ECANCELED);
	CHECK_EQ(coro_stream_free(ends[0]), CORO_OK);
	open_stream(16);
	body(s, writes_many, CORO_FOREVER, dense);
	CHECK_EQ(coro_stream_free(ends[1]), CORO_OK);
	CHECK_EQ(result_in(s), 16);
	CHECK_EQ(write_now(ends[0], got, 1), CORO_ECANCELED);
	CHECK_EQ(coro_stream_free(ends[0]), CORO_OK);

	for (int code = 0; code > -10; code -= 9) {
		open_stream(16);
		h = body(s, reads_one, CORO_FOREVER, dense);
		CHECK_EQ(coro_stream_close(ends[1], CORO_STREAM_OUT, code), CORO_OK);
		CHECK_EQ(result_in(s), code);
		free_stream();
	}
}

TEST(stream_waits_end)
{
	for (int dense = 0; dense < 2; dense++) {
		coro_scheduler *s = dense_start(1, 2, 0);
		check_waits(s, dense);
		finish(s);
	}
}

/* A wait is reported by its kind. */
TEST(stream_waits_are_named)
{
	coro_blocked b;
	coro_scheduler *s = start_with(1, CORO_PAUSED);

	open_stream(1);
	uint64_t forever = CORO_FOREVER;
	coro_attr a = {.size = sizeof a};
	CHECK_EQ(coro_scheduler_spawn(s, &a, reads_one, &forever, 8, NULL), CORO_OK);
	CHECK_EQ(coro_scheduler_run(s), CORO_EDEADLK);
	CHECK_EQ(coro_scheduler_blocked(s, &b, 1), 1);
	CHECK_EQ(b.waits, CORO_WAIT_STREAM_READ);
	CHECK_EQ(write_now(ends[1], "a", 1), 1);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(coro_scheduler_spawn(s, &a, writes_many, &forever, 8, NULL), CORO_OK);
	CHECK_EQ(coro_scheduler_run(s), CORO_EDEADLK);
	CHECK_EQ(coro_scheduler_blocked(s, &b, 1), 1);
	CHECK_EQ(b.waits, CORO_WAIT_STREAM_WRITE);
	CHECK_EQ(coro_stream_close(ends[1], CORO_STREAM_IN, 0), CORO_OK);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	free_stream();
	finish(s);
}

/* An end in use is closed, but not given up. */
TEST(stream_is_not_freed_in_use)
{
	coro_scheduler *s = start_with(1, CORO_PAUSED);
	uint64_t forever = CORO_FOREVER;
	coro_attr a = {.size = sizeof a};

	open_stream(1);
	CHECK_EQ(coro_scheduler_spawn(s, &a, reads_one, &forever, 8, NULL), CORO_OK);
	CHECK_EQ(coro_scheduler_run(s), CORO_EDEADLK);
	CHECK_EQ(coro_stream_free(ends[0]), CORO_EBUSY);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	free_stream();
	finish(s);
}

static void must_not_wait(void *arg, void *result)
{
	char c;
	(void)arg;
	(void)result;

	CHECK_EQ(coro_nowait_begin("here"), CORO_OK);
	CHECK_EQ(coro_stream_read(ends[0], &c, 1, CORO_FOREVER), CORO_ENOWAIT);
	CHECK_EQ(write_now(ends[1], "a", 1), 1);
	CHECK_EQ(coro_stream_read(ends[0], &c, 1, CORO_FOREVER), 1);
	CHECK_EQ(coro_nowait_end(), CORO_OK);
	done++;
}

static void no_report(const coro_nowait_report *r)
{
	(void)r;
}

TEST(stream_in_a_nowait_section)
{
	coro_nowait_on_error(no_report);
	open_stream(8);
	run_alone(start_with(1, 0), NULL, must_not_wait);
	CHECK_EQ(done, 1);
	free_stream();
}

/* -------------------------------------------------------------------------------------- stress */

/* Both directions of some streams are used at once, by coroutines of two schedulers, or by threads.
 * Waits have deadlines, and are canceled. No byte is lost, nor comes twice or at another place. */

enum { STREAMS = 3, MOST = 300 };

static struct way {
	coro_stream *out, *in;
	uint64_t total, seed, sent, got;
} ways[2 * STREAMS];

static uint64_t a_deadline(uint64_t *seed)
{
	uint64_t r = rnd(seed) % 8;

	return r == 0 ? 0 : r < 4 ? coro_now() + rnd(seed) % 50000 : CORO_FOREVER;
}

static bool is_no_end(int64_t status)
{
	return status == CORO_ETIMEDOUT || status == CORO_ECANCELED;
}

static uint64_t begun;

static void writes_all(struct way *y)
{
	unsigned char bytes[MOST];
	uint64_t seed = y->seed;

	add_one(&begun);
	while (y->sent < y->total) {
		uint64_t left = y->total - y->sent, n = 1 + rnd(&seed) % MOST;
		n = n < left ? n : left;
		fill(bytes, y->sent, n);
		int64_t k = coro_stream_write(y->out, bytes, n, a_deadline(&seed));
		CHECK(k > 0 || is_no_end(k));
		y->sent += k > 0 ? (uint64_t)k : 0;
	}
	CHECK_EQ(coro_stream_close(y->out, CORO_STREAM_OUT, y->total % 2 ? -9 : 0), CORO_OK);
	add_one(&done);
}

static void reads_all(struct way *y)
{
	unsigned char bytes[MOST];
	uint64_t seed = y->seed + 1;
	int64_t k;

	add_one(&begun);
	do {
		k = coro_stream_read(y->in, bytes, 1 + rnd(&seed) % MOST, a_deadline(&seed));
		check_bytes(bytes, y->got, k > 0 ? (size_t)k : 0);
		y->got += k > 0 ? (uint64_t)k : 0;
	} while (k > 0 || is_no_end(k));
	CHECK_EQ(k, y->total % 2 ? -9 : 0);
	CHECK_EQ(y->got, y->total);
	add_one(&done);
}

static void writer(void *arg, void *result)
{
	(void)result;
	writes_all(*(struct way **)arg);
}

static void reader(void *arg, void *result)
{
	(void)result;
	reads_all(*(struct way **)arg);
}

static void *writes_on_a_thread(void *arg)
{
	writes_all(arg);
	return NULL;
}

static void *reads_on_a_thread(void *arg)
{
	reads_all(arg);
	return NULL;
}

static coro_handle handles[4 * STREAMS];

static void spawn_way(coro_scheduler *s, coro_fn fn, struct way *y, coro_handle *h)
{
	CHECK_EQ(coro_scheduler_spawn(s, NULL, fn, &y, sizeof y, h), CORO_OK);
}

/* The last stream is used by threads at one end. */
static void check_storm(coro_scheduler *a, coro_scheduler *b, size_t bytes, uint64_t total)
{
	coro_stream *two[2];
	pthread_t threads[2];
	uint64_t seed = 5 + bytes, ended = done + 4 * STREAMS;

	for (int i = 0; i < STREAMS; i++) {
		CHECK_EQ(coro_stream_new(&two[0], &two[1], bytes), CORO_OK);
		for (int k = 0; k < 2; k++) {
			struct way *y = &ways[2 * i + k];
			*y = (struct way){two[k],     two[!k], total + rnd(&seed) % 7,
					  rnd(&seed), 0,       0};
			if (i == STREAMS - 1 && k)
				thread_start(&threads[0], writes_on_a_thread, y);
			else
				spawn_way(k ? b : a, writer, y, &handles[4 * i + 2 * k]);
			if (i == STREAMS - 1 && !k)
				thread_start(&threads[1], reads_on_a_thread, y);
			else
				spawn_way(k ? a : b, reader, y, &handles[4 * i + 2 * k + 1]);
		}
	}
	sleep_until_seen(&begun, ended); /* one that is canceled before does not run */
	for (uint64_t i = 0; seen(&done) < ended; i++) {
		coro_handle h = handles[i % (4 * STREAMS)];
		if (h)
			coro_cancel(h);
		sleep_us(50);
	}
	thread_join(threads[0]);
	thread_join(threads[1]);
	for (int i = 0; i < STREAMS; i++) {
		CHECK_EQ(coro_stream_free(ways[2 * i].out), CORO_OK);
		CHECK_EQ(coro_stream_free(ways[2 * i].in), CORO_OK);
	}
	CHECK_EQ(coro_scheduler_wait(a), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(b), CORO_OK);
}

TEST_LIMIT(stress_streams, 300)
{
	coro_scheduler *a = start_with(2, 0), *b = start_with(1, 0);

	delays(DELAYS_USUAL);
	for (size_t bytes = 1; bytes <= 1024; bytes *= 4)
		check_storm(a, b, bytes, scaled(bytes < 16 ? 3000 : 100000));
	finish(a);
	finish(b);
}

/* ------------------------------------------------------------------------------ coro_select */

static coro_chan *chan;

static coro_case can_read(coro_stream *s)
{
	return (coro_case){.stream = s, .direction = CORO_STREAM_IN};
}

static coro_case can_write(coro_stream *s)
{
	return (coro_case){.stream = s, .direction = CORO_STREAM_OUT};
}

static void selects_now(void *arg, void *result)
{
	char c;
	uint64_t value = 5;
	coro_case wrong = {.stream = ends[0], .direction = 0x104}, none = can_read(NULL);
	coro_case unknown = {.stream = ends[0], .direction = 0x201};
	(void)arg;
	(void)result;

	CHECK_EQ(coro_select(&wrong, 1, 0), CORO_EINVAL);
	CHECK_EQ(coro_select(&unknown, 1, 0), CORO_EINVAL);
	CHECK_EQ(coro_select(&none, 1, 0), CORO_EINVAL);
	coro_case both[2] = {can_read(ends[0]), can_read(ends[0])};
	CHECK_EQ(coro_select(both, 2, 0), CORO_EBUSY);
	coro_case all[3] = {can_read(ends[0]), can_write(ends[1]), {.chan = chan, .recv = &value}};
	CHECK_EQ(coro_select(all, 3, 0), 1);
	CHECK_EQ(write_now(ends[1], "a", 1), 1); /* it is full */
	CHECK_EQ(coro_select(all, 3, 0), 0);
	CHECK_EQ(all[0].status, CORO_OK);
	CHECK_EQ(read_now(ends[0], &c, 1), 1);
	CHECK_EQ(write_now(ends[1], "a", 1), 1);
	CHECK_EQ(read_now(ends[0], &c, 1), 1);
	CHECK_EQ(coro_select(all, 1, 0), CORO_ETIMEDOUT);
	CHECK_EQ(coro_select(all, 1, coro_now() + 1000), CORO_ETIMEDOUT);
	CHECK_EQ(coro_chan_send(chan, &value, 0), CORO_OK);
	all[1] = all[2];
	CHECK_EQ(coro_select(all, 2, CORO_FOREVER), 1);
	CHECK_EQ(coro_stream_close(ends[1], CORO_STREAM_OUT, -9), CORO_OK);
	CHECK_EQ(coro_select(all, 1, 0), 0);
	CHECK_EQ(all[0].status, CORO_OK);
	CHECK_EQ(read_now(ends[0], &c, 1), -9);
	CHECK_EQ(coro_stream_close(ends[0], CORO_STREAM_IN, 0), CORO_OK);
	CHECK_EQ(coro_select(all, 1, 0), 0);
	CHECK_EQ(all[0].status, CORO_ECLOSED);
	done++;
}

TEST(stream_cases_at_once)
{
	for (int dense = 0; dense < 2; dense++) {
		open_stream(1);
		chan = channel(8, 1);
		run_alone(start_with(1, 0), dense ? &dense_attr : NULL, selects_now);
		CHECK_EQ(done, 1);
		CHECK_EQ(coro_chan_free(chan), CORO_OK);
		free_stream();
	}
}

/* One coroutine serves a stream in both directions, and a channel, by select alone. */
static uint64_t chan_values;

static void serves_all(void *arg, void *result)
{
	unsigned char bytes[64];
	size_t have = 0;
	uint64_t value, at = 0;
	bool ended = false;
	(void)arg;
	(void)result;

	while (!ended || have) {
		coro_case k[3] = {{.chan = chan, .recv = &value}};
		uint32_t n = 1, reads = 0, writes = 0;
		if (!ended && !have)
			k[reads = n++] = can_read(ends[0]);
		if (have)
			k[writes = n++] = can_write(ends[0]);
		uint64_t seed = at + 1;
		int i = coro_select(k, n, rnd(&seed) % 4 ? CORO_FOREVER : coro_now() + 20000);
		if (i == 0)
			add_one(&chan_values);
		else if (i > 0 && (uint32_t)i == reads) {
			int64_t got = read_now(ends[0], bytes, sizeof bytes);
			CHECK(got >= 0);
			ended = !got;
			have = (size_t)got;
			check_bytes(bytes, at, have);
			at += have;
		} else if (i > 0) {
			CHECK_EQ((uint32_t)i, writes);
			int64_t put = write_now(ends[0], bytes, have);
			CHECK(put > 0);
			memmove(bytes, bytes + put, have -= (size_t)put);
		} else {
			CHECK(is_no_end(i));
		}
	}
	CHECK_EQ(coro_stream_close(ends[0], CORO_STREAM_OUT, 0), CORO_OK);
	add_one(&done);
}

static uint64_t values_sent;

static void *sends_values(void *arg)
{
	for (uint64_t i = 0; i < *(uint64_t *)arg; i++)
		if (coro_chan_send(chan, &i, coro_now() + MS) == CORO_OK)
			values_sent++;
	return NULL;
}

TEST_LIMIT(stress_stream_cases, 300)
{
	delays(DELAYS_USUAL);
	for (size_t bytes = 1; bytes <= 256; bytes *= 16) {
		coro_scheduler *s = start_with(1, 0);
		uint64_t total = scaled(bytes < 16 ? 2000 : 50000);
		pthread_t threads[3];
		open_stream(bytes);
		chan = channel(8, 1);
		chan_values = values_sent = 0;
		struct way to = {ends[1], NULL, total & ~UINT64_C(1), 3, 0, 0};
		struct way from = {NULL, ends[1], total & ~UINT64_C(1), 5, 0, 0};
		spawn(s, serves_all, NULL, 0);
		thread_start(&threads[0], writes_on_a_thread, &to);
		thread_start(&threads[1], reads_on_a_thread, &from);
		thread_start(&threads[2], sends_values, &total);
		sleep_until_seen(&done, 3);
		for (int i = 0; i < 3; i++)
			thread_join(threads[i]);
		CHECK_EQ(chan_values + coro_chan_length(chan), values_sent);
		finish(s);
		CHECK_EQ(coro_chan_free(chan), CORO_OK);
		free_stream();
	}
}
