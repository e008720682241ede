/*
 * s_batch.c - scenarios of batches: what coroutines send each other within one, and what comes from outside of all workers.
 */
#include "world.h"

#include "../lane.h"

static struct {
	unsigned ran[2];
	unsigned returned;
	coro_handle x;
} g;
static uint32_t handed;

/* ------------------------------------------------------------------------------- inner mail */

/* Just before the batch ends, or in it, w0 is woken from outside, and a coroutine of it sends something to w1. That belongs to
 * the same run. */

static void receives(void *arg, void *result)
{
	(void)arg;
	(void)result;
	g.ran[1]++;
}

static void sends(void *arg)
{
	(void)arg;
	world_grant(); /* N2 */
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
	sched->next_worker = 64;
	ex_thread("run", runs, NULL);
	ex_thread("w0", sends, NULL);
}

static void check_inner(void)
{
	EX_CHECK(g.returned == 1);
}

static const struct ex_scenario inner = {
	.name = "batch-inner",
	.about = "a batch that comes to rest while a worker is woken that sends to the other",
	.setup = setup_inner, .check = check_inner, .workers = 2, .raw = 3, .flags = CORO_PAUSED | CORO_NO_STANDBY, .paused = true,
	.reach = 3,
};

/* ------------------------------------------------------------------------------------- ext */

/* One hands a call over to a thread, and parks until it has been made: nothing else is to be done meanwhile, and that is no
 * end. */

static void offloads(void *arg, void *result)
{
	(void)arg;
	(void)result;
	COROI_MUTANT(EXT_LATE, coroi_ext_begin(sched, 1), (void)0);
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
	COROI_MUTANT(EXT_LATE, (void)0, coroi_ext_begin(sched, 1));
	COROI_MUTANT_ADDS(EXT_EARLY, coroi_ext_end(sched);)
	world_pushing(true);
	EX_CHECK(coro_wake(g.x) == CORO_OK);
	world_pushing(false);
	COROI_MUTANT(EXT_EARLY, coroi_ext_end(sched), (void)0);
}

static void runs_once(void *arg)
{
	(void)arg;
	EX_CHECK(coro_scheduler_run(sched) == CORO_OK);
	EX_CHECK(g.ran[0] == 1);
	g.returned++;
}

static void setup_ext(void)
{
	EX_CHECK(coro_scheduler_spawn(sched, NULL, offloads, NULL, 0, &g.x) == CORO_OK);
	world_region(&g, sizeof g);
	world_region(&handed, sizeof handed);
	ex_thread("run", runs_once, NULL);
	ex_thread("offload", makes_calls, NULL);
}

static void check_ext(void)
{
	EX_CHECK(g.returned == 1);
	EX_CHECK(coroi_finished(sched));
}

static const struct ex_scenario ext = {
	.name = "ext",
	.about = "a batch in which one waits for a thread that is no worker",
	.setup = setup_ext, .check = check_ext, .workers = 1, .flags = CORO_PAUSED, .paused = true,
};

const struct ex_scenario *const scenarios_batch[] = {&inner, &ext, NULL};
