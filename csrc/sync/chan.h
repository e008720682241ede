/*
 * chan.h - a channel: a ring of values, and what can be done with it at once.
 *
 *      ring  |       | value | value | value |       |
 *                      ^ out.at                ^ in.at
 *
 * Waiters that send are in the queue `senders`, only while the ring is full or the channel has no
 * room. Waiters that receive are in the queue `receivers`, only while the ring is empty. A value
 * goes straight from the sender to a waiter, or from a waiter to the receiver, under the lock (WTQ2
 * of waitq.h). So a value is never on its way: a sender that is canceled finds its value sent, or
 * not.
 *
 * A channel with room has a lock for each end, so that a sender and a receiver on two cores do not
 * take cache lines away from each other (after the two-lock queue of Michael and Scott, PODC 1996).
 * `closed` and the queues are changed with both locks, and so may be read with either. The end
 * `out` has a word of its own, `awaited`, for whether there are senders; it may stay set for
 * longer.
 *
 *   CHN1  send, with the lock of `in` alone: the channel is open, has no receivers, and has room.
 *         The value is written and then counted (release; pairs with the load in CHN2)
 *   CHN2  receive, with the lock of `out` alone: there is a value (acquire), and there are no
 *         senders. The value is read and then counted (release; pairs with the load in CHN1, so
 *         that the value is not overwritten before). If there is no value and the channel is
 *         closed, none will come
 *   CHN3  everything else, with both locks, `in` first: to wait, to serve a waiter, to leave a
 *         queue, to close. What could not be done with one lock is tried again then, since it may
 *         be possible by now
 *
 * So of CHN1 and a wait to receive one comes first: CHN1 sees the waiter, with the lock of `in`; or
 * CHN3 sees the value, before it waits. The same holds of CHN2 and a wait to send.
 */
#ifndef COROI_CHAN_H
#define COROI_CHAN_H

#include "base/backoff.h"
#include "base/copy.h"
#include "sync/gochan.h"

#include <string.h>

/* One end of the ring. The counts wrap around. */
struct coroi_end {
	/* how many values have passed this end; atomic: read by the other end, and by spinners */
	uint32_t passed;
	/* `passed` of the other end, as it was read last, or less: coroi_chan_grant. It is read
	 * again, from another core's line, only when this is used up */
	uint32_t seen;
	uint32_t at; /* the cell of the next value */
	/* callers that have left the lock and will come back: the channel is not freed meanwhile */
	uint32_t back;
};

struct coro_chan {
	/* Line 1: what senders write; in a channel without room, everything that changes. The
	 * object's lock is the lock of `in`, and the only lock of a channel without room. */
	struct coroi_object object;
	struct coroi_end in;
	struct coroi_waitq senders, receivers;

	/* Line 2: what hardly ever changes. */
	size_t bytes COROI_ALONE; /* of a value */
	uint32_t capacity;        /* values */
	/* waiters of coro_select that were not taken out of a queue: their owners will come back */
	uint32_t selects;
	struct coroi_worker *worker; /* as the object's */
	/* 0: open; CORO_ECLOSED; CORO_EINVAL: destroyed. What a send returns, and a receive that
	 * finds no value */
	int8_t closed;
	bool of_go;     /* Go refers to the channel: C does not free it */
	uint8_t sample; /* see COROI_SAMPLED. Atomic, relaxed: written by Go */
	/* which words of a value are buffers; and `bytes`, or more than any value has if there are
	 * such words: then a send by C, or by a leaf, leaves the fast path */
	uint64_t buffers;
	size_t sent_bytes;

	/* Line 3: what receivers write. */
	struct coroi_spin receiving COROI_ALONE; /* the lock of `out` */
	struct coroi_end out;
	/* there may be senders: set before a waiter is added, cleared by a receiver that finds
	 * none. Changed with both locks */
	bool awaited;
	/* does it pay that a spinning receiver waits for several values? With the lock of `out` */
	struct coroi_backoff coalescing;

	unsigned char ring[] COROI_ALONE;
};
_Static_assert(offsetof(struct coro_chan, receiving) == COROI_SECOND_LOCK,
	       "it is the object's second lock");
_Static_assert(offsetof(struct coro_chan, in.passed) == COROI_CHAN_IN &&
		       offsetof(struct coro_chan, out.passed) == COROI_CHAN_OUT &&
		       offsetof(struct coro_chan, senders.first) == COROI_CHAN_SENDERS &&
		       offsetof(struct coro_chan, receivers.first) == COROI_CHAN_RECEIVERS &&
		       offsetof(struct coro_chan, closed) == COROI_CHAN_CLOSED &&
		       offsetof(struct coro_chan, sample) == COROI_CHAN_CLOSED + 2,
	       "Go finds them there");

/* coroi_chan_copy - copy a value. small: the value is known to have at most COROI_LEAF_BYTES, and
 * is copied without a call. */
static inline __attribute__((always_inline)) void coroi_chan_copy(void *to, const void *from,
								  size_t bytes, bool small)
{
	if (!small && bytes > COROI_LEAF_BYTES)
		memcpy(to, from, bytes);
	else
		coroi_copy_few(to, from, bytes);
}

/* coroi_chan_is_home - c is bound, and the current coroutine of w (coroi_here) may use c. */
static inline bool coroi_chan_is_home(const struct coro_chan *c, const struct coroi_worker *w)
{
	return coroi_is_pinned_here(c->worker, w);
}

/* coroi_chan_has_ends - c has a lock for each end. Reads only line 2, which both ends read. */
static inline bool coroi_chan_has_ends(const struct coro_chan *c)
{
	return c->capacity && !c->worker;
}

/* coroi_chan_length - the number of values in c: exact with both locks, else a hint, which may even
 * be larger than the capacity. */
static inline uint32_t coroi_chan_length(const struct coro_chan *c)
{
	uint32_t out = at_load_acq(&c->out.passed); /* first, since it never passes in */
	return at_load_acq(&c->in.passed) - out;
}

/* coroi_chan_cell - the cell of the next value that passes the end e. */
static inline void *coroi_chan_cell(struct coro_chan *c, const struct coroi_end *e, size_t bytes)
{
	return c->ring + (size_t)e->at * bytes;
}

/* coroi_chan_passed - a value has passed the end e: a release, after it was written, or read. */
static inline __attribute__((always_inline)) void coroi_chan_passed(struct coro_chan *c,
								    struct coroi_end *e)
{
	e->at = e->at + 1 == c->capacity ? 0 : e->at + 1;
	at_bump_rel(&e->passed);
}

/* coroi_chan_take - WTQ2: coroi_waitq_take of a queue of c. */
static inline __attribute__((always_inline)) struct coroi_waiter *
coroi_chan_take(struct coro_chan *c, struct coroi_waitq *q)
{
	struct coroi_waiter *x = coroi_waitq_take(q);

	if (x && coroi_unlikely(x->several != NULL))
		c->selects--;
	return x;
}

/* What a try can come to besides CORO_OK and CORO_ECLOSED. COROI_NOT_NOW: no value, or no room.
 * COROI_BY_BOTH, with one lock: there is a waiter at the other end, so this is a matter of CHN3.
 * COROI_SPENT: coroi_spent is to be called first. */
enum { COROI_NOT_NOW = 1, COROI_BY_BOTH, COROI_SPENT };

/* coroi_chan_grant - how many of n values, n > 0, may pass an end before the next look at what the
 * other end has done. The waits of a coroutine are counted here, and so cost a send or a receive
 * nothing. spender: coroi_here, or NULL: they are not counted. Returns: 1 to n; 0: COROI_SPENT. */
static inline __attribute__((always_inline)) uint32_t coroi_chan_grant(uint32_t n,
								       struct coroi_worker *spender)
{
	if (spender)
		return coroi_spend_ahead(spender, n);
	return n < COROI_SPEND_MOST ? n : COROI_SPEND_MOST;
}

/* coroi_chan_refusal - what c, which is closed, returns. It reads `closed` again: then a usual path
 * only compares it with 0, and needs no register. */
static inline int coroi_chan_refusal(const struct coro_chan *c)
{
	return *(const volatile int8_t *)&c->closed;
}

/* coroi_chan_try_send, coroi_chan_try_recv - do at once what can be done. both: all locks of c are
 * held, CHN3; else the lock of the end, CHN1 or CHN2. *woken: set to the waiter that is to be woken
 * after the locks were left, if any. bytes: c->bytes, perhaps a constant. small: as of
 * coroi_chan_copy. spender: as of coroi_chan_grant. */
static inline __attribute__((always_inline)) int
coroi_chan_try_send(struct coro_chan *c, const void *value, struct coroi_waiter **woken,
		    size_t bytes, bool small, bool both, struct coroi_worker *spender)
{
	if (coroi_unlikely(c->closed))
		return coroi_chan_refusal(c);
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
	/* More than the capacity: a receiver has put the values of waiters into the ring. */
	if (coroi_unlikely(c->in.passed - c->in.seen >= c->capacity)) {
		uint32_t room = c->capacity - (c->in.passed - at_load_acq(&c->out.passed));
		if (!room)
			return COROI_NOT_NOW;
		if (!(room = coroi_chan_grant(room, spender)))
			return COROI_SPENT;
		c->in.seen = c->in.passed - c->capacity + room;
	}
	coroi_chan_copy(coroi_chan_cell(c, &c->in, bytes), value, bytes, small);
	coroi_chan_passed(c, &c->in);
	return CORO_OK;
}

static inline __attribute__((always_inline)) int
coroi_chan_try_recv(struct coro_chan *c, void *value, struct coroi_waiter **woken, size_t bytes,
		    bool small, bool both, struct coroi_worker *spender)
{
	if (coroi_unlikely(c->out.seen == c->out.passed) && c->capacity) {
		uint32_t have = at_load_acq(&c->in.passed) - c->out.passed;
		if (have && !(have = coroi_chan_grant(have, spender)))
			return COROI_SPENT;
		c->out.seen = c->out.passed + have;
	}
	if (coroi_unlikely(!both && c->awaited))
		return COROI_BY_BOTH;
	bool any = c->out.seen != c->out.passed;
	if (coroi_likely(any)) {
		coroi_chan_copy(value, coroi_chan_cell(c, &c->out, bytes), bytes, small);
		coroi_chan_passed(c, &c->out);
	}
	if (both && coroi_unlikely(c->senders.first != NULL)) {
		struct coroi_waiter *x = coroi_chan_take(c, &c->senders);
		if (x && any) { /* the value of x is the last now, in the cell that became free */
			coroi_chan_copy(coroi_chan_cell(c, &c->in, bytes), x->value, bytes, small);
			coroi_chan_passed(c, &c->in);
		} else if (x) {
			coroi_chan_copy(value, x->value, bytes, small);
			any = true;
		}
		*woken = x;
	}
	return coroi_likely(any) ? CORO_OK : c->closed ? coroi_chan_refusal(c) : COROI_NOT_NOW;
}

/* coroi_chan_try - coroi_chan_try_send, or coroi_chan_try_recv. */
static inline __attribute__((always_inline)) int
coroi_chan_try(struct coro_chan *c, bool send, void *value, struct coroi_waiter **woken,
	       size_t bytes, bool small, bool both, struct coroi_worker *spender)
{
	return send ? coroi_chan_try_send(c, value, woken, bytes, small, both, spender)
		    : coroi_chan_try_recv(c, value, woken, bytes, small, both, spender);
}

/* coroi_chan_queue - senders, or receivers. */
static inline struct coroi_waitq *coroi_chan_queue(struct coro_chan *c, bool send)
{
	return send ? &c->senders : &c->receivers;
}

/* coroi_chan_wait_queue - coroi_chan_queue for a waiter that is about to be added to it. */
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

/* coroi_chan_end_lock - the lock of CHN1, or CHN2, of a channel with a lock for each end. */
static inline struct coroi_spin *coroi_chan_end_lock(struct coro_chan *c, bool send)
{
	return send ? &c->object.lock : &c->receiving;
}

#endif
