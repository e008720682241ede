/*
 * s_lend.c - scenarios of lending: a thread that is no worker lends itself to a worker that sleeps,
 * while other threads push to that worker, wake it, steal from it, or lend themselves too. What the
 * worker's own thread does meanwhile is in s_lent.c.
 */
#include "s_lend.h"

#include "border/brief.h"

/* --------------------------------------------------------------------- pushes, and two lenders */

static void setup_push(void)
{
	world_region(&g, sizeof g);
	ex_thread("lend", lend_empty, (void *)0);
	ex_thread("push", push_leaf, (void *)1);
}

static const struct ex_scenario push = {
	.name = "lend-push",
	.about = "a worker goes to sleep, is lent for an empty call, and a thread pushes to it",
	.setup = setup_push,
	.check = check_two,
	.workers = 1,
	.reach = ENDED | NONE,
};

static void setup_two(void)
{
	world_region(&g, sizeof g);
	ex_thread("lend0", lend_empty, (void *)0);
	ex_thread("lend1", lend_empty, (void *)1);
	ex_thread("push", push_leaf, (void *)2);
}

static void check_three(void)
{
	check_ran(3);
}

static const struct ex_scenario two = {
	.name = "lend-two",
	.about = "lend-push with two that lend themselves to the same worker",
	.setup = setup_two,
	.check = check_three,
	.workers = 1,
	.reach = ENDED | NONE,
};

/* The end of a wait is no sooner than the ends of all, and of what they spawn. */

static void spawns_empty(void *arg, void *result)
{
	uint64_t child = *(uint64_t *)arg + 1;

	(void)result;
	EX_CHECK(coro_spawn(empty, &child, sizeof child) == CORO_OK);
	g.ran[*(uint64_t *)arg]++;
}

static void lend_and_wait(void *arg)
{
	uint64_t n = (uint64_t)(uintptr_t)arg;

	lends(spawns_empty, n, false);
	EX_CHECK(coro_scheduler_wait(sched) == CORO_OK);
	EX_CHECK(g.ran[n] == 1 && g.ran[n + 1] == 1);
	g.returned++;
}

static void setup_spawn(void)
{
	world_region(&g, sizeof g);
	ex_thread("lend", lend_and_wait, (void *)0);
	ex_thread("push", push_leaf, (void *)2);
}

static void check_spawn(void)
{
	EX_CHECK(g.returned == 1);
	check_ran(3);
}

static const struct ex_scenario spawn = {
	.name = "lend-spawn",
	.about = "a call spawns a coroutine, and a wait for the end follows; a thread pushes",
	.setup = setup_spawn,
	.check = check_spawn,
	.workers = 1,
	.reach = ENDED | NONE,
};

/* ----------------------------------------------------------------------------- bodies that wait */

static uint32_t told;

static void parks(void *arg, void *result)
{
	(void)result;
	g.handle = coro_self();
	at_store_rel(&told, 1);
	coroi_futex_wake(&told, 1);
	EX_CHECK(coro_park() == CORO_OK);
	if (is_lent())
		ex_reached(MORE);
	g.ran[*(uint64_t *)arg]++;
}

static void wakes(void *arg)
{
	(void)arg;
	while (!at_load_acq(&told))
		coroi_futex_wait(&told, 0, -1);
	world_pushing(true);
	EX_CHECK(coro_wake(g.handle) == CORO_OK);
	world_pushing(false);
}

static void lend_parks(void *arg)
{
	lends(parks, (uint64_t)(uintptr_t)arg, false);
}

static void setup_park(void)
{
	world_region(&g, sizeof g);
	world_region(&told, sizeof told);
	ex_thread("lend", lend_parks, (void *)0);
	ex_thread("wake", wakes, NULL);
	ex_thread("push", push_leaf, (void *)1);
}

static const struct ex_scenario park = {
	.name = "lend-park",
	.about = "a call parks and is woken by a thread; another thread pushes",
	.setup = setup_park,
	.check = check_two,
	.workers = 1,
	.reach = ENDED | SUSPENDED | NONE | 1u << MORE,
};

/* A call that spawns and yields. A thief takes what lies in the lent worker's queue. */

static void yields(void *arg, void *result)
{
	uint64_t child = *(uint64_t *)arg + 1;
	int worker = coro_worker();

	(void)result;
	EX_CHECK(coro_spawn(empty, &child, sizeof child) == CORO_OK);
	EX_CHECK(coro_yield() == CORO_OK);
	if (coro_worker() != worker)
		ex_reached(MORE);
	g.ran[*(uint64_t *)arg]++;
}

static void lend_yields(void *arg)
{
	lends(yields, (uint64_t)(uintptr_t)arg, false);
}

static void steals(void *arg)
{
	(void)arg;
	world_be(1);
	if (world_steal(world_worker(1), world_worker(0)))
		ex_reached(MORE + 1);
	EX_CHECK(!coroi_work(world_worker(1)));
}

static void setup_steal(void)
{
	world_asleep(1);
	world_worker(1)->spin.ns = 0;
	sched->activity = COROI_AWAKE; /* w1 */
	world_region(&g, sizeof g);
	ex_thread("lend", lend_yields, (void *)0);
	ex_thread("w1", steals, NULL);
}

static const struct ex_scenario steal = {
	.name = "lend-steal",
	.about = "a call spawns and yields, and a thief takes from the lent worker",
	.setup = setup_steal,
	.check = check_two,
	.workers = 2,
	.raw = 3,
	.flags = CORO_NO_STANDBY,
	.reach = ENDED | SUSPENDED | NONE | 3u << MORE,
};

/* A thief takes what lies in the inbox of a lent worker, leaves some of it there, and computes. */

static void push_two(void *arg)
{
	push_leaf(arg);
	world_spawn(leaf, (uint64_t)(uintptr_t)arg + 1);
}

static void steals_once(void *arg)
{
	struct coroi_worker *w = world_worker(1);

	(void)arg;
	world_be(1);
	if (world_steal(w, world_worker(0)))
		ex_reached(MORE);
	world_run_raw(w, g.ran);
}

static void setup_leaves(void)
{
	world_asleep(1);
	sched->activity = COROI_AWAKE; /* the thief */
	world_region(&g, sizeof g);
	ex_thread("lend", lend_empty, (void *)0);
	ex_thread("push", push_two, (void *)1);
	ex_thread("thief", steals_once, NULL);
}

static void check_leaves(void)
{
	for (unsigned i = 0; i < 3; i++)
		EX_CHECK(g.ran[i] == 1);
	EX_CHECK(sched->activity == COROI_AWAKE);
}

static const struct ex_scenario leaves = {
	.name = "lend-leaves",
	.about = "a thief leaves half of an inbox to a worker that is lent, and computes",
	.setup = setup_leaves,
	.check = check_leaves,
	.workers = 2,
	.raw = 3,
	.flags = CORO_NO_STANDBY,
	.reach = ENDED | NONE | 1u << MORE,
};

/* -------------------------------------------------------------------------------- what is woken */

/* A coroutine of a brief function is woken by a call of Go's. */

static void is_brief(void *arg, void *result)
{
	(void)result;
	EX_CHECK(coro_park() == CORO_OK);
	ex_reached(is_lent() ? 0 : 1);
	g.ran[*(uint64_t *)arg]++;
}

static void wakes_brief(void *arg)
{
	struct coroi_waker k;

	(void)arg;
	coroi_waker_begin(&k);
	world_pushing(true);
	EX_CHECK(coro_wake(g.handle) == CORO_OK);
	world_pushing(false);
	EX_CHECK(!coroi_self());
	if (k.w)
		ex_reached(2);
	coroi_waker_end(&k);
	EX_CHECK(!coroi_self());
}

static void setup_brief_one(void)
{
	uint64_t n = 0;

	EX_CHECK(coroi_brief_declare(is_brief) == CORO_OK);
	EX_CHECK(coro_scheduler_spawn(sched, NULL, is_brief, &n, sizeof n, &g.handle) == CORO_OK);
	world_worker(0)
		->lends.n = 1; /* the first is timed: what is late is told the whole process */
}

static void setup_brief(void)
{
	setup_brief_one();
	world_region(&g, sizeof g);
	ex_thread("wake", wakes_brief, NULL);
	ex_thread("push", push_leaf, (void *)1);
}

static const struct ex_scenario brief = {
	.name = "lend-brief",
	.about = "a brief coroutine is woken by a thread that lends itself; another thread pushes",
	.setup = setup_brief,
	.check = check_two,
	.workers = 1,
	.reach = 7,
};

/* There is one stack, which the brief coroutine has. The coroutine that awaits it is not brief. */

static void setup_no_stack(void)
{
	struct coroi_stack *stack[16];
	unsigned n = (unsigned)sched->stacks.idle_count - 1;

	EX_CHECK(coroi_stack_pool_get(&sched->stacks, sched->class, stack, n) == n);
	sched->stacks.limit = sched->stacks.bytes;
	setup_brief_one();
	world_spawn(leaf, 1);
	world_region(&g, sizeof g);
	ex_thread("wake", wakes_brief, NULL);
}

static const struct ex_scenario no_stack = {
	.name = "lend-no-stack",
	.about = "lend-brief, where the other coroutine awaits the stack of the brief one",
	.setup = setup_no_stack,
	.check = check_two,
	.workers = 1,
	.reach = 7,
};

const struct ex_scenario *const scenarios_lend[] = {
	&push, &two, &spawn, &park, &steal, &leaves, &brief, &no_stack, NULL,
};
