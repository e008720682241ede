/*
 * loop.h - coro_for for a caller outside of all coroutines, which waits for its end.
 *
 * One coroutine, the leader, runs the loop: the caller lends its thread to it (lend.h), and other
 * workers take forks of it (coro_fork.h). The caller has a context that may end meanwhile, while
 * nobody knows the leader's name yet:
 *
 *   LOP1  leader: exchange `leader` -> its own name. CANCEL was there: it cancels itself
 *   LOP2  canceler: exchange `leader` -> CANCEL. If a name was there: cancel that
 *
 * Both are sequentially consistent: the second one sees the first.
 */
#ifndef COROI_LOOP_H
#define COROI_LOOP_H

#include "coro.h"

/* A loop, and how it has ended. The caller's memory, which outlives the leader. */
struct coroi_led_loop {
	uint64_t fn;      /* void (*)(int64_t from, int64_t to, void *arg) */
	int64_t n, grain; /* as of coro_for, from 0 on */
	uint64_t leader;  /* LOP1. Atomic */
	int32_t status;   /* of coro_for */
	int32_t code;     /* with CORO_EFAILED, and text, which is the caller's to release */
	char *text;
	uint8_t arg_bytes;
	uint8_t unused[15];
	unsigned char arg[CORO_INLINE_BYTES] __attribute__((aligned(16)));
};

/* coroi_loop_lead - the leader's body. arg: the address of a struct coroi_led_loop. */
void coroi_loop_lead(void *arg, void *result);

/* coroi_loop_cancel - LOP2. Thread: any. The loop's memory is there. */
void coroi_loop_cancel(struct coroi_led_loop *l);

#endif
