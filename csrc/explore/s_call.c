/*
 * s_call.c - a scenario of inline calls into Go, with a stand-in for Go.
 */
#include "world.h"

#include "kernel/gocall.h"

static struct {
	coro_handle x;
	unsigned made, ran, others;
	bool in_go;
} g;

static void in_go(struct coroi_worker *w)
{
	do {
		g.in_go = true;
		for (struct coroi_call *c = w->calls; c < w->calls + w->calls_count; c++) {
			at_load_seq(&sched->mode); /* other threads go on here */
			EX_CHECK(!w->current && !w->busy);
			EX_CHECK(c->caller->state == COROI_ACTIVE);
			*(int64_t *)c->result = *(const int64_t *)c->arg + 1;
			c->got = sizeof(int64_t);
			c->status = CORO_OK;
			g.made++;
		}
		g.in_go = false;
	} while (coroi_work(w));
}

/* The caller is woken before, in or after its call. The permit waits for its park. */
static void calls(void *arg, void *result)
{
	int64_t number = 1;

	(void)arg;
	(void)result;
	EX_CHECK(coro_call_go_inline(1, &number, sizeof number, &number, sizeof number, NULL) ==
		 CORO_OK);
	EX_CHECK(number == 2 && g.made == 1);
	EX_CHECK(coro_park() == CORO_OK);
	g.ran++;
}

static void is_stolen(void *arg, void *result)
{
	(void)arg;
	(void)result;
	if (g.in_go)
		ex_reached(0);
	g.others++;
}

static void wakes(void *arg)
{
	(void)arg;
	if (g.in_go)
		ex_reached(1);
	world_pushing(true);
	EX_CHECK(coro_wake(g.x) == CORO_OK);
	world_pushing(false);
}

static void setup(void)
{
	coro_attr here = {.size = sizeof here, .worker = 1};

	coroi_go_register(in_go);
	sched->bell.go_id = 1;
	sched->outside.next_worker = 0;
	EX_CHECK(coro_scheduler_spawn(sched, &here, calls, NULL, 0, &g.x) == CORO_OK);
	EX_CHECK(coro_scheduler_spawn(sched, NULL, is_stolen, NULL, 0, NULL) == CORO_OK);
	world_region(&g, sizeof g);
	ex_thread("wake", wakes, NULL);
}

static void check(void)
{
	EX_CHECK(g.made == 1 && g.ran == 1 && g.others == 1);
	EX_CHECK(coroi_finished(sched));
}

static const struct ex_scenario call_steal = {
	.name = "call-steal",
	.about = "a coroutine calls Go inline and parks, woken meanwhile; another is stolen",
	.setup = setup,
	.check = check,
	.workers = 2,
	.flags = CORO_NO_STANDBY,
	.reach = 3,
};

const struct ex_scenario *const scenarios_call[] = {&call_steal, NULL};
