/*
 * t_fd.c - adopted descriptors: each call, each error, and what a wait for a descriptor means for
 * its scheduler.
 */
#include "fds.h"
#include "gostand.h"

#include "base/atomics.h"
#include "io/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

static uint64_t counted;
static struct pair pair;

static uint64_t soon(uint64_t ns)
{
	return coro_now() + ns;
}

/* --------------------------------------------------------------------------- a value to and fro */

#define ROUNDS 1000

static void answers(void *arg, void *result)
{
	struct pair *p = *(struct pair **)arg;
	uint64_t n;

	(void)result;
	while (coro_read(p->b, &n, sizeof n, CORO_FOREVER) == sizeof n) {
		n++;
		CHECK_EQ(coro_write(p->b, &n, sizeof n, CORO_FOREVER), sizeof n);
	}
	CHECK_EQ(coro_fd_close(p->b), CORO_OK);
}

static void asks(void *arg, void *result)
{
	struct pair *p = *(struct pair **)arg;

	(void)result;
	for (uint64_t i = 0, n = 0; i < ROUNDS; i++, n++) {
		CHECK_EQ(coro_write(p->a, &n, sizeof n, CORO_FOREVER), sizeof n);
		uint64_t came;
		CHECK_EQ(coro_read(p->a, &came, sizeof came, CORO_FOREVER), sizeof came);
		CHECK_EQ(came, n + 1);
	}
	CHECK_EQ(coro_fd_close(p->a), CORO_OK);
	add_one(&counted);
}

TEST(fd_values_go_to_and_fro)
{
	static struct pair p[10];

	for (uint32_t workers = 1; workers <= 4; workers *= 2) {
		coro_scheduler *s = start_with(workers, 0);
		counted = 0;
		for (int i = 0; i < 10; i++) {
			struct pair *at = &p[i];
			*at = i % 2 ? pair_of(s) : pair_of_tcp(s);
			spawn(s, answers, &at, sizeof at);
			spawn(s, asks, &at, sizeof at);
		}
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(counted, 10);
		finish(s);
	}
}

/* ---------------------------------------------------------------------------- adopting and back */

static void adopts_badly(void *arg, void *result)
{
	int fd[2];
	coro_fd f = 77, g;

	(void)arg;
	(void)result;
	CHECK_EQ(pipe(fd), 0);
	CHECK_EQ(coro_fd_adopt(NULL, fd[0], 0), CORO_EINVAL);
	CHECK_EQ(coro_fd_adopt(&f, fd[0], 2), CORO_EINVAL);
	CHECK_EQ(coro_fd_adopt(&f, -1, 0), CORO_OF_ERRNO(EBADF));
	CHECK_EQ(coro_fd_adopt(&f, 999999, 0), CORO_OF_ERRNO(EBADF));
	CHECK_EQ(coro_fd_adopt(&f, 1 << 30, 0), CORO_ENOMEM);
	CHECK_EQ(CORO_ERRNO(CORO_OF_ERRNO(EBADF)), EBADF);
	CHECK_EQ(CORO_ERRNO(CORO_EINVAL), 0);
	CHECK(strcmp(coro_strerror(CORO_OF_ERRNO(EBADF)), strerror(EBADF)) == 0);
	CHECK_EQ(f, 77);
	CHECK_EQ(coro_fd_adopt(&f, fd[0], 0), CORO_OK);
	CHECK_EQ(coro_fd_adopt(&g, fd[0], 0), CORO_EBUSY);
	CHECK(fcntl(fd[0], F_GETFL) & O_NONBLOCK);
	int number = -1;
	CHECK_EQ(coro_fd_release(f, NULL), CORO_EINVAL);
	CHECK_EQ(coro_fd_release(f, &number), CORO_OK);
	CHECK_EQ(number, fd[0]);
	CHECK(!(fcntl(fd[0], F_GETFL) & O_NONBLOCK));
	CHECK_EQ(coro_fd_release(f, &number), CORO_ESTALE);
	CHECK_EQ(coro_fd_close(f), CORO_ESTALE);
	CHECK_EQ(coro_fd_number(f), CORO_ESTALE);
	CHECK_EQ(coro_read(f, &number, 1, CORO_FOREVER), CORO_ESTALE);
	CHECK_EQ(coro_read(0, &number, 1, CORO_FOREVER), CORO_ESTALE);
	CHECK_EQ(coro_read(UINT64_MAX, &number, 1, CORO_FOREVER), CORO_ESTALE);
	/* a new name for the same number; blocking or not stays as it was */
	CHECK_EQ(fcntl(fd[0], F_SETFL, O_NONBLOCK), 0);
	CHECK_EQ(coro_fd_adopt(&g, fd[0], CORO_FD_KEEP), CORO_OK);
	CHECK(g != f);
	CHECK_EQ(coro_fd_close(g), CORO_OK);
	CHECK(is_open(fd[0]));
	CHECK(fcntl(fd[0], F_GETFL) & O_NONBLOCK);
	CHECK_EQ(coro_fd_adopt(&g, fd[0], 0), CORO_OK);
	CHECK_EQ(coro_fd_close(g), CORO_OK);
	CHECK(!is_open(fd[0]));
	close(fd[1]);
}

static void others(void *arg, void *result)
{
	coro_fd f = *(coro_fd *)arg;
	char byte;

	(void)result;
	CHECK_EQ(coro_read(f, &byte, 1, CORO_FOREVER), CORO_EPERM);
	CHECK_EQ(coro_shutdown(f, SHUT_WR), CORO_EPERM);
}

TEST(fd_is_adopted_and_comes_back)
{
	coro_scheduler *s = start_with(1, 0), *t = start_with(1, 0);
	char byte = 1;

	spawn(s, adopts_badly, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	struct pair p = pair_of(s);
	coro_fd f;
	CHECK_EQ(coro_fd_adopt(&f, 0, 0), CORO_EPERM);
	CHECK_EQ(coro_scheduler_adopt(NULL, &f, 0, 0), CORO_EINVAL);
	CHECK_EQ(coro_write(p.a, &byte, 1, 0), CORO_EPERM); /* the test is no coroutine */
	spawn(t, others, &p.a, sizeof p.a);
	CHECK_EQ(coro_scheduler_wait(t), CORO_OK);
	/* what is left is closed at the end */
	int number = coro_fd_number(p.a);
	CHECK(is_open(number));
	finish(s);
	CHECK(!is_open(number));
	CHECK_EQ(coro_fd_close(p.b), CORO_ESTALE);
	finish(t);
}

/* ------------------------------------------------------------------------- ends of a wait */

static void waits_in_vain(void *arg, void *result)
{
	char byte = 0;

	(void)arg;
	(void)result;
	CHECK_EQ(coro_read(pair.a, &byte, 1, 0), CORO_ETIMEDOUT);
	CHECK_EQ(coro_read(pair.a, &byte, 1, soon(MS)), CORO_ETIMEDOUT);
	CHECK_EQ(coro_fd_wait(pair.a, CORO_IN, soon(MS)), CORO_ETIMEDOUT);
	CHECK_EQ(coro_fd_wait(pair.a, CORO_OUT, CORO_FOREVER), CORO_OK);
	CHECK_EQ(coro_fd_wait(pair.a, 3, CORO_FOREVER), CORO_EINVAL);
	CHECK_EQ(coro_nowait_begin("t_fd"), CORO_OK);
	CHECK_EQ(coro_read(pair.a, &byte, 1, 0), CORO_ETIMEDOUT);
	CHECK_EQ(coro_read(pair.a, &byte, 1, CORO_FOREVER), CORO_ENOWAIT);
	CHECK_EQ(coro_nowait_end(), CORO_OK);
	add_one(&counted);
	/* canceled */
	CHECK_EQ(coro_read(pair.a, &byte, 1, CORO_FOREVER), CORO_ECANCELED);
	CHECK_EQ(coro_write(pair.b, "xy", 2, CORO_FOREVER), 2);
	/* nothing was taken, and a call that need not wait goes on */
	CHECK_EQ(coro_read(pair.a, &byte, 1, CORO_FOREVER), 1);
	CHECK_EQ(byte, 'x');
	add_one(&counted);
}

static void is_second(void *arg, void *result)
{
	char byte;
	int fd;

	(void)arg;
	(void)result;
	CHECK_EQ(coro_read(pair.a, &byte, 1, CORO_FOREVER), CORO_EBUSY);
	CHECK_EQ(coro_fd_release(pair.a, &fd), CORO_EBUSY);
	CHECK_EQ(coro_write(pair.a, "z", 1, CORO_FOREVER), 1); /* the other direction is free */
	add_one(&counted);
}

TEST(fd_wait_ends_by_deadline_and_cancel)
{
	coro_handle h;

	for (uint32_t workers = 1; workers <= 2; workers++) {
		coro_scheduler *s = start_with(workers, 0);
		counted = 0;
		pair = pair_of(s);
		CHECK_EQ(coro_scheduler_spawn(s, NULL, waits_in_vain, NULL, 0, &h), CORO_OK);
		sleep_until_seen(&counted, 1);
		until_waiting(s, 1);
		spawn(s, is_second, NULL, 0);
		sleep_until_seen(&counted, 2);
		CHECK_EQ(coro_cancel(h), CORO_OK);
		sleep_until_seen(&counted, 3);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		pair_close(&pair);
		finish(s);
	}
}

static void is_closed(void *arg, void *result)
{
	char byte = 0;
	int64_t n = *(int *)arg ? coro_write(pair.a, &byte, 1, CORO_FOREVER)
				: coro_read(pair.a, &byte, 1, CORO_FOREVER);

	(void)result;
	CHECK_EQ(n, CORO_ECLOSED);
	add_one(&counted);
}

static void fill(coro_fd f)
{
	static char bytes[1 << 16];

	while (coro_write(f, bytes, sizeof bytes, 0) > 0)
		;
}

static void fills_and_waits(void *arg, void *result)
{
	fill(pair.a);
	is_closed(arg, result);
}

TEST(fd_close_ends_the_waits)
{
	for (uint32_t workers = 1; workers <= 2; workers++) {
		coro_scheduler *s = start_with(workers, 0);
		int writes = 0;
		counted = 0;
		pair = pair_of(s);
		int number = coro_fd_number(pair.a);
		spawn(s, is_closed, &writes, sizeof writes);
		writes = 1;
		spawn(s, fills_and_waits, &writes, sizeof writes);
		until_waiting(s, 2);
		CHECK_EQ(coro_fd_close(pair.a), CORO_OK);
		CHECK(coro_fd_close(pair.a) != CORO_OK);
		sleep_until_seen(&counted, 2);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK(!is_open(number));
		CHECK_EQ(coro_fd_close(pair.b), CORO_OK);
		finish(s);
	}
}

static void reads_to_the_end(void *arg, void *result)
{
	char bytes[100];

	(void)arg;
	(void)result;
	CHECK_EQ(coro_read(pair.a, bytes, 100, CORO_FOREVER), 5); /* a short read */
	add_one(&counted);
	CHECK_EQ(coro_read(pair.a, bytes, 100, CORO_FOREVER), 3); /* and one with the end behind */
	CHECK_EQ(coro_read(pair.a, bytes, 100, CORO_FOREVER), 0);
	CHECK_EQ(coro_read(pair.a, bytes, 100, CORO_FOREVER), 0);
	CHECK_EQ(coro_write(pair.a, "w", 1, CORO_FOREVER), 1); /* the peer still reads */
	add_one(&counted);
}

/* Data and the end come in one edge: after the short read nothing more would be told. */
TEST(fd_half_close_is_seen_behind_data)
{
	for (int i = 0; i < 100; i++) {
		coro_scheduler *s = start_with(1 + (uint32_t)i % 2, 0);
		counted = 0;
		pair = i % 4 < 2 ? pair_of(s) : pair_of_tcp(s);
		int number = coro_fd_number(pair.b);
		spawn(s, reads_to_the_end, NULL, 0);
		until_waiting(s, 1);
		CHECK_EQ(write(number, "12345", 5), 5);
		sleep_until_seen(&counted, 1);
		until_waiting(s, 1);
		CHECK_EQ(write(number, "678", 3), 3);
		CHECK_EQ(shutdown(number, SHUT_WR), 0);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(counted, 2);
		pair_close(&pair);
		finish(s);
	}
}

/* ------------------------------------------------------------------------------ large transfers */

#define LARGE (1 << 20)

static void writes_all(void *arg, void *result)
{
	size_t put;
	char *bytes = malloc(LARGE);

	(void)arg;
	(void)result;
	for (int i = 0; i < LARGE; i++)
		bytes[i] = (char)(i * 7 + i / 251);
	CHECK_EQ(coro_write_all(pair.a, bytes, LARGE, &put, CORO_FOREVER), CORO_OK);
	CHECK_EQ(put, LARGE);
	struct iovec v[3] = {{bytes, 1000}, {bytes + 1000, 0}, {bytes + 1000, LARGE - 1000}};
	CHECK_EQ(coro_writev_all(pair.a, v, 3, &put, CORO_FOREVER), CORO_OK);
	CHECK_EQ(put, LARGE);
	CHECK_EQ(coro_shutdown(pair.a, SHUT_WR), CORO_OK);
	free(bytes);
}

static void reads_all(void *arg, void *result)
{
	size_t got;
	char *bytes = malloc(LARGE), more;

	(void)arg;
	(void)result;
	for (int k = 0; k < 2; k++) {
		CHECK_EQ(coro_read_full(pair.b, bytes, LARGE, &got, CORO_FOREVER), CORO_OK);
		CHECK_EQ(got, LARGE);
		for (int i = 0; i < LARGE; i++)
			CHECK(bytes[i] == (char)(i * 7 + i / 251));
	}
	CHECK_EQ(coro_read_full(pair.b, &more, 1, &got, CORO_FOREVER), CORO_OK);
	CHECK_EQ(got, 0);
	free(bytes);
	add_one(&counted);
}

TEST(fd_large_transfers_wait_for_the_reader)
{
	for (uint32_t workers = 1; workers <= 2; workers++) {
		coro_scheduler *s = start_with(workers, 0);
		counted = 0;
		pair = pair_of(s);
		spawn(s, writes_all, NULL, 0);
		spawn(s, reads_all, NULL, 0);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(counted, 1);
		pair_close(&pair);
		finish(s);
	}
}

/* ---------------------------------------------------------------------------------- connections */

static struct sockaddr_in to;
static coro_fd listening;

#define CLIENTS 50

static void serves_one(void *arg, void *result)
{
	coro_fd f = *(coro_fd *)arg;
	char bytes[10];
	int64_t n;

	(void)result;
	while ((n = coro_recv(f, bytes, sizeof bytes, 0, CORO_FOREVER)) > 0)
		CHECK_EQ(coro_send(f, bytes, (size_t)n, 0, CORO_FOREVER), n);
	CHECK_EQ(n, 0);
	CHECK_EQ(coro_fd_close(f), CORO_OK);
}

static void accepts(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < CLIENTS; i++) {
		struct sockaddr_in peer;
		socklen_t length = sizeof peer;
		coro_fd f;
		CHECK_EQ(
			coro_accept(listening, &f, (struct sockaddr *)&peer, &length, CORO_FOREVER),
			CORO_OK);
		CHECK_EQ(length, sizeof peer);
		CHECK_EQ(peer.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
		spawn_in(serves_one, &f, sizeof f);
	}
	coro_fd f;
	CHECK_EQ(coro_accept(listening, &f, NULL, NULL, soon(MS)), CORO_ETIMEDOUT);
	CHECK_EQ(coro_accept(listening, NULL, NULL, NULL, 0), CORO_EINVAL);
	CHECK_EQ(coro_fd_close(listening), CORO_OK);
}

static coro_fd tcp(void)
{
	coro_fd f;

	CHECK_EQ(coro_fd_adopt(&f, socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), 0), CORO_OK);
	return f;
}

static void connects(void *arg, void *result)
{
	coro_fd f = tcp();
	char bytes[4];

	(void)arg;
	(void)result;
	CHECK_EQ(coro_connect(f, (struct sockaddr *)&to, sizeof to, CORO_FOREVER), CORO_OK);
	for (int i = 0; i < 10; i++) {
		CHECK_EQ(coro_write(f, "ping", 4, CORO_FOREVER), 4);
		CHECK_EQ(coro_read_full(f, bytes, 4, NULL, CORO_FOREVER), CORO_OK);
		CHECK_EQ(memcmp(bytes, "ping", 4), 0);
	}
	CHECK_EQ(coro_fd_close(f), CORO_OK);
	add_one(&counted);
}

static void is_refused(void *arg, void *result)
{
	coro_fd f = tcp();

	(void)arg;
	(void)result;
	CHECK_EQ(coro_connect(f, (struct sockaddr *)&to, sizeof to, CORO_FOREVER),
		 CORO_OF_ERRNO(ECONNREFUSED));
	CHECK_EQ(coro_connect(f, NULL, 0, CORO_FOREVER), CORO_EINVAL);
	CHECK_EQ(coro_fd_close(f), CORO_OK);
}

TEST(fd_connections_come_and_go)
{
	for (uint32_t workers = 1; workers <= 2; workers++) {
		coro_scheduler *s = start_with(workers, 0);
		counted = 0;
		listening = adopted(s, listener(&to));
		spawn(s, accepts, NULL, 0);
		for (int i = 0; i < CLIENTS; i++)
			spawn(s, connects, NULL, 0);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		CHECK_EQ(counted, CLIENTS);
		spawn(s, is_refused, NULL, 0);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		finish(s);
	}
}

/* A peer that resets: a call that waits fails, and so does the next one; no signal comes. */
static void is_reset(void *arg, void *result)
{
	coro_fd f = tcp(), g;
	struct linger at_once = {1, 0};
	char byte;

	(void)arg;
	(void)result;
	CHECK_EQ(coro_connect(f, (struct sockaddr *)&to, sizeof to, CORO_FOREVER), CORO_OK);
	CHECK_EQ(coro_accept(listening, &g, NULL, NULL, CORO_FOREVER), CORO_OK);
	CHECK_EQ(setsockopt(coro_fd_number(g), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
	CHECK_EQ(coro_read(f, &byte, 1, 0), CORO_ETIMEDOUT);
	CHECK_EQ(coro_fd_close(g), CORO_OK);
	CHECK_EQ(coro_read(f, &byte, 1, CORO_FOREVER), CORO_OF_ERRNO(ECONNRESET));
	CHECK_EQ(coro_write(f, &byte, 1, CORO_FOREVER), CORO_OF_ERRNO(EPIPE));
	struct iovec v = {&byte, 1};
	CHECK_EQ(coro_writev(f, &v, 1, CORO_FOREVER), CORO_OF_ERRNO(EPIPE));
	CHECK_EQ(coro_fd_close(f), CORO_OK);
	CHECK_EQ(coro_fd_close(listening), CORO_OK);
}

TEST(fd_peer_resets)
{
	coro_scheduler *s = start_with(1, 0);

	listening = adopted(s, listener(&to));
	spawn(s, is_reset, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	finish(s);
}

/* ------------------------------------------------------------------------------- other kinds */

static void reads_kinds(void *arg, void *result)
{
	uint64_t n = 0;
	coro_fd f, g;
	int fd[2];

	(void)arg;
	(void)result;
	/* an eventfd, and a pipe whose reader goes */
	CHECK_EQ(coro_fd_adopt(&f, eventfd(0, 0), 0), CORO_OK);
	CHECK_EQ(coro_read(f, &n, 8, soon(MS)), CORO_ETIMEDOUT);
	n = 5;
	CHECK_EQ(coro_write(f, &n, 8, CORO_FOREVER), 8);
	CHECK_EQ(coro_read(f, &n, 8, CORO_FOREVER), 8);
	CHECK_EQ(n, 5);
	CHECK_EQ(coro_fd_close(f), CORO_OK);
	CHECK_EQ(pipe(fd), 0);
	CHECK_EQ(coro_fd_adopt(&f, fd[0], 0), CORO_OK);
	CHECK_EQ(coro_fd_adopt(&g, fd[1], 0), CORO_OK);
	CHECK_EQ(coro_recv(f, &n, 8, 0, CORO_FOREVER), CORO_OF_ERRNO(ENOTSOCK));
	fill(g);
	CHECK_EQ(coro_write(g, &n, 8, soon(MS)), CORO_ETIMEDOUT);
	CHECK_EQ(coro_fd_close(f), CORO_OK);
	CHECK_EQ(coro_write(g, &n, 8, CORO_FOREVER), CORO_OF_ERRNO(EPIPE));
	CHECK_EQ(coro_fd_close(g), CORO_OK);
	/* datagrams */
	CHECK_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, fd), 0);
	CHECK_EQ(coro_fd_adopt(&f, fd[0], 0), CORO_OK);
	CHECK_EQ(coro_fd_adopt(&g, fd[1], 0), CORO_OK);
	struct iovec v[2] = {{&n, 4}, {(char *)&n + 4, 4}};
	struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
	CHECK_EQ(coro_sendmsg(f, &m, 0, CORO_FOREVER), 8);
	CHECK_EQ(coro_send(f, &n, 3, 0, CORO_FOREVER), 3);
	CHECK_EQ(coro_recvmsg(g, &m, 0, CORO_FOREVER), 8);
	CHECK_EQ(coro_read(g, &n, 8, CORO_FOREVER), 3);
	CHECK_EQ(coro_readv(g, v, 2, soon(MS)), CORO_ETIMEDOUT);
	CHECK_EQ(coro_fd_close(f), CORO_OK);
	CHECK_EQ(coro_fd_close(g), CORO_OK);
}

/* ----------------------------------------------------------------------------------- of 0 bytes */

static void waits_for_a_byte(void *arg, void *result)
{
	char byte;

	(void)result;
	CHECK_EQ(coro_read(*(coro_fd *)arg, &byte, 1, CORO_FOREVER), 1);
}

/* reads_nothing - each read of 0 bytes returns at once, and takes nothing. */
static void reads_nothing(coro_fd f)
{
	struct iovec v[2] = {{NULL, 0}, {NULL, 0}};
	size_t got = 7;

	CHECK_EQ(coro_read(f, NULL, 0, CORO_FOREVER), 0);
	CHECK_EQ(coro_readv(f, v, 2, CORO_FOREVER), 0);
	CHECK_EQ(coro_readv(f, v, 0, CORO_FOREVER), 0);
	CHECK_EQ(coro_serve_read(f, NULL, 0, CORO_FOREVER), 0);
	CHECK_EQ(coro_read_full(f, NULL, 0, &got, CORO_FOREVER), CORO_OK);
	CHECK_EQ(got, 0);
}

static void writes_nothing(coro_fd f)
{
	struct iovec v[2] = {{NULL, 0}, {NULL, 0}};
	size_t put = 7;

	CHECK_EQ(coro_write(f, NULL, 0, CORO_FOREVER), 0);
	CHECK_EQ(coro_writev(f, v, 2, CORO_FOREVER), 0);
	CHECK_EQ(coro_write_all(f, NULL, 0, &put, CORO_FOREVER), CORO_OK);
	CHECK_EQ(put, 0);
	CHECK_EQ(coro_writev_all(f, v, 2, &put, CORO_FOREVER), CORO_OK);
	CHECK_EQ(coro_writev_all(f, v, 0, &put, CORO_FOREVER), CORO_OK);
	CHECK_EQ(put, 0);
}

static void streams_of_nothing(struct pair p)
{
	char bytes[10];
	coro_handle h;

	writes_nothing(p.b);
	reads_nothing(p.a); /* none has ever come */
	CHECK_EQ(coro_recv(p.a, NULL, 0, 0, soon(MS)), CORO_ETIMEDOUT);
	CHECK_EQ(coro_write(p.b, "abc", 3, CORO_FOREVER), 3);
	reads_nothing(p.a); /* three wait */
	CHECK_EQ(coro_recv(p.a, NULL, 0, 0, CORO_FOREVER), 0);
	CHECK_EQ(coro_read(p.a, bytes, 10, CORO_FOREVER), 3);
	reads_nothing(p.a); /* a short read has emptied it */
	CHECK_EQ(coro_read(p.a, bytes, 10, 0), CORO_ETIMEDOUT);
	/* in use */
	CHECK_EQ(coro_spawn_attr(JOINABLE(0), waits_for_a_byte, &p.a, sizeof p.a, &h), CORO_OK);
	CHECK_EQ(coro_sleep(MS), CORO_OK);
	CHECK_EQ(coro_read(p.a, NULL, 0, CORO_FOREVER), CORO_EBUSY);
	CHECK_EQ(coro_read_full(p.a, NULL, 0, NULL, CORO_FOREVER), CORO_OK);
	CHECK_EQ(coro_write(p.b, bytes, 1, CORO_FOREVER), 1);
	CHECK_EQ(coro_join(h, NULL, 0), CORO_OK);
	/* more empty buffers than one call takes, and then one that is not */
	static struct iovec v[3000];
	size_t put;
	v[2999] = (struct iovec){"xyz", 3};
	CHECK_EQ(coro_writev_all(p.b, v, 3000, &put, CORO_FOREVER), CORO_OK);
	CHECK_EQ(put, 3);
	CHECK_EQ(coro_read(p.a, bytes, 10, CORO_FOREVER), 3);
	/* the end, and after it */
	CHECK_EQ(coro_fd_close(p.b), CORO_OK);
	reads_nothing(p.a);
	CHECK_EQ(coro_fd_close(p.a), CORO_OK);
	CHECK_EQ(coro_read(p.a, NULL, 0, CORO_FOREVER), CORO_ESTALE);
	CHECK_EQ(coro_read_full(p.a, NULL, 0, NULL, CORO_FOREVER), CORO_OK);
	CHECK_EQ(coro_write_all(p.a, NULL, 0, NULL, CORO_FOREVER), CORO_OK);
}

static struct pair nothing[4];

static void moves_nothing(void *arg, void *result)
{
	char bytes[10];

	(void)arg;
	(void)result;
	streams_of_nothing(nothing[0]);
	streams_of_nothing(nothing[1]);
	/* a pipe */
	CHECK_EQ(coro_read(nothing[2].a, NULL, 0, CORO_FOREVER), 0);
	CHECK_EQ(coro_read_full(nothing[2].a, NULL, 0, NULL, CORO_FOREVER), CORO_OK);
	writes_nothing(nothing[2].b);
	pair_close(&nothing[2]);
	/* datagrams: an empty one is one, too */
	struct pair p = nothing[3];
	reads_nothing(p.a);
	CHECK_EQ(coro_recv(p.a, NULL, 0, 0, soon(MS)), CORO_ETIMEDOUT);
	CHECK_EQ(coro_write(p.b, NULL, 0, CORO_FOREVER), 0);
	CHECK_EQ(coro_write(p.b, "abc", 3, CORO_FOREVER), 3);
	CHECK_EQ(coro_write(p.b, "de", 2, CORO_FOREVER), 2);
	reads_nothing(p.a);
	CHECK_EQ(coro_read(p.a, bytes, 10, CORO_FOREVER), 0);
	CHECK_EQ(coro_recv(p.a, NULL, 0, 0, CORO_FOREVER), 0); /* abc */
	CHECK_EQ(coro_read(p.a, bytes, 10, CORO_FOREVER), 2);
	pair_close(&p);
	add_one(&counted);
}

TEST(fd_calls_of_nothing)
{
	coro_scheduler *s = start_with(1, 0);
	int fd[2];

	counted = 0;
	nothing[0] = pair_of(s);
	nothing[1] = pair_of_tcp(s);
	CHECK_EQ(pipe(fd), 0);
	nothing[2] = (struct pair){adopted(s, fd[0]), adopted(s, fd[1])};
	CHECK_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, fd), 0);
	nothing[3] = (struct pair){adopted(s, fd[0]), adopted(s, fd[1])};
	spawn(s, moves_nothing, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(counted, 1);
	finish(s);
}

static void reads_a_file(void *arg, void *result)
{
	char path[] = "/tmp/coro-test-XXXXXX", bytes[20] = {0};
	int fd = mkstemp(path);
	coro_fd f;

	(void)arg;
	(void)result;
	unlink(path);
	CHECK_EQ(coro_fd_adopt(&f, fd, 0), CORO_OK);
	CHECK_EQ(coro_write(f, "0123456789", 10, CORO_FOREVER), 10);
	CHECK_EQ(coro_pwrite(f, "ab", 2, 4), 2);
	CHECK_EQ(coro_fsync(f), CORO_OK);
	CHECK_EQ(coro_pread(f, bytes, sizeof bytes, 0), 10);
	CHECK_EQ(memcmp(bytes, "0123ab6789", 10), 0);
	CHECK_EQ(coro_pread(f, bytes, sizeof bytes, 10), 0);
	CHECK_EQ(coro_pread(f, bytes, sizeof bytes, -1), CORO_EINVAL);
	CHECK_EQ(lseek(fd, 2, SEEK_SET), 2);
	struct iovec v[2] = {{bytes, 3}, {bytes + 10, 10}};
	CHECK_EQ(coro_readv(f, v, 2, CORO_FOREVER), 8);
	CHECK_EQ(memcmp(bytes, "23a", 3) | memcmp(bytes + 10, "b6789", 5), 0);
	CHECK_EQ(coro_read(f, bytes, 3, CORO_FOREVER), 0);
	CHECK_EQ(coro_fd_wait(f, CORO_IN, CORO_FOREVER), CORO_OK);
	CHECK_EQ(coro_pread(pair.a, bytes, 1, 0), CORO_OF_ERRNO(ESPIPE));
	/* into a socket */
	int64_t offset = 4;
	CHECK_EQ(coro_sendfile(pair.a, fd, &offset, 2, CORO_FOREVER), 2);
	CHECK_EQ(offset, 6);
	CHECK_EQ(coro_read(pair.b, bytes, 20, CORO_FOREVER), 2);
	CHECK_EQ(memcmp(bytes, "ab", 2), 0);
	CHECK_EQ(coro_fd_close(f), CORO_OK);
	add_one(&counted);
}

TEST(fd_kinds)
{
	coro_scheduler *s = start_with(2, 0);
	coro_attr dense = {.size = sizeof dense, .flags = CORO_DENSE};

	signal(SIGPIPE, SIG_IGN);
	counted = 0;
	spawn(s, reads_kinds, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	pair = pair_of(s);
	spawn(s, reads_a_file, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(coro_scheduler_spawn(s, &dense, reads_a_file, NULL, 0, NULL), CORO_OK);
	CHECK_EQ(coro_scheduler_spawn(s, &dense, reads_kinds, NULL, 0, NULL), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(counted, 2);
	finish(s);
}

/* A short read has emptied the socket. What comes then is seen, though another call than a read has
 * taken its event. */
static void looks_and_reads(void *arg, void *result)
{
	int peeks = *(int *)arg;
	char bytes[8];

	(void)result;
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(coro_write(pair.b, "xyz", 3, CORO_FOREVER), 3);
		if (peeks)
			CHECK_EQ(coro_recv(pair.a, bytes, 1, MSG_PEEK, CORO_FOREVER), 1);
		else
			CHECK_EQ(coro_fd_wait(pair.a, CORO_IN, CORO_FOREVER), CORO_OK);
		/* the event, if it comes now, has nobody who waits */
		CHECK_EQ(coro_sleep(MS), CORO_OK);
		if (!peeks)
			CHECK_EQ(coro_fd_wait(pair.a, CORO_IN, CORO_FOREVER), CORO_OK);
		CHECK_EQ(coro_read(pair.a, bytes, sizeof bytes, soon(2000 * MS)), 3);
	}
	add_one(&counted);
}

TEST(fd_read_after_another_call_has_taken_the_event)
{
	coro_scheduler *s = start_with(1, 0);

	pair = pair_of_tcp(s);
	counted = 0;
	for (int peeks = 0; peeks < 2; peeks++) {
		spawn(s, looks_and_reads, &peeks, sizeof peeks);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	}
	CHECK_EQ(counted, 2);
	finish(s);
}

/* A short read has emptied the socket. What comes then is seen by a call that cannot wait for it:
 * the call does not wait, is in a section without waits, or its descriptor is in no set, as nothing
 * has waited for it. One whose deadline is over takes nothing. */
static void polls_and_reads(void *arg, void *result)
{
	bool watched = *(bool *)arg;
	struct pollfd comes = {.fd = coroi_fd_number(pair.a), .events = POLLIN};
	char bytes[8];

	(void)result;
	if (watched)
		CHECK_EQ(coro_read(pair.a, bytes, sizeof bytes, soon(MS)), CORO_ETIMEDOUT);
	for (int i = 0; i < 12; i++) {
		CHECK_EQ(coro_write(pair.b, "xyz", 3, CORO_FOREVER), 3);
		CHECK_EQ(poll(&comes, 1, 10000), 1);
		if (i % 4 == 3) {
			CHECK_EQ(coro_nowait_begin("t_fd"), CORO_OK);
			CHECK_EQ(coro_read(pair.a, bytes, sizeof bytes, CORO_FOREVER), 3);
			CHECK_EQ(coro_read(pair.a, bytes, sizeof bytes, CORO_FOREVER),
				 CORO_ENOWAIT);
			CHECK_EQ(coro_nowait_end(), CORO_OK);
		} else {
			/* over for long, and for a moment only; that may be seen or not */
			uint64_t deadline = i % 4 == 0 ? 0 : i % 4 == 1 ? 1 : coro_now() - 1;
			int64_t n = deadline ? coro_read(pair.a, bytes, sizeof bytes, deadline) : 0;
			CHECK(!n || n == CORO_ETIMEDOUT || (n == 3 && deadline > 1));
			if (n <= 0)
				CHECK_EQ(coro_read(pair.a, bytes, sizeof bytes, 0), 3);
			CHECK_EQ(coro_read(pair.a, bytes, sizeof bytes, deadline), CORO_ETIMEDOUT);
		}
	}
	add_one(&counted);
}

TEST(fd_read_that_cannot_wait_sees_what_has_come)
{
	coro_scheduler *s = start_with(1, 0);

	counted = 0;
	for (int watched = 0; watched < 2; watched++) {
		bool is = watched;
		pair = pair_of_tcp(s);
		spawn(s, polls_and_reads, &is, sizeof is);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	}
	CHECK_EQ(counted, 2);
	finish(s);
}

static void looks_up(void *arg, void *result)
{
	struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM}, *list;
	int error = 77;

	(void)arg;
	(void)result;
	CHECK_EQ(coro_getaddrinfo("127.0.0.1", "80", &hints, &list, &error, CORO_FOREVER), CORO_OK);
	CHECK_EQ(error, 0);
	CHECK_EQ(((struct sockaddr_in *)list->ai_addr)->sin_port, htons(80));
	freeaddrinfo(list);
	CHECK_EQ(coro_getaddrinfo("no.number", NULL, &hints, &list, &error, CORO_FOREVER), 1);
	CHECK_EQ(error, EAI_NONAME);
	CHECK_EQ(coro_getaddrinfo(NULL, NULL, NULL, &list, &error, CORO_FOREVER), CORO_EINVAL);
	/* the thread finishes it */
	int status = coro_getaddrinfo("127.0.0.1", NULL, &hints, &list, &error, coro_now() + 1);
	CHECK(status == CORO_ETIMEDOUT || !status);
	if (!status)
		freeaddrinfo(list);
	add_one(&counted);
}

TEST(fd_names_are_looked_up)
{
	coro_scheduler *s = start_with(2, 0);

	counted = 0;
	for (int i = 0; i < 100; i++)
		spawn(s, looks_up, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(counted, 100);
	finish(s);
}

/* -------------------------------------------------------------- what a wait is to its scheduler */

static void reads_one(void *arg, void *result)
{
	char byte;
	int64_t n = coro_read(*(coro_fd *)arg, &byte, 1, CORO_FOREVER);

	(void)result;
	CHECK(n == 1 || n == CORO_ECANCELED);
	if (n == 1)
		add_one(&counted);
}

static void *writes_later(void *arg)
{
	sleep_us(20000);
	CHECK_EQ(write(*(int *)arg, "x", 1), 1);
	return NULL;
}

/* In batch mode, a run waits for what comes from a descriptor: that is no deadlock. */
TEST(fd_wait_holds_the_end_off)
{
	coro_options o = options(1, CORO_PAUSED);
	pthread_t t;

	for (int i = 0; i < 20; i++) {
		coro_scheduler *s = start(&o);
		counted = 0;
		pair = pair_of(s);
		int number = coro_fd_number(pair.b);
		spawn(s, reads_one, &pair.a, sizeof pair.a);
		thread_start(&t, writes_later, &number);
		CHECK_EQ(coro_scheduler_run(s), CORO_OK);
		CHECK_EQ(counted, 1);
		thread_join(t);
		finish(s);
	}
}

/* The close of a scheduler cancels what waits, and closes the descriptors. */
TEST(fd_close_of_a_scheduler_with_many_that_wait)
{
	enum { MANY = 400 };
	static int number[MANY][2];
	coro_scheduler *s = start_with(2, 0);

	counted = 0;
	for (int i = 0; i < MANY; i++) {
		CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, number[i]), 0);
		coro_fd f = adopted(s, number[i][0]);
		spawn(s, reads_one, &f, sizeof f);
	}
	until_waiting(s, MANY);
	CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
	CHECK_EQ(counted, 0);
	for (int i = 0; i < MANY; i++) {
		CHECK(!is_open(number[i][0]));
		close(number[i][1]);
	}
	coro_fd f;
	CHECK_EQ(coro_scheduler_adopt(s, &f, 1, 0), CORO_ECLOSED);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
}

/* A coroutine that computes keeps its worker. The descriptors of that worker are looked at by
 * others meanwhile. */
static uint64_t computing, came, stop;

static void computes_on(void *arg, void *result)
{
	(void)arg;
	(void)result;
	add_one(&computing);
	while (!seen(&stop))
		at_relax();
}

static void reads_on(void *arg, void *result)
{
	coro_fd f = *(coro_fd *)arg;
	char byte;

	(void)result;
	while (coro_read(f, &byte, 1, CORO_FOREVER) == 1)
		add_one(&counted);
}

TEST(fd_beside_a_worker_that_computes)
{
	for (int i = 0; i < 5; i++) {
		coro_scheduler *s = start_with(2, 0);
		counted = computing = stop = 0;
		pair = pair_of(s);
		int number = coro_fd_number(pair.b);
		spawn(s, reads_on, &pair.a, sizeof pair.a);
		until_waiting(s, 1);
		spawn(s, computes_on, NULL, 0);
		sleep_until_seen(&computing, 1);
		for (uint64_t n = 1; n <= 20; n++) {
			CHECK_EQ(write(number, "x", 1), 1);
			sleep_until_seen(&counted, n);
		}
		add_one(&stop);
		CHECK_EQ(coro_fd_close(pair.b), CORO_OK);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		finish(s);
	}
}

/* Others that are always ready, or that only yield, do not keep a descriptor waiting. */
static void yields_on(void *arg, void *result)
{
	(void)arg;
	(void)result;
	add_one(&computing);
	while (!seen(&stop))
		CHECK_EQ(coro_yield(), CORO_OK);
}

static void writes_and_reads_on(void *arg, void *result)
{
	struct pair *p = *(struct pair **)arg;
	char byte = 1;

	(void)result;
	add_one(&computing);
	while (!seen(&stop)) {
		CHECK_EQ(coro_write(p->a, &byte, 1, CORO_FOREVER), 1);
		CHECK_EQ(coro_read(p->b, &byte, 1, CORO_FOREVER), 1);
	}
}

static void comes(void *arg, void *result)
{
	(void)arg;
	(void)result;
	add_one(&came);
}

TEST(fd_beside_others_that_never_rest)
{
	for (int how = 0; how < 2; how++) {
		coro_scheduler *s = start_with(1, 0);
		counted = computing = came = stop = 0;
		struct pair busy = pair_of(s), *at = &busy;
		pair = pair_of(s);
		int number = coro_fd_number(pair.b);
		spawn(s, reads_on, &pair.a, sizeof pair.a);
		until_waiting(s, 1);
		spawn(s, how ? writes_and_reads_on : yields_on, &at, sizeof at);
		sleep_until_seen(&computing, 1);
		for (uint64_t n = 1; n <= 20; n++) {
			CHECK_EQ(write(number, "x", 1), 1);
			sleep_until_seen(&counted, n);
			spawn(s, comes, NULL, 0); /* nor a spawn */
			sleep_until_seen(&came, n);
		}
		add_one(&stop);
		CHECK_EQ(coro_fd_close(pair.b), CORO_OK);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		finish(s);
	}
}

/* -------------------------------------------------------------------------------- lent threads */

static void asks_lent(void *arg, void *result)
{
	uint64_t n = *(uint64_t *)arg;

	CHECK_EQ(coro_write(pair.a, &n, sizeof n, CORO_FOREVER), sizeof n);
	CHECK_EQ(coro_read(pair.a, &n, sizeof n, CORO_FOREVER), sizeof n);
	*(uint64_t *)result = n;
}

TEST(fd_call_on_a_lent_thread_waits)
{
	for (uint32_t workers = 1; workers <= 2; workers++) {
		coro_scheduler *s = start_go(workers, 0);
		struct pair *at = &pair;
		pair = pair_of(s);
		spawn(s, answers, &at, sizeof at);
		for (uint64_t n = 0; n < 200; n++) {
			struct coroi_lend l = lend_of(s, asks_lent, &n, 8, 8);
			CHECK_EQ(lend_to_end(&l), CORO_OK);
			CHECK_EQ(*(uint64_t *)l.payload, n + 1);
		}
		CHECK_EQ(coro_fd_close(pair.a), CORO_OK);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		finish(s);
	}
}

static void awaits_a_byte(void *arg, void *result)
{
	char byte;

	(void)arg;
	(void)result;
	CHECK_EQ(coro_read(pair.a, &byte, 1, CORO_FOREVER), 1);
}

static void sleeps_on(void *arg, void *result)
{
	(void)arg;
	(void)result;
	while (!seen(&stop))
		CHECK_EQ(coro_sleep(2 * MS), CORO_OK);
}

static void computes_beside_one_that_waits(void *arg, void *result)
{
	uint64_t until;

	(void)arg;
	(void)result;
	CHECK_EQ(coro_spawn(awaits_a_byte, NULL, 0), CORO_OK);
	CHECK_EQ(coro_yield(), CORO_OK);
	for (until = soon(4 * MS); coro_now() < until;)
		;
	CHECK_EQ(coro_write(pair.b, "x", 1, CORO_FOREVER), 1);
}

/* A lent thread opens the worker's set. The own thread of the worker wakes for a deadline meanwhile,
 * and goes to sleep again. */
TEST(fd_call_on_a_lent_thread_opens_the_set)
{
	for (int round = 0; round < 30; round++) {
		coro_scheduler *s = start_go(1, 0);
		stop = 0;
		pair = pair_of(s);
		spawn(s, sleeps_on, NULL, 0);
		until_waiting(s, 1);
		struct coroi_lend l = lend_of(s, computes_beside_one_that_waits, NULL, 0, 0);
		CHECK_EQ(lend_to_end(&l), CORO_OK);
		add_one(&stop);
		CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
		finish(s);
	}
}

/* ---------------------------------------------------------------------- a deadline that is over */

/* loops - calls of one kind, which never wait, until the deadline. */
static void loops(void *arg, void *result)
{
	struct pair *p = *(struct pair **)arg;
	char bytes[64] = {0};
	int64_t n = 1;
	size_t got = 0;

	(void)result;
	for (int kind = 0; kind < 4; kind++) {
		uint64_t until = coro_now() + 20 * MS;
		while (n >= 0) {
			CHECK_EQ(coro_write(p->b, bytes, sizeof bytes, 0), 64);
			n = kind == 0   ? coro_read(p->a, bytes, sizeof bytes, until)
			    : kind == 1 ? coro_read_full(p->a, bytes, sizeof bytes, &got, until)
			    : kind == 2 ? coro_fd_wait(p->a, CORO_IN, until)
					: coro_write_all(p->a, bytes, 1, NULL, until);
			if (kind > 1 && n >= 0) {
				CHECK_EQ(coro_read(p->a, bytes, sizeof bytes, 0), 64);
				CHECK(kind == 2 || coro_read(p->b, bytes, 1, 0) == 1);
			}
		}
		CHECK_EQ(n, CORO_ETIMEDOUT);
		CHECK(coro_now() >= until);
		/* what is there is taken by a call that does not wait, and by one with time left */
		CHECK_EQ(coro_read(p->a, bytes, 32, 0), 32);
		CHECK_EQ(coro_read(p->a, bytes, 32, coro_now() + 10000 * MS), 32);
		n = 1;
	}
}

TEST(fd_deadline_ends_calls_that_need_not_wait)
{
	coro_scheduler *s = start_with(1, 0);
	struct pair p = pair_of(s), *at = &p;

	spawn(s, loops, &at, sizeof at);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	pair_close(&p);
	finish(s);
}
