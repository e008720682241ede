/*
 * t_mode.c - O_NONBLOCK: a descriptor that was blocking is blocking again after coro, however its
 * adoption ends. The test looks at a duplicate, as another process would.
 */
#include "fds.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static bool blocks(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	CHECK(flags >= 0);
	return !(flags & O_NONBLOCK);
}

/* Two ends of a pipe, and duplicates of both, which the test keeps. */
struct ends {
	int in, out, own_in, own_out;
};

static struct ends pipe_of(int flags)
{
	int fd[2];

	CHECK_EQ(pipe2(fd, O_CLOEXEC | flags), 0);
	return (struct ends){fd[0], fd[1], dup(fd[0]), dup(fd[1])};
}

static void close_own(const struct ends *e)
{
	CHECK_EQ(close(e->own_in) | close(e->own_out), 0);
}

static coro_fd kept(coro_scheduler *s, int fd)
{
	coro_fd f;

	CHECK_EQ(coro_scheduler_adopt(s, &f, fd, CORO_FD_KEEP), CORO_OK);
	return f;
}

/* --------------------------------------------------------------------------- each way of ending */

TEST(mode_is_given_back)
{
	coro_scheduler *s = start_with(1, 0);
	struct ends e = pipe_of(0);
	int fd;

	/* a close; the other end stays as it is */
	coro_fd f = adopted(s, e.out);
	CHECK(!blocks(e.own_out) && blocks(e.own_in));
	CHECK_EQ(coro_fd_close(f), CORO_OK);
	CHECK(blocks(e.own_out));
	/* one that leaves the number open */
	f = kept(s, e.own_out);
	CHECK(!blocks(e.own_out));
	CHECK_EQ(coro_fd_close(f), CORO_OK);
	CHECK(blocks(e.own_out));
	/* a release */
	f = adopted(s, e.own_out);
	CHECK(!blocks(e.own_out));
	CHECK_EQ(coro_fd_release(f, &fd), CORO_OK);
	CHECK_EQ(fd, e.own_out);
	CHECK(blocks(e.own_out));
	/* the end of the scheduler */
	adopted(s, e.in);
	kept(s, e.own_out);
	CHECK(!blocks(e.own_in) && !blocks(e.own_out));
	CHECK_EQ(coro_scheduler_close(s, 0), CORO_OK);
	CHECK(blocks(e.own_in) && blocks(e.own_out));
	/* an adoption that fails */
	CHECK_EQ(coro_scheduler_adopt(s, &f, e.own_in, 0), CORO_ECLOSED);
	CHECK(blocks(e.own_in));
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	close_own(&e);
}

static struct ends at;
static coro_fd waits_for;

static void waits(void *arg, void *result)
{
	char byte;

	(void)arg;
	(void)result;
	CHECK_EQ(coro_read(waits_for, &byte, 1, CORO_FOREVER), CORO_ECLOSED);
}

/* The last user closes: a call that waits, in its own thread. */
TEST(mode_is_given_back_by_the_last_user)
{
	coro_scheduler *s = start_with(2, 0);

	at = pipe_of(0);
	waits_for = adopted(s, at.in);
	spawn(s, waits, NULL, 0);
	until_waiting(s, 1);
	CHECK(!blocks(at.own_in));
	CHECK_EQ(coro_fd_close(waits_for), CORO_OK);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK(blocks(at.own_in));
	finish(s);
	CHECK_EQ(close(at.out), 0);
	close_own(&at);
}

/* What was not blocking before is not afterwards. */
TEST(mode_stays_what_it_was)
{
	coro_scheduler *s = start_with(1, 0);
	struct ends e = pipe_of(O_NONBLOCK);

	CHECK_EQ(coro_fd_close(adopted(s, e.in)), CORO_OK);
	CHECK(!blocks(e.own_in));
	CHECK_EQ(coro_fd_close(kept(s, e.out)), CORO_OK);
	CHECK(!blocks(e.out));
	CHECK_EQ(close(e.out), 0);
	finish(s);
	close_own(&e);
}

/* A socket that a body of a server is called for, which a parent has opened. */

static coro_fd listening;
static int inherited;

static void serves(void *arg, void *result)
{
	coro_fd f = *(coro_fd *)arg;

	(void)result;
	CHECK(!blocks(coro_fd_number(f)));
	CHECK(!blocks(inherited));
	CHECK_EQ(coro_fd_close(listening), CORO_OK);
}

static void server(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(coro_serve(listening, NULL, serves, NULL), CORO_ECLOSED);
}

TEST(mode_of_a_listener_is_given_back)
{
	coro_scheduler *s = start_with(2, 0);
	struct sockaddr_in to;
	int l = listener(&to), c = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	inherited = dup(l);
	CHECK_EQ(connect(c, (struct sockaddr *)&to, sizeof to), 0);
	listening = adopted(s, l);
	spawn(s, server, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK(blocks(inherited));
	finish(s);
	CHECK_EQ(close(c) | close(inherited), 0);
}

/* ---------------------------------------------------------------- one description, two numbers */

/* A terminal is standard input and output: the flag goes with the last of the two. */
TEST(mode_goes_with_the_last_number)
{
	coro_scheduler *s = start_with(1, 0);

	for (int first = 0; first < 2; first++) {
		int fd[2];
		CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
		coro_fd f[3] = {adopted(s, dup(fd[0])), adopted(s, dup(fd[0])), kept(s, fd[1])};
		CHECK_EQ(coro_fd_close(f[first]), CORO_OK);
		CHECK(!blocks(fd[0])); /* the other is adopted */
		f[first] = adopted(s, dup(fd[0]));
		CHECK_EQ(coro_fd_close(f[!first]), CORO_OK);
		CHECK(!blocks(fd[0]));
		CHECK_EQ(coro_fd_close(f[first]), CORO_OK);
		CHECK(blocks(fd[0]) && !blocks(fd[1]));
		CHECK_EQ(coro_fd_close(f[2]), CORO_OK);
		CHECK(blocks(fd[1]));
		CHECK_EQ(close(fd[0]) | close(fd[1]), 0);
	}
	finish(s);
}

/* One file that was opened twice: each has its own flag. */
TEST(mode_is_not_the_files)
{
	coro_scheduler *s = start_with(1, 0);
	char dir[] = "/tmp/coro-mode-XXXXXX", path[64];

	CHECK(mkdtemp(dir) != NULL);
	strcat(strcpy(path, dir), "/fifo");
	CHECK_EQ(mkfifo(path, 0600), 0);
	int a = open(path, O_RDWR | O_CLOEXEC), b = open(path, O_RDWR | O_CLOEXEC);
	CHECK(a >= 0 && b >= 0);
	coro_fd f = kept(s, a), g = kept(s, b);
	CHECK_EQ(coro_fd_close(f), CORO_OK);
	CHECK(blocks(a) && !blocks(b));
	CHECK_EQ(coro_fd_close(g), CORO_OK);
	CHECK(blocks(b));
	CHECK_EQ(close(a) | close(b) | unlink(path) | rmdir(dir), 0);
	finish(s);
}

/* Threads adopt and close duplicates of one socket: it is never blocking while one is adopted, and
 * is when all are closed. */

static coro_scheduler *storms_in;
static int stormed;

static void *storms(void *arg)
{
	for (uint64_t i = scaled(3000); i; i--) {
		coro_fd f = adopted(storms_in, dup(stormed));
		CHECK(!blocks(stormed));
		CHECK_EQ(coro_fd_close(f), CORO_OK);
	}
	return arg;
}

TEST(mode_storm)
{
	pthread_t t[3];
	int fd[2];

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	storms_in = start_with(1, 0);
	stormed = fd[0];
	for (int i = 0; i < 3; i++)
		thread_start(&t[i], storms, NULL);
	for (int i = 0; i < 3; i++)
		thread_join(t[i]);
	CHECK(blocks(fd[0]));
	finish(storms_in);
	CHECK_EQ(close(fd[0]) | close(fd[1]), 0);
}
