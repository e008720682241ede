/*
 * response.h - what a handler answers, and how it is written.
 */
#ifndef RESPONSE_H
#define RESPONSE_H

#include <stdbool.h>
#include <stddef.h>

#define RESPONSE_ROOM 1024 /* bytes for a small body */
#define RESPONSE_HEAD 512  /* most bytes of a status line and the fields, without `fields` */

/* A handler sets what differs from what response_begin has set. */
struct response {
	int status;         /* of HTTP */
	const char *type;   /* Content-Type; NULL: there is none */
	const char *fields; /* more lines of the header, each with its CR LF; NULL: none */
	const void *body;   /* stays as it is until request_end, or forever */
	size_t body_bytes;
	bool close; /* the connection is closed after it */
	bool head;  /* the request was a HEAD: the body is not sent */
	char *room; /* RESPONSE_ROOM bytes, where a small body may be made */
};

void response_begin(struct response *r);

/* response_text - a status, and a text that says what it means. */
void response_text(struct response *r, int status);

/* response_head - write the status line and the fields to `to`, which has room for RESPONSE_HEAD
 * bytes and those of r->fields. Returns: the bytes. */
size_t response_head(const struct response *r, char *to);

#endif
