/* ends.h - C coroutines that fail, and that clean up after a cancel. */
#ifndef CORO_TESTBODY_ENDS_H
#define CORO_TESTBODY_ENDS_H

#include "coro.h"

/* Fails: with the code, and the text up to its zero. */
struct testbody_failure {
	int32_t code;
	char text[40];
};
void testbody_fail(void *arg, void *result);

/* Fails with the code, unless that is 0; result int64_t: twice the number. */
struct testbody_may_fail {
	int64_t number, code;
};
void testbody_may_fail(void *arg, void *result);

/* As testbody_fail, by hand; arg: a struct testbody_failure in C memory. */
intptr_t testbody_fail_by_hand(void *arg, intptr_t first);

/* arg: a handle; joins it, and tells with what it has failed. */
struct testbody_joined {
	int32_t status, code;
	char text[40];
};
void testbody_join_failed(void *arg, void *result);

/* An order at a book. The trader waits for it to be filled. If it is canceled instead, it takes the
 * order back, waits for the answer, and calls Go, which writes the audit. */
struct testbody_order {
	int64_t id, cancels; /* 1: take it back */
};
struct testbody_trader {
	coro_chan *book, *answers; /* of struct testbody_order, of int64_t */
	int64_t id;
	uint64_t patience; /* ns */
	coro_go_id audit;  /* int64 -> None */
	uint32_t finishes; /* the answer is the result, although the trader is canceled */
};
void testbody_trade(void *arg, void *result);

/* Cancels itself, is told, and waits in a section of arg ns, for longer. */
void testbody_shielded_for(void *arg, void *result);

/* Asks for the deadline, waits until it is canceled if it is to, and asks why, with `room` bytes
 * for the text. In a shield section of `shield` ns it asks for the deadline again. nowait: it asks
 * in a no-wait section. child: a child asks for the deadline. */
struct testbody_ask {
	uint64_t shield;
	uint32_t room;
	uint8_t waits, nowait, child;
};
struct testbody_asked {
	uint64_t deadline, shielded, length;
	char cause[24];
};
void testbody_asks(void *arg, void *result);

#endif
