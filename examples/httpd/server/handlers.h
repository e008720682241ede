/*
 * handlers.h - what this server answers. A handler is a function that runs in the connection's
 * coroutine: it may wait, and call Go. It returns the status of HTTP.
 */
#ifndef HANDLERS_H
#define HANDLERS_H

#include "request.h"
#include "response.h"

#include "coro.h"

/* The Go functions whose answers handlers send, []byte from []byte. */
struct go_functions {
	coro_go_id inlined, offloaded;
};
extern struct go_functions go_functions;

/* handle - have the request answered by the handler of its path. */
void handle(struct request *q, struct response *r);

#endif
