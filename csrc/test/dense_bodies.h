/*
 * dense_bodies.h - dense coroutines for the tests: a scheduler with shared stacks, and bodies.
 */
#ifndef DENSE_BODIES_H
#define DENSE_BODIES_H

#include "test.h"

extern const coro_attr dense_attr, dense_joinable; /* the latter: a result of 8 bytes */

/* dense_start - a scheduler with shared stacks; 0 stacks or bytes: the default. dense_spawn - spawn
 * a dense coroutine with a number as its argument. */
coro_scheduler *dense_start(uint32_t workers, uint32_t shared_stacks, size_t stack_bytes);
void dense_spawn(coro_scheduler *s, coro_fn fn, uint64_t arg);

/* dense_done - how many of the bodies below have ended. */
extern uint64_t dense_done;

/* dense_yields - yield under frames of several sizes. dense_large - yield, under large frames if
 * the number is odd. dense_ends - return, exit or abort, by the number; the result is number +
 * 1. */
void dense_yields(void *arg, void *result);
void dense_large(void *arg, void *result);
void dense_ends(void *arg, void *result);

/* dense_deferred - a deferred function: add one to dense_done. */
void dense_deferred(void *arg);

#endif
