/*
 * fuzz.c - the connections of the server under libFuzzer: from bytes to responses. The calls of
 * coro_io.h are replaced by a client in memory, so that a connection runs to its end in one call.
 *
 * Checked, besides what the sanitizers find: all that is sent are whole responses of HTTP; what is
 * sent does not depend on the pieces in which the bytes come, nor on short writes; when the server
 * ends, the response that is under way is whole, and the last one; each piece of memory is given
 * back.
 *
 *	make fuzz-httpd [FUZZ_SECONDS=60]
 */
#include "connection.h"
#include "handlers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define SENT_BYTES ((size_t)8 << 20)

/* The client. */
static struct {
	const uint8_t *in; /* what it sends */
	size_t bytes, at;
	size_t piece; /* of each read and write at most; 0: any number */
	size_t ends;  /* the server ends at that read; 0: it goes on */
	size_t reads;
	char *sent; /* what the server has sent */
	size_t sent_bytes;
	void *memory;
} client;

static void fail(const char *what)
{
	fprintf(stderr, "fuzz.c: %s\n", what);
	fwrite(client.sent, 1, client.sent_bytes, stderr);
	abort();
}

static size_t most(size_t bytes)
{
	return client.piece && client.piece < bytes ? client.piece : bytes;
}

/* ----------------------------------------------------------------------------- what coro offers */

int coro_serve_ends(coro_fd f)
{
	(void)f;
	return client.ends && client.reads >= client.ends;
}

int64_t coro_read(coro_fd f, void *to, size_t bytes, uint64_t deadline)
{
	(void)f, (void)deadline;
	if (!bytes)
		fail("a read of no bytes");
	client.reads++;
	size_t n = most(bytes);
	if (n > client.bytes - client.at)
		n = client.bytes - client.at;
	memcpy(to, client.in + client.at, n);
	client.at += n;
	return (int64_t)n;
}

int64_t coro_serve_read(coro_fd f, void *to, size_t bytes, uint64_t deadline)
{
	int64_t n = coro_read(f, to, bytes, deadline);

	if (!coro_serve_ends(f))
		return n;
	client.at -= (size_t)n; /* nothing has come */
	return CORO_ECLOSED;
}

static int64_t sent(const void *from, size_t bytes)
{
	if (bytes > SENT_BYTES - client.sent_bytes)
		fail("more responses than there can be");
	memcpy(client.sent + client.sent_bytes, from, bytes);
	client.sent_bytes += bytes;
	return (int64_t)bytes;
}

int coro_write_all(coro_fd f, const void *from, size_t bytes, size_t *put, uint64_t deadline)
{
	(void)f;
	*put = (size_t)sent(from, deadline ? bytes : most(bytes));
	return *put == bytes ? CORO_OK : CORO_ETIMEDOUT;
}

int coro_writev_all(coro_fd f, struct iovec *v, int n, size_t *put, uint64_t deadline)
{
	int status = CORO_OK;
	size_t all = 0;

	for (int i = 0; i < n && status == CORO_OK; i++) {
		status = coro_write_all(f, v[i].iov_base, v[i].iov_len, put, deadline);
		all += *put;
	}
	*put = all;
	return status;
}

void *coro_malloc(size_t bytes)
{
	return client.memory = malloc(bytes);
}

int coro_call_go(coro_go_id id, const void *arg, size_t arg_bytes, void *result,
		 size_t result_bytes, size_t *got)
{
	(void)id;
	*got = arg_bytes;
	if (arg_bytes > result_bytes)
		return CORO_ETOOBIG;
	memcpy(result, arg, arg_bytes);
	return CORO_OK;
}

int coro_call_go_inline(coro_go_id id, const void *arg, size_t arg_bytes, void *result,
			size_t result_bytes, size_t *got)
{
	return coro_call_go(id, arg, arg_bytes, result, result_bytes, got);
}

/* --------------------------------------------------------------------------------------- checks */

/* take - the bytes of sent from `at` begin with the text: behind it, or SIZE_MAX. */
static size_t take(size_t at, const char *text)
{
	size_t n = strlen(text);

	if (at > client.sent_bytes || client.sent_bytes - at < n ||
	    memcmp(client.sent + at, text, n) != 0)
		return SIZE_MAX;
	return at + n;
}

/* check_sent - that whole responses were sent. Interim ones are taken out, as these depend on what
 * had come with the header; dates are made the same. */
static void check_sent(int head)
{
	size_t at = 0, to = 0, n;
	bool closed = false;

	while (at < client.sent_bytes) {
		if ((n = take(at, "HTTP/1.1 100 Continue\r\n\r\n")) != SIZE_MAX) {
			at = n;
			continue;
		}
		if (closed)
			fail("a response after the last one");
		size_t begin = at, length = SIZE_MAX;
		if (take(at, "HTTP/1.1 ") == SIZE_MAX)
			fail("no response");
		for (;;) { /* the lines of the header */
			char *end = memmem(client.sent + at, client.sent_bytes - at, "\r\n", 2);
			if (!end)
				fail("a header without an end");
			if (take(at, "Date: ") != SIZE_MAX)
				memset(client.sent + at, 'd', (size_t)(end - client.sent) - at);
			if ((n = take(at, "Content-Length: ")) != SIZE_MAX)
				length = strtoul(client.sent + n, NULL, 10);
			if (take(at, "Connection: close\r\n") != SIZE_MAX)
				closed = true;
			bool last = end == client.sent + at;
			at = (size_t)(end - client.sent) + 2;
			if (last)
				break;
		}
		if (length == SIZE_MAX)
			fail("a response without a length");
		/* a HEAD is answered without a body; the next response or the end follows */
		if (!head || (at < client.sent_bytes && take(at, "HTTP/1.1 ") == SIZE_MAX)) {
			if (client.sent_bytes - at < length)
				fail("a body that is too short");
			at += length;
		}
		memmove(client.sent + to, client.sent + begin, at - begin);
		to += at - begin;
	}
	client.sent_bytes = to;
}

static void run(const uint8_t *in, size_t bytes, size_t piece, size_t ends)
{
	coro_fd fd = 1;

	client.in = in;
	client.bytes = bytes;
	client.at = client.reads = client.sent_bytes = 0;
	client.piece = piece;
	client.ends = ends;
	if (!client.sent && !(client.sent = malloc(SENT_BYTES)))
		abort();
	serve_connection(&fd, NULL);
	free(client.memory);
}

static bool has_head(const uint8_t *in, size_t bytes)
{
	return memmem(in, bytes, "HEAD", 4) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *in, size_t bytes)
{
	static char *first;
	size_t first_bytes, begin;

	if (bytes < 2)
		return -1;
	if (!first && !(first = malloc(SENT_BYTES)))
		abort();
	limits = (struct limits){1, 1, 1, 1, 20};
	int head = has_head(in, bytes);
	uint8_t piece = in[0], ends = in[1];
	in += 2;
	bytes -= 2;

	run(in, bytes, 0, 0);
	check_sent(head);
	first_bytes = client.sent_bytes;
	memcpy(first, client.sent, first_bytes);

	begin = piece ? piece : 1;
	run(in, bytes, begin, 0);
	check_sent(head);
	if (client.sent_bytes != first_bytes || memcmp(client.sent, first, first_bytes) != 0) {
		fwrite(first, 1, first_bytes, stderr);
		fail("other responses to the same bytes in pieces");
	}

	run(in, bytes, begin, 1 + ends);
	check_sent(head); /* whole responses, or none */
	return 0;
}
