/*
 * t_fd_storm.c - descriptors under storms: deadlines, cancels, closes and numbers that are used
 * again, at random points. Every byte is accounted for on both sides, and nothing is left over.
 */
#include "fds.h"

#include "base/atomics.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
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

/* The bytes of a stream, over and over. */
#define PERIOD ((uint64_t)1 << 20)

static unsigned char byte_at(uint64_t i)
{
	return (unsigned char)(i % PERIOD * 0x9e3779b97f4a7c15 >> 56);
}

/* ------------------------------------------------------------------------ deadlines and cancels */

/* The calls that wait: those of a stream that read, those that write, and coro_accept. */
enum {
	READ,
	READV,
	RECV,
	RECVMSG,
	WAIT_IN,
	WRITE,
	WRITEV,
	SEND,
	SENDMSG,
	WAIT_OUT,
	SENDFILE,
	ACCEPT,
	CALLS
};

/* How many of each a deadline has ended, and a cancel. */
static uint64_t late[CALLS], canceled[CALLS];

static uint64_t sum_of(const uint64_t *n)
{
	uint64_t sum = 0;

	for (int i = 0; i < CALLS; i++)
		sum += seen(&n[i]);
	return sum;
}

/* note_end - count a call that has ended early. */
static void note_end(int call, int64_t status)
{
	CHECK(status == CORO_ETIMEDOUT || status == CORO_ECANCELED);
	add_one(status == CORO_ETIMEDOUT ? &late[call] : &canceled[call]);
}

/* A stream of bytes, of which each call moves some, or none since it has ended early. */
struct stream {
	coro_fd f;
	uint64_t at, random;
	const uint64_t *until; /* the writer stops when it has come to... */
	uint64_t enough;
	bool writes, cancels, over;
	bool slow; /* it sleeps, so that the other side waits */
};

static int
	period; /* a file with the bytes. The kernel sends its pages: they must stay as they are */

#define CHUNK 3000

/* call - one of the calls. *what says which. */
static int64_t call(struct stream *x, unsigned char *bytes, size_t n, uint64_t deadline, int *what)
{
	struct iovec v[2] = {{bytes, n / 2}, {bytes + n / 2, n - n / 2}};
	struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
	int64_t offset = (int64_t)(x->at % PERIOD), status;

	*what = (int)(x->writes ? WRITE + rnd(&x->random) % 6 : READ + rnd(&x->random) % 5);
	switch (*what) {
	case READ:
		return coro_read(x->f, bytes, n, deadline);
	case READV:
		return coro_readv(x->f, v, 2, deadline);
	case RECV:
		return coro_recv(x->f, bytes, n, 0, deadline);
	case RECVMSG:
		return coro_recvmsg(x->f, &m, 0, deadline);
	case WAIT_IN:
		status = coro_fd_wait(x->f, CORO_IN, deadline);
		return status ? status : coro_read(x->f, bytes, n, deadline);
	case WRITE:
		return coro_write(x->f, bytes, n, deadline);
	case WRITEV:
		return coro_writev(x->f, v, 2, deadline);
	case SEND:
		return coro_send(x->f, bytes, n, 0, deadline);
	case SENDMSG:
		return coro_sendmsg(x->f, &m, 0, deadline);
	case WAIT_OUT:
		status = coro_fd_wait(x->f, CORO_OUT, deadline);
		return status ? status : coro_write(x->f, bytes, n, deadline);
	default:
		return coro_sendfile(x->f, period, &offset, n, deadline);
	}
}

/* move - one call that moves up to CHUNK bytes, with a deadline that may be soon. */
static void move(struct stream *x, uint64_t deadline)
{
	unsigned char bytes[CHUNK];
	size_t n = 1 + rnd(&x->random) % CHUNK;
	int what;

	if (x->writes)
		for (size_t i = 0; i < n; i++)
			bytes[i] = byte_at(x->at + i);
	int64_t came = call(x, bytes, n, deadline, &what);
	if (came < 0) {
		note_end(what, came);
		return;
	}
	CHECK(came > 0 || !x->writes);
	x->over = came == 0;
	if (!x->writes)
		for (int64_t i = 0; i < came; i++)
			CHECK_EQ(bytes[i], byte_at(x->at + (uint64_t)i));
	x->at += (uint64_t)came;
}

static void moves_once(void *arg, void *result)
{
	(void)result;
	move(*(struct stream **)arg, CORO_FOREVER);
}

/* in_a_child - fn, which is canceled soon, in a coroutine of its own. */
static void in_a_child(coro_fn fn, void *x, uint64_t *random)
{
	coro_handle h;
	uint64_t yields = rnd(random) %
			  4; /* *random may be the child's from its spawn to its join */

	CHECK_EQ(coro_spawn_attr(JOINABLE(0), fn, &x, sizeof x, &h), CORO_OK);
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
	while (x->writes ? sum_of(x->until) < x->enough : !x->over)
		if (x->slow && rnd(&x->random) % 8)
			CHECK_EQ(coro_sleep(rnd(&x->random) % 100000), CORO_OK);
		else if (x->cancels && rnd(&x->random) % 2)
			in_a_child(moves_once, x, &x->random);
		else
			move(x, coro_now() + rnd(&x->random) % 30000);
	if (x->writes)
		CHECK_EQ(coro_shutdown(x->f, SHUT_WR), CORO_OK);
	add_one(&ended);
}

/* storm_of_ends - until `enough` calls have ended by a deadline, or by a cancel. */
static void storm_of_ends(uint32_t workers, bool cancels, uint64_t enough)
{
	enum { PAIRS = 8 };
	static struct stream x[2 * PAIRS];
	static struct pair p[PAIRS];
	coro_scheduler *s = start_with(workers, 0);
	const uint64_t *until = cancels ? canceled : late;
	int small = 1; /* the kernel makes it the least that it has */

	ended = 0;
	enough += sum_of(until);
	for (int i = 0; i < PAIRS; i++) {
		p[i] = i % 2 ? pair_of(s) : pair_of_tcp(s);
		CHECK_EQ(setsockopt(coro_fd_number(p[i].a), SOL_SOCKET, SO_SNDBUF, &small,
				    sizeof small),
			 0);
		for (int k = 0; k < 2; k++) {
			struct stream *at = &x[2 * i + k];
			*at = (struct stream){.f = k ? p[i].a : p[i].b,
					      .random = 77 + 2 * (uint64_t)i + (uint64_t)k,
					      .until = until,
					      .enough = enough,
					      .writes = k,
					      .cancels = cancels,
					      .slow = k == i / 2 % 2};
			spawn(s, streams, &at, sizeof at);
		}
	}
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(ended, 2 * PAIRS);
	for (int i = 0; i < PAIRS; i++) {
		CHECK_EQ(x[2 * i].at, x[2 * i + 1].at);
		pair_close(&p[i]);
	}
	finish(s);
}

/* A listener, of which connections are accepted that come now and then. */
struct accepting {
	coro_fd f;
	struct sockaddr_un to;
	socklen_t length;
	uint64_t random, accepted, connected;
	const uint64_t *until;
	uint64_t enough;
	bool cancels;
};

static void accept_one(struct accepting *x, uint64_t deadline)
{
	coro_fd f;
	int status = coro_accept(x->f, &f, NULL, NULL, deadline);

	if (status) {
		note_end(ACCEPT, status);
		return;
	}
	x->accepted++;
	CHECK_EQ(coro_fd_close(f), CORO_OK);
}

static void accepts_once(void *arg, void *result)
{
	(void)result;
	accept_one(*(struct accepting **)arg, CORO_FOREVER);
}

static void accepts(void *arg, void *result)
{
	struct accepting *x = *(struct accepting **)arg;

	(void)result;
	while (seen(&x->until[ACCEPT]) < x->enough)
		if (x->cancels && rnd(&x->random) % 2)
			in_a_child(accepts_once, x, &x->random);
		else
			accept_one(x, coro_now() + rnd(&x->random) % 30000);
	add_one(&ended);
}

static void connects(void *arg, void *result)
{
	struct accepting *x = *(struct accepting **)arg;
	uint64_t random = 5;

	(void)result;
	while (!seen(&ended)) {
		coro_fd f;
		CHECK_EQ(coro_fd_adopt(&f, socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), 0),
			 CORO_OK);
		CHECK_EQ(coro_connect(f, (struct sockaddr *)&x->to, x->length, CORO_FOREVER),
			 CORO_OK);
		x->connected++;
		CHECK_EQ(coro_fd_close(f), CORO_OK);
		CHECK_EQ(coro_sleep(rnd(&random) % 50000), CORO_OK);
	}
	while (x->accepted < x->connected) /* one worker */
		accept_one(x, CORO_FOREVER);
}

static void storm_of_accepts(bool cancels, uint64_t enough)
{
	static struct accepting x;
	struct accepting *at = &x;
	coro_scheduler *s = start_with(1, 0);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	x = (struct accepting){.to = {.sun_family = AF_UNIX},
			       .length = sizeof x.to,
			       .random = 9,
			       .until = cancels ? canceled : late,
			       .cancels = cancels};
	x.enough = seen(&x.until[ACCEPT]) + enough;
	/* a name that the kernel makes */
	CHECK_EQ(bind(fd, (struct sockaddr *)&x.to, sizeof(sa_family_t)), 0);
	CHECK_EQ(getsockname(fd, (struct sockaddr *)&x.to, &x.length), 0);
	CHECK_EQ(listen(fd, 1024), 0);
	x.f = adopted(s, fd);
	ended = 0;
	spawn(s, accepts, &at, sizeof at);
	spawn(s, connects, &at, sizeof at);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(x.accepted, x.connected);
	CHECK_EQ(coro_fd_close(x.f), CORO_OK);
	finish(s);
}

/* A million of either with CORO_TEST_SCALE=100. */
static void storms_of_ends(bool cancels)
{
	const uint64_t *n = cancels ? canceled : late;
	unsigned before = open_numbers();
	static unsigned char bytes[PERIOD];

	for (uint64_t i = 0; i < PERIOD; i++)
		bytes[i] = byte_at(i);
	period = memfd_create("period", MFD_CLOEXEC);
	CHECK_EQ(write(period, bytes, PERIOD), PERIOD);
	for (uint32_t workers = 1; workers <= 4; workers *= 2)
		storm_of_ends(workers, cancels, scaled(3300));
	storm_of_accepts(cancels, scaled(300));
	close(period);
	CHECK_EQ(open_numbers(), before);
	report("%" PRIu64 " calls that were ended by a %s: read %" PRIu64 ", readv %" PRIu64
	       ", recv %" PRIu64 ", recvmsg %" PRIu64 ", wait in %" PRIu64 ", write %" PRIu64
	       ", writev %" PRIu64 ", send %" PRIu64 ", sendmsg %" PRIu64 ", wait out %" PRIu64
	       ", sendfile %" PRIu64 ", accept %" PRIu64,
	       sum_of(n), cancels ? "cancel" : "deadline", n[READ], n[READV], n[RECV], n[RECVMSG],
	       n[WAIT_IN], n[WRITE], n[WRITEV], n[SEND], n[SENDMSG], n[WAIT_OUT], n[SENDFILE],
	       n[ACCEPT]);
	CHECK(sum_of(n) >= scaled(10000));
}

TEST_LIMIT(fd_storm_of_deadlines, 300)
{
	storms_of_ends(false);
}

TEST_LIMIT(fd_storm_of_cancels, 300)
{
	storms_of_ends(true);
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
	for (int i = 1; (n = coro_write(*(coro_fd *)arg, bytes, sizeof bytes, CORO_FOREVER)) > 0;
	     i++)
		if (i % 8 == 0) /* the reader waits */
			CHECK_EQ(coro_sleep(10000), CORO_OK);
	CHECK(has_ended(n));
	add_one(&ended);
}

static uint64_t closed;

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
	add_one(&closed);
}

/* Two try the close at the same time, from outside: one of them succeeds. */
static void *closes_from_outside(void *arg)
{
	const coro_fd *f = arg;

	for (uint64_t i = 0; i < 2; i++)
		if (coro_fd_close(f[i]) == CORO_OK)
			add_one(&closed);
	return NULL;
}

struct storm {
	coro_scheduler *s;
	uint64_t pairs;
};

/* makes_closes - spawns pairs whose ends are closed at random points. */
static void makes_closes(void *arg, void *result)
{
	const struct storm *x = arg;
	uint64_t random = 5;

	(void)result;
	for (uint64_t i = 0; i < x->pairs; i++) {
		struct pair p = pair_of(x->s);
		spawn_in(reads_until_closed, &p.a, sizeof p.a);
		spawn_in(writes_until_closed, &p.b, sizeof p.b);
		spawn_in(rnd(&random) % 2 ? reads_until_closed : writes_until_closed,
			 rnd(&random) % 2 ? &p.a : &p.b, sizeof p.a);
		if (i % 64 == 0) {
			coro_fd f[2] = {p.a, p.b};
			pthread_t t[2];
			uint64_t before = closed;
			thread_start(&t[0], closes_from_outside, f);
			thread_start(&t[1], closes_from_outside, f);
			thread_join(t[0]);
			thread_join(t[1]);
			CHECK_EQ(closed, before + 2);
		} else {
			struct closing a = {p.a, rnd(&random) % 20000},
				       b = {p.b, rnd(&random) % 20000};
			spawn_in(closes, &a, sizeof a);
			spawn_in(closes, &b, sizeof b);
		}
		while (i % 16 == 15 && seen(&closed) < 2 * (i + 1))
			CHECK_EQ(coro_sleep(20000), CORO_OK);
	}
}

TEST_LIMIT(fd_storm_of_closes, 300)
{
	unsigned before = open_numbers();
	uint64_t n = scaled(DELAYED ? 1700 : 4000), all = 0;

	for (uint32_t workers = 1; workers <= 4; workers *= 2) {
		coro_scheduler *s = start_with(workers, 0);
		struct storm x = {s, n};
		closed = 0;
		spawn(s, makes_closes, &x, sizeof x);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(closed, 2 * n);
		all += closed;
		finish(s);
	}
	CHECK_EQ(open_numbers(), before);
	report("%" PRIu64 " descriptors closed", all);
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
	uint64_t n = scaled(DELAYED ? 500 : 10000), used = 0;

	for (uint32_t workers = 1; workers <= 4; workers *= 2) {
		coro_scheduler *s = start_with(workers, 0);
		ended = 0;
		for (uint64_t who = 0; who < 4; who++) {
			uint64_t arg = who << 32 | n;
			spawn(s, makes_pairs, &arg, sizeof arg);
			used += 2 * n;
		}
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(ended, 4);
		finish(s);
	}
	CHECK_EQ(open_numbers(), before);
	report("%" PRIu64 " numbers used again", used);
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
	rounds = scaled(DELAYED ? 10 : 500);
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
	uint64_t n = scaled(DELAYED ? 200 : 2000);

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
