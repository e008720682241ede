/*
 * request.h - one HTTP/1.1 request: from the bytes that came to its method, path, fields and body.
 * llhttp parses. This file checks what llhttp lets pass, and knows nothing of connections.
 */
#ifndef REQUEST_H
#define REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llhttp.h"

#define REQUEST_HEADER 8192              /* most bytes of a header, with the request line */
#define REQUEST_FIELDS 64                /* most fields of it */
#define REQUEST_BODY   ((size_t)1 << 20) /* most bytes of a body; of one in chunks as it comes */

/* Some bytes of a header. */
struct span {
	uint16_t at, bytes;
};

struct field {
	struct span name, value;
};

struct request {
	const char *header; /* its bytes, from the request line on; all spans are relative to it */
	size_t fed;         /* how many of them llhttp has seen; in the end all */
	llhttp_method_t method;
	struct span target, path, query; /* query: without the question mark */
	bool keep_alive;                 /* the client wants to send more requests */
	bool old;                        /* HTTP/1.0 */
	bool expects;                    /* Expect: 100-continue */
	bool chunked;                    /* the body comes in chunks */
	size_t length;                   /* of a body that does not */
	const char *body;                /* when it is there */
	size_t body_bytes;

	/* of request.c */
	char *own; /* the memory of the body, if it has some of its own */
	size_t own_bytes, raw;
	char before; /* the last byte of the chunks that llhttp has seen */
	bool in_value, folded;
	int failed; /* what a function that llhttp calls has refused: the status */
	unsigned fields, hosts, codings;
	llhttp_t parser;
	struct field field[REQUEST_FIELDS];
};

/* What the two functions below return, besides a status of HTTP, 400 or more: the error. */
enum { REQUEST_MORE = 0, REQUEST_DONE = 1 };

/* request_begin - for the next request. request_end - frees its body. */
void request_begin(struct request *r);
void request_end(struct request *r);

/*
 * request_header - parse a header of which `bytes` bytes have come, at `header`. The next call is
 * given the same bytes and more, at any place. The work is that for the new ones.
 *
 * Returns: REQUEST_MORE; REQUEST_DONE: the header has r->fed bytes, and the body follows; an error.
 *          What is wrong is found at the same byte, however the bytes were cut into pieces.
 */
int request_header(struct request *r, const char *header, size_t bytes);

/*
 * request_chunks - parse more of a body in chunks. *used: how many of the bytes belong to it.
 *
 * Returns: REQUEST_MORE; REQUEST_DONE; an error.
 */
int request_chunks(struct request *r, const char *at, size_t bytes, size_t *used);

/* request_room - memory for a body of `bytes` bytes that lasts until request_end; NULL: none. */
char *request_room(struct request *r, size_t bytes);

static inline const char *request_text(const struct request *r, struct span s)
{
	return r->header + s.at;
}

#endif
