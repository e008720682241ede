#ifndef BODIES_H
#define BODIES_H

#include "coro.h"

/* crash_here - follows a null pointer two calls below. */
void crash_here(void *arg, void *result);

/* crash_stolen - goes on until another thread runs it than the first, says so on stdout, and
 * crashes like crash_here. */
void crash_stolen(void *arg, void *result);

/* crash_deep - calls itself until the stack is used up. crash_nowhere - calls a null function.
 * crash_abort - abort(3). */
void crash_deep(void *arg, void *result);
void crash_nowhere(void *arg, void *result);
void crash_abort(void *arg, void *result);

/* crash_after_call - calls the Go function "nothing" inline, and crashes like crash_here. */
void crash_after_call(void *arg, void *result);

/* crash_deep_after_call - the same, like crash_deep. */
void crash_deep_after_call(void *arg, void *result);

/* crash_by_hand - crash_here, for a generator. crash_deep_by_hand - crash_deep. crash_makes_one -
 * resumes a generator that crashes like crash_by_hand. */
intptr_t crash_by_hand(void *arg, intptr_t first);
intptr_t crash_deep_by_hand(void *arg, intptr_t first);
void crash_makes_one(void *arg, void *result);

/* crash_body - follows a null pointer itself. crash_smashed - returns to where no code is.
 * crash_trap - runs an illegal instruction. crash_zero - divides by zero (amd64 alone faults).
 * crash_bus - reads behind the end of a file. */
void crash_body(void *arg, void *result);
void crash_smashed(void *arg, void *result);
void crash_trap(void *arg, void *result);
void crash_zero(void *arg, void *result);
void crash_bus(void *arg, void *result);

/* crash_deep_on_stack - crash_deep in a call of coro_call_on_stack, with 64 KiB. */
void crash_deep_on_stack(void *arg, void *result);

/* crash_blocking, crash_deep_blocking - crash_here and crash_deep in a call of coro_blocking.
 * crash_between, crash_deep_between - the same between coro_thread_begin and coro_thread_end. */
void crash_blocking(void *arg, void *result);
void crash_deep_blocking(void *arg, void *result);
void crash_between(void *arg, void *result);
void crash_deep_between(void *arg, void *result);

/* crash_calls, crash_offloads - call the Go function named by arg, a coro_go_id: inline, and by a
 * goroutine. */
void crash_calls(void *arg, void *result);
void crash_offloads(void *arg, void *result);

/* crash_leaf - follows the pointer a: a leaf. crash_now - the same for Go to call by cgo. */
int crash_leaf(void *a, void *b);
void crash_now(void);

#endif
