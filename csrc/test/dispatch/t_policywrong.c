/*
 * t_policywrong.c - pools of dispatchers at their limits: members and generations that are used up,
 * parks that are refused while others are ready, and what one pool does about another. See
 * t_policy.c.
 */
#include "test.h"

#include "dispatch/policy.h"
#include "base/sys.h"

#include <string.h>

static const uint32_t policies[] = {CORO_DISPATCH_RR, CORO_DISPATCH_LL};
static coro_dispatch_pool *pool;
static uint64_t done;

static coro_dispatch_pool *pool_new(uint32_t policy, uint32_t threads)
{
	coro_dispatch_pool_options o = {.size = sizeof o, .policy = policy, .threads = threads};
	coro_dispatch_pool *p = NULL;

	CHECK_EQ(coro_dispatch_pool_new(&p, &o), CORO_OK);
	done = 0;
	return p;
}

static coro_dispatch_id start_one(coro_dispatch_fn fn, void *arg)
{
	coro_dispatch_id id = 0;

	CHECK_EQ(coro_dispatch_pool_spawn(pool, fn, arg, 0, &id), CORO_OK);
	return id;
}

static void end_pool(coro_dispatch_pool *p)
{
	CHECK_EQ(coro_dispatch_pool_wait(p), CORO_OK);
	CHECK_EQ(coro_dispatch_pool_free(p), CORO_OK);
}

static void counts(void *arg)
{
	(void)arg;
	add_one(&done);
}

/* ---------------------------------------------------------------------------------------- what is
 * had */

/* As many chunks as a pool can have, of which there are none. */
TEST(dispatch_pool_of_too_many)
{
	for (int i = 0; i < 2; i++) {
		coro_dispatch_id id = 7;
		pool = pool_new(policies[i], 1);
		pool->chunks = COROI_MEMBER_CHUNKS;
		CHECK_EQ(coro_dispatch_pool_spawn(pool, counts, NULL, 0, &id), CORO_ENOMEM);
		CHECK_EQ(id, 7);
		CHECK_EQ(pool->chunks, COROI_MEMBER_CHUNKS);
		pool->chunks = 0;
		start_one(counts, NULL);
		end_pool(pool);
		CHECK_EQ(done, 1);
	}
}

static void is_the_last_of_its_number(void *arg)
{
	(void)arg;
	((struct coroi_member *)coro_dispatch_self())->generation = UINT32_MAX;
	add_one(&done);
}

/* One whose generations are used up is never used again: an id of long ago stays stale. */
TEST(dispatch_pool_generations_end)
{
	for (int i = 0; i < 2; i++) {
		pool = pool_new(policies[i], 1);
		coro_dispatch_id usual = start_one(counts, NULL);
		CHECK_EQ(coro_dispatch_pool_wait(pool), CORO_OK);
		coro_dispatch_id last = start_one(is_the_last_of_its_number, NULL);
		CHECK_EQ((uint32_t)last, (uint32_t)usual); /* it is used again */
		CHECK_EQ(coro_dispatch_pool_wait(pool), CORO_OK);
		coro_dispatch_id next = start_one(counts, NULL);
		CHECK((uint32_t)next != (uint32_t)last);
		CHECK_EQ(coro_dispatch_wake(pool, last), CORO_ESTALE);
		CHECK_EQ(coro_dispatch_wake(pool, UINT64_C(1) << 32 | (uint32_t)last), CORO_ESTALE);
		end_pool(pool);
		CHECK_EQ(done, 3);
	}
}

static void tells_its_thread(void *arg)
{
	CHECK_EQ(pthread_getname_np(pthread_self(), arg, 16), 0);
}

/* As many threads as there are CPUs, by a name of one's own that may be too long. */
TEST(dispatch_pool_of_the_usual_size)
{
	static const char *const names[] = {"mine", "a-name-of-more-than-sixteen", NULL};
	static const char *const told[] = {"mine/0", "a-name-of-/0", "dispatch/0"};
	uint32_t cpus = coroi_cpus() < CORO_WORKERS_MAX ? coroi_cpus() : CORO_WORKERS_MAX;

	for (int i = 0; i < 3; i++) {
		coro_dispatch_pool_options o = {
			.size = sizeof o, .policy = CORO_DISPATCH_RR, .name = names[i]};
		char name[16] = "";
		CHECK_EQ(coro_dispatch_pool_new(&pool, &o), CORO_OK);
		CHECK_EQ(pool->threads, cpus);
		start_one(tells_its_thread, name);
		end_pool(pool);
		CHECK_EQ(strcmp(name, told[i]), 0);
	}
}

/* -------------------------------------------------------------------------------------- a pool and
 * another */

static void ends_another(void *arg)
{
	coro_dispatch_pool *other = arg;

	CHECK_EQ(coro_dispatch_pool_wait(pool), CORO_EPERM);
	CHECK_EQ(coro_dispatch_pool_free(pool), CORO_EPERM);
	CHECK_EQ(coro_dispatch_pool_spawn(other, counts, NULL, 0, NULL), CORO_OK);
	CHECK_EQ(coro_dispatch_pool_wait(other), CORO_OK);
	CHECK_EQ(seen(&done), 1);
	CHECK_EQ(coro_dispatch_pool_free(other), CORO_OK);
	add_one(&done);
}

TEST(dispatch_pool_ends_another)
{
	for (int i = 0; i < 4; i++) {
		coro_dispatch_pool *other = pool_new(policies[i / 2], 2);
		pool = pool_new(policies[i % 2], 1);
		start_one(ends_another, other);
		end_pool(pool);
		CHECK_EQ(done, 2);
	}
}

/* -------------------------------------------------------------------------------- parks that are
 * refused */

static coro_dispatch_id parker;
static uint64_t order[8], steps;

static void notes(void *arg)
{
	order[steps++] = (uintptr_t)arg;
}

static void *wakes(void *arg)
{
	(void)arg;
	start_one(notes, (void *)3);
	CHECK_EQ(coro_dispatch_wake(pool, parker), CORO_OK);
	start_one(notes, (void *)4);
	return NULL;
}

/* Between the park and its refusal another thread starts others, and wakes the one that parks. */
static void wakes_meanwhile(void)
{
	pthread_t t;
	thread_start(&t, wakes, NULL);
	thread_join(t);
}

static void parks_among_others(void *arg)
{
	parker = coro_dispatch_id_self();
	start_one(notes, (void *)1);
	start_one(notes, (void *)2);
	fail_meanwhile = wakes_meanwhile;
	fail_block = 0;
	fail_blocks = 1;
	int status = coro_dispatch_park();
	CHECK_EQ(fail_blocks, 0);
	fail_meanwhile = NULL;
	fail_block = -1;
	if (*(const uint32_t *)arg == CORO_DISPATCH_LL) { /* the permit is on its way, or there */
		CHECK_EQ(status, CORO_ENOMEM);
		status = coro_dispatch_park();
	}
	CHECK_EQ(status, CORO_OK);
	CHECK_EQ(steps, 0);
	notes((void *)0);
}

/* It goes on at once, and the others keep their turns. */
TEST(dispatch_pool_refused_park_leaves_the_others)
{
	for (int i = 0; i < 2; i++) {
		steps = 0;
		pool = pool_new(policies[i], 1);
		start_one(parks_among_others, (void *)(uintptr_t)&policies[i]);
		end_pool(pool);
		CHECK_EQ(steps, 5);
		for (uint64_t k = 0; k < 5; k++)
			CHECK_EQ(order[k], k);
	}
}
