/*
 * nowait.h - sections in which a coroutine must not wait, or only for a bounded time.
 *
 * A section has a level. In a no-wait section the coroutine is not suspended. In a finite-wait
 * section it is, where the wait has a deadline, or a bound by its nature (COROI_BOUNDED), such as a
 * yield. The level of the running coroutine is the worker's, `nowait`. It lies in two words that
 * are looked at anyway: `unusual`, by the fast paths, and `refuses`, by every wait. Each public
 * call that would suspend asks coroi_nowait, with its deadline, before it changes anything. The end
 * of a coroutine ends its sections.
 *
 * A coroutine that is suspended in a finite-wait section takes it along, although the worker has
 * the level. Its forks (fork.h), which the worker has, too, leave it then: COROI_HOLDS_FORKS lies
 * beside the level, and the same steps do that.
 *
 *   NWT1  The fast paths are not taken. On the others coroi_pick_locked picks nothing.
 *   NWT2  coroi_suspend_slow, which has nothing to go on with, calls coroi_suspend_inside_locked.
 *   NWT3  That takes the sections from the worker into its frame, promotes the forks (FSU2 of
 *         fork.h), picks, and suspends the coroutine.
 *   NWT4  When the coroutine goes on, it gives them to the worker on which that is.
 *
 * Suspensions that pick nothing do NWT3 and NWT4 by themselves: coro_spawn_first, coro_pin; and
 * where there can be no section, coroi_forks_suspend_locked: errands, and calls into Go.
 * Rejected: a bit of the record, which each resumption would have to look at.
 */
#ifndef COROI_NOWAIT_H
#define COROI_NOWAIT_H

#include "kernel/worker.h"

/* coroi_nowait_refuse - report that the current coroutine of w, in a section, has made a call that
 * would wait. Thread: w, in no door. Returns: CORO_ENOWAIT. */
COROI_COLD int coroi_nowait_refuse(struct coroi_worker *w, const char *call);

/* coroi_nowait - may the current coroutine of w wait in this call, until that deadline? Thread: w,
 * in no door. Returns: CORO_OK; CORO_ENOWAIT: its section forbids that, and that was reported. */
static inline int coroi_nowait(struct coroi_worker *w, const char *call, uint64_t deadline)
{
	return coroi_in_nowait(w, deadline) ? coroi_nowait_refuse(w, call) : CORO_OK;
}

/* coroi_sections_leave - take the sections of w's current coroutine from w. coroi_sections_return -
 * give them to the worker on which the current coroutine is now. Thread: w. */
struct coroi_sections coroi_sections_leave(struct coroi_worker *w);
void coroi_sections_return(const struct coroi_sections *open);

/* coroi_suspend_inside_locked - coroi_suspend_locked of me, which is in a finite-wait section,
 * or has forks (NWT3, NWT4). runnable: what comes next; 0: what coroi_pick_locked then returns. */
COROI_COLD int coroi_suspend_inside_locked(struct coroi_worker *w, struct coroi_rec *me,
					   uint64_t runnable);

/* coroi_nowait_ended - the current coroutine of w has ended. If it is inside a section of its own,
 * report that. The sections of *outer, which it was inside (NULL: none), are open from now on.
 * Thread: w, in no door. */
COROI_COLD void coroi_nowait_ended(struct coroi_worker *w, const struct coroi_sections *outer);

#endif
