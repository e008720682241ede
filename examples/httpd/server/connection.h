/*
 * connection.h - one connection of the server, a coroutine.
 */
#ifndef CONNECTION_H
#define CONNECTION_H

#include <stdint.h>

#include "coro.h"
#include "coro_io.h"

/* How long a connection may take, in ns. All are set before the first connection. */
struct limits {
	uint64_t idle;   /* until the first byte of a request */
	uint64_t header; /* from there to the end of the header */
	uint64_t body;   /* from there to the end of the body */
	uint64_t write;  /* for all that is written at once */
	uint32_t requests;
};
extern struct limits limits;

/* serve_connection - the body: serve the connection until it ends. The descriptor stays open:
 * coro_serve closes it when the client has all. */
CORO_DECLARE_BODY(serve_connection);

#endif
