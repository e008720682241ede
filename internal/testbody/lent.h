/* lent.h - bodies that borrow memory. */
#ifndef TESTBODY_LENT_H
#define TESTBODY_LENT_H

#include "coro.h"

struct testbody_add_bytes {
	coro_bytes from, to;
	uint64_t by; /* what is added to each byte */
};

CORO_DECLARE_BODY(testbody_add_bytes);

/* The same, a byte a turn: it sees a cancel at each, and takes back what it has done. */
CORO_DECLARE_BODY(testbody_add_bytes_slowly);

#endif
