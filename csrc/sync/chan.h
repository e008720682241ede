/*
 * chan.h - a channel: a ring of values, and what can be done with it at once.
 *
 * A queue of those who wait to send (only while the ring is full, or has no room at all) and one of
 * those who wait to receive (only while it is empty). A value goes straight from who sends to who
 * waits, under the lock (Q2 of waitq.h), so it is never between the two: whoever is cancelled finds
 * that it was sent, or that it was not.
 *
 * One with room has a lock for each end, so that who sends and who receives on two cores do not
 * take each other's lines away (after the two-lock queue of Michael and Scott, PODC 1996). `closed`
 * and the queues are changed with both, and so can be read with either; whether somebody waits to
 * send is told to `out` by a word of its own, `awaited`, which may say so for longer.
 *
 *   R1  send, with the lock of `in` alone: not closed, nobody waits to receive, and there is room:
 *       the value is written, then counted (release; pairs with R2's look at it)
 *   R2  receive, with that of `out` alone: there is a value (acquire), and nobody waits to send: it
 *       is read, and then counted (release; pairs with R1's look at it: it is not overwritten
 *       before). None, and closed: nothing more comes
 *   R3  whatever else, as to wait, to serve who waits, to leave a queue, to close: with both, `in`
 *       first; what could not be done with one lock is tried again then, since it may be possible
 *       by now
 *
 * So of R1 and a wait to receive one comes first: the wait is seen by R1 in `in`, or the value by
 * R3; and the same of R2 and a wait to send.
 */
#ifndef COROI_CHAN_H
#define COROI_CHAN_H

#include "base/backoff.h"
#include "sync/gochan.h"

#include <string.h>

/* One end of the ring. The counts are free-running. */
struct coroi_end {
	/* values that have passed it; atomic: the other end, and who spins, look */
	uint32_t passed;
	/* that had passed the other end when it was last looked at: only when that is used up its
	 * line is fetched */
	uint32_t seen;
	uint32_t at;   /* the place of the next one */
	uint32_t back; /* so many come back to it: it is not freed */
};

struct coro_chan {
	/* Each of the three in a cache line: what senders write, and, of a channel without room,
	 * all that changes; */
	/* with the lock of `in`: all there is for one without room, or that is bound */
	struct coroi_object object;
	struct coroi_end in;
	struct coroi_waitq senders, receivers;

	/* what hardly ever changes; */
	size_t bytes COROI_ALONE; /* of a value */
	uint32_t capacity;        /* values */
	/* waiters of coro_select: they come back here. Not those that were taken out */
	uint32_t selects;
	struct coroi_worker *worker; /* as the object's */
	bool closed;
	bool kept; /* Go's: C does not free it */

	/* and what receivers write. */
	struct coroi_spin receiving COROI_ALONE; /* the lock of `out` */
	struct coroi_end out;
	/* somebody waits to send: set before one does, cleared by who finds nobody. Changed with
	 * both locks */
	bool awaited;
	/* who spins lets values come together; with the lock of `out` */
	struct coroi_backoff coalescing;

	unsigned char ring[] COROI_ALONE;
};
_Static_assert(offsetof(struct coro_chan, receiving) == COROI_SECOND_LOCK,
	       "it is the object's second lock");
_Static_assert(offsetof(struct coro_chan, in.passed) == COROI_CHAN_IN &&
		       offsetof(struct coro_chan, out.passed) == COROI_CHAN_OUT &&
		       offsetof(struct coro_chan, senders.first) == COROI_CHAN_SENDERS &&
		       offsetof(struct coro_chan, receivers.first) == COROI_CHAN_RECEIVERS &&
		       offsetof(struct coro_chan, closed) == COROI_CHAN_CLOSED,
	       "Go finds them there");

/* coroi_chan_copy - a value. small: it is known to have COROI_LEAF_BYTES at most, and is copied
 * without a call (the barriers keep compilers from making one of the loops). */
static inline __attribute__((always_inline)) void coroi_chan_copy(void *to, const void *from,
								  size_t bytes, bool small)
{
	size_t i = 0;

	if (coroi_likely(bytes == 8)) {
		memcpy(to, from, 8);
		return;
	}
	if (!small && bytes > COROI_LEAF_BYTES) {
		memcpy(to, from, bytes);
		return;
	}
	for (; i + 8 <= bytes; i += 8) {
		memcpy((char *)to + i, (const char *)from + i, 8);
		at_fence_signal();
	}
	for (; i < bytes; i++) {
		((char *)to)[i] = ((const char *)from)[i];
		at_fence_signal();
	}
}

/* coroi_chan_is_home - c is bound, and the current coroutine of w (coroi_here) may use it. */
static inline bool coroi_chan_is_home(const struct coro_chan *c, const struct coroi_worker *w)
{
	return coroi_is_pinned_here(c->worker, w);
}

/* coroi_chan_has_ends - it has a lock for each. Told by the line that both look at. */
static inline bool coroi_chan_has_ends(const struct coro_chan *c)
{
	return c->capacity && !c->worker;
}

/* coroi_chan_length - values in it: firm with both locks. With fewer a hint, which may even be more
 * than there is room for. */
static inline uint32_t coroi_chan_length(const struct coro_chan *c)
{
	uint32_t out = at_load_acq(&c->out.passed); /* first: it never passes the other */
	return at_load_acq(&c->in.passed) - out;
}

/* coroi_chan_cell - of the next value that passes an end. */
static inline void *coroi_chan_cell(struct coro_chan *c, const struct coroi_end *e, size_t bytes)
{
	return c->ring + (size_t)e->at * bytes;
}

/* coroi_chan_passed - it has: release, after it was written, or read. */
static inline void coroi_chan_passed(struct coro_chan *c, struct coroi_end *e)
{
	e->at = e->at + 1 == c->capacity ? 0 : e->at + 1;
	at_bump_rel(&e->passed);
}

/* coroi_chan_take - Q2. */
static inline struct coroi_waiter *coroi_chan_take(struct coro_chan *c, struct coroi_waitq *q)
{
	struct coroi_waiter *x = coroi_waitq_take(q);

	if (x && coroi_unlikely(x->several != NULL))
		c->selects--;
	return x;
}

/* The outcome of trying: CORO_OK or CORO_ECLOSED; or COROI_NOT_NOW; or, with one lock,
 * COROI_BY_BOTH: somebody waits at the other end. */
enum { COROI_NOT_NOW = 1, COROI_BY_BOTH };

/* coroi_chan_try_send, coroi_chan_try_recv - what can be done at once. both: with all its locks,
 * R3; else with that of its end, R1 or R2. *woken: who is to be woken, after the locks. bytes: c's,
 * perhaps known as it is compiled; small: as in coroi_chan_copy. c is entered. */
static inline __attribute__((always_inline)) int
coroi_chan_try_send(struct coro_chan *c, const void *value, struct coroi_waiter **woken,
		    size_t bytes, bool small, bool both)
{
	if (coroi_unlikely(c->closed))
		return CORO_ECLOSED;
	if (coroi_unlikely(c->receivers.first != NULL)) {
		if (!both)
			return COROI_BY_BOTH;
		struct coroi_waiter *x = coroi_chan_take(c, &c->receivers);
		if (x) {
			coroi_chan_copy(x->value, value, bytes, small);
			*woken = x;
			return CORO_OK;
		}
	}
	if (!c->capacity)
		return COROI_NOT_NOW;
	/* more than that: who waited was served by who received */
	if (coroi_unlikely(c->in.passed - c->in.seen >= c->capacity)) {
		c->in.seen = at_load_acq(&c->out.passed);
		if (c->in.passed - c->in.seen == c->capacity)
			return COROI_NOT_NOW;
	}
	coroi_chan_copy(coroi_chan_cell(c, &c->in, bytes), value, bytes, small);
	coroi_chan_passed(c, &c->in);
	return CORO_OK;
}

static inline __attribute__((always_inline)) int
coroi_chan_try_recv(struct coro_chan *c, void *value, struct coroi_waiter **woken, size_t bytes,
		    bool small, bool both)
{
	if (coroi_unlikely(c->out.seen == c->out.passed) && c->capacity)
		c->out.seen = at_load_acq(&c->in.passed);
	if (coroi_unlikely(!both && c->awaited))
		return COROI_BY_BOTH;
	bool any = c->out.seen != c->out.passed;
	if (coroi_likely(any)) {
		coroi_chan_copy(value, coroi_chan_cell(c, &c->out, bytes), bytes, small);
		coroi_chan_passed(c, &c->out);
	}
	if (both && coroi_unlikely(c->senders.first != NULL)) {
		struct coroi_waiter *x = coroi_chan_take(c, &c->senders);
		if (x && any) { /* its value is the last now, in the place that has become free */
			coroi_chan_copy(coroi_chan_cell(c, &c->in, bytes), x->value, bytes, small);
			coroi_chan_passed(c, &c->in);
		} else if (x) {
			coroi_chan_copy(value, x->value, bytes, small);
			any = true;
		}
		*woken = x;
	}
	return coroi_likely(any) ? CORO_OK : c->closed ? CORO_ECLOSED : COROI_NOT_NOW;
}

/* coroi_chan_try - one of the two. */
static inline __attribute__((always_inline)) int coroi_chan_try(struct coro_chan *c, bool send,
								void *value,
								struct coroi_waiter **woken,
								size_t bytes, bool small, bool both)
{
	return send ? coroi_chan_try_send(c, value, woken, bytes, small, both)
		    : coroi_chan_try_recv(c, value, woken, bytes, small, both);
}

/* coroi_chan_queue - of those who wait to send (or receive). */
static inline struct coroi_waitq *coroi_chan_queue(struct coro_chan *c, bool send)
{
	return send ? &c->senders : &c->receivers;
}

/* coroi_chan_wait_queue - the same for somebody who is about to wait in it. */
static inline struct coroi_waitq *coroi_chan_wait_queue(struct coro_chan *c, bool send)
{
	if (send && coroi_chan_has_ends(c))
		c->awaited = true;
	return coroi_chan_queue(c, send);
}

static inline struct coroi_end *coroi_chan_end(struct coro_chan *c, bool send)
{
	return send ? &c->in : &c->out;
}

/* coroi_chan_end_lock - what R1 (or R2) takes, of a channel with a lock for each end. */
static inline struct coroi_spin *coroi_chan_end_lock(struct coro_chan *c, bool send)
{
	return send ? &c->object.lock : &c->receiving;
}

#endif
