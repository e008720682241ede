/*
 * nowait.h - sections in which a coroutine must not wait.
 *
 * A coroutine inside a section is not suspended, so it does not leave its worker. Therefore the
 * flag `nowait` is the worker's. It lies in two words that are looked at anyway: `unusual`, by the
 * fast paths, and `refuses`, by every wait. Each public call that would suspend asks coroi_nowait
 * before it changes anything. The end of a coroutine ends its section.
 */
#ifndef COROI_NOWAIT_H
#define COROI_NOWAIT_H

#include "kernel/worker.h"

/* coroi_nowait_refuse - report that the current coroutine of w, in a section, has made a call that
 * would wait. Thread: w, in no door. Returns: CORO_ENOWAIT. */
COROI_COLD int coroi_nowait_refuse(struct coroi_worker *w, const char *call);

/* coroi_nowait - may the current coroutine of w wait in this call? Thread: w, in no door. Returns:
 * CORO_OK; CORO_ENOWAIT: it is in a section, and that was reported. */
static inline int coroi_nowait(struct coroi_worker *w, const char *call)
{
	return coroi_likely(!w->nowait) ? CORO_OK : coroi_nowait_refuse(w, call);
}

/* coroi_nowait_ended - report that the current coroutine of w has ended inside a section, and end
 * the section. Thread: w, in no door. */
COROI_COLD void coroi_nowait_ended(struct coroi_worker *w);

#endif
