/*
 * brief.h - C coroutines for tests of lending. That a function is brief is known to the whole
 * process, by its address. So there are many functions that do the same.
 */
#ifndef CORO_TESTBODY_BRIEF_H
#define CORO_TESTBODY_BRIEF_H

#include "coro.h"

/* What a body waits for: by coro_park, at a channel of int64, and so on. */
enum testbody_waits_for {
	TESTBODY_FOR_PARK,
	TESTBODY_FOR_RECV,
	TESTBODY_FOR_SEND,
	TESTBODY_FOR_PERMIT,
	TESTBODY_FOR_MUTEX, /* a lock is given back again, by those below, too */
	TESTBODY_FOR_READ,
	TESTBODY_FOR_WRITE,
	TESTBODY_FOR_SIGNAL,
	TESTBODY_FOR_LATCH,
	TESTBODY_FOR_DONE, /* coro_once_do, which is under way */
	TESTBODY_FOR_NOTHING,
	TESTBODY_FOR_WAITS
};

/* Waits once. result: what the wait has returned, and the threads on which the body has begun, and
 * has gone on. It counts afterwards. */
struct testbody_wait {
	void *object;
	coro_mutex *mutex; /* of a condition variable */
	uint32_t what;
};
struct testbody_waited {
	int32_t status, began, went_on;
};
void testbody_wait(void *arg, void *result);

/* The same, in functions that differ. */
#define TESTBODY_ALIKE 40
extern const coro_fn testbody_alike[TESTBODY_ALIKE];

/* Functions that do nothing: more than a process may declare as brief. */
#define TESTBODY_IDLE 528
extern const coro_fn testbody_idle_ones[TESTBODY_IDLE];

/* arg uint64 ns: until a park fails, notes its thread, computes for that long, and counts. */
void testbody_takes_long(void *arg, void *result);

/* testbody_thread - of the last testbody_takes_long that has begun to compute. */
int32_t testbody_thread(void);

/* struct testbody_call: parks, and makes the call inline; result: struct testbody_came, where got
 * is the thread on which the body went on after the park. */
void testbody_parks_and_calls(void *arg, void *result);

/* Parks, counts, and computes until testbody_stop; result int32: its thread. */
void testbody_spins_when_woken(void *arg, void *result);

/* arg int64: counts, and computes until testbody_stop; then, if arg is not 0, parks. result int64:
 * 42, also if the park has failed, but then the body has ended as canceled. */
void testbody_computes(void *arg, void *result);

/* testbody_children - spawn n children, 100 at most, that compute for so long each, and join them.
 * result: int64_t, how many ran on the thread on which this function began. */
struct testbody_children {
	uint64_t n, ns;
};
void testbody_children(void *arg, void *result);

/* testbody_leaves_spin - spawn testbody_spin, and end. */
void testbody_leaves_spin(void *arg, void *result);

/* testbody_stays_behind - argument int64_t, 0: end. Else spawn testbody_spin, and yield to it
 * once. */
void testbody_stays_behind(void *arg, void *result);

/* testbody_rides - argument and result int64_t, the same: end on a thread of the pool, after
 * coro_thread_begin. */
void testbody_rides(void *arg, void *result);

/* struct testbody_flow: receives int64 until closed, and adds each to the sum; result int64: how
 * many */
void testbody_sums(void *arg, void *result);
void testbody_adds(void *arg, void *result);  /* arg int64: added to the sum */
void testbody_parks(void *arg, void *result); /* result int32: what coro_park returned */

#endif
