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

/* What comes before testbody_lent has from, and `by` more, in to; then it ends, or fails. CALLS and
 * INLINE: a call of the Go function id, which is given `to`. */
enum testbody_lent_how {
	TESTBODY_LENT_NOTHING,
	TESTBODY_LENT_YIELDS,
	TESTBODY_LENT_PARKS, /* until it is canceled */
	TESTBODY_LENT_SLEEPS,
	TESTBODY_LENT_CALLS,
	TESTBODY_LENT_INLINE,
	TESTBODY_LENT_ABORTS,
	TESTBODY_LENT_FAILS,
};

struct testbody_lent {
	coro_bytes from, to;
	uint32_t how;
	coro_go_id id;
	uint32_t by;
};

/* result: what it has written, added up; of CALLS and INLINE the status of the call in the upper
 * half. */
CORO_DECLARE_BODY(testbody_lent);

/* A Go function is given a struct with two coro_bytes, one of them this body's own memory. result:
 * the status. */
struct testbody_lent_both {
	coro_bytes own, lent;
	uint64_t by;
};
CORO_DECLARE_BODY(testbody_lent_both);

#endif
