/*
 * pools.h - pools of threads with a dispatcher each, for the tests.
 */

#ifndef POOLS_H
#define POOLS_H

#include "test.h"

extern coro_dispatch_pool *pool; /* the one that is tested */
extern uint64_t pool_done;       /* set to 0 by pool_new */

extern const uint32_t pool_policies[2];

/* pool_new - another pool, which `pool` is from now on. in_a_row: for rr alone. pool_end - wait for
 * the end of p, and free it. */
coro_dispatch_pool *pool_new(uint32_t policy, uint32_t threads, uint32_t in_a_row);
void pool_end(coro_dispatch_pool *p);

/* each - test with both pool_policies and 1, 2, 4... threads. */
void pool_each(uint32_t threads, void (*test)(uint32_t policy, uint32_t threads));

/* start_one - a coroutine of the pool. */
coro_dispatch_id pool_spawn(coro_dispatch_fn fn, void *arg, uint32_t group);

/* pool_tell - a body: one more in the uint64_t at arg. */
void pool_tell(void *arg);

#endif
