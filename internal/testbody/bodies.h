/* bodies.h - C coroutines that the Go tests run. */
#ifndef CORO_TESTBODY_H
#define CORO_TESTBODY_H

#include "coro.h"

extern int64_t testbody_sum; /* atomic: what the bodies add up */
extern int64_t testbody_ran; /* atomic: how many bodies have ended */

void testbody_empty(void *arg, void *result);
void testbody_add(void *arg, void *result);    /* arg int64: added to the sum */
void testbody_square(void *arg, void *result); /* arg int64, result int64 */
/* arg and result 48 bytes: the result is the argument reversed */
void testbody_bytes(void *arg, void *result);
void testbody_park(void *arg, void *result); /* result int32: what coro_park returned */
/* parks until a park fails; adds 1 to the sum for each that does not */
void testbody_laps(void *arg, void *result);
void testbody_spin(void *arg, void *result); /* says that it ran, computes until testbody_stop */
void testbody_abort(void *arg, void *result);
/* arg int64: yields so many times, then adds 1 to the sum */
void testbody_yield(void *arg, void *result);
/* arg int64 depth: spawns two of itself, a leaf adds 1 */
void testbody_tree(void *arg, void *result);
/* arg coro_handle: wakes it; result int32: what that returned */
void testbody_wake(void *arg, void *result);
void testbody_join(void *arg, void *result); /* arg coro_handle: joins it; result int32 */
void testbody_place(
	void *arg,
	void *result); /* arg int64: yields so many times; result int64: its worker, or -1 if that has
						* changed, of a child too. It adds worker + 1 to the sum */
void testbody_deep(void *arg, void *result);       /* overflows its stack */
void testbody_self(void *arg, void *result);       /* result coro_handle: its own */
void testbody_stack_left(void *arg, void *result); /* result uint64: coro_stack_left at its start */
void testbody_family(
	void *arg, void *result); /* arg int64 n: spawns n children that park, wakes and joins them;
						    * result int64: the sum of their numbers' squares */
/* arg int64 n: wakes and waits for a partner n times each; adds n */
void testbody_pingpong(void *arg, void *result);
void testbody_canceled(
	void *arg,
	void *result); /* arg int64: waits until it is cancelled, by parking or (1) by asking
						    * again and again; then it ends as cancelled (2) or its result int64 is
						    * arg + 100. Woken before: 0 */
void testbody_cancel(void *arg, void *result); /* arg coro_handle: cancels it; result int32 */
void testbody_hop(void *arg, void *result); /* struct testbody_hop: yields n times, calls an int64
						    * -> int64 function with 0, wakes to, and adds what came back to the sum */
/* struct testbody_mixed to another with each field changed */
void testbody_mixed(void *arg, void *result);
/* arg uint64 ns: notes how late it is since then */
void testbody_late(void *arg, void *result);
void testbody_busy_parent(
	void *arg, void *result); /* arg uint64 ns: spawns a child and wakes a partner that is
						     * at home here, both late ones, then computes so long */

void testbody_double(
	void *arg,
	void *result); /* struct testbody_pipe: receives int64 from `in` until it is closed, sends twice each to
						     * `out`, and closes that; result int64: how many */
/* struct testbody_flow: sends 1 to n; result int64: the status of the last */
void testbody_produce(void *arg, void *result);
/* struct testbody_flow: receives until closed, or n; result int64: the sum */
void testbody_consume(void *arg, void *result);
void testbody_permits(
	void *arg,
	void *result); /* struct testbody_flow: n times, takes a permit, adds 1 to the sum inside, and
						     * gives it back; result int64: how often another was inside */

void testbody_locks(
	void *arg,
	void *result); /* struct testbody_flow: n times, with the mutex, adds 1 to testbody_plain[0]; result
						     * int64: the first status that was not CORO_OK */
void testbody_reads(
	void *arg,
	void *result); /* the same with the lock for reading: checks that the two are equal; result int64:
						     * how often not, or a status */
/* the same for writing: adds 1 to both; result int64: a status */
void testbody_writes(void *arg, void *result);
void testbody_takes(
	void *arg,
	void *result); /* struct testbody_stock: n times, waits until testbody_plain[0] is not 0, and takes 1;
						     * result int64: a status */
/* struct testbody_flow: adds n to the latch; result int64: the status */
void testbody_counts(void *arg, void *result);
/* struct testbody_flow: adds n to the sum once; result int64: the status */
void testbody_once(void *arg, void *result);
void testbody_where(
	void *arg,
	void *result); /* arg int64: yields so many times; result int64: the worker that it was on all the
						     * time, or -1; -2 if it is not pinned. Adds 1 to the sum if all is well */
/* struct testbody_flow: n is one of testbody_misuses; result int64: the status */
void testbody_misuse(void *arg, void *result);

enum testbody_misuses {
	TESTBODY_UNLOCK_MUTEX,
	TESTBODY_UNLOCK_RWLOCK,
	TESTBODY_DESTROY_MUTEX,
	TESTBODY_DESTROY_RWLOCK,
	TESTBODY_DESTROY_COND,
	TESTBODY_DESTROY_LATCH,
	TESTBODY_DESTROY_SEM,
	TESTBODY_FREE_CHAN,
	TESTBODY_LEAVE_MUTEX,  /* locked, by a coroutine that ends */
	TESTBODY_LEAVE_RWLOCK, /* for writing */
};

extern int64_t testbody_plain[2]; /* not atomic: a lock guards it */

struct testbody_stock {
	coro_mutex *mutex;
	coro_cond *cond;
	int64_t n;
};

struct testbody_pipe {
	coro_chan *in, *out;
};

struct testbody_flow {
	void *object;
	int64_t n;
};

struct testbody_hop {
	int64_t n;
	coro_handle to;
	coro_go_id id;
	uint32_t inlined;
};

struct testbody_mixed {
	double d;
	float f;
	int8_t i8;
	uint16_t u16;
	int32_t i32[3];
	_Bool b;
	uint64_t u64;
};

/* For each n from 1 to 48, a function that turns n bytes of argument round into n bytes of
 * result and flips their bits; it counts in the sum what was not aligned, or not zero, as coro.h
 * promises. */
extern const coro_fn testbody_turn[49];

extern int32_t testbody_stop;
extern int32_t testbody_busy;    /* atomic: a busy parent computes */
extern uint64_t testbody_latest; /* atomic: ns that the latest late one was late */

uint64_t testbody_now(void); /* CLOCK_MONOTONIC, ns */

/* yields first, first + 1, ... arg times, returns -1 */
intptr_t testbody_count(void *arg, intptr_t first);
intptr_t testbody_echo(void *arg, intptr_t first); /* yields what it was sent, until 0 */
/* calls the scheduler: returns what coro_yield returned */
intptr_t testbody_perm(void *arg, intptr_t first);
intptr_t testbody_quit(void *arg, intptr_t first); /* coro_abort */
/* computes until testbody_stop, returns first */
intptr_t testbody_inside(void *arg, intptr_t first);
/* defers adding first to the sum, yields, returns first */
intptr_t testbody_tidy(void *arg, intptr_t first);
intptr_t testbody_room(void *arg, intptr_t first); /* returns coro_stack_left at its start */
intptr_t testbody_sink(void *arg, intptr_t first); /* overflows its stack */

#endif
