/*
 * s_idle.c - scenarios of sleeping, waking and the end, with the real run loop on every worker.
 */
#include "world.h"

#define LEAVES 8

static struct {
	unsigned ran[LEAVES];
	unsigned returned;
	bool over;
	coro_handle handle;
} g;

static void check_ran(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (g.ran[i] != 1)
			ex_fail("coroutine %u has run %u times", i, g.ran[i]);
}

static void leaf(void *arg, void *result)
{
	(void)result;
	g.ran[*(uint64_t *)arg]++;
}

/* ------------------------------------------------------------------------------------ push */

static void push_one(void *arg)
{
	world_spawn(leaf, (uint64_t)(uintptr_t)arg);
}

static void push_two(void *arg)
{
	push_one(arg);
	world_spawn(leaf, (uint64_t)(uintptr_t)arg + 1);
}

static void setup_push(void)
{
	world_region(&g, sizeof g);
	ex_thread("push0", push_two, (void *)0);
	ex_thread("push2", push_one, (void *)2);
}

static void check_push(void)
{
	check_ran(3);
	EX_CHECK(coroi_finished(sched));
}

static const struct ex_scenario push_park = {
	.name = "push-park",
	.about = "a worker goes to sleep, and two threads push to its inbox",
	.setup = setup_push,
	.check = check_push,
	.workers = 1,
};

static void setup_claim(void)
{
	world_region(&g, sizeof g);
	ex_thread("push0", push_one, (void *)0);
	ex_thread("push1", push_one, (void *)1);
	ex_thread("push2", push_one, (void *)2);
}

static const struct ex_scenario claim_unpark = {
	.name = "claim-unpark",
	.about = "push-park with three threads that push once, and claim the sleeper together",
	.setup = setup_claim,
	.check = check_push,
	.workers = 1,
};

/* A thief takes what lies in another worker's inbox, leaves some of it there, and never comes back:
 * its coroutine computes. */

static void thief_for_good(void *arg)
{
	struct coroi_worker *w = world_worker(1);

	(void)arg;
	world_be(1);
	if (world_steal(w, world_worker(0)))
		ex_reached(0);
	world_run_raw(w, g.ran);
}

static void setup_leaves(void)
{
	world_region(&g, sizeof g);
	ex_thread("push0", push_two, (void *)0);
	ex_thread("thief", thief_for_good, NULL);
}

static void check_leaves(void)
{
	check_ran(2);
	EX_CHECK(sched->activity == COROI_AWAKE);
}

static const struct ex_scenario steal_leaves = {
	.name = "steal-leaves",
	.about = "a thief leaves half of an inbox to its owner, which goes to sleep, and computes",
	.setup = setup_leaves,
	.check = check_leaves,
	.workers = 2,
	.raw = 2,
	.flags = CORO_NO_STANDBY,
	.reach = 1,
};

static const struct ex_scenario leaves_exchange = {
	.name = "leaves-exchange",
	.about = "steal-leaves without membarrier",
	.setup = setup_leaves,
	.check = check_leaves,
	.workers = 2,
	.raw = 2,
	.flags = CORO_NO_STANDBY | CORO_NO_MEMBARRIER,
	.reach = 1,
};

/* ------------------------------------------------------------------------------------ the end */

static void parent(void *arg, void *result)
{
	uint64_t child = *(uint64_t *)arg + 1;
	leaf(arg, result);
	EX_CHECK(coro_spawn(leaf, &child, sizeof child) == CORO_OK);
}

static void push_and_wait(void *arg)
{
	uint64_t n = (uint64_t)(uintptr_t)arg;

	world_spawn(parent, n);
	EX_CHECK(coro_scheduler_wait(sched) == CORO_OK);
	EX_CHECK(g.ran[n] == 1 && g.ran[n + 1] == 1);
	g.returned++;
}

static void setup_end(void)
{
	world_region(&g, sizeof g);
	ex_thread("submit0", push_and_wait, (void *)0);
}

static void check_end(void)
{
	check_ran(2);
	EX_CHECK(g.returned == 1);
	EX_CHECK(coroi_finished(sched));
}

static const struct ex_scenario end = {
	.name = "end",
	.about = "two workers, a parent from outside with a child, and a wait for the end",
	.setup = setup_end,
	.check = check_end,
	.workers = 2,
	.flags = CORO_NO_STANDBY,
};

static void setup_end_one(void)
{
	world_region(&g, sizeof g);
	ex_thread("submit0", push_and_wait, (void *)0);
	ex_thread("submit2", push_and_wait, (void *)2);
}

static void check_end_one(void)
{
	check_ran(4);
	EX_CHECK(g.returned == 2);
	EX_CHECK(coroi_finished(sched));
}

static const struct ex_scenario end_submit = {
	.name = "end-submit",
	.about = "one worker; two threads submit a parent with a child and wait for the end",
	.setup = setup_end_one,
	.check = check_end_one,
	.workers = 1,
};

static const struct ex_scenario standby = {
	.name = "standby",
	.about = "end with the standby sleeper",
	.setup = setup_end,
	.check = check_end,
	.workers = 2,
};

/* A coroutine that is never woken keeps coro_scheduler_wait from returning. Another one is spawned
 * on one worker and ends on the other meanwhile: the counters of the two workers are not read at
 * once, and must not hide the first coroutine. */

static void comes_and_goes(void *arg)
{
	(void)arg;
	coroi_notify_pushed(world_worker(0));
	at_bump(&world_worker(0)->spawned);
	at_bump_rel(&world_worker(1)->ended);
	world_sleep();
}

static void waits_without_end(void *arg)
{
	(void)arg;
	coro_scheduler_wait(sched);
	ex_fail("the end, and a coroutine still waits");
}

static void setup_count_of(void (*worker)(void *))
{
	world_region(&g, sizeof g);
	world_worker(0)->spawned = 1;
	sched->activity = 0;
	sched->sleepers[0] = 3;
	ex_thread("worker", worker, NULL);
	ex_thread("wait", waits_without_end, NULL);
}

static void setup_count(void)
{
	setup_count_of(comes_and_goes);
}

static void check_count(void)
{
	EX_CHECK(coroi_at_rest(sched) && coroi_live(sched) == 1);
}

static const struct ex_scenario end_count = {
	.name = "end-count",
	.about =
		"a wait for the end while one coroutine is never woken, and another comes and ends",
	.setup = setup_count,
	.check = check_count,
	.workers = 2,
	.raw = 3,
	.flags = CORO_NO_STANDBY,
};

/* The same with a daemon that comes and goes, and with a thread that tells the daemons apart. */

static void daemon_comes_and_goes(void *arg)
{
	struct coroi_worker *w = world_worker(0);

	(void)arg;
	coroi_notify_pushed(w);
	COROI_MUTANT_ADDS(DAEMON_FIRST, coroi_count_daemon(w);)
	at_bump(&w->spawned);
	COROI_MUTANT(DAEMON_FIRST, coroi_count_daemon(w), (void)0);
	coroi_count_end_locked(world_worker(1), COROI_M_DAEMON);
	world_sleep();
}

static void setup_daemon(void)
{
	setup_count_of(daemon_comes_and_goes);
	sched->has_daemons = 1;
}

static void check_daemon(void)
{
	check_count();
	EX_CHECK(coroi_others(sched) == 1);
}

static const struct ex_scenario end_daemon = {
	.name = "end-daemon",
	.about = "end-count, where the one that comes and ends is a daemon",
	.setup = setup_daemon,
	.check = check_daemon,
	.workers = 2,
	.raw = 3,
	.flags = CORO_NO_STANDBY,
};

/* A daemon waits for something that is pending for ever. The last of the others ends meanwhile, on
 * the only worker that is awake. */

static void ends_last(void *arg)
{
	(void)arg;
	at_bump_rel(&world_worker(0)->ended);
	world_sleep(); /* SLP4 */
}

static void waits_for_the_others(void *arg)
{
	(void)arg;
	EX_CHECK(coro_scheduler_wait(sched) == CORO_OK);
	EX_CHECK(world_worker(0)->ended == 1);
	g.returned++;
}

static void setup_daemon_pending(void)
{
	world_region(&g, sizeof g);
	world_worker(0)->spawned = 2;
	world_worker(0)->daemons.spawned = 1;
	sched->has_daemons = 1;
	sched->activity = COROI_AWAKE + COROI_PENDING;
	sched->sleepers[0] = 2;
	ex_thread("worker", ends_last, NULL);
	ex_thread("wait", waits_for_the_others, NULL);
}

static void check_daemon_pending(void)
{
	EX_CHECK(g.returned == 1);
	EX_CHECK(coroi_live(sched) == 1 && coroi_finished(sched));
}

static const struct ex_scenario end_pending = {
	.name = "end-pending",
	.about = "a wait for the end while something is pending for a daemon",
	.setup = setup_daemon_pending,
	.check = check_daemon_pending,
	.workers = 2,
	.raw = 3,
	.flags = CORO_NO_STANDBY,
};

/* Three workers. The first computes, with a coroutine queued. The second is woken for it, takes the
 * coroutine, and computes too. What the first queues then is for the third, which must be woken,
 * since no worker looks around. The third has no thread here. */

static uint32_t began;

static void computes(void *arg, void *result)
{
	uint32_t for_ever = 0;

	(void)arg;
	(void)result;
	at_store_rel(&began, 1);
	coroi_futex_wake(&began, 1);
	coroi_futex_wait(&for_ever, 0, -1);
}

static void queue_new(struct coroi_worker *w, coro_fn fn)
{
	coroi_door_enter(w);
	EX_CHECK(coroi_mags_spend(&w->mags));
	EX_CHECK(coroi_queue_new_locked(w, coroi_runnable_new(fn, sched->class, 0, false), NULL));
	at_bump(&w->spawned);
	coroi_notify_queued(w);
	coroi_door_leave(w);
}

static void first(void *arg)
{
	(void)arg;
	world_be(0);
	/* all workers sleep; then the first counts as awake */
	while (at_load_acq(&world_worker(1)->ev) != COROI_EV_SLEEPS)
		at_relax();
	at_add(&sched->activity, COROI_AWAKE);
	queue_new(world_worker(0), computes);
	while (!at_load_acq(&began))
		coroi_futex_wait(&began, 0, -1);
	queue_new(world_worker(0), computes);
	g.returned++;
}

static void setup_third(void)
{
	world_asleep(2);
	sched->sleepers[0] |= 4;
	world_worker(2)->ev = COROI_EV_SLEEPS;
	world_region(&g, sizeof g);
	world_region(&began, sizeof began);
	ex_thread("first", first, NULL);
}

static void check_third(void)
{
	EX_CHECK(g.returned == 1);
	if (sched->sleepers[0] & 4 && world_worker(0)->queue.count)
		ex_fail("w0 and w1 compute, a coroutine is queued, and w2 sleeps without a clock");
}

static const struct ex_scenario third = {
	.name = "third",
	.about = "two of three workers compute; what one queues is for the third, which sleeps",
	.setup = setup_third,
	.check = check_third,
	.workers = 3,
	.raw = 7,
};

/* Run mode. A coroutine that waits is woken from outside, before the run ends or after. */

static void parks(void *arg, void *result)
{
	(void)arg;
	(void)result;
	EX_CHECK(!g.over);
	EX_CHECK(coro_park() == CORO_OK);
	EX_CHECK(!g.over);
	g.ran[0]++;
}

static void runs_twice(void *arg)
{
	(void)arg;
	for (int i = 0; i < 2; i++) {
		g.over = false;
		int status = coro_scheduler_run(sched);
		EX_CHECK(status == (g.ran[0] ? CORO_OK : CORO_EDEADLK));
		g.over = true;
		ex_reached(status == CORO_OK ? 0 : 1);
		if (status == CORO_OK)
			break;
	}
	g.returned++;
}

static void wake(void *arg)
{
	(void)arg;
	world_pushing(true);
	EX_CHECK(coro_wake(g.handle) == CORO_OK);
	world_pushing(false);
}

static void setup_run(void)
{
	EX_CHECK(coro_scheduler_spawn(sched, NULL, parks, NULL, 0, &g.handle) == CORO_OK);
	world_region(&g, sizeof g);
	ex_thread("run", runs_twice, NULL);
	ex_thread("wake", wake, NULL);
}

static void check_run(void)
{
	EX_CHECK(g.returned == 1);
	if (g.ran[0] == 0) /* woken as the second run was ending: a third run would run it */
		EX_CHECK(sched->worker[0].inbox);
	else
		check_ran(1);
}

static const struct ex_scenario run = {
	.name = "run",
	.about = "a run comes to rest while a coroutine that waits is woken from outside",
	.setup = setup_run,
	.check = check_run,
	.workers = 1,
	.flags = CORO_PAUSED,
	.paused = true,
	.reach = 3,
};

/* A close with cancel, while the coroutine that it cancels is woken. */

static void parks_canceled(void *arg, void *result)
{
	(void)arg;
	(void)result;
	int status = coro_park();
	EX_CHECK(status == CORO_OK || status == CORO_ECANCELED);
	ex_reached(status == CORO_OK ? 0 : 1);
	g.ran[0]++;
}

static void close_it(void *arg)
{
	(void)arg;
	EX_CHECK(coro_scheduler_close(sched, 1) == CORO_OK);
	g.returned++;
}

static void wake_late(void *arg)
{
	(void)arg;
	world_pushing(true);
	int status = coro_wake(g.handle);
	EX_CHECK(status == CORO_OK || status == CORO_ESTALE);
	world_pushing(false);
}

static void setup_close(void)
{
	coro_attr a = {.size = sizeof a};
	EX_CHECK(coro_scheduler_spawn(sched, &a, parks_canceled, NULL, 0, &g.handle) == CORO_OK);
	world_region(&g, sizeof g);
	ex_thread("close", close_it, NULL);
	ex_thread("wake", wake_late, NULL);
}

static void check_close(void)
{
	EX_CHECK(g.returned == 1);
	EX_CHECK(g.ran[0] <= 1);
	EX_CHECK(coroi_live(sched) == 0);
}

static const struct ex_scenario close_cancel = {
	.name = "close",
	.about = "a close cancels a coroutine that waits, and a thread wakes the coroutine",
	.setup = setup_close,
	.check = check_close,
	.workers = 1,
	.stops = true,
	.reach = 3,
};

const struct ex_scenario *const scenarios_idle[] = {
	&push_park,    &claim_unpark, &steal_leaves, &leaves_exchange, &end,   &end_submit,
	&end_count,    &end_daemon,   &end_pending,  &standby,         &third, &run,
	&close_cancel, NULL,
};
