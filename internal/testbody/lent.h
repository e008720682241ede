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

/* The same as a part of a range: it writes the bytes that the part has the numbers of. */
void testbody_lent_range(int64_t begin, int64_t end, void *lent);

/* A Go function is given a struct with two coro_bytes, one of them this body's own memory. result:
 * the status. */
struct testbody_lent_both {
	coro_bytes own, lent;
	uint64_t by;
};
CORO_DECLARE_BODY(testbody_lent_both);

/* Large bodies. large: what it is asked to do, after it has looked at its argument. */
struct testbody_large {
	uint64_t what; /* TESTBODY_LARGE_... */
	uint64_t n[31];
};

struct testbody_huge {
	uint64_t n[512];
};

enum {
	TESTBODY_LARGE_TURNS, /* each number comes back from the other end, plus one */
	TESTBODY_LARGE_FAILS, /* by coro_fail; 7, "too large" */
	TESTBODY_LARGE_ABORTS,
	TESTBODY_LARGE_EXITS,      /* by coro_exit_finished, with a result */
	TESTBODY_LARGE_PARKS,      /* until it is woken, or canceled: then it returns at once */
	TESTBODY_LARGE_STAYS,      /* the same, and it heeds no cancel */
	TESTBODY_LARGE_FAILS_LATE, /* it has deferred something, and fails */
};

CORO_DECLARE_BODY(testbody_large);        /* struct testbody_large: the same */
CORO_DECLARE_BODY(testbody_huge);         /* struct testbody_huge: the same, each number plus one */
CORO_DECLARE_BODY(testbody_sum_of_large); /* struct testbody_large: uint64_t, the sum of n */
CORO_DECLARE_BODY(testbody_spread);       /* uint64_t: struct testbody_huge, all of them that */

struct testbody_large_bytes {
	uint64_t n[6];
	coro_bytes from, to;
};

CORO_DECLARE_BODY(testbody_copies_bytes); /* adds n[5] to each, one a turn; how many */

/* starts_large: what the calls return that start testbody_sum_of_large from C, and join it. */
struct testbody_statuses {
	int32_t spawn_all, join, code;
	char text[36];
};
CORO_DECLARE_BODY(testbody_starts_large);

#endif
