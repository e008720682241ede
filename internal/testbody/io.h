/* io.h - bodies with descriptors. */
#ifndef TESTBODY_IO_H
#define TESTBODY_IO_H

#include "coro_io.h"

struct testbody_fd_echo {
	coro_fd fd;
	/* to echo; then the body leaves the descriptor open. 0: all, and close it */
	uint64_t bytes;
};

/* testbody_fd_echo - the result is the number of bytes, a uint64_t, or a status below 0. */
void testbody_fd_echo(void *arg, void *result);

/* testbody_serve_echo - a connection of coro_serve: each request, of up to 512 bytes, comes back.
 * The request '!' is answered with the worker's number, '.' never. testbody_connections - how many
 * there are now, and *most: at most so far; it makes that 0. */
void testbody_serve_echo(void *arg, void *result);
uint32_t testbody_connections(uint32_t *most);

/* Connections whose requests are streamed in: a request comes back, and is counted for its client.
 * They end: with the last one that has come when the server ends (coro_serve_ends); when none is
 * there (coro_serve_read); after 100 of them. testbody_answered - how many answers to a client were
 * written; 0 from then on. */
struct testbody_request {
	uint32_t client, number; /* client: below TESTBODY_CLIENTS */
};
#define TESTBODY_CLIENTS 16
void testbody_serve_until_ends(void *arg, void *result);
void testbody_serve_until_told(void *arg, void *result);
void testbody_serve_some(void *arg, void *result);
uint32_t testbody_answered(uint32_t client);

/* testbody_serve_options - answers each byte with the options of its connection, a byte each:
 * TCP_NODELAY, SO_KEEPALIVE, TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT; 255: there is none. */
#define TESTBODY_OPTIONS 5
void testbody_serve_options(void *arg, void *result);

/* testbody_looks_up - coro_getaddrinfo of a name whose server answers after testbody_stop alone,
 * for as many ns as the argument says, a uint64_t. The result is its status, an int64_t.
 * testbody_lookups - how many have begun and not ended. */
void testbody_looks_up(void *arg, void *result);
uint32_t testbody_lookups(void);

/* testbody_connects - coro_connect to the socket of Unix with the name of the argument, of 40
 * bytes, in 10 s. The result is its status, an int64_t. */
void testbody_connects(void *arg, void *result);

#endif
