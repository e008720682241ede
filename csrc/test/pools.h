/*
 * pools.h - for the tests: pools of threads with a dispatcher each.
 */
#ifndef POOLS_H
#define POOLS_H

#include "test.h"

extern coro_dispatch_pool *pool; /* the pool under test */
extern uint64_t pool_done;       /* set to 0 by pool_new */

#define POOL_POLICIES 3
extern const uint32_t pool_policies[POOL_POLICIES];

/* pool_new - make another pool, and set `pool` to it. in_a_row: for rr alone. pool_end - wait for
 * the end of p, and free p. */
coro_dispatch_pool *pool_new(uint32_t policy, uint32_t threads, uint32_t in_a_row);
void pool_end(coro_dispatch_pool *p);

/* pool_each - call test with each policy, and with 1, 2, 4... threads. */
void pool_each(uint32_t threads, void (*test)(uint32_t policy, uint32_t threads));

/* pool_spawn - a coroutine of `pool`; it succeeds. */
coro_dispatch_id pool_spawn(coro_dispatch_fn fn, void *arg, uint32_t group);

/* pool_tell - a body: add one to the uint64_t at arg. */
void pool_tell(void *arg);

#endif
