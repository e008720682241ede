/*
 * t_serve.c - coro_serve: connections come and go, a limit, no descriptors, and ends of each kind.
 */
#include "fds.h"

#include "base/atomics.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static uint64_t serving, most, served, refused, canceled;
static struct sockaddr_in to;

/* A server: what coro_serve is given, and what it has returned. */
struct server {
	coro_fd listener;
	const coro_attr *attr;
	coro_fn fn;
	coro_serve_options options;
	int status;
	uint64_t ended;
	coro_handle self;
};

static void serves(void *arg, void *result)
{
	struct server *v = *(struct server **)arg;

	(void)result;
	v->self = coro_self();
	v->options.size = sizeof v->options;
	v->status = coro_serve(v->listener, v->attr, v->fn, &v->options);
	add_one(&v->ended);
}

static void server_start(coro_scheduler *s, struct server *v, coro_fn fn)
{
	serving = most = served = refused = canceled = 0;
	v->listener = adopted(s, listener(&to));
	v->fn = fn;
	v->ended = 0;
	spawn(s, serves, &v, sizeof v);
}

static int client(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK(fd >= 0);
	CHECK_EQ(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
	return fd;
}

/* ask - a request, and its answer. False: the connection is closed. */
static bool ask(int fd)
{
	char bytes[4] = "ping";

	return send(fd, bytes, 4, MSG_NOSIGNAL) == 4 && recv(fd, bytes, 4, MSG_WAITALL) == 4 &&
	       !memcmp(bytes, "pong", 4);
}

static bool is_at_end(int fd)
{
	char byte;
	return recv(fd, &byte, 1, 0) <= 0;
}

/* count_begin - a connection has begun. count_end - it ends. */
static void count_begin(void)
{
	uint64_t now = add_one(&serving), before = seen(&most);

	while (before < now && !at_cas(&most, &before, now))
		;
}

static void count_end(void *arg)
{
	(void)arg;
	add_to(&serving, -UINT64_C(1));
	add_one(&served);
}

/* answers - requests, until the peer or the server ends. */
static void answers(void *arg, void *result)
{
	coro_fd f = *(coro_fd *)arg;
	char bytes[4];
	int64_t n;
	size_t more;

	CHECK(result); /* scratch */
	count_begin();
	CHECK_EQ(coro_defer(count_end, NULL), CORO_OK);
	while ((n = coro_serve_read(f, bytes, 4, CORO_FOREVER)) > 0) {
		CHECK_EQ(coro_read_full(f, bytes + n, 4 - (size_t)n, &more, CORO_FOREVER), CORO_OK);
		if ((size_t)n + more < 4)
			return;
		CHECK(!memcmp(bytes, "ping", 4));
		if (coro_write_all(f, "pong", 4, NULL, CORO_FOREVER))
			return;
	}
	if (n == CORO_ECLOSED) {
		add_one(&refused);
		CHECK(coro_serve_ends(f)); /* 1, or a status if f is closed */
	}
}

static void server_end(coro_scheduler *s, struct server *v, int status)
{
	sleep_until_seen(&v->ended, 1);
	CHECK_EQ(v->status, status);
	CHECK_EQ(seen(&serving), 0);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(coro_serve_ends(v->listener), CORO_ESTALE);
}

#define CLIENTS 50

TEST(serve_connections_come_and_go)
{
	const coro_attr dense = {
		.size = sizeof dense, .flags = CORO_DENSE, .worker = CORO_ANYWHERE};

	for (int i = 0; i < 8; i++) {
		coro_scheduler *s = start_with(1 + (uint32_t)i % 2, 0);
		struct server v = {.attr = i < 4 ? NULL : &dense, .options.grace = CORO_FOREVER};
		int fd[CLIENTS];
		server_start(s, &v, answers);
		for (int k = 0; k < CLIENTS; k++)
			fd[k] = client();
		for (int turn = 0; turn < 3; turn++)
			for (int k = 0; k < CLIENTS; k++)
				CHECK(ask(fd[k]));
		for (int k = 0; k < CLIENTS / 2; k++)
			close(fd[k]);
		sleep_until_seen(&served, CLIENTS / 2);
		CHECK_EQ(coro_fd_close(v.listener), CORO_OK);
		for (int k = CLIENTS / 2; k < CLIENTS; k++) {
			CHECK(is_at_end(fd[k]));
			close(fd[k]);
		}
		server_end(s, &v, CORO_ECLOSED);
		CHECK_EQ(served, CLIENTS);
		CHECK_EQ(refused, CLIENTS - CLIENTS / 2);
		finish(s);
	}
}

TEST(serve_limit)
{
	coro_scheduler *s = start_with(2, 0);
	struct server v = {.options.limit = 3, .options.grace = CORO_FOREVER};
	int fd[CLIENTS];

	server_start(s, &v, answers);
	for (int k = 0; k < CLIENTS; k++)
		fd[k] = client(); /* the kernel accepts them all */
	for (int k = 0; k < CLIENTS; k++) {
		CHECK(ask(fd[k])); /* in the order in which they came */
		close(fd[k]);
	}
	CHECK(seen(&most) <= 3);
	/* a server that waits for room learns of the end */
	for (int k = 0; k < 4; k++)
		fd[k] = client();
	for (int k = 0; k < 3; k++)
		CHECK(ask(fd[k]));
	CHECK_EQ(coro_fd_close(v.listener), CORO_OK);
	for (int k = 0; k < 4; k++) {
		CHECK(is_at_end(fd[k]));
		close(fd[k]);
	}
	server_end(s, &v, CORO_ECLOSED);
	CHECK(most <= 3);
	CHECK_EQ(served, CLIENTS + 3);
	finish(s);
}

/* A request that is under way when the server ends is answered. */
TEST(serve_end_loses_no_request)
{
	coro_scheduler *s = start_with(2, 0);
	struct server v = {.options.grace = CORO_FOREVER};
	char bytes[4];

	server_start(s, &v, answers);
	int half = client(), idle = client();
	CHECK(ask(half) && ask(idle));
	CHECK_EQ(send(half, "pi", 2, 0), 2);
	until_waiting(s, 3);
	sleep_us(20000); /* the first half is read by then */
	CHECK_EQ(coro_fd_close(v.listener), CORO_OK);
	CHECK(is_at_end(idle));
	CHECK_EQ(seen(&v.ended), 0);
	CHECK_EQ(send(half, "ng", 2, 0), 2);
	CHECK_EQ(recv(half, bytes, 4, MSG_WAITALL), 4);
	CHECK(!memcmp(bytes, "pong", 4));
	CHECK(is_at_end(half)); /* no other request is taken */
	close(half);
	close(idle);
	server_end(s, &v, CORO_ECLOSED);
	finish(s);
}

/* A connection that is told by others, too, what to send. It waits for the first bytes of a request
 * as such, and for the others as bytes. A short read, so that nothing more is known to be there. */
static coro_chan *news;
static bool quiet; /* nothing comes at the end */

static bool goes_on(coro_fd f, char *bytes, size_t *have)
{
	uint64_t value;
	coro_case c[2] = {{.chan = news, .recv = &value},
			  {.fd = f, .direction = *have ? CORO_IN : CORO_REQUEST}};
	int done = coro_select(c, 2, CORO_FOREVER);

	CHECK(done >= 0);
	if (done == 0)
		return !c[0].status && !coro_write_all(f, "news", 4, NULL, CORO_FOREVER);
	if (c[1].status) {
		CHECK_EQ(c[1].status, CORO_ECLOSED);
		CHECK_EQ(*have, 0);
		CHECK_EQ(coro_serve_ends(f), 1);
		if (quiet) {
			CHECK_EQ(coro_fd_wait(f, CORO_REQUEST, CORO_FOREVER), CORO_ECLOSED);
			CHECK_EQ(coro_fd_wait(f, CORO_IN, coro_now() + MS / 10), CORO_ETIMEDOUT);
		}
		add_one(&refused);
		return false;
	}
	int64_t n = coro_read(f, bytes + *have, 16 - *have, CORO_FOREVER);
	if (n <= 0)
		return false;
	*have += (size_t)n;
	if (*have < 4)
		return true;
	*have = 0;
	return !memcmp(bytes, "ping", 4) && !coro_write_all(f, "pong", 4, NULL, CORO_FOREVER);
}

static void talks(void *arg, void *result)
{
	coro_fd f = *(coro_fd *)arg;
	char bytes[16];
	size_t have = 0;

	CHECK(result); /* scratch */
	while (goes_on(f, bytes, &have))
		;
	add_one(&served);
}

/* waits_only - for requests, with coro_fd_wait. */
static void waits_only(void *arg, void *result)
{
	coro_fd f = *(coro_fd *)arg;
	char bytes[4];
	size_t got;
	int status;

	CHECK(result); /* scratch */
	while (!(status = coro_fd_wait(f, CORO_REQUEST, CORO_FOREVER))) {
		if (coro_read_full(f, bytes, 4, &got, CORO_FOREVER) || got < 4)
			break;
		CHECK_EQ(coro_write_all(f, "pong", 4, NULL, CORO_FOREVER), CORO_OK);
	}
	if (status == CORO_ECLOSED)
		add_one(&refused);
	add_one(&served);
}

static void ends_gently(coro_scheduler *s, const coro_attr *attr)
{
	struct server v = {.attr = attr, .options.grace = CORO_FOREVER};
	char bytes[4];
	uint64_t value = 1;

	news = channel(8, 0);
	quiet = true;
	server_start(s, &v, talks);
	int half = client(), idle = client();
	CHECK(ask(half) && ask(idle));
	CHECK_EQ(send(half, "pi", 2, 0), 2);
	until_waiting(s, 3);
	sleep_us(20000); /* the first half is read by then */
	CHECK_EQ(coro_fd_close(v.listener), CORO_OK);
	CHECK(is_at_end(idle));
	sleep_until_seen(&served, 1);
	/* the other one is in its request: it waits on, and hears of news */
	CHECK_EQ(coro_chan_send(news, &value, CORO_FOREVER), CORO_OK);
	CHECK_EQ(recv(half, bytes, 4, MSG_WAITALL), 4);
	CHECK(!memcmp(bytes, "news", 4));
	CHECK_EQ(seen(&v.ended), 0);
	CHECK_EQ(send(half, "ng", 2, 0), 2);
	CHECK_EQ(recv(half, bytes, 4, MSG_WAITALL), 4);
	CHECK(!memcmp(bytes, "pong", 4));
	CHECK(is_at_end(half)); /* no other request is taken */
	close(half);
	close(idle);
	server_end(s, &v, CORO_ECLOSED);
	CHECK_EQ(refused, 2);
	CHECK_EQ(coro_chan_free(news), CORO_OK);
}

TEST(serve_end_is_told_to_selects)
{
	const coro_attr dense = {
		.size = sizeof dense, .flags = CORO_DENSE, .worker = CORO_ANYWHERE};

	for (uint32_t i = 0; i < 4; i++) {
		coro_scheduler *s = start_with(1 + i % 2, 0);
		ends_gently(s, i < 2 ? NULL : &dense);
		finish(s);
	}
}

TEST(serve_end_is_told_to_waits)
{
	coro_scheduler *s = start_with(2, 0);
	struct server v = {.options.grace = CORO_FOREVER};

	server_start(s, &v, waits_only);
	int fd[3] = {client(), client(), client()};
	for (int i = 0; i < 3; i++)
		CHECK(ask(fd[i]));
	until_waiting(s, 4);
	CHECK_EQ(coro_fd_close(v.listener), CORO_OK);
	for (int i = 0; i < 3; i++) {
		CHECK(is_at_end(fd[i]));
		close(fd[i]);
	}
	server_end(s, &v, CORO_ECLOSED);
	CHECK_EQ(refused, 3);
	finish(s);
}

/* echoes - reads are short, so the next one is made when something has come. */
static void echoes(void *arg, void *result)
{
	coro_fd f = *(coro_fd *)arg;
	char bytes[64];
	int64_t n;

	CHECK(result); /* scratch */
	count_begin();
	CHECK_EQ(coro_defer(count_end, NULL), CORO_OK);
	while ((n = coro_serve_read(f, bytes, sizeof bytes, CORO_FOREVER)) > 0)
		if (coro_write_all(f, bytes, (size_t)n, NULL, CORO_FOREVER))
			return;
	if (n == CORO_ECLOSED)
		add_one(&refused);
}

struct at_once {
	coro_fd listener;
	int fd[CLIENTS];
};

/* The worker hears of the requests and of the end before a connection goes on. */
static void asks_and_ends(void *arg, void *result)
{
	struct at_once *x = *(struct at_once **)arg;

	(void)result;
	for (int k = 0; k < CLIENTS; k++)
		CHECK_EQ(send(x->fd[k], "ping", 4, 0), 4);
	CHECK_EQ(coro_fd_close(x->listener), CORO_OK);
	for (uint64_t end = now_ns() + MS / 2; now_ns() < end;)
		;
}

TEST(serve_end_comes_with_requests)
{
	for (uint32_t i = 0; i < 10; i++) {
		coro_scheduler *s = start_with(1 + i % 2, 0);
		struct server v = {.options.grace = CORO_FOREVER};
		struct at_once at_once, *x = &at_once;
		char bytes[4];
		server_start(s, &v, echoes);
		for (int k = 0; k < CLIENTS; k++) {
			x->fd[k] = client();
			CHECK_EQ(send(x->fd[k], "ping", 4, 0), 4);
			CHECK_EQ(recv(x->fd[k], bytes, 4, MSG_WAITALL), 4);
		}
		until_waiting(s, CLIENTS + 1);
		x->listener = v.listener;
		spawn(s, asks_and_ends, &x, sizeof x);
		for (int k = 0; k < CLIENTS; k++) {
			CHECK_EQ(recv(x->fd[k], bytes, 4, MSG_WAITALL), 4);
			CHECK(is_at_end(x->fd[k]));
			close(x->fd[k]);
		}
		server_end(s, &v, CORO_ECLOSED);
		CHECK_EQ(refused, CLIENTS);
		finish(s);
	}
}

/* A request that comes at the moment of the end is answered, or its connection ends; one that was
 * there before is answered. */
TEST_LIMIT(serve_end_beside_requests, 120)
{
	quiet = false;
	for (uint64_t i = 0; i < scaled(200); i++) {
		coro_scheduler *s = start_with(1 + (uint32_t)i % 2, 0);
		struct server v = {.options.grace = CORO_FOREVER};
		char bytes[4];
		news = channel(8, 0);
		server_start(s, &v, talks);
		int before = client(), then = client();
		CHECK(ask(before) && ask(then));
		CHECK_EQ(send(before, "ping", 4, 0), 4);
		CHECK_EQ(send(i % 3 ? then : before, i % 3 ? "ping" : "p", i % 3 ? 4 : 1, 0),
			 i % 3 ? 4 : 1);
		CHECK_EQ(coro_fd_close(v.listener), CORO_OK);
		CHECK_EQ(recv(before, bytes, 4, MSG_WAITALL), 4);
		if (i % 3)
			CHECK_EQ(recv(then, bytes, 4, MSG_WAITALL), 4);
		close(before);
		CHECK(is_at_end(then));
		close(then);
		server_end(s, &v, CORO_ECLOSED);
		CHECK_EQ(coro_chan_free(news), CORO_OK);
		finish(s);
	}
}

/* stays - reads with no regard for the end, and then waits for something else. */
static void stays(void *arg, void *result)
{
	char byte;
	int64_t n = coro_read(*(coro_fd *)arg, &byte, 1, CORO_FOREVER);

	(void)result;
	if (n == CORO_ECLOSED || n == CORO_ECANCELED)
		add_one(&refused);
	if (coro_park() == CORO_ECANCELED)
		add_one(&canceled);
}

TEST(serve_grace_comes_to_an_end)
{
	for (uint64_t grace = 1; grace <= 30 * MS; grace += 30 * MS - 1) {
		coro_scheduler *s = start_with(2, 0);
		struct server v = {.options.grace = grace};
		server_start(s, &v, stays);
		int a = client(), b = client();
		until_waiting(s, 3);
		CHECK_EQ(send(b, "x", 1, 0), 1); /* b waits without its descriptor */
		uint64_t begun = now_ns();
		CHECK_EQ(coro_fd_close(v.listener), CORO_OK);
		CHECK(is_at_end(a));
		CHECK(is_at_end(b));
		server_end(s, &v, CORO_ECLOSED);
		CHECK(now_ns() - begun >= grace);
		CHECK_EQ(canceled, 2);
		close(a);
		close(b);
		finish(s);
	}
}

TEST(serve_is_canceled)
{
	coro_scheduler *s = start_with(2, 0);
	struct server v = {.options.grace = CORO_FOREVER};

	server_start(s, &v, stays);
	int a = client(), b = client();
	until_waiting(s, 3);
	CHECK_EQ(coro_cancel(v.self), CORO_OK);
	CHECK(is_at_end(a));
	CHECK(is_at_end(b));
	server_end(s, &v, CORO_ECANCELED);
	CHECK_EQ(canceled, 2);
	close(a);
	close(b);
	finish(s);
}

/* The scheduler is closed while connections come: some have not started, and never do. */
TEST(serve_in_a_scheduler_that_closes)
{
	for (int i = 0; i < 40; i++) {
		coro_scheduler *s = start_with(1 + (uint32_t)i % 2, 0);
		struct server v = {.options.grace = CORO_FOREVER};
		int fd[CLIENTS];
		server_start(s, &v, answers);
		for (int k = 0; k < CLIENTS; k++)
			fd[k] = client();
		CHECK(ask(fd[0]));
		CHECK_EQ(coro_scheduler_close(s, 1), CORO_OK);
		CHECK_EQ(v.ended, 1);
		/* closed: no more connections are adopted, and those before have ended */
		CHECK(v.status == CORO_ECANCELED || v.status == CORO_ECLOSED);
		for (int k = 0; k < CLIENTS; k++) {
			CHECK(is_at_end(fd[k]));
			close(fd[k]);
		}
		CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	}
}

/* keeps - takes the descriptor out of coro, and lets the test have it. */
static int kept;

static void keeps(void *arg, void *result)
{
	(void)result;
	CHECK_EQ(coro_fd_release(*(coro_fd *)arg, &kept), CORO_OK);
	add_one(&served);
}

static void closes(void *arg, void *result)
{
	(void)result;
	CHECK_EQ(coro_fd_close(*(coro_fd *)arg), CORO_OK);
	add_one(&served);
	coro_abort();
}

TEST(serve_connection_is_released_or_closed)
{
	coro_scheduler *s = start_with(1, 0);
	struct server v = {.options.grace = 1};

	server_start(s, &v, keeps);
	int fd = client();
	sleep_until_seen(&served, 1);
	CHECK_EQ(coro_fd_close(v.listener), CORO_OK);
	server_end(s, &v, CORO_ECLOSED);
	CHECK_EQ(write(kept, "x", 1), 1);
	char byte;
	CHECK_EQ(recv(fd, &byte, 1, 0), 1);
	close(kept);
	close(fd);

	server_start(s, &v, closes);
	fd = client();
	CHECK(is_at_end(fd));
	close(fd);
	sleep_until_seen(&served, 1);
	CHECK_EQ(coro_fd_close(v.listener), CORO_OK);
	server_end(s, &v, CORO_ECLOSED);
	finish(s);
}

static uint64_t pauses(coro_scheduler *s)
{
	coro_stats t;

	CHECK_EQ(coro_scheduler_stats(s, &t, NULL, 0), CORO_OK);
	return t.accept_pauses;
}

/* While the process has no descriptor left, connections wait in the kernel's queue. */
TEST(serve_without_descriptors)
{
	coro_scheduler *s = start_with(1, 0);
	struct server v = {.options.grace = CORO_FOREVER};
	struct rlimit usual, none;

	server_start(s, &v, answers);
	int first = client();
	CHECK(ask(first));
	until_waiting(s, 2); /* the set is open */
	int second = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &usual), 0);
	none = usual;
	none.rlim_cur = 0;
	CHECK_EQ(pauses(s), 0);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	CHECK_EQ(connect(second, (struct sockaddr *)&to, sizeof to), 0);
	sleep_us(30000);
	CHECK_EQ(seen(&serving), 1);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &usual), 0);
	CHECK(ask(second));
	/* of 5, 10, 20 ms and so on: some three of them, fewer where a worker comes late */
	uint64_t n = pauses(s);
	CHECK(n > 0 && n < 20);
	int more = client();
	CHECK(ask(more));
	close(more);
	CHECK_EQ(pauses(s), n);
	/* a pause is over at once when the listener is closed */
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	close(first);
	int third = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(third < 0 && errno == EMFILE);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &usual), 0);
	CHECK_EQ(coro_fd_close(v.listener), CORO_OK);
	CHECK(is_at_end(second));
	close(second);
	server_end(s, &v, CORO_ECLOSED);
	finish(s);
}

/* ------------------------------------------------------------------------------------ bad input */

static void serves_what_cannot_be(void *arg, void *result)
{
	coro_fd f, other = *(coro_fd *)arg, none = 0;
	coro_attr joinable = {.size = sizeof joinable, .flags = CORO_JOINABLE};
	coro_serve_options wrong_size = {.size = 1, .limit = 1};
	char byte;
	struct sockaddr_in at;

	(void)result;
	CHECK_EQ(coro_fd_adopt(&f, listener(&at), 0), CORO_OK);
	CHECK_EQ(coro_serve(f, NULL, NULL, NULL), CORO_EINVAL);
	CHECK_EQ(coro_serve(f, &joinable, answers, NULL), CORO_EINVAL);
	CHECK_EQ(coro_serve(f, NULL, answers, &wrong_size), CORO_EINVAL);
	CHECK_EQ(coro_serve(none, NULL, answers, NULL), CORO_ESTALE);
	CHECK_EQ(coro_serve(other, NULL, answers, NULL), CORO_EPERM);
	CHECK_EQ(coro_nowait_begin("t_serve"), CORO_OK);
	CHECK_EQ(coro_serve(f, NULL, answers, NULL), CORO_ENOWAIT);
	CHECK_EQ(coro_nowait_end(), CORO_OK);
	CHECK_EQ(coro_serve_ends(f), 0); /* nothing was done to it */
	CHECK_EQ(coro_serve_read(f, &byte, 1, 0), CORO_OF_ERRNO(ENOTCONN));
	CHECK_EQ(coro_fd_close(f), CORO_OK);
	CHECK_EQ(coro_serve(f, NULL, answers, NULL), CORO_ESTALE);

	/* no listener: accept tells */
	CHECK_EQ(coro_fd_adopt(&f, socket(AF_INET, SOCK_STREAM, 0), 0), CORO_OK);
	CHECK_EQ(coro_serve(f, NULL, answers, NULL), CORO_OF_ERRNO(EINVAL));
	CHECK_EQ(coro_fd_number(f), CORO_ESTALE);
	add_one(&served);
}

static void ignores(const coro_nowait_report *r)
{
	(void)r;
}

TEST(serve_bad_input)
{
	coro_scheduler *s = start_with(1, 0), *other = start_with(1, 0);
	coro_fd f = adopted(other, listener(&to));

	served = 0;
	coro_nowait_hook before = coro_nowait_on_error(ignores);
	CHECK_EQ(coro_serve(f, NULL, answers, NULL), CORO_EPERM);
	spawn(s, serves_what_cannot_be, &f, sizeof f);
	CHECK_EQ(coro_scheduler_wait(s), CORO_OK);
	CHECK_EQ(served, 1);
	coro_nowait_on_error(before);
	CHECK_EQ(coro_fd_close(f), CORO_OK);
	finish(s);
	finish(other);
}

/* ---------------------------------------------------------------------------------------- storm */

static uint64_t asked;

static void *asks_on(void *arg)
{
	uint64_t random = *(uint64_t *)arg;

	for (;;) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (connect(fd, (struct sockaddr *)&to, sizeof to)) {
			close(fd);
			return NULL; /* the listener is closed */
		}
		for (uint64_t n = rnd(&random) % 4; n; n--)
			if (ask(fd))
				add_one(&asked);
		close(fd);
	}
}

/* Servers that end at random points, while clients come and go. */
TEST_LIMIT(serve_storm_of_ends, 300)
{
	uint64_t random = 7, ends = scaled(DELAYED ? 4 : 40);

	for (uint64_t i = 0; i < ends; i++) {
		coro_scheduler *s = start_with(1 + (uint32_t)i % 3, 0);
		struct server v = {
			.options = {.limit = (uint32_t)(i % 4), .grace = i % 5 ? CORO_FOREVER : 1}};
		uint64_t seed[3];
		pthread_t t[3];
		asked = 0;
		server_start(s, &v, answers);
		for (int k = 0; k < 3; k++) {
			seed[k] = rnd(&random);
			thread_start(&t[k], asks_on, &seed[k]);
		}
		sleep_until_seen(&asked, 1 + rnd(&random) % 200);
		CHECK_EQ(coro_fd_close(v.listener), CORO_OK);
		server_end(s, &v, CORO_ECLOSED);
		for (int k = 0; k < 3; k++)
			thread_join(t[k]);
		finish(s);
	}
}
