/* calls.h - C coroutines that call Go functions. */
#ifndef CORO_TESTBODY_CALLS_H
#define CORO_TESTBODY_CALLS_H

#include "coro.h"

/* One call, and what came of it. The argument is the number; the result buffer is as long as asked
 * for, at most 8. */
struct testbody_call {
	coro_go_id id;
	uint32_t how;
	int64_t number;
	uint32_t arg_bytes, result_bytes;
};
struct testbody_came {
	int32_t status;
	uint32_t got;
	int64_t number;
	uint32_t text; /* the length of coro_call_error's */
	char start[28];
};
void testbody_call(void *arg, void *result);
void testbody_call_beside(void *arg, void *result); /* spawns testbody_spin, and yields first */
struct testbody_came testbody_call_here(struct testbody_call a); /* the same as a plain function */

/* n calls of an int64 -> int64 function that adds 1, with a yield after each k-th (0: none); adds
 * to the sum what they have added, and counts. */
struct testbody_calls {
	coro_go_id id;
	uint32_t how;
	int64_t n, k;
};
void testbody_calls(void *arg, void *result);

/* Calls a []byte -> []byte function that turns bytes round, with 0 to n - 1 of them; counts in the
 * sum what is wrong. */
/* struct testbody_calls; result int64: how many calls were right */
void testbody_turn_call(void *arg, void *result);

/* arg: a name, zero-terminated; result: coro_go_function of it */
void testbody_name(void *arg, void *result);

#endif
