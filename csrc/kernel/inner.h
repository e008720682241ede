/*
 * inner.h - bodies of the library's own, which run for a function of the user's: reports name that
 * function.
 *
 * A record has the body that its coroutine runs. Where that is one of these, lists of coroutines,
 * errors and the report of a fault ask here for the function that the user knows. The answer is
 * read out of the payload, so that a spawn and a call cost nothing for it.
 */
#ifndef COROI_INNER_H
#define COROI_INNER_H

#include "kernel/record.h"

#include <stdbool.h>

struct coroi_inner {
	coro_fn body;
	/* The user's function, for a coroutine with that body and that payload, which has started
	 * and not ended; or for a fork with that body and that argument. Async-signal-safe. */
	coro_fn (*stands_for)(const void *payload);
	/* It waits for coroutines that are listed themselves: lists of what waits leave it out. */
	bool hidden;
	struct coroi_inner *next;
};

/* coroi_inner_register - make *in known, which stays. Thread: constructors alone. */
void coroi_inner_register(struct coroi_inner *in);

/* coroi_inner_of - what is known of r's body. NULL: it is the user's. coroi_inner_body - the same of
 * a body. */
const struct coroi_inner *coroi_inner_of(const struct coroi_rec *r);
const struct coroi_inner *coroi_inner_body(coro_fn fn);

/* coroi_user_fn - the function by which reports name r. Thread: the coroutine itself, a handler of
 * a fault in it, or one that has the door of its home and finds that it waits or is the current
 * coroutine. Async-signal-safe. */
coro_fn coroi_user_fn(const struct coroi_rec *r);

#endif
