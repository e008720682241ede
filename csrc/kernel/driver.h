/*
 * driver.h - what a worker sleeps in, and what brings events from outside of all workers.
 *
 * The protocol of sleeping (idle.c) says when a worker sleeps, and how another thread claims it
 * first: w->ev goes from SLEEPS to WOKEN, and then the claimer kicks. The driver is only the bed: a
 * futex, or a set of descriptors that a futex cannot wait for.
 *
 * A kick may come before the sleep, or late, after the worker has gone on. So sleep returns at once
 * if w->ev is not SLEEPS; and a kick without a sleeper is lost, or makes a later sleep return
 * early. Neither does harm, since the worker looks at w->ev again.
 *
 * What a driver watches for a worker (coroi_watch) is looked at by the worker when it is idle, when
 * it looks at the clock (every 50 us), and while it sleeps; and by the standby
 * (docs/internals/sleeping.md), while the worker does not switch. A coroutine that waits for such an event does so by coroi_wait,
 * for CORO_WAIT_INPUT, CORO_WAIT_OUTPUT or CORO_WAIT_SELECT_FD: it is counted in the worker's
 * `outside`, until it can go on, so that the scheduler is not at rest meanwhile.
 */
#ifndef COROI_DRIVER_H
#define COROI_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

struct coroi_worker;

struct coroi_driver {
	/* sleep - sleep while w->ev is SLEEPS, for at most ns; ns < 0: without a limit. It may
	 * return early. Thread: w's own, in no door, on its native stack. Another thread may be w
	 * meanwhile (lend.h). Returns: true if deliver is to be called, before the next sleep. */
	bool (*sleep)(struct coroi_worker *w, int64_t ns);

	/* kick - make the sleep of w return. Thread: any. Blocking: never. w may have gone on
	 * meanwhile, and ended: its memory stays. */
	void (*kick)(struct coroi_worker *w);

	/* deliver - send the events that sleep has fetched. Thread: as sleep; or w's own while
	 * coroi_self is NULL, since another thread is w. NULL: sleep fetches nothing. */
	void (*deliver)(struct coroi_worker *w);

	/* poll - look for what sleep would have found besides kicks, without waiting, and send the
	 * events. Thread: w's; or one that is no worker (coroi_self is NULL) meanwhile; in no door.
	 * NULL: this driver finds kicks only. Returns: true if an event was sent. */
	bool (*poll)(struct coroi_worker *w);
};

/* coroi_futex_driver - sleeps on w->ev. Every scheduler begins with it. coroi_futex_sleep,
 * coroi_futex_kick - its calls, for drivers that have nothing to watch. coroi_is_to_sleep - w->ev
 * is SLEEPS, sequentially consistent. Thread: as sleep. */
extern const struct coroi_driver coroi_futex_driver;
bool coroi_futex_sleep(struct coroi_worker *w, int64_t ns);
void coroi_futex_kick(struct coroi_worker *w);
bool coroi_is_to_sleep(const struct coroi_worker *w);

/* coroi_watch - the driver watches n more things for w; n < 0: fewer. Thread: any. Blocking: never.
 * Cost: a locked addition. */
void coroi_watch(struct coroi_worker *w, int n);

#endif
