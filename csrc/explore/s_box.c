/*
 * s_box.c - scenarios of an actor's mailbox: senders inside and outside, urgent messages and stops
 * against a turn that ends (actor/box.h), with the real run loop on every worker.
 */
#include "world.h"

#include "actor/home.h"
#include "base/sys.h"

#define SENDERS 4
#define MOST    4 /* messages of a sender */
#define PLACES  4
#define RAN_ON  8 /* bits of ex_reached: the behaviour ran on worker 0, 1 */

/* A message's word: whom it is for, its sender, and its number. */
#define WORD(actor, sender, n) ((uint64_t)(actor) << 8 | (uint64_t)(sender) << 4 | (n))

static struct {
	coro_actor actor[2]; /* the second has the first one's place */
	unsigned inside[2];  /* calls of the behaviour, now */
	unsigned ended[2];
	coro_handle stopper;
	uint8_t next[SENDERS]; /* the next message that may come from each */
	uint8_t accepted[SENDERS], refused[SENDERS], handled[SENDERS], dead[SENDERS];
	uint32_t sends, done, back, computes, first, next_one; /* flags, on which threads wait */
	uint32_t *guest;
	uint32_t left[COROI_HANDS_OUTSIDE];
} g;

/* comes - the word has come to the actor, or is its dead letter. */
static unsigned comes(unsigned actor, uint64_t word)
{
	unsigned sender = word >> 4 & 15, n = word & 15;

	if (word >> 8 > 1 || sender >= SENDERS)
		ex_fail("0x%llx is no message", (unsigned long long)word);
	if (word >> 8 != actor)
		ex_fail("a message for actor %u has come to actor %u", (unsigned)(word >> 8),
			actor);
	if (n != g.next[sender])
		ex_fail("message %u of sender %u has come, and %u is next", n, sender,
			g.next[sender]);
	g.next[sender]++;
	return sender;
}

static unsigned number_of(const void *state)
{
	return (unsigned)((const unsigned *)state - g.inside);
}

static size_t behaves(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	unsigned actor = number_of(state);

	EX_CHECK(turn->self == g.actor[actor]);
	if (g.inside[actor]++)
		ex_fail("two turns of actor %u", actor);
	(void)coroi_box_look(&coroi_place_of(turn->self)->box); /* others may go on first */
	for (size_t i = 0; i < n; i++)
		g.handled[comes(actor, m[i]->words[0])]++;
	g.inside[actor]--;
	ex_reached(RAN_ON + coroi_self()->id);
	return n;
}

static void ends(void *state, int cause)
{
	EX_CHECK(cause == CORO_DEAD_STOPPED);
	EX_CHECK(g.inside[number_of(state)] == 0);
	g.ended[number_of(state)]++;
	EX_CHECK(coro_wake(g.stopper) == CORO_OK); /* it goes on when this turn has ended */
}

static void dies(const coro_dead_letter *letter)
{
	unsigned actor = letter->to == g.actor[1];

	g.dead[comes(actor, letter->message->words[0])]++;
}

static const coro_actor_kind kind = {.size = sizeof kind, .behave = behaves, .end = ends};

/* note - what has become of sender's message. */
static void note(unsigned sender, int status)
{
	if (status == CORO_OK)
		g.accepted[sender]++;
	else if (status == CORO_ESTALE)
		g.refused[sender]++;
	else
		ex_fail("a send returns %d", status);
}

/* say_to - the sender's next message. */
static int say_to(unsigned actor, unsigned sender, bool urgent)
{
	uint64_t word = WORD(actor, sender, g.accepted[sender]);
	int status = urgent ? coro_actor_send_urgent(g.actor[actor], 0, &word, sizeof word)
			    : coro_actor_send(g.actor[actor], 0, &word, sizeof word);
	note(sender, status);
	return status;
}

/* say - set *flag, for all that hear. */
static void say(uint32_t *flag)
{
	at_xchg(flag, 1);
	coroi_futex_wake(flag, SENDERS);
}

static void hears(uint32_t *flag)
{
	while (!at_load_acq(flag))
		coroi_futex_wait(flag, 0, -1);
}

/* Threads outside: which sender, how many. */

static void outside(unsigned sender, unsigned n, bool urgent)
{
	while (n--) {
		world_pushing(true);
		say_to(0, sender, urgent);
		world_pushing(false);
	}
}

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

static void *times(unsigned n)
{
	return (void *)(uintptr_t)n;
}

/* ---------------------------------------------------------------------------------- setup, check */

/* make - an actor, and messages in the workers' hands, and for threads outside. During setup. */
static void make(const coro_actor_kind *k)
{
	EX_CHECK(coro_actor_spawn(sched, k, &g.inside[0], &g.actor[0]) == CORO_OK);
	struct coroi_actors *all = coroi_actors_of(sched);
	for (int i = 0; i < 3; i++) { /* threads outside do not share one */
		EX_CHECK(coroi_hand_refill(&all->outside[0]));
		coroi_hand_trade(&all->outside[0]);
	}
	for (unsigned i = 0; i < sched->workers; i++) {
		struct coroi_hand *h = &all->hand[i];
		EX_CHECK(coroi_hand_refill(h));
		h->count = PLACES; /* what comes back is taken first */
	}
	world_region(all->mapped, (size_t)((char *)all->carve - (char *)all->mapped));
	world_region(coroi_places_of(coroi_place_of(g.actor[0])),
		     PLACES * sizeof(struct coroi_place));
	world_region(coroi_hand_locks, sizeof coroi_hand_locks);
	world_region(&g, sizeof g);
	(void)coro_actor_on_dead_letter(dies);
}

static void on_worker(unsigned id, coro_fn fn, uint64_t arg)
{
	coro_attr a = {.size = sizeof a, .worker = id + 1};

	EX_CHECK(coro_scheduler_spawn(sched, &a, fn, &arg, sizeof arg, NULL) == CORO_OK);
}

static unsigned sum(const uint8_t *of)
{
	unsigned n = 0;

	for (unsigned i = 0; i < SENDERS; i++)
		n += of[i];
	return n;
}

/* check_counts - n messages were sent, and all are over. */
static void check_counts(unsigned n)
{
	const struct coroi_actors *all = coroi_actors_of(sched);
	uint64_t counted = 0, handled = 0;

	EX_CHECK(sum(g.accepted) + sum(g.refused) == n);
	for (unsigned i = 0; i < SENDERS; i++)
		if (g.accepted[i] != g.handled[i] + g.dead[i])
			ex_fail("of sender %u: accepted %u, handled %u, dead %u", i, g.accepted[i],
				g.handled[i], g.dead[i]);
	for (unsigned i = 0; i < COROI_HANDS_OUTSIDE; i++)
		counted += all->outside[i].accepted;
	for (unsigned i = 0; i < sched->workers; i++) {
		counted += all->hand[i].accepted;
		handled += all->hand[i].handled;
	}
	EX_CHECK(counted == sum(g.accepted) && handled == sum(g.handled));
	EX_CHECK(all->dead[CORO_DEAD_STOPPED] == sum(g.dead));
}

/* check_sent - n messages were sent. The actor that is in the place rests. */
static void check_sent(unsigned n)
{
	const struct coroi_place *a = coroi_place_of(g.actor[0]);

	if (!coroi_box_is_dormant(a->box))
		ex_fail("all wait, and the box is 0x%llx", (unsigned long long)a->box);
	EX_CHECK(a->pending == 0);
	for (unsigned i = 0; i < sched->workers; i++)
		EX_CHECK(!world_worker(i)->kept_tasks);
	check_counts(n);
}

/* ------------------------------------------------------------------------------------- outside */

static void setup_outside(void)
{
	make(&kind);
	ex_thread("send0", send_0, times(2));
	ex_thread("send1", send_1, times(1));
}

/* check_handled - n messages were sent, and all are handled. */
static void check_handled(unsigned n)
{
	check_sent(n);
	EX_CHECK(sum(g.handled) == n);
}

static void check_2(void)
{
	check_handled(2);
}

static void check_3(void)
{
	check_handled(3);
}

static const struct ex_scenario box_outside = {
	.name = "box-outside",
	.about =
		"two threads outside send, while the actor's turn ends and its worker goes to sleep",
	.setup = setup_outside,
	.check = check_3,
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

static void check_4(void)
{
	check_handled(4);
}

static void check_5(void)
{
	check_handled(5);
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

/* ------------------------------------------------------------------------------------- at home */

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
	make(&kind);
	on_worker(0, sends_around, 0);
	ex_thread("sends", sends_for_it, NULL);
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
	hears(&g.sends);
	outside(1, (unsigned)(uintptr_t)arg, false);
}

static void setup_home(void)
{
	make(&kind);
	on_worker(0, sends_home, 0);
	ex_thread("sends", sends_there, times(1));
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
	make(&kind);
	on_worker(0, sends_home, 0);
	ex_thread("urgent", urges_there, NULL);
}

static const struct ex_scenario box_home_urgent = {
	.name = "box-home-urgent",
	.about = "box-home with an urgent message",
	.setup = setup_home_urgent,
	.check = check_3,
	.workers = 1,
};

/* The worker computes until the message from outside is handled, by a thief. Before that, it has had
 * a turn of the actor, which was suspended for a while. */
static void computes(void *arg, void *result)
{
	(void)arg;
	(void)result;
	come_home(0);
	say_to(0, 0, false);
	say(&g.sends);
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
	make(&kind_done);
	on_worker(0, computes, 0);
	on_worker(1, takes_over, 0);
	ex_thread("sends", sends_and_says, NULL);
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
	make(&kind);
	on_worker(0, sends_home, 0);
	ex_thread("sends", sends_there, times(1));
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
	make(&kind_own);
	on_worker(0, sends_home, 0);
	ex_thread("sends", sends_there, times(1));
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
	make(&kind);
	on_worker(0, loses_it, 0);
	on_worker(1, takes_it, 0);
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
	come_home(0);
	say_to(0, 0, false);
	say(&g.sends);
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
	make(&kind);
	on_worker(0, sends_late, 0);
	on_worker(1, takes_one, 0);
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
	come_home(0);
	say_to(0, 0, false);
	say(&g.sends);
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
	make(&kind);
	on_worker(0, sends_early, 0);
	on_worker(1, takes_one, 0);
	ex_thread("sends", sends_too, NULL);
}

static const struct ex_scenario box_leaves = {
	.name = "box-leaves",
	.about = "a thread outside sends to an actor whose turn a thief runs, away from its home",
	.setup = setup_leaves,
	.check = check_3,
	.workers = 2,
	.flags = CORO_NO_STANDBY,
};

/* replace - the actor is stopped, and another comes to its place. */
static void replace(void)
{
	EX_CHECK(coro_actor_stop(g.actor[0]) == CORO_OK);
	if (!g.ended[0])
		EX_CHECK(coro_park() == CORO_OK);
	EX_CHECK(coro_actor_spawn(NULL, &kind, &g.inside[1], &g.actor[1]) == CORO_OK);
	EX_CHECK(coroi_place_of(g.actor[1]) == coroi_place_of(g.actor[0]));
}

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
	&box_outside,      &box_two,    &box_local,    &box_home, &box_home_urgent,
	&box_home_collect, &box_own,    &box_computes, &box_asks, &box_back,
	&box_thief,        &box_leaves, &box_next,     &box_stop, &box_withdraw,
	&box_urgent,       &box_itself, &box_again,    &box_lent, &box_exits,
	&box_close,        NULL,
};
