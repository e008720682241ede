/*
 * gobell.h - telling the Go side that something has ended. An eventfd, rung only while Go says that
 * it sleeps.
 *
 *   Go, about to sleep:   sleeps = 1; look at `done` and the rests once more; read the eventfd
 *   here:                 push to `done` (or rest); sleeps was 1: set it to 0 and ring
 * Both sides do a sequentially consistent write and then a read: one of them sees the other.
 */
#ifndef COROI_GOBELL_H
#define COROI_GOBELL_H

#include <stdint.h>

struct coro_scheduler;
struct coroi_rec;

struct coroi_gobell {
	uint64_t done;       /* ended ones that Go waits for: LIFO of records */
	uint32_t go_sleeps;  /* the Go side wants the bell rung */
	uint32_t waits_rest; /* goroutines that wait for a rest */
	int32_t fd;          /* eventfd, or -1; atomic, sequentially consistent with ringers */
	uint32_t ringers;    /* threads that are about to write to fd */
	uint32_t go_id;      /* what Go knows the scheduler by; 0: it is not Go's */
};

/* coroi_bell_open - returns the eventfd (not blocking, close-on-exec), or CORO_EAGAIN. */
int coroi_bell_open(struct coro_scheduler *s);

/* coroi_bell_drop - the eventfd is about to be closed: nobody writes to it when this returns, nor
 * later. */
void coroi_bell_drop(struct coro_scheduler *s);

void coroi_bell_ring(struct coro_scheduler *s);

/* coroi_bell_done - r has ended, and the goroutine of a id waits for it. With COROI_JOIN_COUNTED in
 * the id a coroutine of s will hear of it from Go: from here on, and the caller is awake, until Go
 * has told it, a pending-work token is held. Before, there is none, so that who waits for one that
 * waits for ever is no work under way. */
void coroi_bell_done(struct coro_scheduler *s, struct coroi_rec *r, uint32_t id);

#endif
