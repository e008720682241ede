/*
 * s_box.h - what the scenarios of an actor's mailbox share. They are in s_box.c and s_home.c, and
 * each of these files has variables of its own.
 */
#ifndef EXPLORE_S_BOX_H
#define EXPLORE_S_BOX_H

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
static inline unsigned comes(unsigned actor, uint64_t word)
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

static inline unsigned number_of(const void *state)
{
	return (unsigned)((const unsigned *)state - g.inside);
}

static inline size_t behaves(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
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

static inline void ends(void *state, int cause)
{
	EX_CHECK(cause == CORO_DEAD_STOPPED);
	EX_CHECK(g.inside[number_of(state)] == 0);
	g.ended[number_of(state)]++;
	EX_CHECK(coro_wake(g.stopper) == CORO_OK); /* it goes on when this turn has ended */
}

static inline void dies(const coro_dead_letter *letter)
{
	unsigned actor = letter->to == g.actor[1];

	g.dead[comes(actor, letter->message->words[0])]++;
}

static const coro_actor_kind kind = {.size = sizeof kind, .behave = behaves, .end = ends};

/* note - what has become of sender's message. */
static inline void note(unsigned sender, int status)
{
	if (status == CORO_OK)
		g.accepted[sender]++;
	else if (status == CORO_ESTALE)
		g.refused[sender]++;
	else
		ex_fail("a send returns %d", status);
}

/* say_to - the sender's next message. */
static inline int say_to(unsigned actor, unsigned sender, bool urgent)
{
	uint64_t word = WORD(actor, sender, g.accepted[sender]);
	int status = urgent ? coro_actor_send_urgent(g.actor[actor], 0, &word, sizeof word)
			    : coro_actor_send(g.actor[actor], 0, &word, sizeof word);
	note(sender, status);
	return status;
}

/* say - set *flag, for all that hear. */
static inline void say(uint32_t *flag)
{
	at_xchg(flag, 1);
	coroi_futex_wake(flag, SENDERS);
}

static inline void hears(uint32_t *flag)
{
	while (!at_load_acq(flag))
		coroi_futex_wait(flag, 0, -1);
}

/* Threads outside: which sender, how many. */

static inline void outside(unsigned sender, unsigned n, bool urgent)
{
	while (n--) {
		world_pushing(true);
		say_to(0, sender, urgent);
		world_pushing(false);
	}
}

static inline void *times(unsigned n)
{
	return (void *)(uintptr_t)n;
}

/* --------------------------------------------------------------------------------- setup, check */

/* make - an actor, and messages in the workers' hands, and for threads outside. During setup. */
static inline void make(const coro_actor_kind *k)
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

static inline void on_worker(unsigned id, coro_fn fn, uint64_t arg)
{
	coro_attr a = {.size = sizeof a, .worker = id + 1};

	EX_CHECK(coro_scheduler_spawn(sched, &a, fn, &arg, sizeof arg, NULL) == CORO_OK);
}

static inline unsigned sum(const uint8_t *of)
{
	unsigned n = 0;

	for (unsigned i = 0; i < SENDERS; i++)
		n += of[i];
	return n;
}

/* check_counts - n messages were sent, and all are over. */
static inline void check_counts(unsigned n)
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
static inline void check_sent(unsigned n)
{
	const struct coroi_place *a = coroi_place_of(g.actor[0]);

	if (!coroi_box_is_dormant(a->box))
		ex_fail("all wait, and the box is 0x%llx", (unsigned long long)a->box);
	EX_CHECK(a->pending == 0);
	for (unsigned i = 0; i < sched->workers; i++)
		EX_CHECK(!world_worker(i)->tasks.kept);
	check_counts(n);
}

/* check_handled - n messages were sent, and all are handled. */
static inline void check_handled(unsigned n)
{
	check_sent(n);
	EX_CHECK(sum(g.handled) == n);
}

static inline void check_2(void)
{
	check_handled(2);
}

static inline void check_3(void)
{
	check_handled(3);
}

static inline void check_4(void)
{
	check_handled(4);
}

static inline void check_5(void)
{
	check_handled(5);
}

/* replace - the actor is stopped, and another comes to its place. */
static inline void replace(void)
{
	EX_CHECK(coro_actor_stop(g.actor[0]) == CORO_OK);
	if (!g.ended[0])
		EX_CHECK(coro_park() == CORO_OK);
	EX_CHECK(coro_actor_spawn(NULL, &kind, &g.inside[1], &g.actor[1]) == CORO_OK);
	EX_CHECK(coroi_place_of(g.actor[1]) == coroi_place_of(g.actor[0]));
}

#endif
