/*
 * request.c - see request.h.
 *
 * llhttp is generous in places where two servers on the way of a request may then differ about its
 * end: request smuggling. Version 8.1.0 takes folded lines, blanks before the colon, bare CR, two
 * blanks in the request line. So when llhttp has seen the whole header, check() looks whether the
 * header is what the parts say that llhttp has found: each byte is one of theirs, or the one blank,
 * colon or CR LF that must be there. Whatever llhttp has passed over is refused.
 */
#include "request.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define VERSION "HTTP/1.1\r\n"

static unsigned end(struct span s)
{
	return s.at + s.bytes;
}

/* ------------------------------------------------------------------ functions that llhttp calls */

static struct span span(const struct request *r, const char *at, size_t bytes)
{
	return (struct span){(uint16_t)(at - r->header), (uint16_t)bytes};
}

static int on_target(llhttp_t *p, const char *at, size_t bytes)
{
	struct request *r = p->data;

	if (r->target.bytes)
		r->target.bytes += (uint16_t)bytes;
	else
		r->target = span(r, at, bytes);
	return 0;
}

/* A part of a trailer field, which nobody reads, or of one field too many. */
static bool is_dropped(const struct request *r)
{
	return r->chunked || r->fields > REQUEST_FIELDS;
}

static int on_name(llhttp_t *p, const char *at, size_t bytes)
{
	struct request *r = p->data;

	if (!r->in_value && r->fields) { /* the rest of a name */
		if (!is_dropped(r))
			r->field[r->fields - 1].name.bytes += (uint16_t)bytes;
		return 0;
	}
	r->in_value = false;
	r->fields++;
	if (!is_dropped(r))
		r->field[r->fields - 1] = (struct field){span(r, at, bytes), {0, 0}};
	return 0;
}

static int on_value(llhttp_t *p, const char *at, size_t bytes)
{
	struct request *r = p->data;
	bool first = !r->in_value;

	r->in_value = true;
	if (is_dropped(r))
		return 0;
	struct span *v = &r->field[r->fields - 1].value;
	if (first || !v->bytes)
		*v = span(r, at, bytes);
	else if (end(*v) == span(r, at, bytes).at)
		v->bytes += (uint16_t)bytes;
	else
		r->folded = true;
	return 0;
}

/* The caller decides what the header means, and goes on with chunks alone. */
static int on_header(llhttp_t *p)
{
	p->upgrade = 0;
	return HPE_PAUSED;
}

static int on_body(llhttp_t *p, const char *at, size_t bytes)
{
	struct request *r = p->data;
	size_t all = r->body_bytes + bytes;

	if (all > r->own_bytes) {
		char *more = realloc(r->own, all + all / 2);
		if (!more) {
			r->failed = 503;
			return -1;
		}
		r->own = more;
		r->own_bytes = all + all / 2;
	}
	memcpy(r->own + r->body_bytes, at, bytes);
	r->body = r->own;
	r->body_bytes = all;
	return 0;
}

static int on_chunk(llhttp_t *p)
{
	struct request *r = p->data;

	if (p->content_length <= REQUEST_BODY)
		return 0;
	r->failed = 413;
	return -1;
}

static int on_end(llhttp_t *p)
{
	(void)p;
	return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
	.on_url = on_target,
	.on_header_field = on_name,
	.on_header_value = on_value,
	.on_headers_complete = on_header,
	.on_chunk_header = on_chunk,
	.on_body = on_body,
	.on_message_complete = on_end,
};

/* ------------------------------------------------------------------------------------- checking */

/* is_same - of a text that has the length of `small`, which has small letters and - alone. A byte
 * that is not one of these, but becomes it by 0x20, is a capital, or a CR, which no name or value
 * has. */
static bool is_same(const char *at, const char *small)
{
	for (; *small; small++, at++)
		if (*at != *small && (*at | 0x20) != *small)
			return false;
	return true;
}

static bool is_name(const struct request *r, const struct field *f, const char *small)
{
	return is_same(request_text(r, f->name), small);
}

static bool is_value(const struct request *r, const struct field *f, const char *small)
{
	return f->value.bytes == strlen(small) && is_same(request_text(r, f->value), small);
}

/* is_host - a name or an address, and perhaps a port. It may be empty. */
static bool is_host(const char *at, size_t bytes)
{
	static const bool allowed[256] = {
		['0' ... '9'] = true, ['A' ... 'Z'] = true, ['a' ... 'z'] = true, ['-'] = true,
		['.'] = true,         ['_'] = true,         ['~'] = true,         ['!'] = true,
		['$'] = true,         ['&'] = true,         ['\''] = true,        ['('] = true,
		[')'] = true,         ['*'] = true,         ['+'] = true,         [';'] = true,
		['='] = true,         [':'] = true,         ['['] = true,         [']'] = true,
		['%'] = true,
	};

	for (size_t i = 0; i < bytes; i++)
		if (!allowed[(unsigned char)at[i]])
			return false;
	return true;
}

/* note - what the field f says of the request. Returns: 0 or an error. */
static int note(struct request *r, const struct field *f)
{
	switch (f->name.bytes) {
	case 4:
		if (!is_name(r, f, "host"))
			return 0;
		r->hosts++;
		return is_host(request_text(r, f->value), f->value.bytes) ? 0 : 400;
	case 6:
		if (!is_name(r, f, "expect"))
			return 0;
		r->expects = true;
		return is_value(r, f, "100-continue") ? 0 : 417;
	case 17:
		if (!is_name(r, f, "transfer-encoding"))
			return 0;
		r->codings++;
		return is_value(r, f, "chunked") ? 0 : 501;
	}
	return 0;
}

/* check_fields - the fields, whose first begins at `at`. */
static int check_fields(struct request *r, unsigned at)
{
	const char *h = r->header;
	int status = 0;

	for (struct field *f = r->field; f < r->field + r->fields; f++) {
		if (f->name.at != at || !f->name.bytes || h[end(f->name)] != ':')
			return 400;
		for (at = end(f->name) + 1; h[at] == ' ' || h[at] == '\t';)
			at++;
		if (f->value.bytes && f->value.at != at)
			return 400;
		f->value.at = (uint16_t)at;
		at = end(f->value);
		if (h[at] != '\r' || h[at + 1] != '\n')
			return 400;
		at += 2;
		for (; f->value.bytes; f->value.bytes--) { /* blanks at its end */
			char last = h[end(f->value) - 1];
			if (last != ' ' && last != '\t')
				break;
		}
		int found = note(r, f);
		status = status ? status : found;
	}
	return h[at] == '\r' && h[at + 1] == '\n' && at + 2 == r->fed ? status : 400;
}

/* check_target - take the target apart: /path?query, http://host/path?query, or the * of
 * OPTIONS. */
static int check_target(struct request *r)
{
	const char *t = request_text(r, r->target), *last = t + r->target.bytes, *path = t;

	if (*t != '/' && !(r->method == HTTP_OPTIONS && r->target.bytes == 1 && *t == '*')) {
		if (r->target.bytes < 8 || strncasecmp(t, "http://", 7))
			return 400;
		for (path = t + 7; path < last && *path != '/' && *path != '?';)
			path++;
		if (path == t + 7 || !is_host(t + 7, (size_t)(path - t - 7)))
			return 400;
	}
	const char *query = memchr(path, '?', (size_t)(last - path));
	r->path = span(r, path, (size_t)((query ? query : last) - path));
	if (!r->path.bytes) /* http://host is http://host/; a slash is there */
		r->path = span(r, t + 5, 1);
	if (query)
		r->query = span(r, query + 1, (size_t)(last - query - 1));
	return memchr(t, '#', r->target.bytes) ? 400 : 0;
}

/* check - of a header that llhttp has seen to its end. Returns: 0 or an error. */
static int check(struct request *r)
{
	const char *h = r->header, *blank = memchr(h, ' ', r->fed);
	const char *version = h + end(r->target) + 1;
	const size_t minor = sizeof VERSION - 4; /* the place of the digit */

	/* the bytes up to the blank were the method, unless they began with a line of no bytes */
	if (*h < 'A' || !blank || !r->target.bytes || r->target.at != blank + 1 - h ||
	    r->target.at + r->target.bytes + sizeof VERSION > r->fed || version[-1] != ' ')
		return 400;
	if (memcmp(version, "HTTP/", 5))
		return 400; /* RTSP, ICE */
	if (memcmp(version, VERSION, minor))
		return 505;
	if (memcmp(version + minor + 1, "\r\n", 2))
		return 400;
	if (r->fields > REQUEST_FIELDS)
		return 431;
	r->method = r->parser.method;
	int fields = check_fields(r, end(r->target) + sizeof VERSION);
	if (fields == 400 || r->folded)
		return 400;
	r->old = version[minor] == '0';
	if (r->hosts > 1 || (!r->hosts && !r->old) || r->codings > 1 || (r->codings && r->old))
		return 400;
	if (fields)
		return fields;
	if (r->method == HTTP_CONNECT || r->method > HTTP_SOURCE)
		return 501;
	r->keep_alive = llhttp_should_keep_alive(&r->parser);
	r->expects = r->expects && !r->old;
	r->length = r->parser.content_length;
	r->chunked = r->codings;
	if (r->parser.content_length > REQUEST_BODY)
		return 413;
	return check_target(r);
}

/* refusal - the status for what llhttp does not accept. */
static int refusal(const struct request *r, llhttp_errno_t e)
{
	const char *version = r->header + end(r->target) + 1;

	switch (e) {
	case HPE_INVALID_METHOD: /* perhaps one that llhttp does not know */
		return *r->header >= 'A' && *r->header <= 'Z' ? 501 : 400;
	case HPE_INVALID_VERSION: /* after eight bytes, HTTP/ and digits, these are wrong */
		if (llhttp_get_error_pos(&r->parser) != version + 8)
			return 400;
		return memcmp(version, VERSION, 7) || (version[7] & 0xfe) != '0' ? 505 : 400;
	case HPE_PAUSED_H2_UPGRADE:
		return 505;
	default:
		return 400;
	}
}

/* --------------------------------------------------------------------------------------- public */

void request_begin(struct request *r)
{
	memset(r, 0, offsetof(struct request, parser));
	llhttp_init(&r->parser, HTTP_REQUEST, &settings);
	r->parser.data = r;
}

void request_end(struct request *r)
{
	free(r->own);
	r->own = NULL;
}

char *request_room(struct request *r, size_t bytes)
{
	r->own = malloc(bytes);
	r->own_bytes = r->own ? bytes : 0;
	return r->own;
}

/* too_long - of a header that has more bytes than a header may have. */
static int too_long(const char *header)
{
	return memchr(header, '\n', REQUEST_HEADER) ? 431 : 414;
}

int request_header(struct request *r, const char *header, size_t bytes)
{
	size_t most = bytes < REQUEST_HEADER ? bytes : REQUEST_HEADER;

	r->header = header;
	llhttp_errno_t e = llhttp_execute(&r->parser, header + r->fed, most - r->fed);
	if (e == HPE_OK) {
		r->fed = most;
		return most < REQUEST_HEADER ? REQUEST_MORE : too_long(header);
	}
	if (e != HPE_PAUSED)
		return refusal(r, e);
	r->fed = (size_t)(llhttp_get_error_pos(&r->parser) - header);
	int status = check(r);
	return status ? status : REQUEST_DONE;
}

int request_chunks(struct request *r, const char *at, size_t bytes, size_t *used)
{
	*used = bytes;
	if (!bytes)
		return REQUEST_MORE;
	if (!r->raw)
		llhttp_resume(&r->parser);
	llhttp_errno_t e = llhttp_execute(&r->parser, at, bytes);
	if (e == HPE_PAUSED)
		*used = (size_t)(llhttp_get_error_pos(&r->parser) - at);
	r->raw += *used;
	if (r->failed)
		return r->failed;
	if (r->raw > REQUEST_BODY)
		return 413;
	if (e == HPE_OK) {
		r->before = at[bytes - 1];
		return REQUEST_MORE;
	}
	if (e != HPE_PAUSED)
		return 400;
	/* llhttp also ends at a LF alone */
	return (*used > 1 ? at[*used - 2] : r->before) == '\r' ? REQUEST_DONE : 400;
}
