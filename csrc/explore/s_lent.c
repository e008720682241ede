/*
 * s_lent.c - scenarios of a worker that is lent: its own thread wakes by itself, or another worker
 * needs it, or its coroutine calls Go, or the scheduler is closed.
 */
#include "s_lend.h"

#include "border/gocall.h"
#include "border/state.h"

/* ------------------------------------------------------------------------------- the own thread */

/* The worker sleeps with a deadline, which may come while the worker is lent. The call waits for a
 * deadline of its own. */

static void sleeps(void *arg, void *result)
{
	(void)result;
	EX_CHECK(coro_sleep(60000) == CORO_OK);
	if (is_lent())
		ex_reached(MORE);
	g.ran[*(uint64_t *)arg]++;
}

static void lend_sleeps(void *arg)
{
	lends(sleeps, (uint64_t)(uintptr_t)arg, false);
}

static void setup_due(void)
{
	world_region(&g, sizeof g);
	ex_thread("lend", lend_sleeps, (void *)0);
}

static void check_one(void)
{
	check_ran(1);
}

static const struct ex_scenario due = {
	.name = "lend-due",
	.about = "a call waits for a deadline; its worker sleeps without one",
	.setup = setup_due,
	.check = check_one,
	.workers = 1,
	.reach = SUSPENDED | NONE,
};

static void sleeps_first(void *arg, void *result)
{
	(void)result;
	EX_CHECK(!is_lent());
	EX_CHECK(coro_sleep(12000) == CORO_OK);
	g.ran[*(uint64_t *)arg]++;
}

static void setup_awaited(void)
{
	uint64_t n = 1;

	EX_CHECK(coro_scheduler_spawn(sched, NULL, sleeps_first, &n, sizeof n, NULL) == CORO_OK);
	world_region(&g, sizeof g);
	ex_thread("lend", lend_empty, (void *)0);
}

static void check_awaited(void)
{
	check_ran(2);
}

static const struct ex_scenario awaited = {
	.name = "lend-awaited",
	.about = "a worker with a deadline is lent when the deadline comes",
	.setup = setup_awaited,
	.check = check_awaited,
	.workers = 1,
	.reach = ENDED | NONE,
};

/* A coroutine that computes keeps its worker, or its lender, until a leaf has run. */

static uint32_t done;

static void compute(void)
{
	while (!at_load_acq(&done))
		coroi_futex_wait(&done, 0, -1);
}

static void computes(void *arg, void *result)
{
	(void)arg;
	(void)result;
	compute();
}

static void ends_it(void *arg, void *result)
{
	leaf(arg, result);
	at_store_rel(&done, 1);
	coroi_futex_wake(&done, 2);
}

/* queue_leaf - w queues a leaf that ends what computes. */
static void queue_leaf(struct coroi_worker *w)
{
	uint64_t n = 1;

	EX_CHECK(coroi_mags_spend(&w->mags));
	EX_CHECK(
		coroi_queue_new_locked(w, coroi_runnable_new(ends_it, sched->class, 1, false), &n));
	at_bump(&w->spawned);
}

/* Two workers sleep. One is lent, when the other is woken and computes, with a leaf behind. There
 * is no standby: so the lender, at the end, wakes the lent worker's own thread. */

static void computes_as_w1(void *arg)
{
	struct coroi_worker *w = world_worker(1);

	(void)arg;
	world_be(1);
	while (at_load_acq(&world_worker(0)->ev) != COROI_EV_SLEEPS)
		at_relax(); /* all workers sleep */
	at_add(&sched->activity, COROI_AWAKE);
	coroi_door_enter(w);
	queue_leaf(w);
	coroi_notify_queued(w);
	coroi_door_leave(w);
	compute();
	world_sleep();
}

static void setup_alone(void)
{
	world_region(&done, sizeof done);
	world_asleep(1);
	world_region(&g, sizeof g);
	ex_thread("lend", lend_empty, (void *)0);
	ex_thread("w1", computes_as_w1, NULL);
}

static void check_alone(void)
{
	EX_CHECK(g.ran[0] == 1);
	EX_CHECK(g.ran[1] == 1);
}

static const struct ex_scenario alone = {
	.name = "lend-alone",
	.about = "while a worker is lent, the only other one is woken, and computes",
	.setup = setup_alone,
	.check = check_alone,
	.workers = 2,
	.raw = 3,
	.reach = ENDED,
};

/* Three workers. w0 computes, with a leaf queued, and the others sleep. One is lent for a call that
 * computes too. If that is the standby, it cannot take the leaf when it looks around: the other one
 * is woken. */

static void lend_computes(void *arg)
{
	(void)arg;
	struct coroi_lend call = call_of(computes, 0, false);

	if (coroi_lend_call(&call) == COROI_LEND_ENDED)
		ex_reached(0);
}

static void computes_as_w0(void *arg)
{
	(void)arg;
	world_be(0);
	compute();
	world_sleep();
}

static void setup_standby(void)
{
	queue_leaf(world_worker(0));
	world_asleep(6);
	sched->activity = COROI_AWAKE;
	sched->hungry = 0;
	world_region(&g, sizeof g);
	world_region(&done, sizeof done);
	ex_thread("lend", lend_computes, NULL);
	ex_thread("w0", computes_as_w0, NULL);
}

static void check_standby(void)
{
	EX_CHECK(g.ran[1] == 1);
}

static const struct ex_scenario standby = {
	.name = "lend-standby",
	.about = "the standby is lent when it looks around and finds that a worker is stuck",
	.setup = setup_standby,
	.check = check_standby,
	.workers = 3,
	.raw = 7,
	.reach = 1,
};

/* -------------------------------------------------------------------------------- calls into Go */

/* A call that calls Go. The lender makes the call into Go, and goes on with the coroutine, or has
 * the coroutine go on elsewhere: OFF6 of gocall.h, as in gocall.go. */

static void calls(void *arg, void *result)
{
	int64_t number = 1;

	(void)result;
	EX_CHECK(coro_call_go(1, &number, sizeof number, &number, sizeof number, NULL) == CORO_OK);
	EX_CHECK(number == 2);
	ex_reached(is_lent() ? 0 : 1);
	g.ran[*(uint64_t *)arg]++;
}

static void complete(struct coroi_call *c)
{
	world_pushing(true);
	coroi_event_send(c->caller);
	world_pushing(false);
	coroi_pending_end(sched);
}

static void lend_calls(void *arg)
{
	uint64_t n = (uint64_t)(uintptr_t)arg;
	struct coroi_lend call = call_of(calls, n, false);
	int outcome = coroi_lend_call(&call);

	EX_CHECK(outcome == COROI_LEND_CALLS || outcome == COROI_LEND_NONE);
	if (outcome == COROI_LEND_NONE) {
		ex_reached(2);
		world_spawn(empty, n);
		return;
	}
	struct coroi_call *c = (struct coroi_call *)(uintptr_t)call.call;
	*(int64_t *)c->result = *(const int64_t *)c->arg + 1;
	c->got = sizeof(int64_t);
	c->status = CORO_OK;
	outcome = coroi_lend_on(&call);
	EX_CHECK(!coroi_self());
	EX_CHECK(outcome == COROI_LEND_ENDED || outcome == COROI_LEND_NONE);
	if (outcome == COROI_LEND_NONE) {
		suspended(&call);
		complete(c);
	}
}

static void setup_calls(void)
{
	coroi_border(sched)->bell.go_id = 1;
	world_region(&g, sizeof g);
	ex_thread("lend", lend_calls, (void *)0);
	ex_thread("push", push_leaf, (void *)1);
}

static const struct ex_scenario calls_go = {
	.name = "lend-call",
	.about = "a lender makes a call into Go, and lends itself again; a thread pushes",
	.setup = setup_calls,
	.check = check_two,
	.workers = 1,
	.reach = 7,
};

/* ------------------------------------------------------------------------------------- a close */

static void runs_open(void *arg, void *result)
{
	(void)result;
	EX_CHECK(!g.over);
	EX_CHECK(coro_yield() == CORO_OK);
	EX_CHECK(!g.over);
	g.ran[*(uint64_t *)arg]++;
}

/* Go looks whether the scheduler is closed, and then no longer. */
static void lend_open(void *arg)
{
	struct coroi_lend call = call_of(runs_open, (uint64_t)(uintptr_t)arg, false);
	int outcome = coroi_lend_call(&call);

	ex_reached((unsigned)outcome);
	if (outcome == COROI_LEND_SUSPENDED)
		suspended(&call);
	EX_CHECK(outcome != COROI_LEND_ENDED || g.ran[0] == 1);
	g.returned++;
}

static void close_it(void *arg)
{
	EX_CHECK(coro_scheduler_close(sched, arg != NULL) == CORO_OK);
	g.over = true;
	g.returned++;
}

static void setup_close(void)
{
	world_region(&g, sizeof g);
	ex_thread("lend", lend_open, (void *)0);
	ex_thread("close", close_it, NULL);
}

static void check_close(void)
{
	EX_CHECK(g.returned == 2);
	EX_CHECK(coroi_live(sched) == 0);
	EX_CHECK(sched->activity == 0 || sched->mode == COROI_STOPPING);
}

static const struct ex_scenario closes = {
	.name = "lend-close",
	.about = "a scheduler is closed while its worker is lent",
	.setup = setup_close,
	.check = check_close,
	.workers = 1,
	.stops = true,
	.reach = ENDED | NONE,
};

const struct ex_scenario *const scenarios_lent[] = {
	&due, &awaited, &alone, &standby, &calls_go, &closes, NULL,
};
