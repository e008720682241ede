/*
 * nowait.h - sections in which a coroutine must not wait.
 *
 * One that is inside a section is not suspended, so it does not leave its worker: the worker has
 * the mark, in the word that the fast paths look at anyway (`unusual`) or beside what every wait
 * looks at (`refuses`). Each public call that would suspend asks coroi_nowait before it changes
 * anything; the end of a coroutine ends its section.
 */
#ifndef COROI_NOWAIT_H
#define COROI_NOWAIT_H

#include "kernel/worker.h"

COROI_COLD int coroi_nowait_refuse(struct coroi_worker *w, const char *call);

/* coroi_nowait - the current coroutine of w is about to wait in that call, in no door. CORO_OK, or
 * CORO_ENOWAIT: it must not, and that was reported. */
static inline int coroi_nowait(struct coroi_worker *w, const char *call)
{
	return coroi_likely(!w->nowait) ? CORO_OK : coroi_nowait_refuse(w, call);
}

/* coroi_nowait_ended - the coroutine has ended inside a section: that is reported, and the section
 * is over. */
COROI_COLD void coroi_nowait_ended(struct coroi_worker *w);

#endif
