/*
 * life.h - a scheduler's life, as the Go binding sees it besides coro.h.
 */
#ifndef COROI_LIFE_H
#define COROI_LIFE_H

#include "kernel/worker.h"

/* coroi_work - what a worker does, on its native stack, until it is stopped (false), or inline
 * calls are to be made (true): I2 of gocall.h. Called again, with calls in its list, it takes them
 * for made (I4). */
bool coroi_work(struct coroi_worker *w);

/* coroi_live - coroutines that have entered and not ended. Exact while everything rests; else never
 * less than there were at some moment during the call. */
uint64_t coroi_live(struct coro_scheduler *s);

/* coroi_present - these, and those that were sent and have not entered: all whose spawn had
 * returned before the call, and that have not ended. Stops every worker for a moment. Nobody takes
 * from the goworker meanwhile. Not on a worker. */
uint64_t coroi_present(struct coro_scheduler *s);

/* coroi_finished - at some moment during the call nothing was left of what had been pushed before
 * it. */
bool coroi_finished(struct coro_scheduler *s);

/* coroi_running - the functions of the coroutines that run now, at most cap. Returns how many. Not
 * on a worker. */
size_t coroi_running(struct coro_scheduler *s, coro_fn *list, size_t cap);

/* coroi_doors_lock - stop every worker at its door, from a thread that is none. Then what the doors
 * protect may be read and changed, until coroi_doors_unlock. */
void coroi_doors_lock(struct coro_scheduler *s);
void coroi_doors_unlock(struct coro_scheduler *s);

/* coroi_collect - G1 of slab.h, after `wanted` was set: no worker keeps credit in hand any more. A
 * worker that is at its door gives the credit up itself; of one that is not, the door is locked for
 * that moment. Thread: any; a worker's in no door. */
void coroi_collect(struct coro_scheduler *s);

/* coroi_refuse - take no more spawns from outside. Returns after the last one is through. */
void coroi_refuse(struct coro_scheduler *s);

#endif
