/* typed.h - typed bodies for tests, and descriptions that CORO_BODY never makes. */
#ifndef CORO_TESTBODY_TYPED_H
#define CORO_TESTBODY_TYPED_H

#include "coro.h"

struct testbody_pair {
	int32_t small;
	int64_t large;
};

CORO_DECLARE_BODY(testbody_plus);       /* struct testbody_pair: result int64_t, the sum */
CORO_DECLARE_BODY(testbody_idle);       /* brief; ends at once */
CORO_DECLARE_BODY(testbody_deep_room);  /* of 64 KiB; result uint64_t, coro_stack_left */
CORO_DECLARE_BODY(testbody_dense_room); /* dense; result uint64_t, coro_stack_left */
CORO_DECLARE_BODY(testbody_stuck);      /* parks */

enum {
	TESTBODY_NO_ENTRY,
	TESTBODY_FLAGS,
	TESTBODY_DENSE_STACK,
	TESTBODY_STACK,
	TESTBODY_MAGIC,
	TESTBODY_WAYS,
};

/* testbody_strange - testbody_idle's description, made wrong in a way. */
struct coro_body_desc *testbody_strange(int way);

#endif
