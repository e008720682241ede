/*
 * serve.h - what Go needs of coro_serve.
 */
#ifndef COROI_SERVE_H
#define COROI_SERVE_H

#include "coro_io.h"

/* The argument of coroi_serve_body. */
struct coroi_serve {
	coro_fd listener;
	uint64_t fn; /* a coro_fn */
	/* as of coro_serve_options: */
	uint64_t grace;
	uint64_t linger;
	uint32_t limit;
	uint32_t worker; /* as of coro_attr */
	uint16_t attrs;  /* CORO_DENSE, CORO_DAEMON */
	uint8_t class;   /* of stacks; not of dense coroutines */
	uint8_t unused[5];
};
_Static_assert(sizeof(struct coroi_serve) == CORO_INLINE_BYTES, "Go has the same");

/* coroi_serve_body - a coroutine that calls coro_serve. Its result, an int32_t, is the status. */
void coroi_serve_body(void *arg, void *result);

#endif
