/*
 * gowait.h - goroutines, and Go bodies, that wait at objects (waitq.h).
 *
 * They have no C stack for a waiter to lie on, so it lies in a gowaiter, with room for the value
 * that is passed. A Go body is sent its event like any coroutine; a goroutine's gowaiter is put on
 * a list of its scheduler, and the bell is rung: Go finds the id of who waits. A gowaiter is Go's
 * to free when it is fired, and off the list, or withdrawn.
 *
 * What Go calls of an object is in the object's header. A call with a name that ends in _gowaiter
 * does at once what it is named after, or has the gowaiter wait and returns COROI_WAITS; where there
 * may be no gowaiter (NULL), it returns CORO_ETIMEDOUT instead of waiting.
 */
#ifndef COROI_GOWAIT_H
#define COROI_GOWAIT_H

#include "sync/waitq.h"

struct coroi_gowaiter {
	struct coroi_waiter x;
	uint64_t next;                /* in the scheduler's list */
	struct coro_scheduler *sched; /* that the goroutine hears from; NULL: it is a body */
	struct coroi_rec *body;
	uint32_t gen; /* of the body */
	uint32_t id;  /* of the goroutine */
	/* atomic: what it waited for has happened, and value and status are there */
	uint32_t fired;
	/* Q3, where more is to be done; NULL: nothing more is */
	bool (*withdraw)(struct coroi_gowaiter *g);
	unsigned char value[] __attribute__((aligned(16)));
};

/* What beginning to wait can come to, besides CORO_OK and an error: it waits now; of once: the
 * caller is to do it. */
enum { COROI_WAITS = 1, COROI_YOURS = 2 };

/*
 * Who a goroutine is, as the owner of a lock: a number that differs between any two that are alive,
 * and this bit, which no coroutine's or thread's owner has. A Go body's goroutine is its own as
 * long as it lives.
 */
#define COROI_GOROUTINE UINT64_C(4)

/* coroi_gowaiter_new - for a goroutine (sched and id) or a body (and its generation), with room for
 * a value. NULL: no memory. */
struct coroi_gowaiter *coroi_gowaiter_new(struct coro_scheduler *sched, uint32_t id,
					  struct coroi_rec *body, uint32_t gen, size_t bytes);
void coroi_gowaiter_free(struct coroi_gowaiter *g);

/* coroi_gowaiter_wait - Q1: it waits at o, which is entered, in q; leaves o. Returns
 * COROI_WAITS. */
int coroi_gowaiter_wait(struct coroi_gowaiter *g, struct coroi_object *o, struct coroi_waitq *q);

/* coroi_gowaiter_withdraw - Q3. False: it is fired, or about to be. */
bool coroi_gowaiter_withdraw(struct coroi_gowaiter *g);

/* coroi_gowaiters - where the list of the goroutines of s that have waited begins: LIFO of struct
 * coroi_gowaiter, which Go takes whole. */
uint64_t *coroi_gowaiters(struct coro_scheduler *s);

/* coroi_gowaiter_wake - Q2, after the lock. g must not be looked at any more. */
void coroi_gowaiter_wake(struct coroi_gowaiter *g);

/*
 * Leaves: what does not wait, for objects that Go has made, called on a goroutine's own stack
 * without cgo: so they use no more than COROI_LEAF_STACK bytes of it, at any level of optimization
 * (less than 100, or 400 if nothing is inlined), call nothing else, and block nowhere. Go's
 * preemption leaves alone what is no Go code, so that nobody holds the lock for longer than in C.
 * Each returns what its call does that does not wait, or COROI_BY_CALL: somebody is to be woken,
 * the lock was not to be had, a value is large, or something is wrong: nothing was done, use cgo.
 */
#define COROI_BY_CALL    3
#define COROI_LEAF_BYTES 64
#define COROI_LEAF_STACK 1024

#if defined(COROI_STRESS) || defined(COROI_ASAN) || defined(COROI_TSAN)
#define COROI_LEAVES false /* what they add wants more of the stack */
#else
#define COROI_LEAVES true
#endif

/* coroi_spin_lock_leaf - coroi_spin_lock that does not block: some us, and false. */
static inline bool coroi_spin_lock_leaf(struct coroi_spin *l)
{
	for (int pause = COROI_SPIN_PAUSE; COROI_LEAVES; pause *= 2) {
		uint32_t free = 0;
		if (at_load_rlx(&l->word) == 0 && at_cas(&l->word, &free, 1))
			return true;
		if (pause > COROI_SPIN_PAUSE_MOST)
			return false;
		for (int k = 0; k < pause; k++)
			at_relax();
	}
	return false;
}

/* coroi_object_enter_leaf - the same for coroi_object_enter of one that is shared, and has one
 * lock. */
static inline bool coroi_object_enter_leaf(struct coroi_object *o)
{
	if (!coroi_spin_lock_leaf(&o->lock))
		return false;
	if (coroi_likely(!o->dead))
		return true;
	coroi_object_leave(o);
	return false;
}

#endif
