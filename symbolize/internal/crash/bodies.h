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

/* crash_by_hand - crash_here, for a generator. */
intptr_t crash_by_hand(void *arg, intptr_t first);

#endif
