/* scenarios_dispatch.c - dispatchers of a policy of one's own, and pools of dispatchers. */
#include "ledger.h"

#include "base/manual.h"

/* ------------------------------------------------------------------------ pools */

static coro_dispatch_pool *begin_pool(uint32_t policy)
{
	coro_dispatch_pool_options o = {.size = sizeof o, .policy = policy, .threads = 2};
	coro_dispatch_pool *p = (coro_dispatch_pool *)&o;

	accepted = ran = own_ends = 0;
	for (int try = 0; try < 2; try++) {
		int status = QUIET(coro_dispatch_pool_new(&p, &o));
		if (status == CORO_OK)
			return p;
		CHECK(p == (coro_dispatch_pool *)&o);
		was_refused(status);
	}
	CHECK(lasting);
	return NULL;
}

static bool to_pool(coro_dispatch_pool *p, coro_dispatch_fn fn, uint32_t group,
		    coro_dispatch_id *out)
{
	bool ok = again(QUIET(coro_dispatch_pool_spawn(p, fn, p, group, out)), CORO_ENOMEM);
	if (ok)
		count(&accepted);
	else if (out)
		*out = 0;
	return ok;
}

static void is_done(void *arg)
{
	(void)arg;
	count(&ran);
}

/* blocks - with so much in its frame, which is still there afterwards. */
static COROI_NOINLINE void blocks(size_t bytes)
{
	char frame[bytes];

	memset(frame, (int)(bytes % 100), bytes);
	__asm__ volatile("" : : "r"(frame) : "memory");
	again(coro_dispatch_block(), CORO_ENOMEM);
	for (size_t i = 0; i < bytes; i++)
		CHECK_EQ(frame[i], bytes % 100);
}

/* Frames from every kind of block, larger and smaller ones in turn; deferred functions; a deeper
 * stack. */
static void frames_grow(void *pool)
{
	(void)pool;
	for (size_t bytes = 64; bytes <= (32 << 10); bytes *= 8) {
		blocks(bytes);
		blocks(bytes / 4);
	}
	what_it_owns(&own_ends);
	count(&ran);
}

static void parks_once(void *pool)
{
	(void)pool;
	again(coro_dispatch_park(), CORO_ENOMEM);
	count(&ran);
}

static void parks_until_stopped(void *pool)
{
	int status = coro_dispatch_park();

	(void)pool;
	if (status != CORO_ECANCELED && !went_well(status, CORO_ENOMEM))
		status = coro_dispatch_park();
	CHECK(status == CORO_ECANCELED || (lasting && status == CORO_ENOMEM));
	count(&ran);
}

static void wakes(coro_dispatch_pool *p, uint32_t groups)
{
	coro_dispatch_id id[20];

	for (uint32_t i = 0; i < 20; i++)
		to_pool(p, parks_once, i % groups, &id[i]);
	again(coro_dispatch_block(), CORO_ENOMEM);
	for (int i = 0; i < 20; i++)
		if (id[i])
			CHECK(went_well(coro_dispatch_wake(p, id[i]), CORO_ESTALE) || lasting);
	count(&ran);
}

static void wakes_in_a_row(void *pool)
{
	wakes(pool, 1);
}

static void wakes_in_groups(void *pool)
{
	wakes(pool, 2);
}

/* use_pool - more than a chunk's members; some wait for each other, some until the pool is
 * stopped. */
static void use_pool(coro_dispatch_pool *p, bool ll)
{
	for (uint32_t i = 0; i < 4; i++)
		to_pool(p, frames_grow, ll ? i : 0, NULL);
	to_pool(p, ll ? wakes_in_groups : wakes_in_a_row, 0, NULL);
	for (uint32_t i = 0; i < 1200; i++)
		to_pool(p, is_done, ll ? i % 2 : 0, NULL);
	CHECK_EQ(QUIET(coro_dispatch_pool_wait(p)), CORO_OK);
	CHECK_EQ(ran, accepted);
	CHECK_EQ(own_ends, 0);
	for (uint32_t i = 0; i < 6; i++)
		to_pool(p, parks_until_stopped, ll ? i : 0, NULL);
	CHECK_EQ(QUIET(coro_dispatch_pool_stop(p)), CORO_OK);
	CHECK_EQ(QUIET(coro_dispatch_pool_spawn(p, is_done, p, 0, NULL)), CORO_ECLOSED);
	CHECK_EQ(QUIET(coro_dispatch_pool_free(p)), CORO_OK);
	CHECK(ran <= accepted); /* some have never begun */
}

static void pool_of(uint32_t policy)
{
	coro_dispatch_pool *p = begin_pool(policy);

	if (p)
		use_pool(p, policy == CORO_DISPATCH_LL);
	coroi_stack_pool_trim(coroi_manual_pool());
}

SCENARIO(pool_rr)
{
	pool_of(CORO_DISPATCH_RR);
}

SCENARIO(pool_ll)
{
	pool_of(CORO_DISPATCH_LL);
}
