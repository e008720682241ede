/*
 * t_fd_storm.c - descriptors under storms: deadlines, cancels, closes and numbers that are used
 * again, at random points. Every byte is accounted for on both sides, and nothing is left over.
 */
#include "fds.h"

#include "base/atomics.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static uint64_t ended;

/* open_numbers - how many descriptors the process has. */
static unsigned open_numbers(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static unsigned char byte_at(uint64_t i)
{
	return (unsigned char)(i * 0x9e3779b97f4a7c15 >> 56);
}

/* ------------------------------------------------------------------------ deadlines and cancels */

/* A stream of bytes, of which each call moves some, or none since it has ended early. */
struct stream {
	coro_fd f;
	uint64_t at, all, random;
	bool writes, cancels;
	int64_t result; /* of the last call, made by a child */
};

#define CHUNK 3000

/* move - one call that moves up to CHUNK bytes, with a deadline that may be soon. */
static int64_t move(struct stream *x, uint64_t deadline)
{
	unsigned char bytes[CHUNK];
	size_t n = 1 + rnd(&x->random) % CHUNK;
	int64_t came;

	if (n > x->all - x->at)
		n = x->all - x->at;
	if (x->writes)
		for (size_t i = 0; i < n; i++)
			bytes[i] = byte_at(x->at + i);
	came = x->writes ? coro_write(x->f, bytes, n, deadline)
			 : coro_read(x->f, bytes, n, deadline);
	if (came <= 0) {
		CHECK(came == CORO_ETIMEDOUT || came == CORO_ECANCELED);
		return came;
	}
	if (!x->writes)
		for (int64_t i = 0; i < came; i++)
			CHECK_EQ(bytes[i], byte_at(x->at + (uint64_t)i));
	x->at += (uint64_t)came;
	return came;
}

static void moves_once(void *arg, void *result)
{
	struct stream *x = *(struct stream **)arg;

	(void)result;
	x->result = move(x, CORO_FOREVER);
}

/* in_a_child - a call that is canceled soon, in a coroutine of its own. */
static void in_a_child(struct stream *x)
{
	coro_handle h;
	uint64_t yields = rnd(&x->random) % 4; /* *x is the child's from its spawn to its join */

	CHECK_EQ(coro_spawn_attr(JOINABLE(0), moves_once, &x, sizeof x, &h), CORO_OK);
	for (uint64_t i = 0; i < yields; i++)
		CHECK_EQ(coro_yield(), CORO_OK);
	(void)coro_cancel(h); /* it may have ended */
	int status = coro_join(h, NULL, 0);
	CHECK(status == CORO_OK || status == CORO_ECANCELED);
}

static void streams(void *arg, void *result)
{
	struct stream *x = *(struct stream **)arg;

	(void)result;
	while (x->at < x->all)
		if (x->cancels && rnd(&x->random) % 2)
			in_a_child(x);
		else
			(void)move(x, coro_now() + rnd(&x->random) % 30000);
	add_one(&ended);
}

static void storm_of_ends(uint32_t workers, bool cancels, uint64_t bytes)
{
	enum { PAIRS = 8 };
	static struct stream x[2 * PAIRS];
	static struct pair p[PAIRS];
	coro_scheduler *s = start_with(workers, 0);

	ended = 0;
	for (int i = 0; i < PAIRS; i++) {
		p[i] = i % 2 ? pair_of(s) : pair_of_tcp(s);
		for (int k = 0; k < 2; k++) {
			x[2 * i + k] = (struct stream){.f = k ? p[i].a : p[i].b,
						       .all = bytes,
						       .random = 77 + 2 * (uint64_t)i + (uint64_t)k,
						       .writes = k,
						       .cancels = cancels};
			struct stream *at = &x[2 * i + k];
			spawn(s, streams, &at, sizeof at);
		}
	}
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(ended, 2 * PAIRS);
	for (int i = 0; i < PAIRS; i++) {
		char byte;
		CHECK_EQ(recv(coro_fd_number(p[i].b), &byte, 1, 0), -1);
		pair_close(&p[i]);
	}
	finish(s);
}

TEST_LIMIT(fd_storm_of_deadlines, 300)
{
	unsigned before = open_numbers();

	for (uint32_t workers = 1; workers <= 4; workers *= 2)
		storm_of_ends(workers, false, scaled(2000000));
	CHECK_EQ(open_numbers(), before);
}

TEST_LIMIT(fd_storm_of_cancels, 300)
{
	unsigned before = open_numbers();

	for (uint32_t workers = 1; workers <= 4; workers *= 2)
		storm_of_ends(workers, true, scaled(2000000));
	CHECK_EQ(open_numbers(), before);
}

/* --------------------------------------------------------------------------------------- closes */

/* has_ended - a status, or the end, that a close here or at the peer explains, or a second
 * caller. */
static bool has_ended(int64_t n)
{
	return n == 0 || n == CORO_EBUSY || n == CORO_ECLOSED || n == CORO_ESTALE ||
	       n == CORO_OF_ERRNO(EPIPE) || n == CORO_OF_ERRNO(ECONNRESET);
}

static void reads_until_closed(void *arg, void *result)
{
	char bytes[500];
	int64_t n;

	(void)result;
	while ((n = coro_read(*(coro_fd *)arg, bytes, sizeof bytes, CORO_FOREVER)) > 0)
		;
	CHECK(has_ended(n));
	add_one(&ended);
}

static void writes_until_closed(void *arg, void *result)
{
	char bytes[500] = {0};
	int64_t n;

	(void)result;
	while ((n = coro_write(*(coro_fd *)arg, bytes, sizeof bytes, CORO_FOREVER)) > 0)
		;
	CHECK(has_ended(n));
	add_one(&ended);
}

struct closing {
	coro_fd f;
	uint64_t after;
};

static void closes(void *arg, void *result)
{
	struct closing c = *(struct closing *)arg;

	(void)result;
	if (c.after)
		CHECK_EQ(coro_sleep(c.after), CORO_OK);
	CHECK_EQ(coro_fd_close(c.f), CORO_OK);
	add_one(&ended);
}

/* Two more try the close at the same time, from outside: one of the three succeeds. */
static uint64_t closed;

static void *closes_from_outside(void *arg)
{
	const coro_fd *f = arg;

	for (uint64_t i = 0; i < 2; i++)
		if (coro_fd_close(f[i]) == CORO_OK)
			add_one(&closed);
	return NULL;
}

TEST_LIMIT(fd_storm_of_closes, 300)
{
	unsigned before = open_numbers();
	uint64_t random = 5, n = scaled(4000);

	for (uint32_t workers = 1; workers <= 4; workers *= 2) {
		coro_scheduler *s = start_with(workers, 0);
		for (uint64_t i = 0; i < n; i++) {
			struct pair p = pair_of(s);
			spawn(s, reads_until_closed, &p.a, sizeof p.a);
			spawn(s, writes_until_closed, &p.b, sizeof p.b);
			spawn(s, rnd(&random) % 2 ? reads_until_closed : writes_until_closed,
			      rnd(&random) % 2 ? &p.a : &p.b, sizeof p.a);
			if (i % 8 == 0) {
				coro_fd f[2] = {p.a, p.b};
				pthread_t t[2];
				closed = 0;
				thread_start(&t[0], closes_from_outside, f);
				thread_start(&t[1], closes_from_outside, f);
				thread_join(t[0]);
				thread_join(t[1]);
				CHECK_EQ(closed, 2);
			} else {
				struct closing a = {p.a, rnd(&random) % 50000},
					       b = {p.b, rnd(&random) % 50000};
				spawn(s, closes, &a, sizeof a);
				spawn(s, closes, &b, sizeof b);
			}
			if (i % 64 == 0)
				CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		}
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		finish(s);
	}
	CHECK_EQ(open_numbers(), before);
}

/* --------------------------------------------------------------------------- numbers used again */

/* A pair is made, carries a token, and is closed, so that its numbers come again at once. Readers
 * with the old names must see no token but their own. */
struct token {
	coro_fd f;
	uint64_t token;
};

static void reads_its_token(void *arg, void *result)
{
	struct token t = *(struct token *)arg;
	uint64_t came;
	int64_t n;

	(void)result;
	while ((n = coro_read(t.f, &came, sizeof came, CORO_FOREVER)) == sizeof came)
		CHECK_EQ(came, t.token);
	CHECK(has_ended(n));
}

static void makes_pairs(void *arg, void *result)
{
	uint64_t n = *(uint64_t *)arg & UINT32_MAX, who = *(uint64_t *)arg >> 32, random = 99 + who;

	(void)result;
	for (uint64_t i = 0; i < n; i++) {
		struct token t = {.token = who << 32 | i};
		int fd[2];
		coro_fd f;
		CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
		CHECK_EQ(coro_fd_adopt(&t.f, fd[0], 0), CORO_OK);
		CHECK_EQ(coro_fd_adopt(&f, fd[1], 0), CORO_OK);
		spawn_in(reads_its_token, &t, sizeof t);
		for (uint64_t k = rnd(&random) % 3; k > 0; k--)
			CHECK_EQ(coro_write(f, &t.token, sizeof t.token, CORO_FOREVER),
				 sizeof t.token);
		if (rnd(&random) % 2)
			CHECK_EQ(coro_yield(), CORO_OK);
		/* the reader closes nothing: it may be in its wait, before it, or not begun */
		if (rnd(&random) % 2) {
			CHECK_EQ(coro_fd_close(t.f), CORO_OK);
			CHECK_EQ(coro_fd_close(f), CORO_OK);
		} else {
			CHECK_EQ(coro_fd_close(f), CORO_OK);
			CHECK_EQ(coro_fd_close(t.f), CORO_OK);
		}
	}
	add_one(&ended);
}

TEST_LIMIT(fd_storm_of_numbers_used_again, 300)
{
	unsigned before = open_numbers();

	for (uint32_t workers = 1; workers <= 4; workers *= 2) {
		coro_scheduler *s = start_with(workers, 0);
		ended = 0;
		for (uint64_t who = 0; who < 4; who++) {
			uint64_t arg = who << 32 | scaled(10000);
			spawn(s, makes_pairs, &arg, sizeof arg);
		}
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(ended, 4);
		finish(s);
	}
	CHECK_EQ(open_numbers(), before);
}

/* ------------------------------------------------------------------------------ coroutines move */

#define BALLS 200

static uint64_t rounds;

static void passes(void *arg, void *result)
{
	struct token t = *(struct token *)arg;
	uint64_t random = 1 + t.token, n;

	(void)result;
	for (uint64_t i = 0; i < rounds; i++) {
		if (t.token % 2) {
			n = i * t.token;
			CHECK_EQ(coro_write(t.f, &n, 8, CORO_FOREVER), 8);
			CHECK_EQ(coro_read(t.f, &n, 8, CORO_FOREVER), 8);
			CHECK_EQ(n, i * t.token + 1);
		} else {
			CHECK_EQ(coro_read(t.f, &n, 8, CORO_FOREVER), 8);
			n++;
			CHECK_EQ(coro_write(t.f, &n, 8, CORO_FOREVER), 8);
		}
		if (rnd(&random) % 4 == 0) /* it may be stolen */
			CHECK_EQ(coro_yield(), CORO_OK);
	}
	CHECK_EQ(coro_fd_close(t.f), CORO_OK);
	add_one(&ended);
}

TEST_LIMIT(fd_storm_of_moves, 300)
{
	rounds = scaled(500);
	for (uint32_t workers = 1; workers <= 8; workers *= 2) {
		coro_scheduler *s = start_with(workers, 0);
		ended = 0;
		for (uint64_t i = 0; i < BALLS; i++) {
			struct pair p = i % 2 ? pair_of(s) : pair_of_tcp(s);
			struct token a = {p.a, 2 * i + 1}, b = {p.b, 2 * i};
			spawn(s, passes, &a, sizeof a);
			spawn(s, passes, &b, sizeof b);
		}
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(ended, 2 * BALLS);
		finish(s);
	}
}

/* --------------------------------------------------------------------- batches that end exactly */

static void reads_and_ends(void *arg, void *result)
{
	struct pair p = *(struct pair *)arg;
	char byte;

	(void)result;
	CHECK_EQ(coro_read(p.a, &byte, 1, CORO_FOREVER), 1);
	CHECK_EQ(coro_write(p.b, &byte, 1, CORO_FOREVER), 1);
	CHECK_EQ(coro_fd_close(p.a), CORO_OK);
	add_one(&ended);
}

static void *feeds(void *arg)
{
	int fd = *(int *)arg;
	char byte = 1;

	CHECK_EQ(write(fd, &byte, 1), 1);
	return NULL;
}

/* A run comes to its end when the last coroutine has: neither before, nor never. */
TEST_LIMIT(fd_storm_of_runs, 300)
{
	uint64_t n = scaled(2000);

	for (uint32_t workers = 1; workers <= 2; workers++) {
		coro_options o = options(workers, CORO_PAUSED);
		coro_scheduler *s = start(&o);
		for (uint64_t i = 0; i < n; i++) {
			int number[2];
			pthread_t t;
			CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, number), 0);
			struct pair p = {adopted(s, number[0]), 0};
			p.b = pair_of(s).a;
			ended = 0;
			spawn(s, reads_and_ends, &p, sizeof p);
			thread_start(&t, feeds, &number[1]);
			CHECK_EQ(coro_scheduler_run(s), CORO_OK);
			CHECK_EQ(ended, 1);
			thread_join(t);
			close(number[1]);
			CHECK_EQ(coro_fd_close(p.b), CORO_OK);
			/* the peer of p.b is left for the end */
			if (i % 100 == 99) {
				finish(s);
				s = start(&o);
			}
		}
		finish(s);
	}
}
