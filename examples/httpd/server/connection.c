/*
 * connection.c - see connection.h.
 *
 * A turn takes one recv and one send, however many requests came by that recv:
 *
 *   1  receive: send what has been answered, wait, and receive what there is.
 *   2  parse the first request. It is not complete: 1.
 *   3  have it answered. The response goes to `out`, behind those before it. A large body is sent
 *      at once, together with `out`.
 *   4  the next request: 2.
 *
 * The bytes of a request stay where they are until it is answered. One that is not complete is
 * moved to the front of `in`, so that the next recv has all the room.
 *
 * When the server ends, a connection that waits for a request ends: coro_serve_read tells it. One
 * that has a request under way answers that first, as its last one: coro_serve_ends.
 */
#include "connection.h"

#include "handlers.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define IN_BYTES    (REQUEST_HEADER + 512) /* behind the longest header there is room for chunks */
#define OUT_BYTES   4096
#define SMALL_BYTES 1024 /* a body up to here is copied to `out` */
#define CONTINUE    "HTTP/1.1 100 Continue\r\n\r\n"

struct connection {
	coro_fd fd;
	size_t start, end; /* what was received, and is not parsed: a part of `in` */
	size_t out_bytes;
	uint64_t deadline; /* for the header or the body that is under way; 0: none is */
	uint32_t requests;
	struct request request;
	struct response response;
	char in[IN_BYTES]; /* so that a short request and what is before lie in one page, mostly */
	char out[OUT_BYTES];
	char room[RESPONSE_ROOM];
};

struct limits limits;

/* ----------------------------------------------------------------------------- receive and send */

/* after - a deadline. The coarse clock is the same one, some ms behind, and cheaper. */
static uint64_t after(uint64_t ns)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec + ns;
}

/* send_rest - send what follows the first `sent` bytes of `out` and the body. */
static int send_rest(struct connection *c, const char *body, size_t bytes, size_t sent, size_t *put,
		     uint64_t deadline)
{
	size_t head = sent < c->out_bytes ? c->out_bytes - sent : 0;
	size_t of_body = sent - (c->out_bytes - head);
	struct iovec v[2] = {{c->out + c->out_bytes - head, head},
			     {(char *)(uintptr_t)body + of_body, bytes - of_body}};

	if (head && bytes)
		return coro_writev_all(c->fd, v, 2, put, deadline);
	return coro_write_all(c->fd, v[!head].iov_base, v[!head].iov_len, put, deadline);
}

/* send_with - send `out` and then the body. Returns: false: the connection is to be given up. */
static bool send_with(struct connection *c, const void *body, size_t bytes)
{
	uint64_t deadline = 0; /* most calls need not wait, so the clock is not read for them */
	size_t sent = 0, put;
	int status;

	for (;;) {
		status = send_rest(c, body, bytes, sent, &put, deadline);
		sent += put;
		if (status != CORO_ETIMEDOUT || deadline)
			break;
		deadline = after(limits.write);
	}
	c->out_bytes = 0;
	return status == CORO_OK;
}

static bool flush(struct connection *c)
{
	return !c->out_bytes || send_with(c, "", 0);
}

/* receive - send what there is, and then receive some bytes, as coro_read. Between two requests the
 * end of the server is the end. */
static int64_t receive(struct connection *c, void *to, size_t bytes)
{
	if (!flush(c))
		return CORO_ECLOSED;
	return c->deadline ? coro_read(c->fd, to, bytes, c->deadline)
			   : coro_serve_read(c->fd, to, bytes, after(limits.idle));
}

/* receive_more - the same, behind what is there. */
static int64_t receive_more(struct connection *c)
{
	int64_t n = receive(c, c->in + c->end, sizeof c->in - c->end);

	if (n > 0)
		c->end += (size_t)n;
	return n;
}

/* move_to_front - the request that is under way. */
static void move_to_front(struct connection *c)
{
	if (!c->start)
		return;
	c->end -= c->start;
	memmove(c->in, c->in + c->start, c->end);
	c->request.header = c->in;
	c->start = 0;
}

/* ------------------------------------------------------------------------------------ a request */

/* gone - the status for a wait that has ended with n, 0 or less: 408, or -1: nobody can be told. */
static int gone(int64_t n)
{
	return n == CORO_ETIMEDOUT ? 408 : -1;
}

/* skip_lines - empty lines before a request. */
static void skip_lines(struct connection *c)
{
	while (c->end - c->start >= 2 && c->in[c->start] == '\r' && c->in[c->start + 1] == '\n')
		c->start += 2;
}

/* read_header - Returns: 0; a status of HTTP: the error; -1: the end of the connection. */
static int read_header(struct connection *c)
{
	struct request *q = &c->request;
	int status = REQUEST_MORE;

	for (;;) {
		if (!q->fed)
			skip_lines(c);
		size_t bytes = c->end - c->start;
		if (bytes > 1 || (bytes && c->in[c->start] != '\r'))
			status = request_header(q, c->in + c->start, bytes);
		if (status != REQUEST_MORE)
			return status == REQUEST_DONE ? 0 : status;
		if (bytes && !c->deadline)
			c->deadline = after(limits.header);
		move_to_front(c);
		int64_t n = receive_more(c);
		if (n <= 0)
			return c->deadline ? gone(n) : -1;
	}
}

/* read_long - a body that does not fit into `in`. */
static int read_long(struct connection *c, size_t have)
{
	struct request *q = &c->request;
	char *body = request_room(q, q->length);

	if (!body)
		return 503;
	memcpy(body, c->in + c->end - have, have);
	c->end -= have;
	while (have < q->length) {
		int64_t n = receive(c, body + have, q->length - have);
		if (n <= 0)
			return gone(n);
		have += (size_t)n;
	}
	q->body = body;
	q->body_bytes = have;
	return 0;
}

/* read_body - of a body with a length. */
static int read_body(struct connection *c)
{
	struct request *q = &c->request;

	if (q->fed + q->length > sizeof c->in) {
		int status = read_long(c, c->end - c->start - q->fed);
		c->start = c->end;
		return status;
	}
	if (c->end - c->start < q->fed + q->length)
		move_to_front(c);
	while (c->end - c->start < q->fed + q->length) {
		int64_t n = receive_more(c);
		if (n <= 0)
			return gone(n);
	}
	q->body = q->header + q->fed;
	q->body_bytes = q->length;
	c->start += q->fed + q->length;
	return 0;
}

/* read_chunks - of a body in chunks, which come to `in` behind the header, one piece after the
 * other. */
static int read_chunks(struct connection *c)
{
	struct request *q = &c->request;
	size_t at = c->start + q->fed, used;
	int status;

	while (!(status = request_chunks(q, c->in + at, c->end - at, &used))) {
		c->end = at;
		if (c->start) {
			move_to_front(c);
			at = c->end;
		}
		int64_t n = receive_more(c);
		if (n <= 0)
			return gone(n);
	}
	c->start = at + used;
	return status == REQUEST_DONE ? 0 : status;
}

/* read_request - Returns: as read_header. */
static int read_request(struct connection *c)
{
	struct request *q = &c->request;
	int status = read_header(c);

	if (status)
		return status;
	if (!q->chunked && c->end - c->start >= q->fed + q->length)
		return read_body(c); /* it is there */
	c->deadline = after(limits.body);
	if (q->expects && c->end - c->start == q->fed) {
		if (c->out_bytes + sizeof CONTINUE > sizeof c->out && !flush(c))
			return -1;
		memcpy(c->out + c->out_bytes, CONTINUE, sizeof CONTINUE - 1);
		c->out_bytes += sizeof CONTINUE - 1;
	}
	return q->chunked ? read_chunks(c) : read_body(c);
}

/* ----------------------------------------------------------------------------------- a response */

/* respond - add the response to `out`, or send both. Returns: as send_with. */
static bool respond(struct connection *c)
{
	struct response *r = &c->response;
	size_t head = RESPONSE_HEAD + (r->fields ? strlen(r->fields) : 0);
	size_t body = r->head ? 0 : r->body_bytes;
	bool is_small = body <= SMALL_BYTES;

	if (c->out_bytes + head + (is_small ? body : 0) > sizeof c->out && !flush(c))
		return false;
	c->out_bytes += response_head(r, c->out + c->out_bytes);
	if (!is_small)
		return send_with(c, r->body, body);
	memcpy(c->out + c->out_bytes, r->body, body);
	c->out_bytes += body;
	return true;
}

/* serve_one - read and answer one request. Returns: false: it was the last one. */
static bool serve_one(struct connection *c)
{
	struct request *q = &c->request;
	struct response *r = &c->response;

	request_begin(q);
	c->deadline = 0;
	int status = read_request(c);
	if (status < 0) {
		request_end(q);
		return false;
	}
	response_begin(r);
	if (status) {
		response_text(r, status);
		r->close = true;
	} else {
		handle(q, r);
		r->close = !q->keep_alive || q->old;
		if (++c->requests >= limits.requests || coro_serve_ends(c->fd))
			r->close = true;
	}
	bool sent = respond(c);
	request_end(q);
	return sent && !r->close;
}

CORO_BODY(serve_connection, coro_fd, coro_none, 0)
{
	struct connection *c = coro_malloc(sizeof *c);

	(void)result;
	if (!c)
		return;
	c->fd = *arg;
	c->start = c->end = c->out_bytes = 0;
	c->requests = 0;
	c->response.room = c->room;
	while (serve_one(c))
		;
	flush(c); /* the server lingers until the client has it */
}
