/*
 * s_set.c - scenarios of workers that sleep in their sets (io/set.h): claims, the standby, lenders,
 * and a worker that is busy.
 */
#include "s_fd.h"

/* ----------------------------------------------------------------------------------- claims */

static void push_leaf(void *arg)
{
	(void)arg;
	world_spawn(leaf, 1);
}

static void setup_event(void)
{
	open_fd(COROI_KIND_OTHER);
	spawn_at(0, false, reads, 1);
	ex_thread("peer", send_one, NULL);
	ex_thread("push", push_leaf, NULL);
}

static void check_two(void)
{
	check_got(1, 2);
}

static const struct ex_scenario event = {
	.name = "set-event",
	.about = "a worker that sleeps in its set is claimed while it gets an event",
	.setup = setup_event,
	.check = check_two,
	.workers = 1,
	.reach = BIT(WORLD_SLEPT) | BIT(WORLD_RUNG),
};

/* What the pushed coroutine sends is what the other one waits for: without the claim nothing
 * comes. */

static void sends(void *arg, void *result)
{
	leaf(arg, result);
	send_one(NULL);
}

static void push_sender(void *arg)
{
	(void)arg;
	world_spawn(sends, 1);
}

static void setup_claim(void)
{
	open_fd(COROI_KIND_OTHER);
	spawn_at(0, false, reads, 1);
	ex_thread("push", push_sender, NULL);
}

static const struct ex_scenario claim = {
	.name = "set-claim",
	.about = "a worker that goes to sleep in its set is claimed",
	.setup = setup_claim,
	.check = check_two,
	.workers = 1,
	.reach = BIT(WORLD_RUNG),
};

static void setup_bell(void)
{
	setup_claim();
	ex_thread("look", look, NULL);
}

static const struct ex_scenario bell = {
	.name = "set-bell",
	.about = "set-claim, and another thread looks into the set",
	.setup = setup_bell,
	.check = check_two,
	.workers = 1,
	.reach = BIT(WORLD_RUNG) | BIT(WORLD_POLLED),
};

/* ------------------------------------------------------------------------------------- busy */

static void yields(void *arg, void *result)
{
	(void)result;
	EX_CHECK(coro_yield() == CORO_OK);
	send_one(arg);
	while (!g.got)
		EX_CHECK(coro_yield() == CORO_OK);
	g.ended++;
}

static void setup_busy(void)
{
	open_fd(COROI_KIND_OTHER);
	spawn_at(0, false, reads, 1);
	spawn_at(0, false, yields, 0);
	ex_thread("push", push_leaf, NULL);
}

static void check_busy(void)
{
	check_got(1, 3);
}

static const struct ex_scenario busy = {
	.name = "set-busy",
	.about = "a worker with a coroutine that yields all the time looks into its set",
	.setup = setup_busy,
	.check = check_busy,
	.workers = 1,
	.reach = BIT(WORLD_POLLED),
};

/* One coroutine computes, and keeps its worker, until the other has read. If both are on one
 * worker, the other worker looks into its set. */

static void computes(void *arg, void *result)
{
	(void)arg;
	(void)result;
	while (!at_load_acq(&g.done))
		coroi_futex_wait(&g.done, 0, -1);
	g.ended++;
}

static void reads_and_tells(void *arg, void *result)
{
	reads(arg, result);
	at_store_rel(&g.done, 1);
	coroi_futex_wake(&g.done, 1);
}

static void setup_standby(void)
{
	open_fd(COROI_KIND_OTHER);
	spawn_at(0, false, reads_and_tells, 1);
	spawn_at(0, true, computes, 0);
	ex_thread("peer", send_one, NULL);
}

static const struct ex_scenario standby = {
	.name = "set-standby",
	.about = "a coroutine computes, with a descriptor in its worker's set, and the other looks",
	.setup = setup_standby,
	.check = check_two,
	.workers = 2,
	.reach = BIT(WORLD_POLLED),
};

/* ---------------------------------------------------------------------------------- lenders */

static void lends(coro_fn fn)
{
	uint64_t n = 1;
	struct coroi_lend call = {
		.sched = (uint64_t)(uintptr_t)sched,
		.fn = (uint64_t)(uintptr_t)fn,
		.class = sched->class,
		.arg_bytes = sizeof n,
		.id = COROI_JOIN_LENDER,
	};

	memcpy(call.payload, &n, sizeof n);
	int outcome = coroi_lend_call(&call);
	EX_CHECK(!coroi_self());
	ex_reached((unsigned)outcome);
	if (outcome == COROI_LEND_NONE)
		world_spawn(fn, 1);
}

/* The worker's own thread comes back from its set with an event while the worker is lent. */

static void lend_leaf(void *arg)
{
	(void)arg;
	lends(leaf);
}

static void setup_lent(void)
{
	open_fd(COROI_KIND_OTHER);
	spawn_at(0, false, reads, 1);
	ex_thread("lend", lend_leaf, NULL);
	ex_thread("peer", send_one, NULL);
}

static const struct ex_scenario lent = {
	.name = "set-lent",
	.about = "a worker that sleeps in its set is lent while it gets an event",
	.setup = setup_lent,
	.check = check_two,
	.workers = 1,
	.reach = BIT(WORLD_SLEPT) | BIT(COROI_LEND_ENDED) | BIT(COROI_LEND_NONE),
};

/* A lender's call waits for a descriptor, which may be the first thing that its worker watches. */

static void lend_read(void *arg)
{
	(void)arg;
	lends(reads);
}

static void setup_lender(void)
{
	open_fd(COROI_KIND_OTHER);
	ex_thread("lend", lend_read, NULL);
	ex_thread("peer", send_one, NULL);
}

static void check_lender(void)
{
	check_got(1, 1);
}

static const struct ex_scenario lender = {
	.name = "set-lender",
	.about = "a call that is made on a lent worker waits for a descriptor",
	.setup = setup_lender,
	.check = check_lender,
	.workers = 1,
	.reach = BIT(WORLD_SLEPT) | BIT(COROI_LEND_ENDED) | BIT(COROI_LEND_SUSPENDED) |
		 BIT(COROI_LEND_NONE),
};

const struct ex_scenario *const scenarios_set[] = {
	&event, &claim, &bell, &busy, &standby, &lent, &lender, NULL,
};
