/* io.c - see io.h. */
#include "io.h"

#include "cbody.h"
#include "coro_io.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS 64

int64_t cb_io_cpu_ns(void)
{
	return cb_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* ---------------------------------------------------------------------------------- connections */

void cb_io_close(int n, const int32_t *fd)
{
	for (int i = 0; i < n; i++)
		close(fd[i]);
}

static int prepare(int fd)
{
	int one = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one))
		return errno;
	return fcntl(fd, F_SETFL, O_NONBLOCK) ? errno : 0;
}

static int connect_one(int listener, const struct sockaddr_in *to, int32_t *server, int32_t *client)
{
	int a = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), b = -1, failed = 0;

	if (a < 0)
		return errno;
	if (connect(a, (const struct sockaddr *)to, sizeof *to) ||
	    (b = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) < 0)
		failed = errno;
	if (!failed)
		failed = prepare(a);
	if (!failed)
		failed = prepare(b);
	if (failed) {
		close(a);
		if (b >= 0)
			close(b);
		return failed;
	}
	*client = a;
	*server = b;
	return 0;
}

int cb_io_connect(int n, int32_t *server, int32_t *client)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t length = sizeof to;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), failed = 0;

	if (listener < 0)
		return errno;
	if (bind(listener, (struct sockaddr *)&to, length) ||
	    getsockname(listener, (struct sockaddr *)&to, &length) || listen(listener, 128))
		failed = errno;
	for (int i = 0; i < n && !failed; i++) {
		failed = connect_one(listener, &to, &server[i], &client[i]);
		if (failed) {
			cb_io_close(i, server);
			cb_io_close(i, client);
		}
	}
	close(listener);
	return failed;
}

/* --------------------------------------------------------------------------------------- client */

struct asking {
	int64_t asked, *since; /* since: when the request was sent, by connection */
	int64_t came, total;
	int32_t *got; /* bytes of the answer, by connection */
	const int32_t *fd;
};

static int ask(struct asking *k, int i)
{
	static const char request[CB_IO_REQUEST];

	k->got[i] = 0;
	k->asked++;
	k->since[i] = cb_now_ns();
	return send(k->fd[i], request, sizeof request, MSG_NOSIGNAL) == sizeof request ? 0 : EPIPE;
}

/* hear - what there is on connection i. Returns: 0 or an errno. */
static int hear(struct asking *k, int i)
{
	char answer[CB_IO_ANSWER];

	ssize_t n = recv(k->fd[i], answer, sizeof answer - (size_t)k->got[i], 0);
	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n <= 0)
		return n < 0 ? errno : EPIPE;
	k->got[i] += (int32_t)n;
	if (k->got[i] < CB_IO_ANSWER)
		return 0;
	if (k->came < CB_WAITS)
		cb_waits[k->came] = cb_now_ns() - k->since[i];
	k->came++;
	return k->asked < k->total ? ask(k, i) : 0;
}

static int ask_all(int n, int set, struct asking *k)
{
	struct epoll_event e[EVENTS];
	int failed = 0;

	for (int i = 0; i < n && !failed; i++) {
		e[0] = (struct epoll_event){.events = EPOLLIN | EPOLLET, .data.u32 = (uint32_t)i};
		failed = epoll_ctl(set, EPOLL_CTL_ADD, k->fd[i], &e[0]) ? errno : ask(k, i);
	}
	while (k->came < k->total && !failed) {
		int events = epoll_wait(set, e, EVENTS, 10000);
		if (events <= 0 && errno != EINTR)
			return events ? errno : ETIMEDOUT;
		for (int j = 0; j < events && !failed; j++)
			failed = hear(k, (int)e[j].data.u32);
	}
	return failed;
}

int64_t cb_io_ask(int n, const int32_t *client, int64_t total, int64_t *cpu_ns)
{
	struct asking k = {.total = total, .fd = client};
	int set = epoll_create1(EPOLL_CLOEXEC);

	if (set < 0)
		return -errno;
	k.since = calloc((size_t)n, sizeof *k.since);
	k.got = calloc((size_t)n, sizeof *k.got);
	int64_t cpu = cb_thread_ns(), start = cb_now_ns();
	int failed = k.since && k.got ? ask_all(n, set, &k) : ENOMEM;
	int64_t took = cb_now_ns() - start;
	*cpu_ns = cb_thread_ns() - cpu;
	free(k.since);
	free(k.got);
	close(set);
	return failed ? -failed : took;
}

/* -------------------------------------------------------------------------------------- servers */

static const char answer[CB_IO_ANSWER];

static inline void serve(coro_fd f, char *request, size_t bytes)
{
	int64_t n;

	while ((n = coro_read(f, request, bytes, CORO_FOREVER)) == CB_IO_REQUEST)
		if (coro_write(f, answer, sizeof answer, CORO_FOREVER) != sizeof answer)
			break;
	if (n < 0 && n != CORO_ECLOSED)
		cb_fail((int)n);
	coro_fd_close(f); /* CORO_ESTALE: it was closed */
}

void cb_io_serve(void *arg, void *result)
{
	char request[4096];

	(void)result;
	serve(*(coro_fd *)arg, request, sizeof request);
}

void cb_io_serve_small(void *arg, void *result)
{
	char request[CB_IO_SMALL];

	(void)result;
	serve(*(coro_fd *)arg, request, sizeof request);
}

static int bell = -1; /* atomic */

void cb_io_stop(void)
{
	int fd;

	while ((fd = __atomic_load_n(&bell, __ATOMIC_SEQ_CST)) < 0)
		usleep(100);
	(void)!write(fd, &(uint64_t){1}, 8);
}

/* loop_once - serve what is ready. False: the bell was rung. */
static bool loop_once(int set, int *failed)
{
	struct epoll_event e[EVENTS];
	char request[4096];
	int events = epoll_wait(set, e, EVENTS, -1);

	for (int i = 0; i < events; i++) {
		if (e[i].data.fd < 0)
			return false;
		/* after a short read the socket is empty */
		ssize_t n = recv(e[i].data.fd, request, sizeof request, 0);
		if (n == CB_IO_REQUEST)
			n = send(e[i].data.fd, answer, sizeof answer, MSG_NOSIGNAL);
		if (n < 0 && errno != EAGAIN)
			*failed = errno;
	}
	return true;
}

int cb_io_loop(int n, const int32_t *server)
{
	int set = epoll_create1(EPOLL_CLOEXEC), own = eventfd(0, EFD_CLOEXEC), failed = 0;
	struct epoll_event e = {.events = EPOLLIN, .data.fd = -1};

	if (set < 0 || own < 0 || epoll_ctl(set, EPOLL_CTL_ADD, own, &e))
		return errno; /* the process ends soon: nothing is given back */
	for (int i = 0; i < n && !failed; i++) {
		e = (struct epoll_event){.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
					 .data.fd = server[i]};
		failed = epoll_ctl(set, EPOLL_CTL_ADD, server[i], &e) ? errno : 0;
	}
	__atomic_store_n(&bell, own, __ATOMIC_SEQ_CST);
	while (loop_once(set, &failed))
		;
	__atomic_store_n(&bell, -1, __ATOMIC_SEQ_CST);
	close(own);
	close(set);
	return failed;
}
