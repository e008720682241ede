/*
 * s_run.c - scenarios of a run: what workers send each other within it, and what comes from outside
 * of all workers.
 */
#include "world.h"

#include "border/goworker.h"
#include "kernel/spawn.h"

static struct {
	unsigned ran[2];
	unsigned returned;
	coro_handle x;
} g;
static uint32_t handed;

/* ------------------------------------------------------------------- from worker to worker */

/* Just before the run ends, w0 is woken from outside, and sends a coroutine to w1. That coroutine
 * belongs to the same run. */

static void receives(void *arg, void *result)
{
	(void)arg;
	(void)result;
	g.ran[1]++;
}

static void sends(void *arg)
{
	(void)arg;
	coroi_awake_begin(sched); /* WKW2 */
	if (at_load_seq(&sched->mode) == COROI_RUNNING) {
		g.ran[0]++;
		EX_CHECK(coro_scheduler_spawn(sched, NULL, receives, NULL, 0, NULL) == CORO_OK);
	}
	world_sleep();
}

static void runs(void *arg)
{
	(void)arg;
	EX_CHECK(coro_scheduler_run(sched) == CORO_OK);
	EX_CHECK(g.ran[1] == g.ran[0]);
	ex_reached(g.ran[0] != 0);
	g.returned++;
}

static void setup_inner(void)
{
	world_region(&g, sizeof g);
	world_asleep(2);
	sched->outside.next_worker = 64;
	ex_thread("run", runs, NULL);
	ex_thread("w0", sends, NULL);
}

static void check_inner(void)
{
	EX_CHECK(g.returned == 1);
}

static const struct ex_scenario inner = {
	.name = "run-inner",
	.about = "a run comes to rest while a worker is woken that sends to the other worker",
	.setup = setup_inner,
	.check = check_inner,
	.workers = 2,
	.raw = 3,
	.flags = CORO_PAUSED | CORO_NO_STANDBY,
	.paused = true,
	.reach = 3,
};

/* ---------------------------------------------------------------------------- pending work */

/* A coroutine hands a call over to a thread, and parks until the call has been made. There is
 * nothing else to do meanwhile, and that is no end of the run. */

static void offloads(void *arg, void *result)
{
	(void)arg;
	(void)result;
	COROI_MUTANT(PENDING_LATE, coroi_pending_begin(sched, 1), (void)0);
	at_store_rel(&handed, 1);
	coroi_futex_wake(&handed, 1);
	EX_CHECK(coro_park() == CORO_OK);
	g.ran[0]++;
}

static void makes_calls(void *arg)
{
	(void)arg;
	while (!at_load_acq(&handed))
		coroi_futex_wait(&handed, 0, -1);
	COROI_MUTANT(PENDING_LATE, (void)0, coroi_pending_begin(sched, 1));
	COROI_MUTANT_ADDS(PENDING_EARLY, coroi_pending_end(sched);)
	world_pushing(true);
	EX_CHECK(coro_wake(g.x) == CORO_OK);
	world_pushing(false);
	COROI_MUTANT(PENDING_EARLY, coroi_pending_end(sched), (void)0);
}

static void runs_once(void *arg)
{
	(void)arg;
	EX_CHECK(coro_scheduler_run(sched) == CORO_OK);
	EX_CHECK(g.ran[0] == 1);
	g.returned++;
}

static void setup_pending(void)
{
	EX_CHECK(coro_scheduler_spawn(sched, NULL, offloads, NULL, 0, &g.x) == CORO_OK);
	world_region(&g, sizeof g);
	world_region(&handed, sizeof handed);
	ex_thread("run", runs_once, NULL);
	ex_thread("offload", makes_calls, NULL);
}

static void check_pending(void)
{
	EX_CHECK(g.returned == 1);
	EX_CHECK(coroi_finished(sched));
}

static const struct ex_scenario pending = {
	.name = "pending",
	.about = "a run in which a coroutine waits for a thread that is no worker",
	.setup = setup_pending,
	.check = check_pending,
	.workers = 1,
	.flags = CORO_PAUSED,
	.paused = true,
};

/* ------------------------------------------------------------------- what a thief leaves */

/* w0 sleeps when a batch comes to it. w1 steals some of the batch before the sender has looked
 * whether w0 sleeps. w1 does not look around again: a thread that inspects the scheduler may hold
 * w0's door, or other searchers may have passed w0. w1 finds no worker hungry: the hungry ones have
 * been woken, and w0 keeps away from stealing. What is left in w0's queue belongs to the run. */

static void counts(void *arg, void *result)
{
	(void)arg;
	(void)result;
	g.ran[0]++;
}

static void sends_two(void *arg)
{
	struct coroi_fill q = {.fn = counts, .class = sched->class};

	(void)arg;
	world_pushing(true);
	EX_CHECK(coroi_spawn_many(sched, &q, NULL, 2, 0) == 2);
	world_pushing(false);
}

static void steals_once(void *arg)
{
	struct coroi_worker *w = world_worker(1);

	(void)arg;
	world_be(1);
	world_nap(w);
	at_xchg(&sched->hungry, 0);
	if (world_steal(w, world_worker(0)))
		ex_reached(1);
	for (uint64_t runnable;;) {
		coroi_door_enter(w);
		if ((runnable = coroi_pick_locked(w))) {
			EX_CHECK(!coroi_runnable_has_record(runnable));
			counts(NULL, NULL);
			at_bump_rel(&w->ended);
			coroi_mags_earn(&w->mags);
		}
		coroi_door_leave(w);
		if (!runnable)
			break;
	}
	world_sleep();
}

static void runs_all(void *arg)
{
	(void)arg;
	EX_CHECK(coro_scheduler_run(sched) == CORO_OK);
	EX_CHECK(coroi_live(sched) == 0);
	ex_reached(g.ran[0] == 2 ? 0 : 2);
	g.returned++;
}

static void setup_thief(void)
{
	struct coroi_batch *p[1];

	EX_CHECK(coroi_batch_open(&sched->slab, p, 1) == 1);
	coroi_batch_drop(&sched->slab, p[0]);
	world_region(&g, sizeof g);
	world_asleep(1);
	sched->sleepers[0] |= 2;
	world_worker(0)->steal.hold_off = UINT64_MAX;
	ex_thread("run", runs_all, NULL);
	ex_thread("send", sends_two, NULL);
	ex_thread("thief", steals_once, NULL);
}

static void check_thief(void)
{
	EX_CHECK(g.returned == 1);
	EX_CHECK(g.ran[0] == (sched->worker[0].inbox ? 0 : 2)); /* 0: all came after the run */
}

static const struct ex_scenario thief = {
	.name = "run-thief",
	.about = "a run comes to rest while a thief takes half of a batch just sent to a sleeper",
	.setup = setup_thief,
	.check = check_thief,
	.workers = 2,
	.raw = 3,
	.flags = CORO_PAUSED | CORO_NO_STANDBY,
	.paused = true,
	.reach = 7,
};

const struct ex_scenario *const scenarios_run[] = {&inner, &pending, &thief, NULL};
