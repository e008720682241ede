/*
 * t_policy_misuse.c - pools of dispatchers: misuse is told, limits are kept.
 */
#include "pools.h"

#include "dispatch/policy.h"

static uint64_t stop_it;

/* --------------------------------------------------------------------------------------- misuse */

TEST(dispatch_pool_wrong_arguments)
{
	coro_dispatch_pool_options good = {.size = sizeof good,
					   .policy = CORO_DISPATCH_RR,
					   .threads = 1},
				   bad;

	CHECK_EQ(coro_dispatch_pool_new(NULL, &good), CORO_EINVAL);
	CHECK_EQ(coro_dispatch_pool_new(&pool, NULL), CORO_EINVAL);
	bad = good, bad.size++;
	CHECK_EQ(coro_dispatch_pool_new(&pool, &bad), CORO_EINVAL);
	bad = good, bad.policy = 0;
	CHECK_EQ(coro_dispatch_pool_new(&pool, &bad), CORO_EINVAL);
	bad = good, bad.policy = CORO_DISPATCH_GQ + 1;
	CHECK_EQ(coro_dispatch_pool_new(&pool, &bad), CORO_EINVAL);
	bad = good, bad.threads = CORO_WORKERS_MAX + 1;
	CHECK_EQ(coro_dispatch_pool_new(&pool, &bad), CORO_EINVAL);
	bad = good, bad.stack_bytes = 1;
	CHECK_EQ(coro_dispatch_pool_new(&pool, &bad), CORO_EINVAL);
	bad = good, bad.cpus = (const uint16_t[]){0};
	CHECK_EQ(coro_dispatch_pool_new(&pool, &bad), CORO_EINVAL);
	bad = good, bad.flags = CORO_DISPATCH_GIVE_BACK << 1;
	CHECK_EQ(coro_dispatch_pool_new(&pool, &bad), CORO_EINVAL);
	bad = good, bad.policy = CORO_DISPATCH_LL, bad.in_a_row = 1;
	CHECK_EQ(coro_dispatch_pool_new(&pool, &bad), CORO_EINVAL);
	bad.policy = CORO_DISPATCH_GQ;
	CHECK_EQ(coro_dispatch_pool_new(&pool, &bad), CORO_EINVAL);

	pool_new(CORO_DISPATCH_GQ, 1, 0);
	CHECK_EQ(coro_dispatch_pool_spawn(pool, pool_tell, NULL, 1, NULL), CORO_EINVAL);
	pool_end(pool);

	pool_new(CORO_DISPATCH_RR, 1, 0);
	CHECK_EQ(coro_dispatch_pool_spawn(NULL, pool_tell, NULL, 0, NULL), CORO_EINVAL);
	CHECK_EQ(coro_dispatch_pool_spawn(pool, NULL, NULL, 0, NULL), CORO_EINVAL);
	CHECK_EQ(coro_dispatch_pool_spawn(pool, pool_tell, NULL, 1, NULL), CORO_EINVAL);
	CHECK_EQ(coro_dispatch_wake(NULL, 1), CORO_EINVAL);
	CHECK_EQ(coro_dispatch_wake(pool, 0), CORO_ESTALE);
	CHECK_EQ(coro_dispatch_wake(pool, UINT64_MAX), CORO_ESTALE);
	CHECK_EQ(coro_dispatch_wake(pool, UINT64_C(1) << 32), CORO_ESTALE);
	CHECK_EQ(coro_dispatch_park(), CORO_EPERM);
	CHECK_EQ(coro_dispatch_id_self(), 0);
	CHECK_EQ(coro_dispatch_pool_wait(NULL), CORO_EINVAL);
	CHECK_EQ(coro_dispatch_pool_stop(NULL), CORO_EINVAL);
	CHECK_EQ(coro_dispatch_pool_free(NULL), CORO_OK);
	pool_end(pool);
}

static intptr_t by_hand(void *arg, intptr_t value)
{
	(void)arg;
	CHECK_EQ(coro_dispatch_park(), CORO_EPERM);
	CHECK_EQ(coro_dispatch_id_self(), 0);
	return value + 1;
}

static void misuses(void *arg)
{
	coro_t *co;
	intptr_t got;
	(void)arg;

	CHECK_EQ(coro_new(&co, by_hand, NULL, STACK), CORO_OK);
	CHECK_EQ(coro_resume(co, 4, &got), CORO_FINISHED);
	CHECK_EQ(got, 5);
	CHECK_EQ(coro_free(co), CORO_OK);
	CHECK_EQ(coro_park(), CORO_EPERM);
	CHECK_EQ(coro_dispatch_drop(coro_dispatch_self()), CORO_EBUSY);
	add_one(&pool_done);
}

static void misuse(uint32_t policy, uint32_t threads)
{
	pool_new(policy, threads, 0);
	pool_spawn(misuses, NULL, 0);
	CHECK_EQ(coro_dispatch_pool_wait(pool), CORO_OK);
	CHECK_EQ(seen(&pool_done), 1);
	pool_end(pool);
}

TEST(dispatch_pool_what_is_not_allowed_inside)
{
	pool_each(1, misuse);
}

/* --------------------------------------------------------------------------------------- limits */

/* All permits that a coroutine can have: the test sets all but one. */
static void is_full(void *arg)
{
	struct coroi_member *me = (struct coroi_member *)coro_dispatch_self();
	(void)arg;

	at_store_rlx(&me->permits, COROI_MEMBER_PERMITS - 1);
	CHECK_EQ(coro_dispatch_wake(pool, coro_dispatch_id_self()), CORO_OK);
	CHECK_EQ(coro_dispatch_wake(pool, coro_dispatch_id_self()), CORO_EOVERFLOW);
	CHECK_EQ(coro_dispatch_park(), CORO_OK);
	CHECK_EQ(coro_dispatch_wake(pool, coro_dispatch_id_self()), CORO_OK);
	add_one(&pool_done);
	while (!seen(&stop_it))
		CHECK_EQ(coro_dispatch_block(), CORO_OK);
}

static void overflow(uint32_t policy, uint32_t threads)
{
	pool_new(policy, threads, 0);
	stop_it = 0;
	coro_dispatch_id id = pool_spawn(is_full, NULL, 0);
	while (!seen(&pool_done))
		sleep_us(100);
	CHECK_EQ(coro_dispatch_wake(pool, id), CORO_EOVERFLOW);
	add_one(&stop_it);
	CHECK_EQ(coro_dispatch_pool_wait(pool), CORO_OK);
	CHECK_EQ(coro_dispatch_wake(pool, id), CORO_ESTALE);
	pool_end(pool);
}

TEST(dispatch_pool_counts_permits)
{
	pool_each(1, overflow);
}

/* All chunks that a pool can have, and none of them is there. */
TEST(dispatch_pool_of_too_many)
{
	for (int i = 0; i < POOL_POLICIES; i++) {
		coro_dispatch_id id = 7;
		pool = pool_new(pool_policies[i], 1, 0);
		pool->chunks = COROI_MEMBER_CHUNKS;
		CHECK_EQ(coro_dispatch_pool_spawn(pool, pool_tell, &pool_done, 0, &id),
			 CORO_ENOMEM);
		CHECK_EQ(id, 7);
		CHECK_EQ(pool->chunks, COROI_MEMBER_CHUNKS);
		pool->chunks = 0;
		pool_spawn(pool_tell, &pool_done, 0);
		pool_end(pool);
		CHECK_EQ(pool_done, 1);
	}
}

static void is_the_last_of_its_number(void *arg)
{
	(void)arg;
	((struct coroi_member *)coro_dispatch_self())->generation = UINT32_MAX;
	add_one(&pool_done);
}

/* A member whose generations are used up is never used again: an old id stays stale. */
TEST(dispatch_pool_generations_end)
{
	for (int i = 0; i < POOL_POLICIES; i++) {
		pool = pool_new(pool_policies[i], 1, 0);
		coro_dispatch_id usual = pool_spawn(pool_tell, &pool_done, 0);
		CHECK_EQ(coro_dispatch_pool_wait(pool), CORO_OK);
		coro_dispatch_id last = pool_spawn(is_the_last_of_its_number, NULL, 0);
		CHECK_EQ((uint32_t)last, (uint32_t)usual); /* the member is used again */
		CHECK_EQ(coro_dispatch_pool_wait(pool), CORO_OK);
		coro_dispatch_id next = pool_spawn(pool_tell, &pool_done, 0);
		CHECK((uint32_t)next != (uint32_t)last);
		CHECK_EQ(coro_dispatch_wake(pool, last), CORO_ESTALE);
		CHECK_EQ(coro_dispatch_wake(pool, UINT64_C(1) << 32 | (uint32_t)last), CORO_ESTALE);
		pool_end(pool);
		CHECK_EQ(pool_done, 3);
	}
}
