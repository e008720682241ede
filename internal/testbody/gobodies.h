/* gobodies.h - C coroutines that start Go bodies. */
#ifndef CORO_TESTBODY_GOBODIES_H
#define CORO_TESTBODY_GOBODIES_H

#include "coro.h"

/* Starts one with the first arg_bytes of the number, and what came of that. */
struct testbody_spawn_go {
	coro_go_id id;
	uint32_t how;
	int64_t number;
	uint32_t arg_bytes;
};
enum {
	TESTBODY_GO_JOIN,    /* and joins it, for an int64 */
	TESTBODY_GO_UNNAMED, /* with no handle */
	TESTBODY_GO_DETACH,  /* and detaches it */
	TESTBODY_GO_LEAVE,   /* and leaves it */
	TESTBODY_GO_CANCEL,  /* and cancels and joins it */
};
struct testbody_spawned_go {
	int32_t status; /* of the spawn */
	int32_t joined; /* of the join, detach */
	int64_t number;
	coro_handle handle;
};
void testbody_spawn_go(void *arg, void *result);
/* the same as a plain function */
struct testbody_spawned_go testbody_spawn_go_here(struct testbody_spawn_go a);

/* Starts n with 1, 2, 3 to n, joins them, and its result int64 is the sum of what they return. */
struct testbody_sum_go {
	coro_go_id id;
	int64_t n;
};
void testbody_sum_go(void *arg, void *result);

/* Starts one with its own handle, and n times waits for a wake-up and wakes it; result int32: of
 * the join, or of what failed before. */
void testbody_pair_go(void *arg, void *result); /* struct testbody_sum_go */

/* Starts parked ones until it can no more, then wakes and joins them; result int64: how many. */
void testbody_fill_go(void *arg, void *result); /* coro_go_id */

#endif
