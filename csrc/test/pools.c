/* pools.c - see pools.h. */
#include "pools.h"

const uint32_t pool_policies[POOL_POLICIES] = {CORO_DISPATCH_RR, CORO_DISPATCH_LL,
					       CORO_DISPATCH_GQ};

coro_dispatch_pool *pool;
uint64_t pool_done;

coro_dispatch_pool *pool_new(uint32_t policy, uint32_t threads, uint32_t in_a_row)
{
	coro_dispatch_pool_options o = {.size = sizeof o,
					.policy = policy,
					.threads = threads,
					.in_a_row = policy == CORO_DISPATCH_RR ? in_a_row : 0};

	pool = NULL;
	CHECK_EQ(coro_dispatch_pool_new(&pool, &o), CORO_OK);
	pool_done = 0;
	return pool;
}

void pool_each(uint32_t threads, void (*test)(uint32_t policy, uint32_t threads))
{
	for (unsigned i = 0; i < POOL_POLICIES; i++)
		for (uint32_t n = 1; n <= threads; n *= 2)
			test(pool_policies[i], n);
}

coro_dispatch_id pool_spawn(coro_dispatch_fn fn, void *arg, uint32_t group)
{
	coro_dispatch_id id = 0;

	CHECK_EQ(coro_dispatch_pool_spawn(pool, fn, arg, group, &id), CORO_OK);
	CHECK(id != 0);
	return id;
}

void pool_end(coro_dispatch_pool *p)
{
	CHECK_EQ(coro_dispatch_pool_wait(p), CORO_OK);
	CHECK_EQ(coro_dispatch_pool_free(p), CORO_OK);
}

void pool_tell(void *arg)
{
	add_one(arg);
}
