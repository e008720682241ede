/*
 * s_host.c - scenarios of the main worker, its keeper, and a thread that hosts it (kernel/host.h).
 * w1 is the main worker. w0 is not there, but in the last scenario.
 */
#include "world.h"

#include "kernel/host.h"

static struct {
	unsigned ran, returned;
} g;
static uint32_t has_run;

static void on_main(void *arg, void *result)
{
	(void)arg;
	(void)result;
	EX_CHECK(sched->host && coroi_self() == world_worker(1));
	g.ran++;
	at_store_rel(&has_run, 1);
	coroi_futex_wake(&has_run, 1);
}

static void sends(void *arg)
{
	coro_attr attr = {.size = sizeof attr, .worker = 2};

	(void)arg;
	world_pushing(true);
	EX_CHECK(coro_scheduler_spawn(sched, &attr, on_main, NULL, 0, NULL) == CORO_OK);
	world_pushing(false);
}

static void hosts(void *arg)
{
	(void)arg;
	EX_CHECK(coro_scheduler_host(sched) == CORO_OK);
	EX_CHECK(!coroi_self());
	g.returned++;
}

static void leaves(void *arg)
{
	(void)arg;
	EX_CHECK(coro_scheduler_host_leave(sched) == CORO_OK);
}

static void leaves_then(void *arg)
{
	while (!at_load_acq(&has_run))
		coroi_futex_wait(&has_run, 0, -1);
	leaves(arg);
}

static void setup(void)
{
	sched->activity -= COROI_AWAKE; /* w0's */
	world_region(&g, sizeof g);
	world_region(&has_run, sizeof has_run);
	ex_thread("host", hosts, NULL);
}

static void check(void)
{
	EX_CHECK(g.returned == 1);
	EX_CHECK(!sched->host && !world_worker(1)->asked && !sched->host_leaves);
	EX_CHECK(coroi_finished(sched));
}

static void setup_leave(void)
{
	setup();
	ex_thread("leave", leaves, NULL);
}

static const struct ex_scenario leave = {
	.name = "host-leave",
	.about = "a thread hosts the main worker, and is to leave, at any time",
	.setup = setup_leave,
	.check = check,
	.workers = 2,
	.raw = 1,
	.flags = CORO_MAIN_WORKER | CORO_NO_STANDBY,
};

static void setup_work(void)
{
	setup();
	ex_thread("send", sends, NULL);
	ex_thread("leave", leaves_then, NULL);
}

static void check_work(void)
{
	EX_CHECK(g.ran == 1);
	check();
}

static const struct ex_scenario work = {
	.name = "host-work",
	.about = "what is sent to the main worker waits for the thread that hosts it",
	.setup = setup_work,
	.check = check_work,
	.workers = 2,
	.raw = 1,
	.flags = CORO_MAIN_WORKER | CORO_NO_STANDBY,
};

/* A close comes while a thread hosts, or is about to: what was sent before runs, there or on the
 * keeper. */

static void either(void *arg, void *result)
{
	(void)arg;
	(void)result;
	EX_CHECK(coroi_self() == world_worker(1));
	ex_reached(sched->host ? 0 : 1);
	g.ran++;
}

static void hosts_until_closed(void *arg)
{
	(void)arg;
	EX_CHECK(coro_scheduler_host(sched) == CORO_ECLOSED);
	EX_CHECK(!coroi_self());
	g.returned++;
}

static void closes(void *arg)
{
	(void)arg;
	EX_CHECK(coro_scheduler_close(sched, 0) == CORO_OK);
}

static void setup_close(void)
{
	coro_attr attr = {.size = sizeof attr, .worker = 2};

	EX_CHECK(coro_scheduler_spawn(sched, &attr, either, NULL, 0, NULL) == CORO_OK);
	world_region(&g, sizeof g);
	ex_thread("host", hosts_until_closed, NULL);
	ex_thread("close", closes, NULL);
}

static void check_close(void)
{
	EX_CHECK(g.ran == 1 && g.returned == 1);
	EX_CHECK(sched->closed && !sched->host);
}

static const struct ex_scenario closed = {
	.name = "host-close",
	.about = "a close comes while a thread hosts the main worker, or is about to",
	.setup = setup_close,
	.check = check_close,
	.workers = 2,
	.flags = CORO_MAIN_WORKER | CORO_NO_STANDBY,
	.stops = true,
	.reach = 3,
};

const struct ex_scenario *const scenarios_host[] = {&leave, &work, &closed, NULL};
