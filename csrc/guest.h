/*
 * guest.h - goroutines, and Go bodies, that wait at objects (waitq.h).
 *
 * They have no C stack for a waiter to lie on, so it lies in a guest, with room for the value that is passed. A Go body is sent its
 * event like any coroutine; a goroutine's guest is put on a list of its scheduler, and the bell is rung: Go finds the slot
 * of who waits. A guest is Go's to free when it is fired, and off the list, or withdrawn.
 */
#ifndef COROI_GUEST_H
#define COROI_GUEST_H

#include "waitq.h"

struct coroi_guest {
	struct coroi_waiter x;
	uint64_t next;                /* in the scheduler's list */
	struct coro_scheduler *sched; /* that the goroutine hears from; NULL: it is a body */
	struct coroi_rec *body;
	uint32_t gen;                 /* of the body */
	uint32_t slot;                /* of the goroutine */
	uint32_t fired;               /* atomic: what it waited for has happened, and value and status are there */
	unsigned char value[] __attribute__((aligned(16)));
};

/* What beginning to wait can come to, besides CORO_OK and an error: it waits now. */
enum { COROI_WAITS = 1 };

/* coroi_guest_new - for a goroutine (sched and slot) or a body (and its generation), with room for a value. NULL: no memory. */
struct coroi_guest *coroi_guest_new(struct coro_scheduler *sched, uint32_t slot, struct coroi_rec *body, uint32_t gen, size_t bytes);
void coroi_guest_free(struct coroi_guest *g);

/* coroi_guest_wait - Q1: it waits at o, which is entered, in q; leaves o. Returns COROI_WAITS. */
int coroi_guest_wait(struct coroi_guest *g, struct coroi_object *o, struct coroi_waitq *q);

/* coroi_guest_withdraw - Q3. False: it is fired, or about to be. */
bool coroi_guest_withdraw(struct coroi_guest *g);

/* coroi_guest_wake - Q2, after the lock. g must not be looked at any more. */
void coroi_guest_wake(struct coroi_guest *g);

/* Each does it at once, or has g wait: coro_chan_send of g's value, coro_chan_recv into it, coro_sem_acquire. */
int coroi_chan_send_guest(coro_chan *c, struct coroi_guest *g);
int coroi_chan_recv_guest(coro_chan *c, struct coroi_guest *g);
int coroi_sem_acquire_guest(coro_sem *s, struct coroi_guest *g);

#endif
