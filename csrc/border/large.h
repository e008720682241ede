/*
 * large.h - coroutines that Go starts with an argument or a result of more than CORO_INLINE_BYTES.
 *
 * Both lie in a block of Go's, which outlives the coroutine. The coroutine has their addresses for
 * its argument, and no result of its own.
 */
#ifndef COROI_LARGE_H
#define COROI_LARGE_H

#include "coro.h"

/* The argument of coroi_large. */
struct coroi_large_arg {
	void *arg, *result; /* result: NULL if there is none. A failure takes the place of both */
	coro_fn fn;         /* the user's; reports read it */
};

/* coroi_large - the body of such a coroutine. arg: a struct coroi_large_arg. */
void coroi_large(void *arg, void *scratch);

#endif
