/*
 * s_home.c - scenarios of actors that are at home at a worker: HOM1 to HOM6 of actor/box.h.
 */
#include "s_box.h"

static bool lingers(unsigned worker)
{
	const struct coroi_home *e = coroi_home_of(&coroi_actors_of(sched)->hand[worker],
						   g.actor[0]);

	return coroi_place_of(g.actor[0])->box & COROI_BOX_HOME && coroi_lingers(e) &&
	       e->ref == g.actor[0];
}

/* come_home - the sender's message brings the actor home to this worker, where it lingers. */
static void come_home(unsigned sender)
{
	say_to(0, sender, false);
	EX_CHECK(coro_yield() == CORO_OK);
	EX_CHECK(lingers(coroi_self()->id));
}

/* begins - the actor is at home at worker 0, with a message that its turn has not taken. */
static void begins(void)
{
	come_home(0);
	say_to(0, 0, false);
	say(&g.sends);
}

/* beside - the actor, a coroutine of worker 0 that brings it home, and a thread outside. */
static void beside(const coro_actor_kind *k, coro_fn coroutine, void (*thread)(void *))
{
	make(k);
	on_worker(0, coroutine, 0);
	ex_thread("sends", thread, NULL);
}

/* both - the actor, and a coroutine of each worker. */
static void both(coro_fn first, coro_fn second)
{
	make(&kind);
	on_worker(0, first, 0);
	on_worker(1, second, 0);
}

/* One sender's messages: two at home, then a thread outside sends for it, and the last one has to
 * come after that. */
static void sends_around(void *arg, void *result)
{
	(void)arg;
	(void)result;
	come_home(0);
	say_to(0, 0, false);
	say_to(0, 0, false);
	say(&g.sends);
	hears(&g.done);
	say_to(0, 0, false);
}

static void sends_for_it(void *arg)
{
	(void)arg;
	hears(&g.sends);
	outside(0, 1, false);
	say(&g.done);
}

static void setup_local(void)
{
	beside(&kind, sends_around, sends_for_it);
}

static const struct ex_scenario box_local = {
	.name = "box-local",
	.about = "a coroutine and a thread outside send in turn to an actor that is at home",
	.setup = setup_local,
	.check = check_5,
	.workers = 1,
};

/* A thread outside sends while the actor lingers, has turns, and leaves home, as its worker has
 * nothing to run. */
static void sends_home(void *arg, void *result)
{
	(void)arg;
	(void)result;
	come_home(0);
	say(&g.sends);
	say_to(0, 0, false);
}

static void sends_there(void *arg)
{
	(void)arg;
	hears(&g.sends);
	outside(1, 1, false);
}

static void setup_home(void)
{
	beside(&kind, sends_home, sends_there);
}

static const struct ex_scenario box_home = {
	.name = "box-home",
	.about = "a thread outside sends to an actor that is at home, while that has turns",
	.setup = setup_home,
	.check = check_3,
	.workers = 1,
};

/* The same with an urgent message. */
static void urges_there(void *arg)
{
	(void)arg;
	hears(&g.sends);
	outside(2, 1, true);
}

static void setup_home_urgent(void)
{
	beside(&kind, sends_home, urges_there);
}

static const struct ex_scenario box_home_urgent = {
	.name = "box-home-urgent",
	.about = "box-home with an urgent message",
	.setup = setup_home_urgent,
	.check = check_3,
	.workers = 1,
};

/* The worker computes until the message from outside is handled, by a thief. Before that, it has
 * had a turn of the actor, which was suspended for a while. */
static void computes(void *arg, void *result)
{
	(void)arg;
	(void)result;
	begins();
	EX_CHECK(coro_yield() == CORO_OK);
	say_to(0, 0, false); /* the turn is suspended */
	EX_CHECK(coro_yield() == CORO_OK);
	EX_CHECK(coro_yield() == CORO_OK);
	say(&g.computes);
	hears(&g.done);
}

static size_t says_done(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	if (g.handled[0] == 1)
		EX_CHECK(coro_yield() == CORO_OK);
	behaves(turn, state, m, n);
	if (g.handled[1] && g.handled[0] == 3)
		say(&g.done);
	return n;
}

static const coro_actor_kind kind_done = {.size = sizeof kind, .behave = says_done, .end = ends};

static void sends_and_says(void *arg)
{
	(void)arg;
	hears(&g.sends);
	outside(1, 1, false);
	say(&g.back);
}

/* takes_over - all that was pushed to the worker that computes. */
static void takes_over(void *arg, void *result)
{
	(void)arg;
	(void)result;
	hears(&g.back);
	hears(&g.computes);
	(void)world_steal(world_worker(1), world_worker(0));
}

static void setup_computes(void)
{
	beside(&kind_done, computes, sends_and_says);
	on_worker(1, takes_over, 0);
}

static const struct ex_scenario box_computes = {
	.name = "box-computes",
	.about = "a thread outside sends to an actor at home at a worker that computes",
	.setup = setup_computes,
	.check = check_4,
	.workers = 2,
	.flags = CORO_NO_STANDBY,
	.reach = 3 << RAN_ON,
};

/* Two actors are at home, and a thread sends to the one and to the other. */
static void computes_for_two(void *arg, void *result)
{
	(void)arg;
	(void)result;
	come_home(0);
	EX_CHECK(say_to(1, 3, false) == CORO_OK);
	EX_CHECK(coro_yield() == CORO_OK);
	say(&g.sends);
	hears(&g.first);
	say(&g.next_one);
	EX_CHECK(coro_yield() == CORO_OK);
	say(&g.computes);
	hears(&g.done);
}

static size_t says_both(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	unsigned actor = number_of(state);

	EX_CHECK(turn->self == g.actor[actor]);
	for (size_t i = 0; i < n; i++)
		g.handled[comes(actor, m[i]->words[0])]++;
	ex_reached(RAN_ON + coroi_self()->id);
	if (g.handled[1] && g.handled[2])
		say(&g.done);
	return n;
}

static const coro_actor_kind kind_both = {.size = sizeof kind, .behave = says_both, .end = ends};

static void sends_to_both(void *arg)
{
	(void)arg;
	hears(&g.sends);
	for (unsigned i = 0; i < 2; i++) {
		world_pushing(true);
		EX_CHECK(say_to(i, 1 + i, false) == CORO_OK);
		world_pushing(false);
		if (!i) {
			say(&g.first);
			hears(&g.next_one);
		}
	}
	say(&g.back);
}

static void takes_both(void *arg, void *result)
{
	takes_over(arg, result);
	EX_CHECK(coro_yield() == CORO_OK);
	(void)world_steal(world_worker(1), world_worker(0));
}

static void setup_asks(void)
{
	make(&kind_both);
	EX_CHECK(coro_actor_spawn(sched, &kind_both, &g.inside[1], &g.actor[1]) == CORO_OK);
	on_worker(0, computes_for_two, 0);
	on_worker(1, takes_both, 0);
	ex_thread("sends", sends_to_both, NULL);
}

static const struct ex_scenario box_asks = {
	.name = "box-asks",
	.about = "a thread outside sends to two actors at home at a worker that computes",
	.setup = setup_asks,
	.check = check_4,
	.workers = 2,
	.flags = CORO_NO_STANDBY,
};

/* The credit of the worker is collected. */
static void collects(void *arg)
{
	(void)arg;
	hears(&g.sends);
	world_collect(world_worker(0));
}

static void setup_home_collect(void)
{
	beside(&kind, sends_home, sends_there);
	ex_thread("collects", collects, NULL);
}

static const struct ex_scenario box_home_collect = {
	.name = "box-home-collect",
	.about = "box-home, while another thread collects the worker's credit",
	.setup = setup_home_collect,
	.check = check_3,
	.workers = 1,
};

/* The behaviour sends to its own actor, while a thread outside does. */
static size_t sends_own(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	if (g.accepted[0] >= 2 && g.accepted[3] < 2)
		say_to(0, 3, false);
	return behaves(turn, state, m, n);
}

static const coro_actor_kind kind_own = {.size = sizeof kind, .behave = sends_own, .end = ends};

static void setup_own(void)
{
	beside(&kind_own, sends_home, sends_there);
}

static const struct ex_scenario box_own = {
	.name = "box-own",
	.about = "a thread outside sends to an actor at home that sends to itself",
	.setup = setup_own,
	.check = check_5,
	.workers = 1,
};

/* The turn is stolen and runs; the next one is started there, and stolen back. */
static void loses_it(void *arg, void *result)
{
	(void)arg;
	(void)result;
	come_home(0);
	say_to(0, 0, false);
	say_to(0, 0, false);
	say(&g.sends);
	hears(&g.done);
	say_to(0, 0, false);
	EX_CHECK(world_steal(world_worker(0), world_worker(1)));
	say(&g.back);
}

static void takes_it(void *arg, void *result)
{
	(void)arg;
	(void)result;
	hears(&g.sends);
	EX_CHECK(world_steal(world_worker(1), world_worker(0)));
	EX_CHECK(coro_yield() == CORO_OK);
	EX_CHECK(sum(g.handled) == 3);
	come_home(1);
	say_to(0, 1, false);
	say(&g.done);
	hears(&g.back);
}

static void setup_back(void)
{
	both(loses_it, takes_it);
}

static void check_6(void)
{
	check_handled(6);
}

static const struct ex_scenario box_back = {
	.name = "box-back",
	.about = "the turn of an actor at home is stolen, and its next one is stolen back",
	.setup = setup_back,
	.check = check_6,
	.workers = 2,
	.flags = CORO_NO_STANDBY,
	.reach = 3 << RAN_ON,
};

/* The turn is stolen, and begins while the first worker sends again. */
static void sends_late(void *arg, void *result)
{
	(void)arg;
	(void)result;
	begins();
	hears(&g.done);
	say_to(0, 0, false);
}

static void takes_one(void *arg, void *result)
{
	(void)arg;
	(void)result;
	hears(&g.sends);
	EX_CHECK(world_steal(world_worker(1), world_worker(0)));
	say(&g.done);
}

static void setup_thief(void)
{
	both(sends_late, takes_one);
}

static const struct ex_scenario box_thief = {
	.name = "box-thief",
	.about = "a coroutine sends to an actor at home there, whose turn a thief runs",
	.setup = setup_thief,
	.check = check_3,
	.workers = 2,
	.flags = CORO_NO_STANDBY,
};

/* The same, and a thread outside sends meanwhile, and not the worker. */
static void sends_early(void *arg, void *result)
{
	(void)arg;
	(void)result;
	begins();
	hears(&g.done);
}

static void sends_too(void *arg)
{
	(void)arg;
	hears(&g.done);
	outside(1, 1, false);
}

static void setup_leaves(void)
{
	beside(&kind, sends_early, sends_too);
	on_worker(1, takes_one, 0);
}

static const struct ex_scenario box_leaves = {
	.name = "box-leaves",
	.about = "a thread outside sends to an actor whose turn a thief runs, away from its home",
	.setup = setup_leaves,
	.check = check_3,
	.workers = 2,
	.flags = CORO_NO_STANDBY,
};

/* Another actor is in the place of one that was at home, and comes home. */
static void sends_to_the_next(void *arg, void *result)
{
	(void)arg;
	(void)result;
	g.stopper = coro_self();
	come_home(0);
	say_to(0, 0, false);
	replace();
	EX_CHECK(say_to(1, 3, false) == CORO_OK);
	EX_CHECK(coro_yield() == CORO_OK);
	EX_CHECK(say_to(1, 3, false) == CORO_OK); /* at home */
	EX_CHECK(say_to(0, 0, false) == CORO_ESTALE);
	EX_CHECK(say_to(1, 3, false) == CORO_OK);
}

static void setup_next(void)
{
	make(&kind);
	on_worker(0, sends_to_the_next, 0);
}

static void check_next(void)
{
	check_sent(6);
	EX_CHECK(g.refused[0] == 1 && g.handled[0] + g.dead[0] == 2 && g.handled[3] == 3);
}

static const struct ex_scenario box_next = {
	.name = "box-next",
	.about =
		"a reference to an actor that has ended does not reach its successor, which is at home",
	.setup = setup_next,
	.check = check_next,
	.workers = 1,
};

const struct ex_scenario *const scenarios_home[] = {
	&box_local, &box_home, &box_home_urgent, &box_home_collect, &box_own,  &box_computes,
	&box_asks,  &box_back, &box_thief,       &box_leaves,       &box_next, NULL,
};
