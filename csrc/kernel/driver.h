/*
 * driver.h - what a worker sleeps in.
 *
 * The protocol of sleeping (idle.c) says when a worker sleeps, and how another thread claims it
 * first: w->ev goes from SLEEPS to WOKEN, and then the claimer kicks. The driver is only the bed: a
 * futex, or a set of descriptors that a futex cannot wait for.
 *
 * A kick may come before the sleep, or late, after the worker has gone on. So sleep returns at once
 * if w->ev is not SLEEPS; and a kick without a sleeper is lost, or makes a later sleep return
 * early. Neither does harm, since the worker looks at w->ev again.
 */
#ifndef COROI_DRIVER_H
#define COROI_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

struct coroi_worker;

struct coroi_driver {
	/* sleep - sleep while w->ev is SLEEPS, for at most ns; ns < 0: without a limit. It may
	 * return early. Thread: w's, in no door, on its native stack. */
	void (*sleep)(struct coroi_worker *w, int64_t ns);

	/* kick - make the sleep of w return. Thread: any. Blocking: never. w may have gone on
	 * meanwhile, and ended: its memory stays. */
	void (*kick)(struct coroi_worker *w);

	/* poll - look for what sleep would have found besides kicks, without waiting, and wake what
	 * waits for it. NULL: this driver finds kicks only. Thread: w's, in no door. Returns: true
	 * if something was woken. */
	bool (*poll)(struct coroi_worker *w);
};

/* coroi_futex_driver - sleeps on w->ev. Every scheduler begins with it. */
extern const struct coroi_driver coroi_futex_driver;

#endif
