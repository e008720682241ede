/*
 * waitq.h - objects that coroutines and threads wait at: a lock, and queues of those who wait.
 *
 * The problem: whoever waits may be a coroutine, here or on another worker, or a thread; its wait
 * may be ended by what it waits for, by a deadline or by a cancel; and what was given to it must
 * then be neither lost nor given twice.
 *
 *   Q1  whoever cannot have what it wants at once enqueues a waiter, which lies on its stack, or
 *       aside (dense.h), under the object's lock, and waits for an event (coroi_wait)
 *   Q2  whoever can give it takes the first waiter out of the queue under that lock, writes into it
 *       what it is given (a value, the lock itself), and sends its event after the lock: from then
 *       on the waiter is its owner's again
 *   Q3  an end by deadline or cancel takes the waiter out of the queue itself, under the lock. If
 *       it is not there any more, the event is committed: it is waited for, and the wait has
 *       succeeded
 *
 *   Q4  a coroutine whose worker has nothing else to do looks at its waiter for some us before it
 *       suspends, with its event word SPINS from Q1 on: Q2 fires it there, by compare-and-swap, and
 *       that was the event, without a remote wake; or the waiter has taken SPINS back the same way,
 *       and the event comes as to any other
 *
 * So of Q2 and Q3 one happens, and each waiter has exactly one event or none. One that waits at
 * several objects (coro_select) has a waiter in each queue, all with one word `chosen`: whoever
 * takes one of them out has to change that from 0 as well, and passes on to the next waiter if it
 * cannot. The event word is one for all of them, too.
 *
 * A waiter is one cache line, which lies alone where somebody may linger: to hand something to
 * another worker then takes that line there and back, and the object's. A small value lies in it as
 * well.
 *
 * An object is shared, or bound to a worker: then it is used by coroutines that are pinned there
 * alone, and has no lock. One that is shared may have a second lock, taken after the first: then it
 * is used with both, or, by its own short ways, with one of them (chan.h).
 */
#ifndef COROI_WAITQ_H
#define COROI_WAITQ_H

#include "base/list.h"
#include "base/lock.h"
#include "kernel/kernel.h"

struct coroi_gowaiter;
struct coroi_waitq;

struct coroi_object {
	union {
		struct coroi_spin lock;
		uint32_t serial; /* of one that is bound: of its scheduler */
	};
	uint16_t home; /* worker + 1 that it is bound to; 0: it is shared */
	uint8_t dead;  /* it was destroyed: then it is shared */
	uint8_t twice; /* it has a second lock: COROI_SECOND_LOCK bytes behind its own */
	struct coroi_worker *worker; /* that one; NULL: it is shared */
};

#define COROI_SECOND_LOCK 128

static inline struct coroi_spin *coroi_second_lock(struct coroi_object *o)
{
	return (struct coroi_spin *)(void *)((char *)o + COROI_SECOND_LOCK);
}

/* What the waiters of one that waits at several objects share. */
struct coroi_several {
	uint32_t chosen; /* atomic; 0, or the place of the one that was taken out, + 1 */
	uint32_t event;  /* atomic, a futex */
};

/* How a waiter is told of its event. */
enum {
	COROI_TELL_COROUTINE, /* coroi_event_send */
	COROI_TELL_SPINNER,   /* the same, if it is too late for the event word: Q4 */
	COROI_TELL_GOWAITER,  /* see gowait.h */
	COROI_TELL_THREAD,    /* by the event word, a futex */
};

struct coroi_waiter {
	struct coroi_waiter *next, *prev;
	struct coroi_object *object;
	struct coroi_several *several; /* of one that waits at several objects, or NULL */
	union {
		struct coroi_rec *rec; /* who waits; NULL: a thread */
		struct coroi_gowaiter *gowaiter;
	};
	union {
		uint64_t owner; /* who, as the owner of a lock */
		uint64_t own;   /* a place for a value */
	};
	void *value;    /* what it brings, or where what it gets goes */
	uint32_t event; /* atomic, a futex; COROI_EVENT_NONE... */
	int8_t status;  /* what its wait returns after its event */
	/* that it is in: where in the object that lies; 0: in none */
	uint8_t queue;
	uint8_t tell; /* COROI_TELL_COROUTINE... */
	uint8_t n;    /* what it wants; of several: its place among them */
};
_Static_assert(sizeof(struct coroi_waiter) == COROI_LINE, "it is one cache line");

#define COROI_ALONE __attribute__((aligned(COROI_LINE))) /* of a waiter: in its line */

/* The event word. */
enum { COROI_EVENT_NONE, COROI_EVENT_FIRED, COROI_EVENT_SPINS };

struct coroi_waitq {
	struct coroi_waiter *first, *last;
};

/* coroi_object_bind - as it is made: with CORO_HOME to the current coroutine's worker. */
int coroi_object_bind(struct coroi_object *o, uint32_t flags);

COROI_COLD int coroi_object_refuse(struct coroi_object *o);

/* coroi_object_is_home - o is bound, and the current coroutine of w (coroi_here) may use it. */
static inline bool coroi_object_is_home(const struct coroi_object *o, const struct coroi_worker *w)
{
	return coroi_is_pinned_here(o->worker, w);
}

/* coroi_object_enter - use o, with its lock held; coroi_object_leave afterwards. Returns CORO_OK,
 * or why not: CORO_EPERM if it is bound elsewhere, CORO_EINVAL if it was destroyed. */
static inline int coroi_object_enter(struct coroi_object *o)
{
	if (coroi_unlikely(o->home) && coroi_unlikely(!coroi_object_is_home(o, coroi_here())))
		return CORO_EPERM;
	if (!o->home)
		coroi_spin_lock(&o->lock);
	if (o->twice)
		coroi_spin_lock(coroi_second_lock(o));
	return coroi_likely(!o->dead) ? CORO_OK : coroi_object_refuse(o);
}

/* coroi_object_try_shared - coroi_object_enter for usual paths that make no call, of objects with
 * one lock: false if o is bound, or not to be had at once. One that is bound needs
 * coroi_object_is_home alone. */
static inline bool coroi_object_try_shared(struct coroi_object *o)
{
	uint32_t free = 0;

	if (coroi_unlikely(o->home || !at_cas(&o->lock.word, &free, 1))) /* as coroi_spin_lock */
		return false;
	if (coroi_likely(!o->dead))
		return true;
	coroi_spin_unlock(&o->lock);
	return false;
}

/* coroi_object_leave_as - coroi_object_leave, where it is known whether o is bound, and that it has
 * one lock. */
static inline void coroi_object_leave_as(struct coroi_object *o, bool home)
{
	if (!home)
		coroi_spin_unlock(&o->lock);
}

static inline void coroi_object_leave(struct coroi_object *o)
{
	if (o->twice)
		coroi_spin_unlock(coroi_second_lock(o));
	coroi_object_leave_as(o, o->home);
}

/* coroi_object_enter_end - the same to destroy it: one that is bound also from elsewhere, as soon
 * as its scheduler is closed, and nobody can use it any more. */
int coroi_object_enter_end(struct coroi_object *o);

/* coroi_object_kill - no use of o succeeds from now on. Entered. One that was bound is so no more:
 * its usual paths need not look. */
static inline void coroi_object_kill(struct coroi_object *o)
{
	if (o->home)
		*o = (struct coroi_object){.home = 0};
	o->dead = 1;
}

/* coroi_object_is_dead - it was destroyed. */
static inline bool coroi_object_is_dead(struct coroi_object *o)
{
	if (coroi_object_enter(o))
		return true;
	coroi_object_leave(o);
	return false;
}

/* coroi_may_block - this thread, which is no worker, may. */
bool coroi_may_block(void);

/* coroi_may_wait - the caller may be suspended, or blocked. *me: the coroutine that it is; NULL: a
 * thread. */
static inline bool coroi_may_wait(struct coroi_rec **me)
{
	struct coroi_worker *w = coroi_self();

	*me = coroi_current(w);
	return coroi_likely(*me != NULL) || (!w && coroi_may_block());
}

/* coroi_must_wait - what the caller wants is not there. CORO_OK: it may wait for it, as *me; else
 * why not, for coroi_wont_wait. */
static inline int coroi_must_wait(struct coroi_rec **me, uint64_t deadline)
{
	struct coroi_worker *w = coroi_self();

	if (!deadline)
		return CORO_ETIMEDOUT;
	if (coroi_likely((*me = coroi_current(w)) != NULL))
		return coroi_likely(!coroi_in_nowait(w)) ? CORO_OK : CORO_ENOWAIT;
	return coroi_may_wait(me) ? CORO_OK : CORO_EPERM;
}

/* coroi_wont_wait - that is what the call returns, when the object is left. Returns status. */
static inline int coroi_wont_wait(int status, const char *call)
{
	return status == CORO_ENOWAIT ? coroi_nowait_refuse(coroi_self(), call) : status;
}

/* coroi_waiter_for - a waiter for me (NULL: a thread), which lasts until coroi_waiter_end, with so
 * many bytes for a value behind it. NULL: me, a dense one, cannot wait at o, which is entered, and
 * is left: *status tells why. */
#define coroi_waiter_for(o, me, bytes, status)                                                     \
	(coroi_unlikely((me) && coroi_is_dense(me))                                                \
		 ? coroi_waiter_aside((o), (me), (bytes), (status))                                \
		 : (struct coroi_waiter *)__builtin_alloca_with_align(sizeof(struct coroi_waiter), \
								      8 * COROI_LINE))

COROI_COLD struct coroi_waiter *
coroi_waiter_aside(struct coroi_object *o, const struct coroi_rec *me, size_t bytes, int *status);

static inline void coroi_waiter_end(const struct coroi_rec *me, struct coroi_waiter *x)
{
	coroi_aside_end(me, x);
}

/* coroi_waiter_init - me (NULL: a thread) waits at o, which is entered. All of x is written. _as:
 * where it is known whether o is bound. */
static inline __attribute__((always_inline)) void
coroi_waiter_init_as(struct coroi_waiter *x, struct coroi_object *o, bool home,
		     struct coroi_rec *me, uint8_t n, void *value)
{
	*x = (struct coroi_waiter){.object = o,
				   .rec = me,
				   .value = value,
				   .tell = me ? COROI_TELL_COROUTINE : COROI_TELL_THREAD,
				   .n = n};
	if (me && !home)
		coroi_escape(me); /* others may send it an event from now on */
}

static inline void coroi_waiter_init(struct coroi_waiter *x, struct coroi_object *o,
				     struct coroi_rec *me, uint8_t n, void *value)
{
	coroi_waiter_init_as(x, o, o->home, me, n, value);
}

static inline uint32_t *coroi_waiter_event(struct coroi_waiter *x)
{
	return x->several ? &x->several->event : &x->event;
}

/* coroi_waiter_queue - that x is in, or was. */
static inline struct coroi_waitq *coroi_waiter_queue(const struct coroi_waiter *x)
{
	return (struct coroi_waitq *)(void *)((char *)x->object + x->queue);
}

/* coroi_waitq_add - Q1. coroi_waitq_take - Q2: the first that still waits, or NULL.
 * coroi_waitq_remove - Q3; x is in it. */
static inline void coroi_waitq_add(struct coroi_waitq *q, struct coroi_waiter *x)
{
	x->queue = (uint8_t)((char *)q - (char *)x->object);
	coroi_dlist_add(q, x);
}

static inline void coroi_waitq_remove(struct coroi_waiter *x)
{
	coroi_dlist_remove(coroi_waiter_queue(x), x);
	x->queue = 0;
}

static inline struct coroi_waiter *coroi_waitq_take(struct coroi_waitq *q)
{
	for (struct coroi_waiter *x; (x = q->first);) {
		uint32_t none = 0;
		coroi_prefetchw(x); /* perhaps from afar: it is read, and then written */
		coroi_dlist_remove_first(q, x);
		x->queue = 0;
		if (!x->several || at_cas(&x->several->chosen, &none, x->n + 1u))
			return x;
	}
	return NULL;
}

/* coroi_waiter_wake - Q2, after the lock. x must not be looked at any more. Returns CORO_OK. _on:
 * on w (coroi_here); _home: x waits at an object that is bound to w. */
COROI_NOINLINE int coroi_waiter_wake(struct coroi_waiter *x);
COROI_NOINLINE int coroi_waiter_wake_on(struct coroi_worker *w, struct coroi_waiter *x);

static inline __attribute__((always_inline)) int coroi_waiter_wake_home(struct coroi_worker *w,
									struct coroi_waiter *x)
{
	if (coroi_likely(coroi_wake_home(w, x->rec)))
		return coroi_leave_fed(w);
	return coroi_waiter_wake(x);
}

/* Waiters that were taken out of a queue together, to be woken after the lock, first come, first
 * woken. All zeros: none. */
struct coroi_chain {
	struct coroi_waiter *first, *last;
};

static inline void coroi_chain_add(struct coroi_chain *c, struct coroi_waiter *x)
{
	coroi_fifo_add(c, x, next);
}

static inline void coroi_chain_wake(const struct coroi_chain *c)
{
	for (struct coroi_waiter *x = c->first, *next; x; x = next) {
		next = x->next; /* first: x is gone afterwards */
		coroi_waiter_wake_on(coroi_here(), x);
	}
}

/* coroi_waiter_withdraw - Q3. False: its event is committed. */
bool coroi_waiter_withdraw(struct coroi_waiter *x);

/* coroi_waiter_wait - wait for the event of x, which is in a queue, and left. what: see coroi_wait.
 * committed: neither deadline nor cancel ends it. Returns x->status, or CORO_ECANCELED or
 * CORO_ETIMEDOUT with x in no queue. */
int coroi_waiter_wait(struct coroi_waiter *x, enum coro_wait_kind what, uint64_t deadline,
		      bool committed);

/* coroi_spin_for_event - Q4, by the current coroutine, with *event. True: it is fired. */
bool coroi_spin_for_event(uint32_t *event);

/* coroi_may_spin - who is about to wait for ever, and may be cancelled, at objects that are shared,
 * may do that. */
static inline bool coroi_may_spin(const struct coroi_rec *me, uint64_t deadline)
{
	return coroi_likely(me && deadline == CORO_FOREVER) && coroi_nothing_else(coroi_self());
}

/* coroi_waiter_wait_in - Q1: the same for x, which is not in the queue q of its object yet. The
 * object is entered, and is left. */
int coroi_waiter_wait_in(struct coroi_waiter *x, struct coroi_waitq *q, enum coro_wait_kind what,
			 uint64_t deadline, bool committed);

/* coroi_waiter_resumed - what coroi_waiter_wait returns when a wait that could be cancelled was
 * resumed with that code, not CORO_OK. */
COROI_COLD int coroi_waiter_resumed(struct coroi_waiter *x, int code);

/* coroi_waiter_hand_over - Q1 the short way, after coroi_wait_begin: me waits with x in q of o,
 * which is entered and is left. Returns x->status, or what the wait was resumed with. */
static inline __attribute__((always_inline)) int
coroi_waiter_hand_over(struct coroi_worker *w, struct coroi_rec *me, struct coroi_waiter *x,
		       struct coroi_object *o, bool home, struct coroi_waitq *q,
		       enum coro_wait_kind what, struct coroi_rec *next)
{
	coroi_waitq_add(q, x);
	if (!home) /* bound: there is nothing to leave */
		coroi_object_leave(o);
	int code = coroi_wait_commit(w, me, what, next);
	return coroi_likely(code == CORO_OK) ? x->status : coroi_waiter_resumed(x, code);
}

/* coroi_thread_wait - a thread's part of it: until *event is not COROI_EVENT_NONE, or the deadline
 * has come and withdraw(arg). */
int coroi_thread_wait(uint32_t *event, uint64_t deadline, bool (*withdraw)(void *), void *arg);

#endif
