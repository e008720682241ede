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
 * there are now, and *most: at most so far, of which it makes 0. */
void testbody_serve_echo(void *arg, void *result);
uint32_t testbody_connections(uint32_t *most);

#endif
