//go:build ignore
/* spread.c - see spread.h. */
#include "actor/spread.h"

#include "actor/home.h"
#include "base/sys.h"

#define NOTE_LEAST_NS 20000   /* how long the time before a steal is, at least, to be known, */
#define NOTE_MOST_NS  5000000 /* and at most */
#define TRIAL_NS      200000
#define LONG_PS       500000 /* what takes so long is worth another worker */
#define HOLD_OFF_NS   UINT64_C(1000000)
#define HOLD_OFF_MOST 4     /* times that it is doubled, at most */
#define GATHER_MOST   4096u /* actors that are given back, at most */

/* work_of - what the worker has done. What is handled is counted after the behaviour's call, in
 * which others may be sent. */
static uint64_t work_of(const struct coroi_hand *h)
{
	return at_load_rlx(&h->handled) + at_load_rlx(&h->accepted);
}

static struct coroi_count count(const struct coroi_hand *h)
{
	const struct coroi_actors *all = h->actors;
	struct coroi_count c = {.ns = coroi_now_ns()};

	for (uint32_t i = 0; i < all->workers; i++)
		c.work += work_of(&all->hand[i]);
	return c;
}

/* each - ps from one thing that is done to the next; 0: nothing was done. */
static uint64_t each(struct coroi_count from, struct coroi_count to)
{
	return to.work != from.work ? 1000 * (to.ns - from.ns) / (to.work - from.work) : 0;
}

static bool is_known(struct coroi_count from, struct coroi_count to)
{
	return from.ns && to.ns - from.ns >= NOTE_LEAST_NS && to.ns - from.ns <= NOTE_MOST_NS;
}

static void set_gathers(struct coroi_hand *h, uint32_t n)
{
	h->spread->gathers = n;
	h->away = n || h->dedicated;
}

/* pays - the trial of the last steal is over at `now`: has it paid? If not, the worker holds
 * off. */
static bool pays(struct coroi_hand *h, struct coroi_count now)
{
	struct coroi_spread *s = h->spread;
	uint64_t own = work_of(h) - s->own, took = now.ns - s->began.ns;
	uint64_t after = each(s->began, now);

	s->began.ns = 0;
	/* a `before` of LONG_PS or more is not compared: somebody was waiting then, not working */
	if (1000 * took / LONG_PS >= own ||
	    (s->before && s->before < LONG_PS && after + after / 8 < s->before)) {
		s->holds_off -= s->holds_off > 0;
		return true;
	}
	s->holds_off += s->holds_off < HOLD_OFF_MOST;
	coroi_hold_off(coroi_worker_of(h), HOLD_OFF_NS << s->holds_off);
	return false;
}

static bool trial_is_over(const struct coroi_spread *s, struct coroi_count now)
{
	return s->began.ns && now.ns - s->began.ns >= TRIAL_NS;
}

/* is_idle - the worker has nothing to run. */
static void is_idle(struct coroi_hand *h)
{
	struct coroi_spread *s = h->spread;
	uint64_t own = work_of(h);

	if (s->gathers) /* not while a lender is the worker: there was nothing to run before */
		set_gathers(h, 0);
	bool is_new = own != s->idle_own || coroi_now_ns() - s->idle[0].ns >= NOTE_LEAST_NS;
	if (!is_new && !s->began.ns)
		return; /* each count takes a cache line from every worker */
	struct coroi_count now = count(h);
	if (trial_is_over(s, now))
		(void)pays(h, now);
	if (!is_new)
		return;
	s->idle[1] = own == s->idle_own ? s->idle[0] : (struct coroi_count){0};
	s->idle[0] = now;
	s->idle_own = own;
}

static void has_stolen(struct coroi_hand *h, uint32_t victim)
{
	struct coroi_spread *s = h->spread;

	s->victim = victim;
	if (s->began.ns)
		return;
	struct coroi_count now = count(h);
	bool known = work_of(h) == s->idle_own;
	s->before = known && is_known(s->idle[0], now)   ? each(s->idle[0], now)
		    : known && is_known(s->idle[1], now) ? each(s->idle[1], now)
							 : 0;
	s->began = now;
	s->own = work_of(h);
}

/* judge - the worker is busy, and the caller in its door: give the actors back if the steal has not
 * paid. */
static void judge(struct coroi_hand *h)
{
	if (coroi_likely(!h->spread->began.ns))
		return;
	struct coroi_count now = count(h);
	if (!trial_is_over(h->spread, now) || pays(h, now))
		return;
	set_gathers(h, GATHER_MOST);
	coroi_settle(h, true);
}

void coroi_watch_spread(void *hand, int what, uint32_t other)
{
	struct coroi_hand *h = hand;

	if (!COROI_HAS_SPREAD || h->dedicated)
		return;
	if (what == COROI_TASKS_IDLE)
		is_idle(h);
	else if (what == COROI_TASKS_STOLE)
		has_stolen(h, other);
	else
		judge(h);
}

bool coroi_gather_spawn(struct coroi_hand *h, struct coroi_place *a, bool (*change)(void *),
			void *ctx, int *status)
{
	struct coroi_spread *s = h->spread;

	if (!s->gathers)
		return false;
	set_gathers(h, s->gathers - 1);
	*status = coroi_task_spawn_at(coroi_worker_at(h->actors->sched, s->victim), (uintptr_t)a,
				      change, ctx);
	return true;
}

bool coroi_gather_yield(struct coroi_hand *h)
{
	struct coroi_spread *s = h->spread;

	if (!s->gathers)
		return false;
	set_gathers(h, s->gathers - 1);
	(void)coroi_yield_at(coroi_worker_at(h->actors->sched, s->victim));
	return true;
}
