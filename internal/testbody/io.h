/* io.h - bodies with descriptors. */
#ifndef TESTBODY_IO_H
#define TESTBODY_IO_H

#include "coro_io.h"

struct testbody_fd_echo {
	coro_fd fd;
	uint64_t
		bytes; /* to echo; then the body leaves the descriptor open. 0: all, and close it */
};

/* testbody_fd_echo - the result is the number of bytes, a uint64_t, or a status below 0. */
void testbody_fd_echo(void *arg, void *result);

#endif
