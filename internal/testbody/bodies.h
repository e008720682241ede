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
void testbody_spin(void *arg, void *result);   /* says that it ran, computes until testbody_stop */
void testbody_blocks(void *arg, void *result); /* says that it ran, blocks until testbody_stop */
void testbody_wait_for_stop(void *arg);        /* what it has called by coro_blocking */
void testbody_abort(void *arg, void *result);
/* arg int64: the number of yields; adds 1 to the sum afterwards */
void testbody_yield(void *arg, void *result);
/* arg int64 depth: spawns two of itself, a leaf adds 1 */
void testbody_tree(void *arg, void *result);
/* arg coro_handle: wakes it; result int32: what that returned */
void testbody_wake(void *arg, void *result);
void testbody_join(void *arg, void *result); /* arg coro_handle: joins it; result int32 */
/* arg int64: the number of yields; result int64: the worker of the coroutine, or -1 if that
 * worker has changed, of a child too. The body adds worker + 1 to the sum. */
void testbody_place(void *arg, void *result);
void testbody_deep(void *arg, void *result);       /* overflows its stack */
void testbody_self(void *arg, void *result);       /* result coro_handle: its own */
void testbody_stack_left(void *arg, void *result); /* result uint64: coro_stack_left at its start */
/* arg int64 n: spawns n children that park, wakes and joins them; result int64: the sum of the
 * squares of the children's numbers. */
void testbody_family(void *arg, void *result);
/* arg int64 n: wakes and waits for a partner n times each; adds n */
void testbody_pingpong(void *arg, void *result);
/* arg int64: waits for a cancel, by parking or (1) by asking again and again; then ends as
 * cancelled (2), or with arg + 100 as the result, an int64. Woken before: the result is 0. */
void testbody_canceled(void *arg, void *result);
void testbody_cancel(void *arg, void *result); /* arg coro_handle: cancels it; result int32 */
/* struct testbody_hop: yields n times, calls an int64 -> int64 function with 0, wakes `to`, and
 * adds what the call has returned to the sum. */
void testbody_hop(void *arg, void *result);
/* struct testbody_mixed to another with each field changed */
void testbody_mixed(void *arg, void *result);
/* arg uint64 ns: notes how late the coroutine is after that time */
void testbody_late(void *arg, void *result);
/* arg uint64 ns: spawns a child, and wakes a partner that is at home here; then computes for that
 * time. Child and partner note how late they are. */
void testbody_busy_parent(void *arg, void *result);

/* struct testbody_pipe: receives int64 from `in` until that is closed, sends twice each value to
 * `out`, and closes `out`; result int64: the number of values. */
void testbody_double(void *arg, void *result);
/* struct testbody_flow: sends 1 to n; result int64: the status of the last */
void testbody_produce(void *arg, void *result);
/* struct testbody_flow: receives until closed, or n; result int64: the sum */
void testbody_consume(void *arg, void *result);
/* struct testbody_flow: n times, takes a permit, adds 1 to the sum inside, and gives the permit
 * back; result int64: how often another coroutine was inside. */
void testbody_permits(void *arg, void *result);

/* struct testbody_flow: n times, with the mutex, adds 1 to testbody_plain[0]; result int64: the
 * first status that was not CORO_OK. */
void testbody_locks(void *arg, void *result);
/* struct testbody_flow: n times, with the lock for reading, checks that the two of
 * testbody_plain are equal; result int64: how often they were not, or a status. */
void testbody_reads(void *arg, void *result);
/* struct testbody_flow: n times, with the lock for writing, adds 1 to both of testbody_plain;
 * result int64: a status. */
void testbody_writes(void *arg, void *result);
/* struct testbody_stock: n times, waits until testbody_plain[0] is not 0, and takes 1; result
 * int64: a status. */
void testbody_takes(void *arg, void *result);
/* struct testbody_flow: adds n to the latch; result int64: the status */
void testbody_counts(void *arg, void *result);
/* struct testbody_flow: adds n to the sum once; result int64: the status */
void testbody_once(void *arg, void *result);
/* arg int64: the number of yields; result int64: the worker on which the coroutine has been all
 * the time, or -1; -2 if the coroutine is not pinned. Adds 1 to the sum if all is well. */
void testbody_where(void *arg, void *result);
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
	TESTBODY_SEND,
	TESTBODY_RECEIVE,
	TESTBODY_ACQUIRE,
	TESTBODY_READ,
	TESTBODY_SIGNAL,
	TESTBODY_COUNT,
	TESTBODY_LOCK,
	TESTBODY_DO,
	TESTBODY_SEND_ZEROS,   /* 64 bytes */
	TESTBODY_LEAVE_MUTEX,  /* locked, by a coroutine that ends */
	TESTBODY_LEAVE_RWLOCK, /* for writing */
};

/* bytes that malloc has given away; 0: this C library does not tell */
size_t testbody_allocated(void);

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
