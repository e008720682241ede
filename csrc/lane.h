/*
 * lane.h - the Go lane: a worker without a thread, whose coroutines have Go bodies and are run by goroutines.
 *
 * It is the last of the scheduler's workers: it has an inbox like any other, a bit among the sleepers, an awake token while any
 * goroutine runs one of its coroutines, and counts what was spawned and has ended. Nothing is stolen from it; it has no door, no
 * queue and no stacks: what becomes runnable there is Go's business. So waking, joining and the end are told by the same steps
 * as everywhere (wait.c, idle.c), from C to Go and back.
 *
 * Those that run its coroutines call in here one at a time where that is said: Go has a lock for it.
 */
#ifndef COROI_LANE_H
#define COROI_LANE_H

#include "inbox.h"

/* coroi_lane - the lane of s. */
static inline struct coroi_worker *coroi_lane(struct coro_scheduler *s)
{
	return &s->worker[s->workers];
}

/* coroi_lane_init - it sleeps, and has no token. */
void coroi_lane_init(struct coro_scheduler *s);

/* What came out of the inbox. */
enum {
	COROI_LANE_START = 1, /* a fresh coroutine */
	COROI_LANE_WAKE,      /* n permits */
	COROI_LANE_EVENT,     /* what it waits for inside coro may have happened; and n permits */
};

/* The coroutine is named by its slot in Go's table, which lies in its record's `stack`, and its handle: when Go looks, it may have
 * ended, and another record's have its slot and its generation. Of kinds other than a start: it is cancelled, for good, after
 * what else the item brings (C1 of wait.c; what is done about it is Go's business). */
struct coroi_lane_item {
	uint32_t kind, n, slot, canceled;
	coro_handle handle;
};

/* coroi_lane_take - what the inbox holds, oldest first, at most cap of it. One caller at a time, who is awake. */
uint32_t coroi_lane_take(struct coroi_worker *lane, struct coroi_lane_item *items, uint32_t cap);

/* coroi_lane_end - r, a coroutine of the lane, has ended in that way (COROI_F_ABORTED..., or 0). Go then tells those that wait in
 * Go, and counts it (lane->ended). Thread: any that is awake. */
void coroi_lane_end(struct coroi_worker *lane, struct coroi_rec *r, uint8_t flags);

/* coroi_lane_park - P1 to P4 of idle.c. True: it sleeps now, and whoever claims it sets ev and rings the bell. False: there is
 * more to do. One caller at a time. */
bool coroi_lane_park(struct coroi_worker *lane);

/* coroi_ext_begin, coroi_ext_end - work will come from outside of all workers, and has come: an offloaded call, a timer. Begin
 * while awake; end after what it wakes was woken. */
void coroi_ext_begin(struct coro_scheduler *s, uint32_t n);
void coroi_ext_end(struct coro_scheduler *s);

#endif
