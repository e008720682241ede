/*
 * t_linger.c - coro_serve_finish, and the end of a served connection: what was written reaches the
 * peer, within a bound; options of sockets.
 */
#include "fds.h"

#include "base/atomics.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LONG_NS (30000 * MS) /* a bound that no passing test comes to */

static uint64_t done;

/* A connection of the test's, by TCP or Unix: f is adopted, and peer is the other end. */
struct connection {
	coro_fd f;
	int peer;
	uint64_t deadline; /* from now on, ns; 0 and CORO_FOREVER: as that */
	int64_t writes;    /* bytes, before the end */
	int status;
	uint64_t took;
};

static void connect_both(coro_scheduler *s, struct connection *c, bool tcp)
{
	int fd[2];
	struct sockaddr_in to;

	if (!tcp) {
		CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	} else {
		int l = listener(&to);
		fd[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		CHECK_EQ(connect(fd[1], (struct sockaddr *)&to, sizeof to), 0);
		fd[0] = accept4(l, NULL, NULL, SOCK_CLOEXEC);
		close(l);
	}
	c->f = adopted(s, fd[0]);
	c->peer = fd[1];
}

static void finishes(void *arg, void *result)
{
	struct connection *c = *(struct connection **)arg;
	char bytes[4096] = {0};
	uint64_t begun = coro_now();
	int number = coro_fd_number(c->f);

	(void)result;
	for (int64_t n = c->writes, put; n > 0; n -= put)
		if ((put = coro_write(c->f, bytes, sizeof bytes, 0)) < 0)
			break; /* the buffers are full */
	bool bound = c->deadline && c->deadline != CORO_FOREVER;
	c->status = coro_serve_finish(c->f, c->deadline + (bound ? begun : 0));
	c->took = coro_now() - begun;
	CHECK_EQ(coro_fd_number(c->f), CORO_ESTALE);
	CHECK(!is_open(number));
	add_one(&done);
}

static void finish_starts(coro_scheduler *s, struct connection *c, bool tcp)
{
	done = 0;
	connect_both(s, c, tcp);
	spawn(s, finishes, &c, sizeof c);
}

static void finish_is(struct connection *c, int status)
{
	sleep_until_seen(&done, 1);
	CHECK_EQ(c->status, status);
	CHECK_EQ(close(c->peer), 0);
}

/* read_all - read until the end. Returns: how many bytes; -1: an error. */
static int64_t read_all(int fd)
{
	char bytes[4096];
	int64_t sum = 0, n;

	while ((n = recv(fd, bytes, sizeof bytes, 0)) > 0)
		sum += n;
	return n ? -1 : sum;
}

/* The peer writes before it reads, more than all buffers hold: it gets that far, and reads all. It
 * has not everything before that, however slow it is. */
TEST(finish_lets_a_peer_write_first)
{
	coro_scheduler *s = start_with(1, 0);
	struct connection c = {.deadline = LONG_NS, .writes = INT64_MAX};
	static char bytes[1 << 20];

	finish_starts(s, &c, true);
	for (int i = 0; i < 16; i++)
		CHECK_EQ(send(c.peer, bytes, sizeof bytes, MSG_NOSIGNAL), (ssize_t)sizeof bytes);
	CHECK(read_all(c.peer) > 0);
	finish_is(&c, CORO_OK);
	finish(s);
}

/* What the peer has sent before, and nobody has read, does not reset the connection. */
TEST(finish_drops_what_is_unread)
{
	coro_scheduler *s = start_with(1, 0);

	for (int i = 0; i < 4; i++) {
		struct connection c = {.deadline = i < 2 ? LONG_NS : 0, .writes = 100}, *at = &c;
		connect_both(s, &c, i % 2);
		CHECK_EQ(send(c.peer, "unread", 6, 0), 6);
		sleep_us(1000);
		done = 0;
		spawn(s, finishes, &at, sizeof at);
		CHECK(read_all(c.peer) >= 100);
		sleep_until_seen(&done, 1);
		/* that the peer's system has the end is not known at once */
		CHECK(c.status == CORO_OK || (i == 3 && c.status == CORO_ETIMEDOUT));
		CHECK_EQ(close(c.peer), 0);
	}
	finish(s);
}

/* A peer that has everything, and is silent, is not waited for until the deadline. */
TEST(finish_does_not_wait_for_a_silent_peer)
{
	coro_scheduler *s = start_with(1, 0);

	for (int tcp = 0; tcp < 2; tcp++) {
		struct connection c = {.deadline = LONG_NS, .writes = 100};
		finish_starts(s, &c, tcp);
		finish_is(&c, CORO_OK);
		CHECK(c.took < LONG_NS);
	}
	finish(s);
}

/* A peer that never reads has not everything at the deadline. */
TEST(finish_ends_at_its_deadline)
{
	coro_scheduler *s = start_with(1, 0);
	struct connection c = {.deadline = 50 * MS, .writes = INT64_MAX};

	finish_starts(s, &c, true);
	finish_is(&c, CORO_ETIMEDOUT);
	CHECK(c.took >= 50 * MS);
	c = (struct connection){.writes = INT64_MAX};
	finish_starts(s, &c, true); /* and without a wait */
	finish_is(&c, CORO_ETIMEDOUT);
	finish(s);
}

static uint64_t stop;

static void *streams(void *arg)
{
	int fd = *(int *)arg;
	char bytes[4096] = {0};

	while (!seen(&stop) && send(fd, bytes, sizeof bytes, MSG_NOSIGNAL) > 0)
		;
	return NULL;
}

/* One that streams on, and has everything, neither. */
TEST(finish_ends_beside_a_peer_that_streams)
{
	coro_scheduler *s = start_with(1, 0);

	for (int tcp = 0; tcp < 2; tcp++) {
		struct connection c = {.deadline = 30 * MS, .writes = 100};
		pthread_t t;
		stop = 0;
		finish_starts(s, &c, tcp);
		thread_start(&t, streams, &c.peer);
		sleep_until_seen(&done, 1);
		CHECK_EQ(c.status, CORO_OK);
		add_one(&stop);
		thread_join(t);
		close(c.peer);
	}
	finish(s);
}

TEST(finish_hears_of_a_reset)
{
	coro_scheduler *s = start_with(1, 0);
	struct linger at_once = {1, 0};
	struct connection c = {.deadline = LONG_NS, .writes = INT64_MAX};

	finish_starts(s, &c, true);
	until_waiting(s, 1);
	CHECK_EQ(setsockopt(c.peer, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
	CHECK_EQ(close(c.peer), 0);
	sleep_until_seen(&done, 1);
	CHECK_EQ(c.status, CORO_OF_ERRNO(ECONNRESET));
	finish(s);
}

static void is_canceled(void *arg, void *result)
{
	struct connection *c = *(struct connection **)arg;
	coro_handle h;
	coro_attr joinable = {.size = sizeof joinable, .flags = CORO_JOINABLE};

	(void)result;
	CHECK_EQ(coro_spawn_attr(&joinable, finishes, &c, sizeof c, &h), CORO_OK);
	CHECK_EQ(coro_sleep(10 * MS), CORO_OK);
	CHECK_EQ(coro_cancel(h), CORO_OK);
	CHECK_EQ(coro_join(h, NULL, 0), CORO_ECANCELED);
}

TEST(finish_is_canceled)
{
	coro_scheduler *s = start_with(1, 0);
	struct connection c = {.deadline = CORO_FOREVER, .writes = INT64_MAX}, *at = &c;

	done = 0;
	connect_both(s, &c, true);
	spawn(s, is_canceled, &at, sizeof at);
	finish_is(&c, CORO_ECANCELED);
	finish(s);
}

/* ------------------------------------------------------------------------------------ bad input */

static void reads_on(void *arg, void *result)
{
	char byte;

	(void)result;
	CHECK_EQ(coro_read(*(coro_fd *)arg, &byte, 1, CORO_FOREVER), CORO_ECLOSED);
	add_one(&done);
}

static void ignores(const coro_nowait_report *r)
{
	CHECK(!strcmp(r->call, "coro_serve_finish"));
}

static void finishes_what_cannot_be(void *arg, void *result)
{
	coro_fd f, other = *(coro_fd *)arg;
	int fd[2];

	(void)result;
	CHECK_EQ(coro_serve_finish(0, 0), CORO_ESTALE);
	CHECK_EQ(coro_serve_finish(other, 0), CORO_EPERM);
	/* a pipe, and a socket that was never connected */
	CHECK_EQ(pipe(fd), 0);
	CHECK_EQ(coro_fd_adopt(&f, fd[1], 0), CORO_OK);
	CHECK_EQ(coro_serve_finish(f, CORO_FOREVER), CORO_OK);
	CHECK(!is_open(fd[1]));
	close(fd[0]);
	CHECK_EQ(coro_fd_adopt(&f, socket(AF_INET, SOCK_STREAM, 0), 0), CORO_OK);
	CHECK_EQ(coro_serve_finish(f, CORO_FOREVER), CORO_OF_ERRNO(ENOTCONN));
	CHECK_EQ(coro_serve_finish(f, CORO_FOREVER), CORO_ESTALE);
	/* where it must not wait */
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	CHECK_EQ(coro_fd_adopt(&f, fd[0], 0), CORO_OK);
	CHECK_EQ(coro_nowait_begin("t_linger"), CORO_OK);
	CHECK_EQ(coro_serve_finish(f, 1), CORO_ENOWAIT);
	CHECK_EQ(coro_fd_number(f), fd[0]);
	CHECK_EQ(coro_nowait_end(), CORO_OK);
	/* another one reads */
	CHECK_EQ(coro_spawn(reads_on, &f, sizeof f), CORO_OK);
	CHECK_EQ(coro_sleep(10 * MS), CORO_OK);
	CHECK_EQ(coro_serve_finish(f, CORO_FOREVER), CORO_EBUSY);
	CHECK_EQ(coro_serve_ends(f), CORO_ECLOSED);
	CHECK_EQ(coro_sleep(10 * MS), CORO_OK);
	CHECK_EQ(recv(fd[1], fd, 1, 0), 0);
	close(fd[1]);
}

TEST(finish_bad_input)
{
	coro_scheduler *s = start_with(1, 0), *other = start_with(1, 0);
	struct sockaddr_in to;
	coro_fd f = adopted(other, listener(&to));

	done = 0;
	CHECK_EQ(coro_serve_finish(f, 0), CORO_EPERM);
	coro_nowait_hook before = coro_nowait_on_error(ignores);
	spawn(s, finishes_what_cannot_be, &f, sizeof f);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(done, 1);
	coro_nowait_on_error(before);
	CHECK_EQ(coro_fd_close(f), CORO_OK);
	finish(s);
	finish(other);
}

/* ------------------------------------------------------------------------- served connections */

static coro_serve_options how;
static uint64_t served, ended;

static void serves(void *arg, void *result)
{
	struct {
		coro_fd listener;
		coro_fn fn;
	} *v = arg;

	(void)result;
	int status = coro_serve(v->listener, NULL, v->fn, &how);
	CHECK_EQ(status, coro_canceled() ? CORO_ECANCELED : CORO_ECLOSED);
	add_one(&ended);
}

/* A server, and a client of it: what they share. */
static coro_fd serve_one(coro_scheduler *s, coro_fn fn, int *client)
{
	struct sockaddr_in to;
	struct {
		coro_fd listener;
		coro_fn fn;
	} v = {adopted(s, listener(&to)), fn};

	served = ended = 0;
	how.size = sizeof how;
	spawn(s, serves, &v, sizeof v);
	*client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_EQ(connect(*client, (struct sockaddr *)&to, sizeof to), 0);
	return v.listener;
}

#define ANSWER 60000 /* bytes: the peer's first buffer is smaller */

/* answer - to the first byte of many. */
static void answer(coro_fd f)
{
	static char bytes[ANSWER];

	CHECK_EQ(coro_read(f, bytes, 1, CORO_FOREVER), 1);
	CHECK_EQ(coro_write_all(f, bytes, ANSWER, NULL, CORO_FOREVER), CORO_OK);
	add_one(&served);
}

static void returns(void *arg, void *result)
{
	(void)result;
	answer(*(coro_fd *)arg);
}

static void exits(void *arg, void *result)
{
	(void)result;
	answer(*(coro_fd *)arg);
	coro_exit();
}

static void aborts(void *arg, void *result)
{
	(void)result;
	answer(*(coro_fd *)arg);
	coro_abort();
}

static void fails(void *arg, void *result)
{
	(void)result;
	answer(*(coro_fd *)arg);
	coro_fail(1, "on purpose");
}

static void finishes_itself(void *arg, void *result)
{
	coro_fd f = *(coro_fd *)arg;

	(void)result;
	answer(f);
	CHECK_EQ(coro_serve_finish(f, coro_now() + LONG_NS), CORO_OK);
	CHECK_EQ(coro_fd_number(f), CORO_ESTALE);
}

/* Whatever has come is unread, and more comes after the answer. */
TEST(serve_end_lets_the_peer_have_its_answer)
{
	static const coro_fn fn[] = {returns, exits, finishes_itself, aborts, fails};
	coro_scheduler *s = start_with(2, 0);
	static char requests[100000];
	int client;

	how = (coro_serve_options){.linger = LONG_NS};
	for (size_t i = 0; i < sizeof fn / sizeof *fn; i++) {
		coro_fd listener = serve_one(s, fn[i], &client);
		CHECK_EQ(send(client, requests, sizeof requests, 0), (ssize_t)sizeof requests);
		sleep_until_seen(&served, 1);
		bool resets = fn[i] == aborts || fn[i] == fails;
		if (!resets) {
			for (int k = 0; k < 10; k++)
				CHECK_EQ(send(client, requests, 100, MSG_NOSIGNAL), 100);
			CHECK_EQ(read_all(client), ANSWER);
		} else {
			CHECK_EQ(read_all(client), -1);
		}
		CHECK_EQ(close(client), 0);
		CHECK_EQ(coro_fd_close(listener), CORO_OK);
		sleep_until_seen(&ended, 1);
	}
	finish(s);
}

static uint64_t wrote; /* when */

/* writes_much - to a peer that does not read. It ends when the buffers are full. */
static void writes_much(void *arg, void *result)
{
	static char bytes[4096];

	(void)result;
	while (coro_write(*(coro_fd *)arg, bytes, sizeof bytes, 0) > 0)
		;
	wrote = now_ns();
	add_one(&served);
}

/* The server waits for a connection that lingers, for that time, also when the time of grace is
 * over before. The connection counts for the limit meanwhile. */
TEST(serve_end_waits_for_those_that_linger)
{
	coro_scheduler *s = start_with(2, 0);
	int client, second;
	struct sockaddr_in to;
	socklen_t length = sizeof to;

	how = (coro_serve_options){.grace = 1, .linger = 300 * MS, .limit = 1};
	coro_fd listener = serve_one(s, writes_much, &client);
	sleep_until_seen(&served, 1);
	CHECK_EQ(getpeername(client, (struct sockaddr *)&to, &length), 0);
	second = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_EQ(connect(second, (struct sockaddr *)&to, sizeof to), 0);
	sleep_us(10000);
	CHECK_EQ(seen(&served), 1);
	CHECK_EQ(coro_fd_close(listener), CORO_OK);
	sleep_until_seen(&ended, 1);
	CHECK(now_ns() - wrote >= how.linger);
	close(client);
	close(second);
	finish(s);
}

/* A close of the scheduler that cancels does not wait for them. */
TEST(serve_lingers_not_where_all_is_canceled)
{
	coro_scheduler *s = start_with(2, 0);
	int client;

	how = (coro_serve_options){.linger = CORO_FOREVER};
	serve_one(s, writes_much, &client);
	sleep_until_seen(&served, 1);
	CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
	CHECK_EQ(ended, 1);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	close(client);
}

/* tells_options - of its connection. */
static int told[5];

static void tells_options(void *arg, void *result)
{
	static const int option[5][2] = {
		{IPPROTO_TCP, TCP_NODELAY},  {SOL_SOCKET, SO_KEEPALIVE},
		{IPPROTO_TCP, TCP_KEEPIDLE}, {IPPROTO_TCP, TCP_KEEPINTVL},
		{IPPROTO_TCP, TCP_KEEPCNT},
	};
	int fd = coro_fd_number(*(coro_fd *)arg);

	(void)result;
	for (int i = 0; i < 5; i++) {
		socklen_t length = sizeof *told;
		CHECK_EQ(getsockopt(fd, option[i][0], option[i][1], &told[i], &length), 0);
	}
	CHECK(told[0] == 1 && told[1] == 1);
	CHECK(told[2] == 15 && told[3] == 15 && told[4] == 9);
	add_one(&served);
}

/* Two connections that have come before their listener was served, and one that comes later. */
TEST(serve_sets_options)
{
	coro_scheduler *s = start_with(1, 0);
	struct sockaddr_in to;
	struct {
		coro_fd listener;
		coro_fn fn;
	} v = {adopted(s, listener(&to)), tells_options};
	int fd[3];

	how = (coro_serve_options){.size = sizeof how};
	served = ended = 0;
	for (int i = 0; i < 3; i++) {
		fd[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		CHECK_EQ(connect(fd[i], (struct sockaddr *)&to, sizeof to), 0);
		if (i == 1) {
			spawn(s, serves, &v, sizeof v);
			sleep_until_seen(&served, 2);
		}
	}
	sleep_until_seen(&served, 3);
	CHECK_EQ(coro_fd_close(v.listener), CORO_OK);
	sleep_until_seen(&ended, 1);
	for (int i = 0; i < 3; i++)
		close(fd[i]);
	finish(s);
}
