/*
 * waitq.h - objects that coroutines and threads wait at: a lock, and queues of waiters.
 *
 * The problem: a caller that waits may be a coroutine, here or on another worker, or a thread. Its
 * wait may end by what it waits for, by a deadline or by a cancel. What was given to it must then
 * be neither lost nor given twice.
 *
 *   WTQ1  a caller that cannot have what it wants at once adds a waiter to a queue, under the
 *         object's lock, and waits for an event (coroi_wait). The waiter lies on the caller's
 *         stack, or aside (dense.h)
 *   WTQ2  a caller that can give something takes the first waiter out of the queue under that lock,
 *         writes what is given (a value, the lock itself) into the waiter, and sends the event
 *         after it has left the lock. From then on the waiter is again its owner's
 *   WTQ3  a deadline or a cancel takes the waiter out of the queue itself, under the lock. If the
 *         waiter is in the queue no more, its event is committed: the wait goes on until the event,
 *         and has succeeded
 *
 *   WTQ4  a coroutine whose worker has nothing else to do looks at its waiter for a moment before
 *         it suspends. The event word is SPINS then, from WTQ1 on. Either WTQ2 changes SPINS to
 *         FIRED, by compare-and-swap: that was the event, without a remote wake. Or the coroutine
 *         has taken SPINS back, by compare-and-swap, and the event is sent as to any other waiter
 *
 *   WTQ5  a leaf (gowait.h) that finds the first waiter spinning serves it as WTQ2 does, but fires
 *         the event word before it leaves the lock. Where the word is SPINS no more, the waiter
 *         becomes the first of its queue again, and nothing was done
 *
 * A goroutine does the same as a coroutine in WTQ4: SPINS is changed to FIRED, or the goroutine has
 * taken SPINS back, and is told as gowait.h says.
 *
 * So one of WTQ2 and WTQ3 happens, and each waiter has exactly one event or none. A caller that
 * waits at several objects (coro_select) has a waiter in each queue. These waiters share two words:
 * `chosen`, which the thread that takes one of them out must also change from 0, or else take the
 * next waiter of the queue instead; and the event word.
 *
 * A waiter is one cache line. It lies alone in its line if its owner may look at it (WTQ4): then
 * only that line travels to another worker and back, and the line of the object. A small value lies
 * in the waiter, too.
 *
 * An object is shared, or bound to a worker. A bound object has no lock: only coroutines that are
 * pinned to its worker use it. A shared object may have a second lock, which is taken after the
 * first. Such an object is used with both locks, or, on its own short paths, with one (chan.h).
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
		uint32_t serial; /* of a bound object: of its scheduler */
	};
	uint16_t home; /* the worker that it is bound to, + 1; 0: shared */
	uint8_t dead;  /* it was destroyed, and is shared since then */
	uint8_t twice; /* it has a second lock, COROI_SECOND_LOCK bytes behind the first */
	struct coroi_worker *worker; /* that it is bound to; NULL: shared */
};

#define COROI_SECOND_LOCK 128

static inline struct coroi_spin *coroi_second_lock(struct coroi_object *o)
{
	return (struct coroi_spin *)(void *)((char *)o + COROI_SECOND_LOCK);
}

/* What the waiters of one caller that waits at several objects share. */
struct coroi_several {
	uint32_t chosen; /* atomic; 0, or n of the waiter that was taken out, + 1 */
	uint32_t event;  /* atomic, a futex */
};

/* How the event of a waiter is sent. */
enum {
	COROI_TELL_COROUTINE, /* coroi_event_send */
	COROI_TELL_SPINNER,   /* by the event word; too late for that: coroi_event_send (WTQ4) */
	COROI_TELL_GOWAITER,  /* coroi_gowaiter_wake */
	COROI_TELL_THREAD,    /* by the event word, a futex */
};

struct coroi_waiter {
	struct coroi_waiter *next, *prev;
	struct coroi_object *object;
	struct coroi_several *several; /* shared with other waiters of the caller, or NULL */
	union {
		struct coroi_rec *rec; /* the coroutine that waits; NULL: a thread */
		struct coroi_gowaiter *gowaiter;
	};
	union {
		uint64_t owner; /* the caller, as the owner of a lock */
		uint64_t own;   /* room for a small value */
	};
	void *value;    /* what the caller sends, or where it receives */
	uint32_t event; /* atomic, a futex: COROI_EVENT_NONE... */
	int8_t status;  /* what the wait returns after its event */
	/* offset in the object of the queue that the waiter is in; 0: in none */
	uint8_t queue;
	uint8_t tell; /* COROI_TELL_COROUTINE... */
	uint8_t n;    /* what the caller wants; of several: the index of the waiter */
};
_Static_assert(sizeof(struct coroi_waiter) == COROI_LINE, "it is one cache line");

#define COROI_ALONE __attribute__((aligned(COROI_LINE))) /* a waiter, alone in its line */

/* The values of the event word. */
enum { COROI_EVENT_NONE, COROI_EVENT_FIRED, COROI_EVENT_SPINS };

struct coroi_waitq {
	struct coroi_waiter *first, *last;
};

/* coroi_object_bind - set *o up: shared, or with CORO_HOME bound to the current coroutine's worker.
 * Returns CORO_OK, CORO_EINVAL for other flags, or CORO_EPERM if the caller is not pinned. */
int coroi_object_bind(struct coroi_object *o, uint32_t flags);

/* coroi_object_refuse - leave o, which was destroyed. Returns CORO_EINVAL. */
COROI_COLD int coroi_object_refuse(struct coroi_object *o);

/* coroi_object_is_home - o is bound, and the current coroutine of w (coroi_here) may use o. */
static inline bool coroi_object_is_home(const struct coroi_object *o, const struct coroi_worker *w)
{
	return coroi_is_pinned_here(o->worker, w);
}

/* coroi_object_enter - lock o, before it is used; coroi_object_leave afterwards. Returns CORO_OK;
 * CORO_EPERM if o is bound to another worker; CORO_EINVAL if o was destroyed. With an error there
 * is nothing to leave. */
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

/* coroi_object_try_shared - coroi_object_enter of an object with one lock, for usual paths that
 * make no call. False: o is bound, was destroyed, or its lock is held. A bound object needs
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

/* coroi_object_leave_as - coroi_object_leave of an object with one lock, where it is known whether
 * o is bound (home). */
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

/* coroi_object_enter_end - coroi_object_enter to destroy o. A bound object is entered from anywhere
 * once its scheduler is closed, since no call can use it then. */
int coroi_object_enter_end(struct coroi_object *o);

/* coroi_object_kill - no use of o, which is entered, succeeds from now on. A bound object becomes
 * shared, so that the usual paths of bound objects need not look at `dead`. */
static inline void coroi_object_kill(struct coroi_object *o)
{
	if (o->home)
		*o = (struct coroi_object){.home = 0};
	o->dead = 1;
}

/* coroi_object_is_dead - o was destroyed, or may not be entered here. */
static inline bool coroi_object_is_dead(struct coroi_object *o)
{
	if (coroi_object_enter(o))
		return true;
	coroi_object_leave(o);
	return false;
}

/* coroi_may_block - this thread, which is no worker, may be blocked. */
bool coroi_may_block(void);

/* coroi_may_wait - the caller may be suspended, or blocked. *me: the current coroutine; NULL: the
 * caller is a thread. */
static inline bool coroi_may_wait(struct coroi_rec **me)
{
	struct coroi_worker *w = coroi_self();

	*me = coroi_current(w);
	return coroi_likely(*me != NULL) || (!w && coroi_may_block());
}

/* coroi_must_wait - may the caller wait? CORO_OK, and *me as of coroi_may_wait; or an error for
 * coroi_wont_wait. */
static inline int coroi_must_wait(struct coroi_rec **me, uint64_t deadline)
{
	struct coroi_worker *w = coroi_self();

	if (!deadline)
		return CORO_ETIMEDOUT;
	if (coroi_likely((*me = coroi_current(w)) != NULL))
		return coroi_likely(!coroi_in_nowait(w, deadline)) ? CORO_OK : CORO_ENOWAIT;
	return coroi_may_wait(me) ? CORO_OK : CORO_EPERM;
}

/* coroi_wont_wait - after the object was left: what `call` returns that may not wait. Returns
 * status. */
static inline int coroi_wont_wait(int status, const char *call)
{
	return status == CORO_ENOWAIT ? coroi_nowait_refuse(coroi_self(), call) : status;
}

/* coroi_waiter_for - a waiter for me (NULL: a thread) at o, which is entered. It lasts until
 * coroi_waiter_end. If me is dense, `bytes` for a value lie behind the waiter. NULL: me is dense
 * and cannot wait at o: o was left, and *status is the error. */
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

/* coroi_waiter_init - x is a waiter of me (NULL: a thread) at o, which is entered. All of x is
 * written. _as: where it is known whether o is bound (home). */
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
		coroi_escape(me); /* others may send me an event from now on */
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

/* coroi_waiter_queue - the queue that x is in. */
static inline struct coroi_waitq *coroi_waiter_queue(const struct coroi_waiter *x)
{
	return (struct coroi_waitq *)(void *)((char *)x->object + x->queue);
}

/* coroi_waitq_add - WTQ1: x becomes the last of q. coroi_waitq_take - WTQ2: the first waiter of q
 * that still waits; NULL: none. coroi_waitq_remove - WTQ3: x, which is in a queue, leaves the
 * queue. The object is entered. */
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

/* coroi_waitq_remove_first - WTQ5: x, the first waiter of q, leaves q. coroi_waitq_put_back: x is
 * the first again. The object was not left in between. */
static inline void coroi_waitq_remove_first(struct coroi_waitq *q, struct coroi_waiter *x)
{
	coroi_dlist_remove_first(q, x);
	x->queue = 0;
}

static inline void coroi_waitq_put_back(struct coroi_waitq *q, struct coroi_waiter *x)
{
	x->queue = (uint8_t)((char *)q - (char *)x->object);
	coroi_dlist_add_first(q, x);
}

static inline __attribute__((always_inline)) struct coroi_waiter *
coroi_waitq_take(struct coroi_waitq *q)
{
	for (struct coroi_waiter *x; (x = q->first);) {
		uint32_t none = 0;
		coroi_prefetchw(x); /* x may come from another core, to be read and then written */
		coroi_dlist_remove_first(q, x);
		x->queue = 0;
		if (!x->several || at_cas(&x->several->chosen, &none, x->n + 1u))
			return x;
	}
	return NULL;
}

/* coroi_waiter_wake - WTQ2: send the event of x, after the object was left. x is gone then. Returns
 * CORO_OK. _on: the caller is on w (coroi_here). _home: x waits at an object that is bound to w. */
COROI_NOINLINE int coroi_waiter_wake(struct coroi_waiter *x);
COROI_NOINLINE int coroi_waiter_wake_on(struct coroi_worker *w, struct coroi_waiter *x);

static inline __attribute__((always_inline)) int coroi_waiter_wake_home(struct coroi_worker *w,
									struct coroi_waiter *x)
{
	if (coroi_likely(coroi_wake_home(w, x->rec)))
		return coroi_leave_fed(w);
	return coroi_waiter_wake(x);
}

/* Waiters that were taken out of a queue together, to be woken after the object was left, in the
 * order of the queue. All zeros: none. */
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
		next = x->next; /* x is gone after the wake */
		coroi_waiter_wake_on(coroi_here(), x);
	}
}

/* coroi_waiter_withdraw - WTQ3. False: the event of x is committed. */
bool coroi_waiter_withdraw(struct coroi_waiter *x);

/* coroi_waiter_wait - wait for the event of x, which is in the queue of an object that was left.
 * what: as of coroi_wait. committed: neither deadline nor cancel ends the wait. Returns x->status;
 * or CORO_ECANCELED or CORO_ETIMEDOUT, with x in no queue. */
int coroi_waiter_wait(struct coroi_waiter *x, enum coro_wait_kind what, uint64_t deadline,
		      bool committed);

/* coroi_spin_for_event - WTQ4, by the current coroutine: look at *event. True: FIRED. False: SPINS
 * was taken back. */
bool coroi_spin_for_event(uint32_t *event);

/* coroi_may_spin - WTQ4 is for me, which is about to wait at shared objects, without a deadline and
 * not committed. */
static inline bool coroi_may_spin(const struct coroi_rec *me, uint64_t deadline)
{
	return coroi_likely(me && deadline == CORO_FOREVER) && coroi_nothing_else_now(coroi_self());
}

/* coroi_waiter_wait_in - WTQ1, and coroi_waiter_wait: x is added to the queue q of its object. The
 * object is entered, and is left. */
int coroi_waiter_wait_in(struct coroi_waiter *x, struct coroi_waitq *q, enum coro_wait_kind what,
			 uint64_t deadline, bool committed);

/* coroi_waiter_resumed - what coroi_waiter_wait returns, where a wait that was not committed was
 * resumed with `code`. code is not CORO_OK. */
COROI_COLD int coroi_waiter_resumed(struct coroi_waiter *x, int code);

/* coroi_waiter_hand_over - WTQ1 the short way, after coroi_wait_begin: me waits with x in the queue
 * q of o, and next goes on. o is entered, and is left. Returns as coroi_waiter_wait. */
static inline __attribute__((always_inline)) int
coroi_waiter_hand_over(struct coroi_worker *w, struct coroi_rec *me, struct coroi_waiter *x,
		       struct coroi_object *o, bool home, struct coroi_waitq *q,
		       enum coro_wait_kind what, struct coroi_rec *next)
{
	coroi_waitq_add(q, x);
	if (!home) /* a bound object has no lock to leave */
		coroi_object_leave(o);
	int code = coroi_wait_commit(w, me, what, next);
	return coroi_likely(code == CORO_OK) ? x->status : coroi_waiter_resumed(x, code);
}

/* coroi_thread_wait - what coroi_wait is for a coroutine, for a thread: block until *event is not
 * COROI_EVENT_NONE. CORO_ETIMEDOUT: the deadline has come, and withdraw(arg) was true. withdraw
 * NULL: the wait is committed. */
int coroi_thread_wait(uint32_t *event, uint64_t deadline, bool (*withdraw)(void *), void *arg);

#endif
