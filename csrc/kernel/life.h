/*
 * life.h - a scheduler's life: what the Go binding needs of it besides coro.h.
 */
#ifndef COROI_LIFE_H
#define COROI_LIFE_H

#include "kernel/activity.h"

/* coroi_work - run coroutines, and sleep, until the worker is stopped (false) or inline calls are
 * to be made (true): INL2 of gocall.h. If it is called with calls in w's list, they have been made:
 * INL4 comes first. Thread: w, on its native stack. */
bool coroi_work(struct coroi_worker *w);

/* coroi_present - the same with the spawns on their way: the number of coroutines whose spawn had
 * returned before the call, and that have not ended. Stops every worker for a moment. Nobody takes
 * from the goworker's inbox meanwhile. Thread: any but a worker. */
uint64_t coroi_present(struct coro_scheduler *s);

/* coroi_running - up to cap functions: of the coroutines that run now, or wait in a shield section,
 * and of what other threads run for coroutines. Stops every worker for a moment. Thread: any but a
 * worker. Returns: how many. */
size_t coroi_running(struct coro_scheduler *s, coro_fn *list, size_t cap);

/* coroi_doors_lock - stop every worker at its door. What the doors protect may then be read and
 * changed, until coroi_doors_unlock. Thread: any but a worker. */
void coroi_doors_lock(struct coro_scheduler *s);
void coroi_doors_unlock(struct coro_scheduler *s);

/* coroi_collect - CRD1 of slab.h, after `wanted` was set: no worker keeps credit in hand any more.
 * A worker that passes its door gives its credit up itself; the door of any other is locked for
 * that moment. Thread: any; a worker's in no door. */
void coroi_collect(struct coro_scheduler *s);

/* coroi_refuse - take no more spawns from outside. When this returns, the last one is through. */
void coroi_refuse(struct coro_scheduler *s);

#endif
