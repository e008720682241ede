/*
 * dense_bodies.h - dense coroutines for the tests: a scheduler with shared stacks, and bodies.
 */

#ifndef DENSE_BODIES_H
#define DENSE_BODIES_H

#include "test.h"

extern const coro_attr dense_attr, dense_joinable; /* joinable: a result of 8 bytes */

/* dense_start - a scheduler with shared stacks; 0 stacks or bytes: the usual. dense_spawn - a dense
 * coroutine with a number as its argument. */
coro_scheduler *dense_start(uint32_t workers, uint32_t shared_stacks, size_t stack_bytes);
void dense_spawn(coro_scheduler *s, coro_fn fn, uint64_t arg);

/* dense_done - ends of the bodies below. */
extern uint64_t dense_done;

/* dense_yields - yields under frames of several sizes. dense_large - yields under large ones, if its
 * number is odd. dense_ends - returns, exits or aborts, by its number; its result is number + 1. */
void dense_yields(void *arg, void *result);
void dense_large(void *arg, void *result);
void dense_ends(void *arg, void *result);

/* dense_deferred - for coro_defer: one more in dense_done. */
void dense_deferred(void *arg);

#endif
