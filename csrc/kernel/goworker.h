/*
 * goworker.h - the Go goworker: a worker without a thread, whose coroutines have Go bodies and are
 * run by goroutines.
 *
 * It is the last of the scheduler's workers: it has an inbox like any other, a bit among the
 * sleepers, an awake token while any goroutine runs one of its coroutines, and counts what was
 * spawned and has ended. Nothing is stolen from it; it has no door, no queue and no stacks: what
 * becomes runnable there is Go's business. So waking, joining and the end are told by the same
 * steps as everywhere (wait.c, idle.c), from C to Go and back.
 *
 * Those that run its coroutines call in here one at a time where that is said: Go has a lock for
 * it.
 */
#ifndef COROI_GOWORKER_H
#define COROI_GOWORKER_H

#include "kernel/inbox.h"

/* coroi_goworker - the goworker of s. */
static inline struct coroi_worker *coroi_goworker(struct coro_scheduler *s)
{
	return &s->worker[s->workers];
}

/* coroi_goworker_init - it sleeps, and has no token. */
void coroi_goworker_init(struct coro_scheduler *s);

/* What came out of the inbox. */
enum {
	COROI_GOWORKER_START = 1, /* a fresh coroutine */
	COROI_GOWORKER_WAKE,      /* n permits */
	/* what it waits for inside coro may have happened; and n permits */
	COROI_GOWORKER_EVENT,
};

/* When Go looks, the coroutine may have ended. Of kinds other than a start: it is cancelled, for
 * good, after what else the item brings (C1 of wait.c; what is done about it is Go's business). Of
 * a start: the Go body that it is to run, which lies in its record's `stack`, if coro_spawn_go has
 * made it, else 0. */
struct coroi_goworker_item {
	uint32_t kind, n, body, canceled;
	coro_handle handle;
	struct coroi_rec *rec; /* stays what it is if that is a start */
};

/* coroi_goworker_body - from now on coro_spawn_go knows id, which has COROI_GO_BODY, as a body that
 * takes and results in so many bytes. One caller at a time. Returns: CORO_OK, CORO_ENOMEM. */
#define COROI_GO_BODY (UINT32_C(1) << 31) /* tells it from a function that is called */
int coroi_goworker_body(uint32_t id, uint8_t arg_bytes, uint8_t result_bytes);

/* coroi_goworker_take - what the inbox holds, oldest first, at most cap of it. One caller at a
 * time, who is awake. */
uint32_t coroi_goworker_take(struct coroi_worker *goworker, struct coroi_goworker_item *items,
			     uint32_t cap);

/* coroi_goworker_end - r, a coroutine of the goworker, has ended in that way (COROI_F_ABORTED...,
 * or 0). Go then tells those that wait in Go, and counts it (goworker->ended). Thread: any that is
 * awake. */
void coroi_goworker_end(struct coroi_worker *goworker, struct coroi_rec *r, uint8_t flags);

/* coroi_goworker_park - P1 to P4 of idle.c. True: it sleeps now, and whoever claims it sets ev and
 * rings the bell. False: there is more to do. One caller at a time. */
bool coroi_goworker_park(struct coroi_worker *goworker);

#endif
