/*
 * driver.h - what a worker sleeps in.
 *
 * The protocol of sleeping (idle.c) says when a worker sleeps, and how another claims it first:
 * w->ev goes from SLEEPS to WOKEN, and then the claimer kicks. The driver is only the bed: a futex,
 * or a set of descriptors that a futex cannot wait for. A kick may come before the sleep, or late,
 * after the worker has gone on: sleep returns at once if w->ev is not SLEEPS, and a kick without a
 * sleeper is lost or makes a later sleep return early. Neither does harm, since the worker looks at
 * w->ev again.
 */
#ifndef COROI_DRIVER_H
#define COROI_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

struct coroi_worker;

struct coroi_driver {
	/* Sleep while w->ev is SLEEPS, for at most ns; ns < 0: without a limit. May return early.
	 * On w's thread, in no door, on its native stack. */
	void (*sleep)(struct coroi_worker *w, int64_t ns);

	/* Have the sleep of w return. Thread: any. w is alive, or was a moment ago: its memory
	 * stays. */
	void (*kick)(struct coroi_worker *w);

	/* Look without waiting for what sleep would also have found, and have it woken. True:
	 * something was. NULL: this driver finds nothing but kicks. On w's thread, in no door. */
	bool (*poll)(struct coroi_worker *w);
};

/* coroi_futex_driver - sleeps on w->ev. Every scheduler begins with it. */
extern const struct coroi_driver coroi_futex_driver;

#endif
