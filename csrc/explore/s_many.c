/*
 * s_many.c - scenarios of many calls of one function (border/many.h): a leader and its calls, as
 * Func.CallN has them.
 */
#include "world.h"

#include "border/many.h"

#define CALLS  6
#define RESULT 100 /* of call 0; of each other one more */

/* What a call does. STAYS: it spawns a coroutine that then runs behind it, and yields. WAITS: until
 * it is canceled. */
enum how { RETURNS, STAYS, EXITS, ABORTS, WAITS };

struct argument {
	uint32_t number, how;
};

struct call {
	struct coroi_one one;
	uint64_t result; /* one.payload begins here */
	struct argument arg;
};

static struct {
	struct coroi_many many; /* many.ones begins behind it */
	struct call call[CALLS];
} m __attribute__((aligned(16)));

_Static_assert(offsetof(struct coroi_many, ones) == sizeof m.many, "the calls follow at once");
_Static_assert(offsetof(struct coroi_one, payload) == offsetof(struct call, result), "as above");

static struct {
	struct coroi_rec *leader;
	coro_handle handle; /* the leader's */
	unsigned ran[CALLS], heard[CALLS];
	unsigned ended_on; /* a bit for each worker */
	unsigned behind, returned;
	bool canceled;
	bool leaves; /* the leader ends when its calls have; else it waits for good */
} g;

enum {
	ELSEWHERE, /* a call ends on another worker than it began on */
	BOTH,      /* calls have ended on both workers */
	CAME,      /* the leader is canceled, and gets its event all the same */
	WITHDRAWN, /* the leader is canceled, and withdraws its registration */
	UNSTARTED, /* a call has not started: its leader is canceled, or the scheduler */
	HEARD,     /* a call that waits is canceled */
	LENT,      /* the first of the outcomes of a lend */
};

static void runs_behind(void *arg, void *result)
{
	(void)arg;
	(void)result;
	g.behind++;
	/* Here the worker is not in its door: a thief locks that, and takes all that is queued. */
	at_load_seq(&m.many.left);
	coro_park();
	ex_fail("a coroutine goes on that nobody wakes");
}

static void stays(void)
{
	unsigned id = coroi_self()->id;

	EX_CHECK(coro_spawn(runs_behind, NULL, 0) == CORO_OK);
	EX_CHECK(coro_yield() == CORO_OK);
	if (coroi_self()->id != id)
		ex_reached(ELSEWHERE);
}

static void body(void *arg, void *result)
{
	struct argument a = *(struct argument *)arg;
	struct call *c = &m.call[a.number];

	EX_CHECK(arg == &c->arg && result == &c->result);
	if (a.how == WAITS) {
		EX_CHECK(coro_park() == CORO_ECANCELED);
		g.heard[a.number]++;
		return;
	}
	if (a.how == STAYS)
		stays();
	c->result = RESULT + a.number;
	g.ran[a.number]++;
	g.ended_on |= 1u << coroi_self()->id;
	if (a.how == EXITS)
		coro_exit();
	if (a.how == ABORTS)
		coro_abort();
}

/* check_calls - all calls have ended, and each has told how. */
static void check_calls(void)
{
	bool failed = false;

	EX_CHECK(!m.many.left);
	for (unsigned i = 0; i < m.many.count; i++) {
		const struct call *c = &m.call[i];
		int ends = c->arg.how == ABORTS ? CORO_EABORTED : CORO_OK;
		failed |= c->one.status != CORO_OK;
		if (c->one.status == CORO_ECANCELED) {
			EX_CHECK(g.canceled && !g.ran[i] && g.heard[i] <= 1);
			ex_reached(g.heard[i] ? HEARD : UNSTARTED);
		} else if (c->one.status != ends || g.ran[i] != 1 || c->result != RESULT + i) {
			ex_fail("call %u has run %u times, and its status is %d", i, g.ran[i],
				c->one.status);
		}
	}
	EX_CHECK(m.many.failed == failed);
	if (g.ended_on == 3)
		ex_reached(BOTH);
}

/* The leader gets its event at most once: one that is left over ends its last wait. */
static void leads(void *arg, void *result)
{
	struct coroi_rec *me = g.leader = coroi_self()->current;

	coroi_many_lead(arg, result);
	check_calls();
	if (m.many.state & COROI_MANY_CANCELED)
		ex_reached(WITHDRAWN);
	else if (me->canceled)
		ex_reached(CAME);
	g.returned++;
	if (g.leaves)
		return;
	coroi_wait(me, CORO_WAIT_JOIN, CORO_FOREVER, NULL, NULL);
	ex_fail("the leader gets an event more");
}

/* make - n calls, none of which has started. */
static void make(const enum how *how, unsigned n)
{
	m.many = (struct coroi_many){
		.fn = (uint64_t)(uintptr_t)body,
		.count = n,
		.stride = sizeof(struct call),
		.arg_at = offsetof(struct call, arg) - offsetof(struct call, result),
		.class = sched->class,
		.arg_bytes = sizeof(struct argument),
		.result_bytes = sizeof(uint64_t),
		.left = n + 1,
	};
	for (unsigned i = 0; i < n; i++)
		m.call[i].arg = (struct argument){i, how[i]};
	world_region(&m, sizeof m);
	world_region(&g, sizeof g);
	for (unsigned i = 0; i < sched->workers; i++)
		world_worker(i)->spin.ns = 0;
}

static void spawn_leader(void)
{
	void *many = &m.many;

	world_pushing(true);
	EX_CHECK(coro_scheduler_spawn(sched, NULL, leads, &many, sizeof many, &g.handle) ==
		 CORO_OK);
	world_pushing(false);
}

/* check - if the leader has begun, it has been told that all have ended. */
static void check(void)
{
	if (g.leader) {
		EX_CHECK(g.returned == 1 && m.many.left == 0 && !g.leader->event);
		EX_CHECK(coroi_live(sched) == g.behind + !g.leaves);
	} else {
		EX_CHECK(g.canceled && m.many.left == m.many.count + 1);
		EX_CHECK(coroi_live(sched) == 0);
	}
}

/* ------------------------------------------------------------------------------------ steal */

/* The last call ends on another worker. Nothing ends on the first one any more, and nothing is told
 * it. */

static void setup_steal(void)
{
	static const enum how how[] = {RETURNS, RETURNS, STAYS};

	make(how, 3);
	spawn_leader();
}

static const struct ex_scenario many_steal = {
	.name = "many-steal",
	.about = "of many calls the last yields to a coroutine behind it, and is stolen",
	.setup = setup_steal,
	.check = check,
	.workers = 2,
	.flags = CORO_NO_STANDBY,
	.reach = 1 << ELSEWHERE | 1 << BOTH,
};

/* ------------------------------------------------------------------------------------- ends */

/* A call ends, and the next one yields. Others end behind it, in each way. Then something runs that
 * is no call. */

static void setup_ends(void)
{
	static const enum how how[] = {RETURNS, STAYS, RETURNS, EXITS, ABORTS, RETURNS};

	make(how, 6);
	spawn_leader();
}

static const struct ex_scenario many_ends = {
	.name = "many-ends",
	.about = "many calls return, exit and abort, one behind the other, and are stolen",
	.setup = setup_ends,
	.check = check,
	.workers = 2,
	.flags = CORO_NO_STANDBY,
	.reach = 1 << ELSEWHERE | 1 << BOTH,
};

/* ----------------------------------------------------------------------------------- cancel */

static void cancels(void *arg)
{
	(void)arg;
	g.canceled = true;
	world_pushing(true);
	EX_CHECK(coro_cancel(g.handle) == CORO_OK);
	world_pushing(false);
}

static void setup_cancel(void)
{
	static const enum how how[] = {RETURNS, RETURNS};

	make(how, 2);
	spawn_leader();
	ex_thread("cancel", cancels, NULL);
}

static const struct ex_scenario many_cancel = {
	.name = "many-cancel",
	.about = "the leader of many calls is canceled, and the last call ends on another worker",
	.setup = setup_cancel,
	.check = check,
	.workers = 2,
	.flags = CORO_NO_STANDBY,
	.reach = 1 << BOTH | 1 << CAME | 1 << WITHDRAWN | 1 << UNSTARTED,
};

/* A call lends, and waits for a cancel: the leader hands its own on. */

static void setup_lends(void)
{
	static const enum how how[] = {WAITS};

	make(how, 1);
	m.many.state = COROI_MANY_LENDS;
	spawn_leader();
	ex_thread("cancel", cancels, NULL);
}

static const struct ex_scenario many_lends = {
	.name = "many-lends",
	.about = "the leader of a call that lends and waits is canceled",
	.setup = setup_lends,
	.check = check,
	.workers = 2,
	.flags = CORO_NO_STANDBY,
	.reach = 1 << WITHDRAWN | 1 << UNSTARTED | 1 << HEARD,
};

static void closes(void *arg)
{
	(void)arg;
	g.canceled = true;
	EX_CHECK(coro_scheduler_close(sched, 1) == CORO_OK);
}

static void setup_close(void)
{
	static const enum how how[] = {RETURNS, RETURNS};

	g.leaves = true; /* the close waits for its end */
	make(how, 2);
	spawn_leader();
	ex_thread("close", closes, NULL);
}

static const struct ex_scenario many_close = {
	.name = "many-close",
	.about = "a close cancels a leader and its calls",
	.setup = setup_close,
	.check = check,
	.workers = 2,
	.flags = CORO_NO_STANDBY,
	.stops = true,
	.reach = 1 << BOTH | 1 << WITHDRAWN | 1 << UNSTARTED,
};

/* ------------------------------------------------------------------------------------- lend */

/* A CallN lends its thread to the leader. */

static void calls_many(void *arg)
{
	struct coroi_lend call = {
		.sched = (uint64_t)(uintptr_t)sched,
		.fn = (uint64_t)(uintptr_t)leads,
		.class = sched->class,
		.arg_bytes = sizeof arg,
		.id = COROI_JOIN_LENDER,
	};

	arg = &m.many;
	memcpy(call.payload, &arg, sizeof arg);
	int outcome = coroi_lend_call(&call);
	ex_reached(LENT + (unsigned)outcome);
	if (outcome == COROI_LEND_NONE)
		spawn_leader();
	else
		EX_CHECK(outcome == COROI_LEND_SUSPENDED ||
			 (outcome == COROI_LEND_ENDED && g.returned));
}

static void setup_lend(void)
{
	static const enum how how[] = {RETURNS, STAYS};

	g.leaves = true;
	make(how, 2);
	world_asleep(3);
	ex_thread("call", calls_many, NULL);
}

static const struct ex_scenario many_lend = {
	.name = "many-lend",
	.about = "a thread lends itself to the leader of many calls, and a worker steals some",
	.setup = setup_lend,
	.check = check,
	.workers = 2,
	.raw = 3,
	.flags = CORO_NO_STANDBY,
	.reach = 1 << BOTH | 1 << (LENT + COROI_LEND_ENDED) | 1 << (LENT + COROI_LEND_SUSPENDED) |
		 1 << (LENT + COROI_LEND_NONE),
};

const struct ex_scenario *const scenarios_many[] = {
	&many_steal, &many_ends, &many_cancel, &many_lends, &many_close, &many_lend, NULL,
};
