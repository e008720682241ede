/*
 * gobell.h - the bell: how the core tells Go that there is something to look at, such as coroutines
 * that have ended. It is an eventfd, rung only while Go says that it sleeps.
 *
 *   Go, about to sleep:   go_sleeps = 1; look at everything once more; read the eventfd
 *   the core:             write what Go is to see; if go_sleeps is 1, set it to 0 and ring
 *
 * Both sides make a sequentially consistent write, and then a read. So one of them sees the other.
 */
#ifndef COROI_GOBELL_H
#define COROI_GOBELL_H

#include <stdint.h>

struct coro_scheduler;
struct coroi_rec;

struct coroi_gobell {
	uint64_t done;      /* coroutines that have ended and Go waits for: LIFO of records */
	uint32_t go_sleeps; /* the Go side wants the bell rung */
	int32_t fd;         /* eventfd, or -1; atomic, sequentially consistent with ringers */
	uint32_t ringers;   /* threads that are about to write to fd */
	uint32_t go_id;     /* Go's id of the scheduler + 1; 0: the scheduler is not Go's */
};

/* coroi_bell_open - make the eventfd. Returns: the eventfd (not blocking, close-on-exec), or
 * CORO_EAGAIN. */
int coroi_bell_open(struct coro_scheduler *s);

/* coroi_bell_drop - the eventfd is about to be closed. When this returns, no thread writes to it,
 * nor will one later. Blocking: while a ringing thread is preempted. */
void coroi_bell_drop(struct coro_scheduler *s);

/* coroi_bell_close - s is destroyed: close the eventfd, if it was not dropped. */
void coroi_bell_close(struct coro_scheduler *s);

/* coroi_bell_ring - ring the bell if Go sleeps. Thread: any, in a door or not. Cost: a load while
 * Go does not sleep, else a system call. */
void coroi_bell_ring(struct coro_scheduler *s);

/*
 * coroi_bell_done - tell Go that r has ended. The poller knows by the id what waits for r.
 *
 * With COROI_JOIN_COUNTED in the id, a coroutine of s waits for r, and Go tells it. Then this takes
 * a pending-work token, which is held until Go has done so. No token is held earlier: waiting for a
 * coroutine that never ends is no work under way, and must count as a deadlock.
 *
 * Thread: any that is awake, in a door or not.
 */
void coroi_bell_done(struct coro_scheduler *s, struct coroi_rec *r, uint32_t id);

#endif
