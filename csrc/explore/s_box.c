/*
 * s_box.c - scenarios of an actor's mailbox: senders inside and outside, urgent messages and stops
 * against a turn that ends (actor/box.h), with the real run loop on every worker. Those of actors
 * at home are in s_home.c.
 */
#include "s_box.h"

/* ------------------------------------------------------------------------------------- outside */

static void send_0(void *arg)
{
	outside(0, (unsigned)(uintptr_t)arg, false);
}

static void send_1(void *arg)
{
	outside(1, (unsigned)(uintptr_t)arg, false);
}

static void urgent_2(void *arg)
{
	outside(2, (unsigned)(uintptr_t)arg, true);
	say(&g.done);
}

static void setup_outside(void)
{
	make(&kind);
	ex_thread("send0", send_0, times(2));
	ex_thread("send1", send_1, times(1));
}

static const struct ex_scenario box_outside = {
	.name = "box-outside",
	.about =
		"two threads outside send, while the actor's turn ends and its worker goes to sleep",
	.setup = setup_outside,
	.check = check_3,
	.workers = 1,
};

/* The same by an open batch: the turns stream in. */

static void setup_streams(void)
{
	struct coroi_batch *p;

	setup_outside();
	EX_CHECK(coroi_batch_open(&sched->slab, &p, 1) == 1);
	coroi_batch_drop(&sched->slab, p);
	sched->outside.tasks = 1;
	sched->outside.streams = true;
}

static void check_streams(void)
{
	check_3();
	EX_CHECK(sched->outside.open && sched->outside.used);
}

static const struct ex_scenario box_streams = {
	.name = "box-streams",
	.about = "two threads outside send by an open batch, while its worker goes to sleep",
	.setup = setup_streams,
	.check = check_streams,
	.workers = 1,
};

/* -------------------------------------------------------------------------------------- inside */

static void sends_two(void *arg, void *result)
{
	unsigned sender = *(unsigned *)arg;

	(void)result;
	say_to(0, sender, false);
	say_to(0, sender, false);
}

static void setup_two(void)
{
	make(&kind);
	on_worker(0, sends_two, 0);
	on_worker(1, sends_two, 1);
}

static const struct ex_scenario box_two = {
	.name = "box-two",
	.about = "coroutines of two workers send to one actor",
	.setup = setup_two,
	.check = check_4,
	.workers = 2,
	.flags = CORO_NO_STANDBY,
	.reach = 3 << RAN_ON,
};

/* ---------------------------------------------------------------------------------------- stop */

static void stops_and_sends(void *arg, void *result)
{
	bool urgent = *(bool *)arg;

	(void)result;
	g.stopper = coro_self();
	EX_CHECK(coro_yield() == CORO_OK); /* a turn may come before */
	replace();
	EX_CHECK(say_to(1, 3, urgent) == CORO_OK);
	if (urgent) /* the message lies there until the other sender is done */
		hears(&g.done);
}

static void setup_stop(void)
{
	make(&kind);
	on_worker(0, stops_and_sends, false);
	ex_thread("send0", send_0, times(2));
}

static void check_stop(void)
{
	check_sent(3);
	EX_CHECK(g.ended[0] == 1 && !g.ended[1]);
	EX_CHECK(g.handled[3] == 1);
	ex_reached(0);
	if (g.refused[0])
		ex_reached(1);
	if (g.dead[0])
		ex_reached(2);
	if (g.handled[0])
		ex_reached(3);
}

static const struct ex_scenario box_stop = {
	.name = "box-stop",
	.about = "a thread sends to an actor that is stopped, and whose place is used again",
	.setup = setup_stop,
	.check = check_stop,
	.workers = 1,
	.reach = 15,
};

/* What is to be sent to it in an hour is dead at its end, and nobody waits for the hour. */

#define HOUR_NS UINT64_C(3600000000000)

static void send_later_0(void *arg)
{
	uint64_t word = WORD(0, 0, 0);

	(void)arg;
	world_pushing(true);
	note(0, coro_actor_send_after(g.actor[0], HOUR_NS, 0, &word, sizeof word, NULL));
	world_pushing(false);
}

static void stops_and_waits(void *arg, void *result)
{
	(void)arg;
	(void)result;
	g.stopper = coro_self();
	EX_CHECK(coro_actor_stop(g.actor[0]) == CORO_OK);
	if (!g.ended[0])
		EX_CHECK(coro_park() == CORO_OK);
}

static void setup_later(void)
{
	make(&kind);
	on_worker(0, stops_and_waits, 0);
	ex_thread("send0", send_later_0, NULL);
}

static void check_later(void)
{
	check_counts(1);
	EX_CHECK(g.ended[0] == 1);
	EX_CHECK(coroi_now_ns() < HOUR_NS);
	ex_reached(g.dead[0] ? 1 : 0);
}

static const struct ex_scenario box_later = {
	.name = "box-later",
	.about = "a thread sends to an actor for later, which is stopped",
	.setup = setup_later,
	.check = check_later,
	.workers = 1,
	.reach = 3,
};

static void setup_withdraw(void)
{
	make(&kind);
	on_worker(0, stops_and_sends, true);
	ex_thread("urgent", urgent_2, times(1));
}

static void check_withdraw(void)
{
	check_sent(2);
	EX_CHECK(g.ended[0] == 1 && !g.ended[1]);
	EX_CHECK(g.handled[3] == 1);
	if (g.refused[2])
		ex_reached(0);
	if (g.dead[2])
		ex_reached(1);
	if (g.handled[2])
		ex_reached(2);
}

static const struct ex_scenario box_withdraw = {
	.name = "box-withdraw",
	.about = "box-stop with urgent messages",
	.setup = setup_withdraw,
	.check = check_withdraw,
	.workers = 1,
	.reach = 7,
};

/* -------------------------------------------------------------------------------------- urgent */

static void setup_urgent(void)
{
	make(&kind);
	ex_thread("send0", send_0, times(1));
	ex_thread("urgent", urgent_2, times(1));
}

static const struct ex_scenario box_urgent = {
	.name = "box-urgent",
	.about = "a thread sends, another sends an urgent message, and the actor's turn ends",
	.setup = setup_urgent,
	.check = check_2,
	.workers = 1,
};

/* The behaviour sends to itself: the first message two urgent ones, and the first of those a third.
 * It reads its message afterwards. */
static size_t sends_itself(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	if (g.accepted[2] < 2) {
		say_to(0, 2, true);
		say_to(0, 2, true);
	} else if (g.accepted[2] == 2) {
		say_to(0, 2, true);
	}
	return behaves(turn, state, m, n);
}

static const coro_actor_kind kind_itself = {
	.size = sizeof kind, .behave = sends_itself, .end = ends, .batch = 1};

static void setup_itself(void)
{
	make(&kind_itself);
	ex_thread("send0", send_0, times(2));
}

static const struct ex_scenario box_itself = {
	.name = "box-itself",
	.about = "a thread sends to an actor that sends urgent messages to itself",
	.setup = setup_itself,
	.check = check_5,
	.workers = 1,
};

/* ---------------------------------------------------------------------------------------- lent */

/* The actor is brief, and the first message has it send to another, which is not. */
static size_t is_brief(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	ex_reached(coroi_self()->lent);
	if (!g.accepted[3])
		EX_CHECK(say_to(1, 3, false) == CORO_OK);
	return behaves(turn, state, m, n);
}

static size_t is_not_brief(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	EX_CHECK(!coroi_self()->lent);
	return behaves(turn, state, m, n);
}

static const coro_actor_kind kind_brief = {
	.size = sizeof kind, .behave = is_brief, .end = ends, .flags = CORO_ACTOR_BRIEF};
static const coro_actor_kind kind_not_brief = {
	.size = sizeof kind, .behave = is_not_brief, .end = ends};

static void setup_lent(void)
{
	make(&kind_brief);
	EX_CHECK(coro_actor_spawn(sched, &kind_not_brief, &g.inside[1], &g.actor[1]) == CORO_OK);
	ex_thread("send0", send_0, times(1));
	ex_thread("send1", send_1, times(1));
}

static void check_lent(void)
{
	check_3();
	EX_CHECK(coroi_box_is_dormant(coroi_place_of(g.actor[1])->box));
}

static const struct ex_scenario box_lent = {
	.name = "box-lent",
	.about = "two threads outside send to a brief actor, and lend themselves to its worker",
	.setup = setup_lent,
	.check = check_lent,
	.workers = 1,
	.reach = 3,
};

/* --------------------------------------------------------------------------------------- again */

/* The turn is canceled in its first call, and ends with a message left. */
static size_t is_canceled(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	if (sum(g.handled) == 0)
		EX_CHECK(coro_cancel(coro_self()) == CORO_OK);
	return behaves(turn, state, m, n);
}

static const coro_actor_kind kind_again = {
	.size = sizeof kind, .behave = is_canceled, .end = ends, .batch = 1};

static void setup_again(void)
{
	make(&kind_again);
	on_worker(0, sends_two, 0);
}

static void check_again(void)
{
	check_handled(2);
}

static const struct ex_scenario box_again = {
	.name = "box-again",
	.about = "a turn ends with a message left, and another worker steals the next turn",
	.setup = setup_again,
	.check = check_again,
	.workers = 2,
	.flags = CORO_NO_STANDBY,
	.reach = 3 << RAN_ON,
};

/* --------------------------------------------------------------------------------------- exits */

/* The behaviour ends its coroutine: the message is handled, and the next turn goes on. */
static size_t exits(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	behaves(turn, state, m, n);
	return (size_t)coro_exit();
}

static void ends_stopped(void *state, int cause)
{
	EX_CHECK(cause == CORO_DEAD_STOPPED && g.inside[number_of(state)] == 0);
	g.ended[number_of(state)]++;
}

static const coro_actor_kind kind_exits = {
	.size = sizeof kind, .behave = exits, .end = ends_stopped, .batch = 1};

static void stops(void *arg)
{
	(void)arg;
	world_pushing(true);
	EX_CHECK(coro_actor_stop(g.actor[0]) == CORO_OK);
	world_pushing(false);
}

static void setup_exits(void)
{
	make(&kind_exits);
	ex_thread("send0", send_0, times(2));
	ex_thread("stop", stops, NULL);
}

static void check_exits(void)
{
	check_counts(2);
	EX_CHECK(g.ended[0] == 1);
	for (unsigned i = 0; i < 3; i++)
		if (i == g.handled[0])
			ex_reached(i);
}

static const struct ex_scenario box_exits = {
	.name = "box-exits",
	.about = "a thread sends to an actor whose behaviour exits, and another stops the actor",
	.setup = setup_exits,
	.check = check_exits,
	.workers = 1,
	.reach = 7,
};

/* --------------------------------------------------------------------------------------- close */

/* Once a destroy may free the hands, nobody outside has something of them. */

static void sends_twice(void *arg)
{
	(void)arg;
	g.guest = coroi_guest_begin(); /* the count that a send to a dormant actor uses */
	coroi_guest_end(g.guest);
	for (unsigned i = 0; i < 2; i++) {
		uint64_t word = WORD(0, 0, g.accepted[0]);
		world_pushing(true);
		int status = coro_actor_send(g.actor[0], 0, &word, sizeof word);
		world_pushing(false);
		if (status == CORO_OK)
			g.accepted[0]++;
		else
			EX_CHECK(status == CORO_ESTALE || status == CORO_ECLOSED);
		ex_reached(status != CORO_OK);
	}
	say(&g.done);
}

static void closes(void *arg)
{
	const struct coroi_actors *all = coroi_actors_of(sched);

	(void)arg;
	EX_CHECK(coro_scheduler_close(sched, 0) == CORO_OK);
	if (g.guest && at_load_seq(g.guest)) /* coro_scheduler_destroy waits for that */
		hears(&g.done);
	for (unsigned i = 0; i < COROI_HANDS_OUTSIDE; i++)
		g.left[i] = all->outside[i].count;
}

static void ends_closed(void *state, int cause)
{
	EX_CHECK(cause == CORO_DEAD_CLOSED && g.inside[number_of(state)] == 0);
}

static const coro_actor_kind kind_closed = {
	.size = sizeof kind, .behave = behaves, .end = ends_closed};

static void setup_close(void)
{
	make(&kind_closed);
	ex_thread("send0", sends_twice, NULL);
	ex_thread("close", closes, NULL);
}

static void check_close(void)
{
	const struct coroi_actors *all = coroi_actors_of(sched);

	EX_CHECK(g.accepted[0] == g.handled[0] + g.dead[0]);
	for (unsigned i = 0; i < COROI_HANDS_OUTSIDE; i++)
		if (all->outside[i].count != g.left[i])
			ex_fail("hand %u has %u messages, and had %u when it could be freed", i,
				all->outside[i].count, g.left[i]);
}

static const struct ex_scenario box_close = {
	.name = "box-close",
	.about = "a thread outside sends while another closes the scheduler",
	.setup = setup_close,
	.check = check_close,
	.workers = 1,
	.stops = true,
	.reach = 3,
};

const struct ex_scenario *const scenarios_box[] = {
	&box_outside, &box_streams, &box_two,  &box_stop,  &box_later, &box_withdraw, &box_urgent,
	&box_itself,  &box_again,   &box_lent, &box_exits, &box_close, NULL,
};
