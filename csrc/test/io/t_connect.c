/*
 * t_connect.c - connections to a Unix socket whose queue is full.
 */
#include "fds.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define CLIENTS 8
#define QUEUE   1 /* of connections that nobody has accepted: one more than that */

static struct sockaddr_un to;
static socklen_t length;
static coro_fd listening;
static uint64_t connected, full;

/* listens - a new socket that listens, with no name in the file system. */
static int listens(int kind)
{
	int fd = socket(AF_UNIX, kind | SOCK_CLOEXEC, 0);

	to = (struct sockaddr_un){.sun_family = AF_UNIX};
	int n = snprintf(to.sun_path + 1, sizeof to.sun_path - 1, "coro-test-%d", getpid());
	length = (socklen_t)(sizeof(sa_family_t) + 1 + (size_t)n);
	CHECK_EQ(bind(fd, (struct sockaddr *)&to, length), 0);
	CHECK_EQ(listen(fd, QUEUE), 0);
	return fd;
}

static coro_fd client(int kind)
{
	coro_fd f;

	CHECK_EQ(coro_fd_adopt(&f, socket(AF_UNIX, kind | SOCK_CLOEXEC, 0), 0), CORO_OK);
	return f;
}

static int connects_until(coro_fd f, uint64_t deadline)
{
	return coro_connect(f, (struct sockaddr *)&to, length, deadline);
}

static int kind_of_test;

static void connects(void *arg, void *result)
{
	coro_fd f = client(kind_of_test);

	(void)arg;
	(void)result;
	int status = connects_until(f, 0);
	if (status) {
		CHECK_EQ(status, CORO_OF_ERRNO(EAGAIN));
		add_one(&full);
		CHECK_EQ(connects_until(f, CORO_FOREVER), CORO_OK);
	}
	CHECK_EQ(coro_write(f, "c", 1, CORO_FOREVER), 1);
	CHECK_EQ(coro_fd_close(f), CORO_OK);
	add_one(&connected);
}

static void accepts(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < CLIENTS; i++) {
		coro_fd f;
		char byte;
		CHECK_EQ(coro_accept(listening, &f, NULL, NULL, CORO_FOREVER), CORO_OK);
		CHECK_EQ(coro_read(f, &byte, 1, CORO_FOREVER), 1);
		CHECK_EQ(coro_fd_close(f), CORO_OK);
	}
}

static void come_when_accepted(int kind, const coro_attr *attr)
{
	coro_scheduler *s = start_with(2, 0);

	kind_of_test = kind;
	connected = full = 0;
	listening = adopted(s, listens(kind));
	for (int i = 0; i < CLIENTS; i++)
		CHECK_EQ(coro_scheduler_spawn(s, attr, connects, NULL, 0, NULL), CORO_OK);
	sleep_until_seen(&full, CLIENTS - QUEUE - 1);
	sleep_us(5000); /* a try or two that fail */
	CHECK_EQ(seen(&full), CLIENTS - QUEUE - 1);
	spawn(s, accepts, NULL, 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(seen(&connected), CLIENTS);
	CHECK_EQ(coro_fd_close(listening), CORO_OK);
	finish(s);
}

TEST(connect_waits_for_room)
{
	coro_attr dense = {.size = sizeof dense, .flags = CORO_DENSE};

	come_when_accepted(SOCK_STREAM, NULL);
	come_when_accepted(SOCK_SEQPACKET, NULL);
	come_when_accepted(SOCK_STREAM, &dense);
}

/* The queue is full for good. */

static coro_fd waiting, held[QUEUE + 1];

static void fill(void)
{
	for (int i = 0; i <= QUEUE; i++) {
		held[i] = client(SOCK_STREAM);
		CHECK_EQ(connects_until(held[i], 0), CORO_OK);
	}
}

static void is_closed(void *arg, void *result)
{
	(void)arg;
	(void)result;
	CHECK_EQ(connects_until(waiting, CORO_FOREVER), CORO_ECLOSED);
	add_one(&full);
}

static void is_canceled(void *arg, void *result)
{
	coro_fd f = client(SOCK_STREAM);

	(void)arg;
	(void)result;
	CHECK_EQ(connects_until(f, CORO_FOREVER), CORO_ECANCELED);
	CHECK_EQ(coro_fd_close(f), CORO_OK);
	add_one(&full);
}

static void ignore(const coro_nowait_report *r)
{
	CHECK_EQ(strcmp(r->call, "coro_connect"), 0);
}

static void finds_no_room(void *arg, void *result)
{
	coro_handle h;

	(void)arg;
	(void)result;
	fill();
	coro_fd f = client(SOCK_STREAM);
	uint64_t before = coro_now();
	CHECK_EQ(connects_until(f, before + 20 * MS), CORO_ETIMEDOUT);
	CHECK(coro_now() >= before + 20 * MS);
	CHECK_EQ(connects_until(f, before), CORO_ETIMEDOUT); /* it is over */
	CHECK_EQ(connects_until(f, 0), CORO_OF_ERRNO(EAGAIN));
	CHECK_EQ(coro_nowait_begin("here"), CORO_OK);
	CHECK_EQ(connects_until(f, CORO_FOREVER), CORO_ENOWAIT);
	CHECK_EQ(coro_nowait_end(), CORO_OK);
	CHECK_EQ(coro_fd_close(f), CORO_OK);

	waiting = client(SOCK_STREAM);
	spawn_in(is_closed, NULL, 0);
	CHECK_EQ(coro_sleep(10 * MS), CORO_OK);
	CHECK_EQ(seen(&full), 0);
	CHECK_EQ(coro_fd_close(waiting), CORO_OK);

	CHECK_EQ(coro_spawn_attr(JOINABLE(0), is_canceled, NULL, 0, &h), CORO_OK);
	CHECK_EQ(coro_sleep(10 * MS), CORO_OK);
	CHECK_EQ(coro_cancel(h), CORO_OK);
	CHECK_EQ(coro_join(h, NULL, 0), CORO_ECANCELED);
	CHECK_EQ(seen(&full), 2);

	for (int i = 0; i <= QUEUE; i++)
		CHECK_EQ(coro_fd_close(held[i]), CORO_OK);
	CHECK_EQ(coro_fd_close(listening), CORO_OK);
	f = client(SOCK_STREAM);
	CHECK_EQ(connects_until(f, CORO_FOREVER), CORO_OF_ERRNO(ECONNREFUSED)); /* nobody listens */
	CHECK_EQ(coro_fd_close(f), CORO_OK);
}

TEST(connect_finds_no_room)
{
	coro_nowait_hook before = coro_nowait_on_error(ignore);
	coro_scheduler *s = start_with(1, 0);

	listening = adopted(s, listens(SOCK_STREAM));
	run_alone(s, NULL, finds_no_room);
	coro_nowait_on_error(before);
}
