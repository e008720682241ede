/* loop.c - see loop.h. */
#include "loop.h"

#include "request.h"
#include "response.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS    64
#define IN_BYTES  (REQUEST_HEADER + 512)
#define OUT_BYTES 4096

struct connection {
	int fd;
	size_t start, end, out_bytes;
	struct request request;
	struct response response;
	char in[IN_BYTES];
	char out[OUT_BYTES];
};

/* What a thread is given. */
struct loop {
	int set, listener; /* -1: another thread accepts */
	struct loop *all;
	int threads, next;
};

static void end(struct connection *c)
{
	close(c->fd);
	free(c);
}

static bool flush(struct connection *c)
{
	ssize_t n = send(c->fd, c->out, c->out_bytes, MSG_NOSIGNAL);
	bool sent = n == (ssize_t)c->out_bytes;

	c->out_bytes = 0;
	return sent; /* a client of the benchmark reads */
}

/* answer_one - parse and answer the first request of what came. Returns: REQUEST_MORE;
 * REQUEST_DONE; another number: the end of the connection. */
static int answer_one(struct connection *c)
{
	struct request *q = &c->request;
	struct response *r = &c->response;

	if (c->start == c->end)
		return REQUEST_MORE;
	int status = request_header(q, c->in + c->start, c->end - c->start);
	if (status != REQUEST_DONE)
		return status;
	if (q->chunked || q->length)
		return -1;
	if (c->out_bytes + RESPONSE_HEAD + 14 > sizeof c->out && !flush(c))
		return -1;
	response_begin(r);
	r->body = "Hello, World!\n";
	r->body_bytes = 14;
	r->close = !q->keep_alive || q->old;
	c->out_bytes += response_head(r, c->out + c->out_bytes);
	memcpy(c->out + c->out_bytes, r->body, r->body_bytes);
	c->out_bytes += r->body_bytes;
	c->start += q->fed;
	request_begin(q);
	return r->close ? -1 : REQUEST_DONE;
}

/* turn - serve what is there. After a short read the socket is empty. Returns: false: it has
 * ended. */
static bool turn(struct connection *c)
{
	for (;;) {
		size_t room = sizeof c->in - c->end;
		ssize_t n = recv(c->fd, c->in + c->end, room, 0);
		if (n < 0 && errno == EAGAIN)
			return true;
		if (n <= 0)
			return false;
		c->end += (size_t)n;
		int status;
		while ((status = answer_one(c)) == REQUEST_DONE)
			;
		if ((c->out_bytes && !flush(c)) || status != REQUEST_MORE)
			return false;
		c->end -= c->start;
		memmove(c->in, c->in + c->start, c->end);
		c->start = 0;
		if ((size_t)n < room)
			return true;
	}
}

static void accept_all(struct loop *l)
{
	struct epoll_event e = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET};
	int fd, one = 1;

	while ((fd = accept4(l->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		struct connection *c = malloc(sizeof *c);
		if (!c || setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one)) {
			free(c);
			close(fd);
			continue;
		}
		c->fd = fd;
		c->start = c->end = c->out_bytes = 0;
		request_begin(&c->request);
		e.data.ptr = c;
		l->next = (l->next + 1) % l->threads;
		if (epoll_ctl(l->all[l->next].set, EPOLL_CTL_ADD, fd, &e))
			end(c);
	}
}

static void *serve(void *arg)
{
	struct loop *l = arg;
	struct epoll_event e[EVENTS];

	for (;;) {
		int n = epoll_wait(l->set, e, EVENTS, -1);
		for (int i = 0; i < n; i++) {
			struct connection *c = e[i].data.ptr;
			if (!c)
				accept_all(l);
			else if (!turn(c))
				end(c);
		}
	}
	return NULL;
}

int loop_serve(int listener, int threads)
{
	struct loop *all = calloc((size_t)threads, sizeof *all);
	struct epoll_event e = {.events = EPOLLIN};
	pthread_t thread;
	int failed = all ? 0 : ENOMEM;

	for (int i = 0; i < threads && !failed; i++) {
		all[i] = (struct loop){epoll_create1(EPOLL_CLOEXEC), listener, all, threads, 0};
		failed = all[i].set < 0 ? errno : 0;
	}
	if (!failed && epoll_ctl(all->set, EPOLL_CTL_ADD, listener, &e))
		failed = errno;
	for (int i = 1; i < threads && !failed; i++)
		failed = pthread_create(&thread, NULL, serve, &all[i]);
	if (!failed)
		serve(all);
	return failed; /* the process ends soon: nothing is given back */
}
