/* bodies.h - C coroutines that the Go tests run. */
#ifndef CORO_TESTBODY_H
#define CORO_TESTBODY_H

#include "coro.h"

extern int64_t testbody_sum; /* atomic: what the bodies add up */
extern int64_t testbody_ran; /* atomic: how many bodies have ended */

void testbody_empty(void *arg, void *result);
void testbody_add(void *arg, void *result);    /* arg int64: added to the sum */
void testbody_square(void *arg, void *result); /* arg int64, result int64 */
void testbody_bytes(void *arg, void *result);  /* arg and result 48 bytes: the result is the argument reversed */
void testbody_park(void *arg, void *result);   /* result int32: what coro_park returned */
void testbody_spin(void *arg, void *result);   /* computes until testbody_stop */
void testbody_abort(void *arg, void *result);
void testbody_yield(void *arg, void *result);  /* arg int64: yields so many times, then adds 1 to the sum */
void testbody_tree(void *arg, void *result);   /* arg int64 depth: spawns two of itself, a leaf adds 1 */
void testbody_wake(void *arg, void *result);   /* arg coro_handle: wakes it; result int32: what that returned */
void testbody_join(void *arg, void *result);   /* arg coro_handle: joins it; result int32 */
void testbody_deep(void *arg, void *result);   /* overflows its stack */
void testbody_busy_parent(void *arg, void *result); /* arg uint64 ns: spawns a child, computes so long */

extern int32_t testbody_stop;

intptr_t testbody_count(void *arg, intptr_t first);  /* yields first, first + 1, ... arg times, returns -1 */
intptr_t testbody_echo(void *arg, intptr_t first);   /* yields what it was sent, until 0 */
intptr_t testbody_perm(void *arg, intptr_t first);   /* calls the scheduler: returns what coro_yield returned */
intptr_t testbody_quit(void *arg, intptr_t first);   /* coro_abort */

#endif
