/*
 * s_call.c - scenarios of calls into Go, inline and offloaded, with a stand-in for Go.
 */
#include "world.h"

#include "border/gocall.h"
#include "border/lend.h"
#include "border/state.h"

static struct {
	coro_handle x;
	unsigned made, ran, others;
	bool in_go;
} g;

static void in_go(struct coroi_worker *w)
{
	do {
		g.in_go = true;
		for (struct coroi_call *c = coroi_calls_of(w);
		     c < coroi_calls_of(w) + w->calls.count; c++) {
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
	coroi_border(sched)->bell.go_id = 1;
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

/* ---------------------------------------------------------------------------- offloaded calls */

enum { SLEPT, CAME_FIRST };

static void offloads(void *arg, void *result)
{
	int64_t number = 1;

	(void)arg;
	(void)result;
	EX_CHECK(coro_call_go(1, &number, sizeof number, &number, sizeof number, NULL) == CORO_OK);
	EX_CHECK(number == 2);
	g.ran++;
}

/* complete - OFF6, as Go's Complete. */
static void complete(struct coroi_call *c)
{
	struct coroi_rec *r = c->caller;
	uint64_t word = at_load_rlx(&r->wake);

	*(int64_t *)c->result = *(const int64_t *)c->arg + 1;
	c->status = CORO_OK;
	g.made++;
	while (!at_cas(&r->wake, &word, word | COROI_EVENT))
		;
	if (!(word & COROI_WAKE_MASK)) {
		struct coroi_worker *home = &sched->worker[at_load_rlx(&r->home)];
		coroi_inbox_push(home, (uintptr_t)r | COROI_NODE_WAKE);
		coroi_notify_pushed(home);
	}
	coroi_pending_end(sched);
}

/* sleeper - the only goroutine that makes calls. It does not hear the bell. */
static void sleeper(void *arg)
{
	(void)arg;
	for (;;) {
		uint64_t node = at_xchg(&coroi_border(sched)->calls.first, 0);
		for (uint64_t next; node; node = next) {
			struct coroi_call *c = (struct coroi_call *)(uintptr_t)node;
			next = c->next;
			complete(c);
		}
		at_xchg(&coroi_border(sched)->calls.unwatched, COROI_CALLS_UNWATCHED); /* OFF5 */
		if (!at_load_seq(&coroi_border(sched)->calls.first))
			ex_reached(coroi_calls_sleep(sched) ? SLEPT : CAME_FIRST); /* OFF8 */
	}
}

static void setup_sleep(void)
{
	coroi_border(sched)->bell.go_id = 1;
	for (unsigned i = 0; i < 2; i++)
		EX_CHECK(coro_scheduler_spawn(sched, NULL, offloads, NULL, 0, NULL) == CORO_OK);
	world_region(&g, sizeof g);
	ex_thread("go", sleeper, NULL);
}

static void check_sleep(void)
{
	EX_CHECK(g.made == 2 && g.ran == 2);
	EX_CHECK(coroi_finished(sched));
}

static const struct ex_scenario call_sleep = {
	.name = "call-sleep",
	.about = "two coroutines make offloaded calls, while Go's only thread goes to sleep",
	.setup = setup_sleep,
	.check = check_sleep,
	.workers = 1,
	.flags = CORO_NO_STANDBY,
	.reach = 3,
};

/* --------------------------------------------------------------- a call inside an inline call */

enum { INSIDE, OUTSIDE, STOLEN };

static void inner(void *arg, void *result)
{
	(void)arg;
	(void)result;
	EX_CHECK(g.in_go && coroi_self()->lent);
	EX_CHECK(coro_spawn(is_stolen, NULL, 0) == CORO_OK);
	EX_CHECK(coro_yield() == CORO_OK);
	ex_reached(coroi_self()->lent ? INSIDE : coroi_self()->id ? STOLEN : OUTSIDE);
	g.ran++;
}

static void stranger(void *arg, void *result)
{
	(void)arg;
	(void)result;
	EX_CHECK(!coroi_self()->lent);
	g.others++;
}

static void in_go_calls(struct coroi_worker *w)
{
	do {
		struct coroi_lend l = {
			.sched = (uint64_t)(uintptr_t)sched,
			.fn = (uint64_t)(uintptr_t)inner,
			.class = sched->class,
			.id = COROI_JOIN_LENDER,
		};
		EX_CHECK(w->calls.count == 1);
		g.in_go = true;
		l.outcome = coroi_lend_call(&l);
		EX_CHECK(l.outcome == COROI_LEND_ENDED || l.outcome == COROI_LEND_SUSPENDED);
		EX_CHECK(coroi_self() == w && !w->current && !w->busy && !w->lent);
		EX_CHECK(coroi_calls_of(w)->caller->state == COROI_ACTIVE);
		coroi_calls_of(w)->status = CORO_OK;
		g.in_go = false;
		g.made++;
	} while (coroi_work(w));
}

static void calls_once(void *arg, void *result)
{
	(void)arg;
	(void)result;
	EX_CHECK(coro_call_go_inline(1, NULL, 0, NULL, 0, NULL) == CORO_OK);
	g.ran++;
}

static void pushes(void *arg)
{
	(void)arg;
	world_pushing(true);
	EX_CHECK(coro_scheduler_spawn(sched, NULL, stranger, NULL, 0, NULL) == CORO_OK);
	world_pushing(false);
}

static void setup_inside(void)
{
	coroi_go_register(in_go_calls);
	coroi_border(sched)->bell.go_id = 1;
	sched->outside.next_worker = 0;
	EX_CHECK(coro_scheduler_spawn(sched, NULL, calls_once, NULL, 0, NULL) == CORO_OK);
	world_region(&g, sizeof g);
	ex_thread("push", pushes, NULL);
}

static void check_inside(void)
{
	EX_CHECK(g.made == 1 && g.ran == 2 && g.others == 2);
	EX_CHECK(coroi_finished(sched));
}

static const struct ex_scenario call_inside = {
	.name = "call-inside",
	.about = "an inline call calls a coroutine, which spawns; a thread pushes",
	.setup = setup_inside,
	.check = check_inside,
	.workers = 2,
	.flags = CORO_NO_STANDBY,
	.reach = 7,
};

const struct ex_scenario *const scenarios_call[] = {&call_steal, &call_sleep, &call_inside, NULL};
