/*
 * gowait.h - goroutines, and Go bodies, that wait at objects (waitq.h).
 *
 * They have no C stack for a waiter to lie on. The waiter lies in a gowaiter, with room for the
 * value that is passed. The event of a Go body is sent as to any coroutine. The gowaiter of a
 * goroutine is put on a list of its scheduler, and the bell is rung: Go finds the goroutine by the
 * id. Go frees a gowaiter that was withdrawn, or that is fired and off the list.
 *
 * The header of each object has the calls of the object for Go. A call whose name ends in _gowaiter
 * does at once what its name says, or makes the gowaiter wait and returns COROI_WAITS. Where the
 * gowaiter may be NULL, the call returns CORO_ETIMEDOUT instead of waiting.
 */
#ifndef COROI_GOWAIT_H
#define COROI_GOWAIT_H

#include "sync/waitq.h"

#include <stddef.h>

struct coroi_gowaiter {
	struct coroi_waiter x;
	uint64_t next;                /* in the scheduler's list */
	struct coro_scheduler *sched; /* of a goroutine: the scheduler that tells it; else NULL */
	struct coroi_rec *body;       /* the record of a Go body, or NULL */
	uint32_t gen;                 /* the generation of the body */
	uint32_t id;                  /* names the goroutine */
	/* atomic; 1: what the gowaiter waited for has happened, and value and status are there */
	uint32_t fired;
	/* WTQ3, where it takes more than coroi_waiter_withdraw; else NULL */
	bool (*withdraw)(struct coroi_gowaiter *g);
	unsigned char value[] __attribute__((aligned(16)));
};

/* Where Go finds room for a small value, in a gowaiter that spins, and how many bytes. */
#define COROI_GOWAITER_OWN 40
#define COROI_OWN_BYTES    8
_Static_assert(offsetof(struct coroi_gowaiter, x.own) == COROI_GOWAITER_OWN, "Go finds it there");

/* What a try, and the beginning of a wait, can come to besides CORO_OK and an error. COROI_WAITS:
 * the caller is to wait, or the gowaiter waits. COROI_YOURS, of once: the caller is to do it. */
enum { COROI_WAITS = 1, COROI_YOURS = 2 };

/* In the owner of a lock (object.h): a goroutine, by its number. A Go body is a coroutine, and owns
 * by its name, whichever goroutine it runs on. */
#define COROI_GOROUTINE (UINT64_C(4) << COROI_NAME_SHIFT)

/* coroi_gowaiter_new - a gowaiter for a goroutine (sched and id) or a Go body (body and gen), with
 * `bytes` for a value. NULL: no memory. */
struct coroi_gowaiter *coroi_gowaiter_new(struct coro_scheduler *sched, uint32_t id,
					  struct coroi_rec *body, uint32_t gen, size_t bytes);
void coroi_gowaiter_free(struct coroi_gowaiter *g);

/* coroi_gowaiter_wait - WTQ1: g waits in the queue q of o. o is entered, and is left. The caller
 * has set g->x.n and g->x.owner. Returns COROI_WAITS. */
int coroi_gowaiter_wait(struct coroi_gowaiter *g, struct coroi_object *o, struct coroi_waitq *q);

/* coroi_gowaiter_spins - WTQ4, by a leaf: g, of a goroutine that is to look at the event word, may
 * be added to a queue of o. value: the place of the value, which is not changed. */
static inline void coroi_gowaiter_spins(struct coroi_gowaiter *g, struct coroi_object *o,
					void *value)
{
	uint64_t own = g->x.own;

	coroi_waiter_init_as(&g->x, o, false, NULL, 0, value);
	g->x.own = own;
	g->x.tell = COROI_TELL_GOWAITER;
	g->x.event = COROI_EVENT_SPINS;
	g->x.gowaiter = g;
	g->fired = 0;
}

/* coroi_gowaiter_withdraw - WTQ3. False: g is fired, or about to be. */
bool coroi_gowaiter_withdraw(struct coroi_gowaiter *g);

/* coroi_gowaiters - the head of the list of fired gowaiters of the goroutines of s: LIFO of struct
 * coroi_gowaiter. Go takes the list whole. */
uint64_t *coroi_gowaiters(struct coro_scheduler *s);

/* coroi_gowaiter_wake - WTQ2: fire g, after the object was left. g may be gone then. */
void coroi_gowaiter_wake(struct coroi_gowaiter *g);

/*
 * Leaves: calls that do not wait, of objects that Go has made, which Go makes without cgo. A leaf
 * runs on the goroutine's own stack: it uses at most COROI_LEAF_STACK bytes of the stack, at any
 * level of optimization, calls no other function, and blocks nowhere. Go preempts a goroutine only
 * in Go code, so a leaf holds an object's lock no longer than a call from C does.
 *
 * A leaf returns what the call returns that does not wait; or COROI_BY_CALL: nothing was done, and
 * the call is to be made by cgo. Reasons: a waiter is to be woken, the lock is held, a value is
 * large, or something is wrong. A waiter that spins needs no wake: a leaf of a channel without room
 * serves it (WTQ5).
 */
#define COROI_BY_CALL 3
/* COROI_SAMPLED, of a channel's leaves: CORO_OK, and the caller is to look how long its waits have
 * gone on (budget.go). So it is where `sample` has no bit of the number of values that have passed
 * the end. */
#define COROI_SAMPLED    4
#define COROI_SAMPLES    15 /* `sample` to begin with */
#define COROI_LEAF_BYTES 64
#define COROI_LEAF_STACK 1024

#if defined(COROI_STRESS) || defined(COROI_ASAN) || defined(COROI_TSAN)
#define COROI_LEAVES false /* these builds need more of the stack */
#else
#define COROI_LEAVES true
#endif

/* coroi_spin_lock_leaf - coroi_spin_lock that does not block. pause: at_relax before the second
 * look, doubled each time. False: the lock was held for as long as this tries. */
static inline bool coroi_spin_lock_leaf(struct coroi_spin *l, int pause)
{
	for (; COROI_LEAVES; pause *= 2) {
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

/* coroi_object_enter_leaf - coroi_object_enter, in the same way, of a shared object with one lock.
 * False: the lock is held, or o was destroyed. */
static inline bool coroi_object_enter_leaf(struct coroi_object *o, int pause)
{
	if (!coroi_spin_lock_leaf(&o->lock, pause))
		return false;
	if (coroi_likely(!o->dead))
		return true;
	coroi_object_leave(o);
	return false;
}

#endif
