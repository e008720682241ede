/* scenarios_dispatch.c - dispatchers of a policy of one's own, and pools of dispatchers. */
#include "ledger.h"

#include "base/manual.h"

#include <stdlib.h>
#include <string.h>

/* blocks - that many bytes of the stack are what they were, after a coro_dispatch_block. */
static __attribute__((noinline)) void blocks(size_t bytes)
{
	char frame[bytes];

	frames_filled(frame, bytes);
	again(coro_dispatch_block(), CORO_ENOMEM);
	frames_kept(frame, bytes);
}

/* ------------------------------------------------------------------------ one dispatcher */

#define MEMBERS 12

struct member {
	coro_dispatched own; /* first */
	unsigned id;
};

/* A policy: first in, first out. It ends a run after `turns` turns, or when only members are left
 * that never end by themselves. */
static struct {
	coro_dispatched *queue[256];
	unsigned head, tail, turns;
	coro_dispatched *last; /* the member that ran */
	int64_t buffers;       /* given, and not taken back */
	int working;
} policy;

static void ready(coro_dispatched *c)
{
	policy.queue[policy.tail++ % 256] = c;
}

static coro_dispatched *next(coro_dispatcher *d, void *user)
{
	(void)d;
	(void)user;
	if (policy.last && coro_dispatch_status(policy.last) == CORO_MAY_RESUME)
		ready(policy.last);
	policy.last = NULL;
	if (!policy.working || !policy.turns || policy.head == policy.tail)
		return NULL;
	policy.turns--;
	return policy.last = policy.queue[policy.head++ % 256];
}

static void *gives(void *user, coro_dispatched *c, size_t bytes)
{
	void *buffer = fault_buffer(bytes);

	(void)user;
	CHECK(c == policy.last);
	policy.buffers += buffer != NULL;
	return buffer;
}

static void takes_back(void *user, coro_dispatched *c, void *buffer, size_t bytes)
{
	(void)user;
	(void)c;
	memset(buffer, 0xdd, bytes);
	free(buffer);
	policy.buffers--;
}

static void blocks_deep(void *arg)
{
	blocks(3000);
	count(arg);
}

static void member(void *arg)
{
	struct member *me = arg;
	uint64_t deep = 0;

	what_it_owns(&own_ends);
	for (size_t bytes = 64; bytes <= (size_t)4096 << me->id % 3; bytes *= 4) {
		blocks(bytes);
		blocks(bytes / 4);
	}
	bool ok = again(coro_call_on_stack(STACK, blocks_deep, &deep), CORO_ENOMEM);
	CHECK_EQ(deep, ok);
	while (me->id % 4 == 0 && again(coro_dispatch_block(), CORO_ENOMEM))
		; /* until it is dropped */
	count(&ran);
	policy.working -= me->id % 4 != 0;
	if (me->id % 4 == 1)
		coro_abort();
}

static coro_dispatcher *begin_dispatcher(uint32_t flags)
{
	coro_dispatch_policy p = {
		.size = sizeof p, .flags = flags, .next = next, .alloc = gives, .free = takes_back};
	coro_dispatcher *d = NULL;

	memset(&policy, 0, sizeof policy);
	ran = own_ends = 0;
	return again(QUIET(coro_dispatch_new(&d, &p)), CORO_ENOMEM) ? d : NULL;
}

/* in_two_runs - d runs all members. Those that never end by themselves are left, blocked. */
static void in_two_runs(coro_dispatcher *d, struct member *all)
{
	for (unsigned i = 0; i < MEMBERS; i++) {
		all[i] = (struct member){.id = i};
		CHECK_EQ(coro_dispatch_init(&all[i].own, d, member, &all[i]), CORO_OK);
		ready(&all[i].own);
		policy.working += i % 4 != 0;
	}
	policy.turns = 20;
	CHECK_EQ(QUIET(coro_dispatch_run(d)), CORO_OK);
	/* a member without a buffer does not block: then all may have ended */
	CHECK((policy.turns == 0 && policy.buffers) || lasting);
	if (policy.buffers)
		CHECK_EQ(QUIET(coro_dispatch_free(d)), CORO_EBUSY);
	policy.turns = 1000;
	CHECK_EQ(QUIET(coro_dispatch_run(d)), CORO_OK);
	CHECK_EQ(policy.working, 0);
}

/* dropped - drops the members that are left: how many. The others have ended as they should. */
static unsigned dropped(struct member *all)
{
	unsigned n = 0;

	for (unsigned i = 0; i < MEMBERS; i++) {
		int status = coro_dispatch_status(&all[i].own);
		if (i % 4)
			CHECK_EQ(status, i % 4 == 1 ? CORO_ABORT : CORO_FINISHED);
		else if (status == CORO_MAY_RESUME)
			n += QUIET(coro_dispatch_drop(&all[i].own)) == CORO_OK;
		else
			CHECK(lasting && status == CORO_FINISHED);
	}
	return n;
}

/* use_dispatcher - coroutines of one dispatcher, with a policy that may refuse a buffer. */
static void use_dispatcher(uint32_t flags)
{
	struct member all[MEMBERS];
	coro_dispatcher *d = begin_dispatcher(flags);

	if (d) {
		in_two_runs(d, all);
		unsigned n = dropped(all);
		CHECK_EQ(ran + n, MEMBERS);
		CHECK(lasting || n == MEMBERS / 4);
		CHECK_EQ(policy.buffers, 0);
		CHECK_EQ(own_ends, 0);
		CHECK_EQ(QUIET(coro_dispatch_free(d)), CORO_OK);
	}
	coroi_stack_pool_trim(coroi_manual_pool());
}

SCENARIO(dispatcher)
{
	use_dispatcher(0);
}

SCENARIO(giving_back)
{
	use_dispatcher(CORO_DISPATCH_GIVE_BACK);
}

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

SCENARIO(pool_gq)
{
	pool_of(CORO_DISPATCH_GQ);
}
