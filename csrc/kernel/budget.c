//go:build ignore
/* budget.c - see budget.h. */
#include "kernel/budget.h"

#include "kernel/run.h"

/* adapt - how many waits there are until the next look: those of the last took so long. */
static void adapt(struct coroi_worker *w, uint64_t took)
{
	if (took < COROI_WAITS_LOOK_NS / 2)
		w->waits.every = w->waits.every < COROI_WAITS_MOST / 2 ? w->waits.every * 2
								       : COROI_WAITS_MOST;
	else if (took > COROI_WAITS_LOOK_NS)
		w->waits.every = (int32_t)((uint64_t)w->waits.every * COROI_WAITS_LOOK_NS / took) +
				 1;
	w->waits.left = w->waits.every;
}

/* spent - coroi_spent; lent: and on a thread that is lent, too. */
static COROI_COLD void spent(uint64_t deadline, bool lent)
{
	struct coroi_worker *w = coroi_self();
	struct coroi_rec *me = w->current;
	uint64_t now = coroi_now_ns();

	adapt(w, now - w->waits.looked);
	w->waits.looked = now;
	if (w->waits.turn != coroi_turns(w)) { /* the first look in this turn */
		w->waits.turn = coroi_turns(w);
		w->waits.since = now;
		return;
	}
	/* What a look at the clock brings: an event of the driver, a deadline of another
	 * coroutine. */
	bool look = coroi_watches(w) || coroi_timers_are_due(w, now);
	if (now - w->waits.since < COROI_WAITS_TURN_NS || !deadline || (w->lent && !lent) ||
	    coroi_in_nowait(w, COROI_BOUNDED) || (!look && coroi_nothing_else_now(w)))
		return;
	coroi_door_enter(w);
	if (look)
		coroi_turnclock_soon(&w->clock, coroi_turns(w));
	coro_fork *forks = coroi_forks_keep_locked(w);
	coroi_queue_locked(w, me);
	coroi_suspend_picked_locked(w, me);
	coroi_forks_return(forks);
}

COROI_COLD void coroi_spent(uint64_t deadline)
{
	spent(deadline, false);
}

COROI_COLD void coroi_spent_in_loop(void)
{
	spent(CORO_FOREVER, true);
}
