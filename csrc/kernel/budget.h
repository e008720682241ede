/*
 * budget.h - how long a coroutine may go on whose waits all end at once.
 *
 * A coroutine that always finds a value in its channel, or a permit, never suspends, and the others
 * of its worker would wait for ever. So such waits count, and once they have gone on for some 20 us
 * in one turn the next one yields first. (After tokio's cooperative budget, which counts 128 waits;
 * but waits may be 5 ns or 1 ms apart.) The clock is read after so many waits as take about 10 us.
 */
#ifndef COROI_BUDGET_H
#define COROI_BUDGET_H

#include "kernel/worker.h"

/* coroi_spend - the current coroutine of w is about to wait, perhaps for nothing. True: call
 * coroi_spent first. Thread: w. Cost: a decrement. */
static inline bool coroi_spend(struct coroi_worker *w)
{
	return COROI_HAS_WAIT_BUDGET && coroi_unlikely(--w->waits.left <= 0);
}

/* coroi_spend_here - the same for any thread, w being coroi_here. */
static inline bool coroi_spend_here(struct coroi_worker *w)
{
	return w->current && coroi_spend(w);
}

/* coroi_has_spent - coroi_spend was true, and coroi_spent was not called yet. Thread: any, w being
 * coroi_here. */
static inline bool coroi_has_spent(const struct coroi_worker *w)
{
	return COROI_HAS_WAIT_BUDGET && w->current && w->waits.left <= 0;
}

/* coroi_is_over - was the deadline over when w last looked at the clock for its waits? That is 256
 * waits ago at most, where waits end at once. Not for 0. Thread: any, w being coroi_here. Cost: a
 * comparison. */
static inline bool coroi_is_over(const struct coroi_worker *w, uint64_t deadline)
{
	return deadline - 1 < w->waits.looked;
}

/* coroi_spend_ahead - n waits, n > 0, of the current coroutine could end at once, or of the thread
 * if that runs none. They are counted together, before they are made. Thread: any. Returns: how
 * many may, 1 to n; 0: call coroi_spent first. w: coroi_here. */
static inline __attribute__((always_inline)) uint32_t coroi_spend_ahead(struct coroi_worker *w,
									uint32_t n)
{
	if (!COROI_HAS_WAIT_BUDGET || !w->current)
		return n < COROI_SPEND_MOST ? n : COROI_SPEND_MOST;
	if (coroi_unlikely(w->waits.left <= 0))
		return 0;
	n = n < (uint32_t)w->waits.every ? n : (uint32_t)w->waits.every;
	w->waits.left -= (int32_t)n;
	return n;
}

/* coroi_has_woken - the current coroutine of w has woken another of this worker in its turn, which
 * has not run yet. Thread: w, or any, w being coroi_here. */
static inline bool coroi_has_woken(const struct coroi_worker *w)
{
	return at_load_rlx(&w->next) != NULL;
}

/* coroi_spent - look at the clock, and yield if the turn has been long, something else can run, and
 * the caller may wait until the deadline. A cancel is left for the wait to find. Thread: a worker,
 * in no door. Blocking: as coro_yield. */
COROI_COLD void coroi_spent(uint64_t deadline);

/* coroi_spent_in_loop - the same, and on a thread that is lent, too: a loop may be long, and a cancel
 * of it lies in the inbox. */
COROI_COLD void coroi_spent_in_loop(void);

#endif
