/*
 * s_later.c - scenarios of messages that are taken back before they are sent: LTR3 of actor/later.c
 * against the clock that sends them, the end of their actor, and a close.
 */
#include "s_box.h"

#define HOUR_NS UINT64_C(3600000000000)

/* Who sends, and later takes back: senders 0 and 1. */
static struct {
	coro_later later[2];
	uint8_t taken[SENDERS];
	bool returned;
} l;

enum { SENT, TAKEN, DIED };

static bool sends_later(unsigned sender, uint64_t ns)
{
	uint64_t word = WORD(0, sender, g.accepted[sender]);

	world_pushing(true);
	int status = coro_actor_send_after(g.actor[0], ns, 0, &word, sizeof word, &l.later[sender]);
	world_pushing(false);
	if (status != CORO_ECLOSED)
		note(sender, status);
	return status == CORO_OK;
}

static bool takes_back(unsigned sender)
{
	world_pushing(true);
	int status = coro_actor_take_back(&l.later[sender]);
	world_pushing(false);
	EX_CHECK(status == CORO_OK || status == CORO_ESTALE || status == CORO_ECLOSED);
	l.taken[sender] += status == CORO_OK;
	return status == CORO_OK;
}

/* check_later - each message that was accepted was handled, is dead, or was taken back. */
static void check_later(void)
{
	const struct coroi_actors *all = coroi_actors_of(sched);

	EX_CHECK(l.returned);
	for (unsigned i = 0; i < SENDERS; i++)
		if (g.accepted[i] != g.handled[i] + g.dead[i] + l.taken[i])
			ex_fail("of sender %u: accepted %u, handled %u, dead %u, taken back %u", i,
				g.accepted[i], g.handled[i], g.dead[i], l.taken[i]);
	EX_CHECK(all->taken_back == sum(l.taken));
	EX_CHECK(!all->clock.n && coroi_now_ns() < HOUR_NS);
	ex_reached(l.taken[0] ? TAKEN : g.dead[0] ? DIED : SENT);
}

static void make_later(const coro_actor_kind *k)
{
	make(k);
	world_region(&l, sizeof l);
}

/* ---------------------------------------------------------------------------------------- clock */

/* The first message is due at once, the second one later: where the first was sent, the second has
 * its place. */

static void takes_both(void *arg)
{
	(void)arg;
	EX_CHECK(sends_later(0, 0) && sends_later(1, HOUR_NS));
	(void)takes_back(0);
	EX_CHECK(takes_back(1));
	EX_CHECK(!takes_back(0) && !takes_back(1));
	l.returned = true;
}

static void setup_clock(void)
{
	make_later(&kind);
	ex_thread("takes", takes_both, NULL);
}

static const struct ex_scenario later_clock = {
	.name = "later-clock",
	.about = "a thread takes messages back, while the clock sends one of them",
	.setup = setup_clock,
	.check = check_later,
	.workers = 1,
	.reach = 1 << SENT | 1 << TAKEN,
};

/* ------------------------------------------------------------------------------------------ end */

static void takes_back_0(void *arg)
{
	(void)arg;
	if (sends_later(0, HOUR_NS))
		(void)takes_back(0);
	l.returned = true;
}

static void stops_it(void *arg, void *result)
{
	(void)arg;
	(void)result;
	g.stopper = coro_self();
	EX_CHECK(coro_yield() == CORO_OK);
	EX_CHECK(coro_actor_stop(g.actor[0]) == CORO_OK);
	if (!g.ended[0])
		EX_CHECK(coro_park() == CORO_OK);
}

static void setup_end(void)
{
	make_later(&kind);
	on_worker(0, stops_it, 0);
	ex_thread("takes", takes_back_0, NULL);
}

static void check_end(void)
{
	check_later();
	EX_CHECK(g.ended[0] == 1);
}

static const struct ex_scenario later_end = {
	.name = "later-end",
	.about = "a thread takes a message back, and the actor is stopped",
	.setup = setup_end,
	.check = check_end,
	.workers = 1,
	.reach = 1 << SENT | 1 << TAKEN | 1 << DIED,
};

/* ---------------------------------------------------------------------------------------- close */

static void closes(void *arg)
{
	(void)arg;
	EX_CHECK(coro_scheduler_close(sched, 1) == CORO_OK);
}

static void ends_anyhow(void *state, int cause)
{
	(void)cause;
	g.ended[number_of(state)]++;
}

static const coro_actor_kind kind_closed = {
	.size = sizeof kind, .behave = behaves, .end = ends_anyhow};

static void setup_close(void)
{
	make_later(&kind_closed);
	ex_thread("takes", takes_back_0, NULL);
	ex_thread("close", closes, NULL);
}

static const struct ex_scenario later_close = {
	.name = "later-close",
	.about = "a thread takes a message back while another closes the scheduler",
	.setup = setup_close,
	.check = check_end,
	.workers = 1,
	.stops = true,
	.reach = 1 << SENT | 1 << TAKEN | 1 << DIED,
};

const struct ex_scenario *const scenarios_later[] = {
	&later_clock,
	&later_end,
	&later_close,
	NULL,
};
