/*
 * set.h - the driver (kernel/driver.h) that watches descriptors: a worker's set is an epoll
 * descriptor, and a worker that watches something sleeps in its set.
 *
 * A set is opened when the first descriptor is added to it, by its worker. A worker that watches
 * nothing sleeps on the futex, as without this driver. `bed` tells claimers where it sleeps:
 *
 *   SET1  the own thread, to sleep: store `bed`, then look at w->ev (in the futex call, or by
 *         coroi_is_to_sleep); if that is not SLEEPS, do not sleep
 *   SET2  the claimer: w->ev from SLEEPS to WOKEN, then load `bed`, and kick there
 *   SET3  the own thread, back from its set: what it has fetched is in its memory, and is delivered
 *         whichever way the sleep has ended, since an edge does not come twice
 *
 * All are sequentially consistent: the claimer sees the new bed, or the own thread sees WOKEN.
 *
 * While the worker is lent (border/lend.h), its lender may open the set. The own thread may wake
 * for a deadline meanwhile, and sleep again: it acquires `open` before it reads the descriptors.
 *
 * The set is woken by its bell, an eventfd that is level-triggered: other threads look into the set
 * too (poll), and would take an edge that is meant for the sleeper. The own thread alone clears the
 * bell, when it comes back, and before it looks at w->ev. A late ring ends a later sleep early.
 *
 * An epoll descriptor never goes into another set: the kernel would take a global lock for each
 * change of either.
 */
#ifndef COROI_SET_H
#define COROI_SET_H

#include "io/fd.h"

struct coro_scheduler;
struct coroi_worker;

/* coroi_set_watch - add a descriptor to the set of w, and open that first, if need be. Thread: w's.
 * Returns: 0 or -errno. coroi_set_forget - remove it from the set of w. Thread: any. */
int coroi_set_watch(struct coroi_worker *w, coro_fd f);
void coroi_set_forget(struct coroi_worker *w, coro_fd f);

/* What a scheduler knows of its descriptors. */
struct coroi_refusal {
	struct coroi_lock lock;
	bool refuses;     /* a close has begun: nothing more is adopted; under the lock */
	uint32_t adopted; /* descriptors; atomic */
	uint64_t pauses;  /* of its servers, for lack of room; atomic, relaxed: a count */
};

/* coroi_set_refusal - that of s. NULL: s is not open. */
struct coroi_refusal *coroi_set_refusal(struct coro_scheduler *s);

/* coroi_fd_end - close every descriptor of s, which refuses, and whose workers have ended. */
void coroi_fd_end(struct coro_scheduler *s);

#endif
