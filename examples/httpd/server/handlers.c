/* handlers.c - see handlers.h. */
#include "handlers.h"

#include <string.h>

struct go_functions go_functions;

/* GET / - in C. */
static int hello(struct request *q, struct response *r)
{
	(void)q;
	r->body = "Hello, World!\n";
	r->body_bytes = 14;
	return 200;
}

/* POST /echo - the body comes back. */
static int echo(struct request *q, struct response *r)
{
	r->type = "application/octet-stream";
	r->body = q->body;
	r->body_bytes = q->body_bytes;
	return 200;
}

typedef int call_fn(coro_go_id id, const void *arg, size_t arg_bytes, void *result,
		    size_t result_bytes, size_t *got);

/* call - give the query to a Go function, and answer with its result. */
static int call(struct request *q, struct response *r, call_fn *how, coro_go_id id)
{
	size_t got;

	if (how(id, request_text(q, q->query), q->query.bytes, r->room, RESPONSE_ROOM, &got) !=
	    CORO_OK)
		return 500;
	r->body_bytes = got;
	return 200;
}

/* GET /inline?text - a Go function that the worker's thread calls. It does not block. */
static int go_inline(struct request *q, struct response *r)
{
	return call(q, r, coro_call_go_inline, go_functions.inlined);
}

/* GET /go?text - a Go function that a goroutine calls. It may do what any Go code may. */
static int go_offloaded(struct request *q, struct response *r)
{
	return call(q, r, coro_call_go, go_functions.offloaded);
}

static const struct route {
	const char *path;
	size_t bytes;
	llhttp_method_t method; /* HTTP_GET: and HEAD */
	int (*handler)(struct request *, struct response *);
} routes[] = {
#define ROUTE(path, method, handler)                   \
	{                                              \
		path, sizeof path - 1, method, handler \
	}
	ROUTE("/", HTTP_GET, hello),
	ROUTE("/inline", HTTP_GET, go_inline),
	ROUTE("/go", HTTP_GET, go_offloaded),
	ROUTE("/echo", HTTP_POST, echo),
};

/* is_path - both begin with a slash, or that of the request is a * alone. */
static bool is_path(const struct request *q, const struct route *x)
{
	const char *path = request_text(q, q->path);

	return q->path.bytes == x->bytes && *path == '/' &&
	       (x->bytes == 1 || !memcmp(path, x->path, x->bytes));
}

/* answer - what is not found, or not allowed, is told. */
static int answer(struct request *q, struct response *r)
{
	llhttp_method_t method = r->head ? HTTP_GET : q->method;

	for (const struct route *x = routes; x < routes + sizeof routes / sizeof *routes; x++) {
		if (!is_path(q, x))
			continue;
		if (x->method == method)
			return x->handler(q, r);
		r->fields = x->method == HTTP_GET ? "Allow: GET, HEAD\r\n" : "Allow: POST\r\n";
		return 405;
	}
	return 404;
}

void handle(struct request *q, struct response *r)
{
	r->head = q->method == HTTP_HEAD;
	int status = answer(q, r);
	if (status != 200)
		response_text(r, status);
}
