/* scenarios_io.c - calls that block, on threads of the scheduler's pool; descriptors and files. */
#include "ledger.h"

#include "coro_io.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static coro_scheduler *begin_blocking(uint32_t workers)
{
	coro_options o = options(workers, 0);

	o.blocking_threads = 2;
	return begin_with(&o);
}

/* ------------------------------------------------------------------------ calls */

static uint64_t begun, called;
static uint32_t gate;

static void waits_for_gate(void *arg)
{
	while (!__atomic_load_n(&gate, __ATOMIC_SEQ_CST))
		sleep_us(20);
	count(arg);
}

static void calls(void *arg, void *result)
{
	uint64_t mine = 0;
	int status;

	(void)arg;
	(void)result;
	count(&begun);
	for (int try = 0; try < 2; try++) {
		status = coro_blocking(waits_for_gate, &mine);
		CHECK_EQ(mine, status == CORO_OK);
		if (status != CORO_EAGAIN)
			break;
		CHECK(!went_well(status, CORO_EAGAIN) && (lasting || !try));
	}
	CHECK(status == CORO_OK || status == CORO_ECANCELED || status == CORO_EAGAIN);
	CHECK_EQ(coro_canceled() || status != CORO_ECANCELED, 1);
	called += mine; /* one worker */
	count(&ran);
	coro_exit_finished(); /* although it may have been canceled */
}

#define CALLS 6

/* More calls than threads: the others queue. Two calls are taken back from the queue. */
static void calls_in_turn(void *arg, void *result)
{
	coro_handle h[CALLS];

	(void)arg;
	(void)result;
	for (int i = 0; i < CALLS; i++)
		inside(JOINABLE(0), calls, NULL, 0, &h[i]);
	until_seen(&begun, CALLS); /* one that is canceled before does not run */
	CHECK_EQ(coro_sleep(100000), CORO_OK);
	for (int i = CALLS - 2; i < CALLS; i++)
		if (h[i]) /* stale: its call was refused */
			went_well(coro_cancel(h[i]), CORO_ESTALE);
	CHECK_EQ(coro_yield(), CORO_OK);
	__atomic_store_n(&gate, 1, __ATOMIC_SEQ_CST);
	for (int i = 0; i < CALLS; i++)
		joined(h[i]);
	count(&ran);
}

SCENARIO(blocking)
{
	coro_scheduler *s = begin_blocking(1);

	if (!s)
		return;
	begun = called = gate = 0;
	outside(s, calls_in_turn, NULL, 0);
	CHECK_EQ(QUIET(coro_scheduler_wait(s)), CORO_OK);
	CHECK(may_fail() || called == CALLS - 2);
	end(s);
}

/* ------------------------------------------------------------------------ stretches */

static void on_a_thread(void *arg, void *result)
{
	uint64_t id = *(uint64_t *)arg;
	long worker = gettid();
	char frame[2000];

	(void)result;
	frames_filled(frame, sizeof frame);
	if (again(coro_thread_begin(), CORO_EAGAIN)) {
		CHECK(gettid() != worker);
		CHECK_EQ(coro_sleep(1), CORO_EPERM);
		sleep_us(30);
		frames_kept(frame, sizeof frame);
		if (id % 2) { /* the others end there */
			CHECK_EQ(coro_thread_end(), CORO_OK);
			CHECK_EQ(coro_sleep(1000), CORO_OK);
		}
	} else {
		CHECK_EQ(coro_thread_end(), CORO_EPERM);
		CHECK_EQ(coro_sleep(1000), CORO_OK);
	}
	count(&ran);
}

/* Coroutines go on on threads of the pool, and come back. */
SCENARIO(threads)
{
	coro_scheduler *s = begin_blocking(2);

	if (!s)
		return;
	for (uint64_t id = 0; id < 6; id++)
		outside(s, on_a_thread, &id, sizeof id);
	end(s);
}

/* ------------------------------------------------------------------------ descriptors */

/* A pair whose two ends talk, until a call fails: then they are closed. */
struct talk {
	coro_fd f;
	bool begins;
};

#define WORDS 20

static void talks(void *arg, void *result)
{
	struct talk t = *(struct talk *)arg;
	uint64_t word = 0;
	int64_t n = 1;

	(void)result;
	for (int i = 0; i < WORDS && n > 0; i++) {
		if (t.begins && !io_went_well(n = coro_write(t.f, &word, 8, CORO_FOREVER)))
			break;
		/* once a call has failed, the other one may wait for a stack that never comes */
		do
			n = coro_read(t.f, &word, 8,
				      lasting || may_fail() ? coro_now() + 20000000 : CORO_FOREVER);
		while (n == CORO_ETIMEDOUT && !may_fail());
		if ((n == CORO_ETIMEDOUT && may_fail()) || !io_went_well(n) || n == 0)
			break;
		CHECK_EQ(n, 8);
		CHECK_EQ(word, (uint64_t)(t.begins ? 2 * i + 1 : 2 * i));
		word++;
		if (!t.begins && !io_went_well(n = coro_write(t.f, &word, 8, CORO_FOREVER)))
			break;
	}
	CHECK(n == 8 || may_fail());
	CHECK_EQ(coro_fd_close(t.f), CORO_OK);
	count(&ran);
}

static void starts_talks(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (int i = 0; i < 4; i++) {
		int fd[2];
		CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
		struct talk a = {adopted_here(fd[0]), true}, b = {adopted_here(fd[1]), false};
		if (!a.f || !inside(NULL, talks, &a, sizeof a, NULL))
			a.f = a.f && coro_fd_close(a.f) == CORO_OK ? 0 : a.f;
		if (!b.f || !inside(NULL, talks, &b, sizeof b, NULL))
			b.f = b.f && coro_fd_close(b.f) == CORO_OK ? 0 : b.f;
	}
	count(&ran);
}

SCENARIO(descriptors)
{
	coro_scheduler *s = begin(1, 0, 0);

	if (!s)
		return;
	outside(s, starts_talks, NULL, 0);
	end(s);
}

static void uses_a_file(void *arg, void *result)
{
	char path[] = "/tmp/coro-fault-XXXXXX", bytes[8] = "1234567";
	struct addrinfo hints = {.ai_flags = AI_NUMERICHOST}, *list;
	int error, status;

	(void)arg;
	(void)result;
	coro_fd f = adopted_here(mkstemp(path));
	CHECK_EQ(unlink(path), 0);
	if (f) {
		bool put = io_went_well(coro_pwrite(f, bytes, 8, 0));
		io_went_well(coro_fsync(f));
		memset(bytes, 0, sizeof bytes);
		if (io_went_well(coro_pread(f, bytes, 8, 0)) && put)
			CHECK(strcmp(bytes, "1234567") == 0 || may_fail());
		CHECK_EQ(coro_fd_close(f), CORO_OK);
	}
	status = coro_getaddrinfo("127.0.0.1", NULL, &hints, &list, &error, CORO_FOREVER);
	if (status == CORO_OK)
		freeaddrinfo(list);
	else if (status == 1)
		CHECK((error == EAI_AGAIN || machine) && may_fail());
	else
		io_went_well(status);
	count(&ran);
}

SCENARIO(files)
{
	coro_scheduler *s = begin_blocking(1);

	if (!s)
		return;
	for (int i = 0; i < 3; i++)
		outside(s, uses_a_file, NULL, 0);
	end(s);
}

/* Of two threads look-ups have one. Some give up. */
static void looks_up(void *arg, void *result)
{
	uint64_t deadline = *(uint64_t *)arg;
	struct addrinfo hints = {.ai_flags = AI_NUMERICHOST}, *list;
	int error;

	(void)result;
	int status = coro_getaddrinfo("127.0.0.1", NULL, &hints, &list, &error, deadline);
	if (status == CORO_OK)
		freeaddrinfo(list);
	else if (status == 1)
		CHECK((error == EAI_AGAIN || machine) && may_fail());
	else if (status != CORO_ETIMEDOUT || deadline == CORO_FOREVER)
		io_went_well(status);
	count(&ran);
}

SCENARIO(lookups)
{
	coro_scheduler *s = begin_blocking(1);

	if (!s)
		return;
	for (int i = 0; i < 4; i++) {
		uint64_t deadline = i % 2 ? CORO_FOREVER : coro_now() + 1;
		outside(s, looks_up, &deadline, sizeof deadline);
	}
	end(s);
}

/* ------------------------------------------------------------------------ a server */

static coro_fd listening;
static uint64_t answered, stopped;

static void connection_ends(void *arg)
{
	(void)arg;
	count(&answered);
}

/* A request is a byte, and its answer the next one. A call that fails ends the connection. */
static void answers(void *arg, void *result)
{
	coro_fd f = *(coro_fd *)arg;
	unsigned char byte;
	int64_t n;

	(void)result;
	if (!went_well(coro_defer(connection_ends, NULL), CORO_ENOMEM))
		count(&answered);
	while ((n = coro_serve_read(f, &byte, 1, CORO_FOREVER)) > 0) {
		byte++;
		if (!io_went_well(coro_write_all(f, &byte, 1, NULL, CORO_FOREVER)))
			return;
	}
	if (n != CORO_ECLOSED)
		io_went_well(n);
}

/* How a server serves: at most so many connections, of TCP or Unix. */
struct serving {
	uint32_t limit;
	bool tcp;
};

/* The server ends when its listener is closed, and with no other error once it has begun. */
static void serves(void *arg, void *result)
{
	struct serving *v = arg;
	coro_serve_options o = {.size = sizeof o, .limit = v->limit, .grace = 50 * MS};
	int status = coro_serve(listening, NULL, answers, &o);

	(void)result;
	if (status == CORO_ESTALE) { /* it has waited for a stack until the listener was closed */
		CHECK(may_fail());
	} else if (status != CORO_ECLOSED) {
		CHECK(!went_well(status, CORO_ENOMEM));
		CHECK_EQ(coro_fd_close(listening), CORO_OK);
	}
	count(&stopped);
	count(&ran);
}

/* ask - a request on a connection of its own, by calls that never fail. Returns: 1, an answer has
 * come; 0, the end; -1, neither, which needs a fault. */
static int ask(const struct sockaddr *to, socklen_t length)
{
	int fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	unsigned char byte = 41;
	ssize_t n = -1;

	while (connect(fd, to, length) && errno != EISCONN)
		CHECK(errno == EINTR); /* by a signal: the next call waits on */
	CHECK_EQ(send(fd, &byte, 1, MSG_NOSIGNAL), 1);
	for (int i = 0; i < 300 && n < 0; i++) {
		n = recv(fd, &byte, 1, MSG_DONTWAIT);
		if (n < 0 && errno != EAGAIN)
			n = 0; /* a reset */
		else if (n < 0)
			(void)coro_sleep(MS / 10);
	}
	close(fd);
	CHECK(n < 1 || byte == 42);
	CHECK(n == 1 || may_fail());
	return (int)n;
}

/* Requests are answered, or their connections end. The server goes on: when a single fault has
 * passed, a request is answered. */
static void uses_a_server(void *arg, void *result)
{
	struct serving *v = arg;
	union { /* any port, or any abstract name */
		struct sockaddr any;
		struct sockaddr_in tcp;
		struct sockaddr_un local;
	} to = {.any.sa_family = v->tcp ? AF_INET : AF_UNIX};
	socklen_t length = sizeof to;
	int fd = socket(to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)result;
	to.tcp.sin_addr.s_addr = v->tcp ? htonl(INADDR_LOOPBACK) : 0;
	CHECK_EQ(bind(fd, &to.any, v->tcp ? sizeof to.tcp : sizeof(sa_family_t)), 0);
	CHECK_EQ(getsockname(fd, &to.any, &length), 0);
	CHECK_EQ(listen(fd, 10), 0);
	listening = adopted_here(fd);
	if (listening && inside(NULL, serves, v, sizeof *v, NULL)) {
		for (int i = 0; i < 3 && !seen(&stopped); i++)
			ask(&to.any, length);
		if (!lasting && !several && !seen(&stopped)) {
			int tries = 0;
			while (ask(&to.any, length) != 1)
				CHECK(++tries < 20);
		}
		if (!seen(&stopped))
			CHECK_EQ(coro_fd_close(listening), CORO_OK);
	} else if (listening) {
		CHECK_EQ(coro_fd_close(listening), CORO_OK);
	}
	count(&ran);
}

static uint64_t spawned_in(coro_scheduler *s)
{
	coro_worker_stats w;
	coro_stats t;

	CHECK_EQ(coro_scheduler_stats(s, &t, &w, 1), CORO_OK);
	return w.spawned;
}

SCENARIO(server)
{
	for (uint32_t limit = 0; limit <= 1; limit++) {
		struct serving v = {limit, limit};
		coro_scheduler *s = begin(1, 0, 0);
		if (!s)
			continue;
		answered = stopped = 0;
		outside(s, uses_a_server, &v, sizeof v);
		CHECK_EQ(QUIET(coro_scheduler_wait(s)), CORO_OK);
		/* a connection whose coroutine has begun, and could not defer, is not counted */
		uint64_t connections = spawned_in(s) - accepted;
		CHECK(answered == connections || (answered < connections && may_fail()));
		accepted += connections;
		ran += connections;
		end(s);
	}
}
