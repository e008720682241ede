/*
 * chan.h - a channel: a ring of values, and what can be done with it at once.
 *
 * A queue of those who wait to send (only while the ring is full, or has no room at all) and one of those who wait to receive (only
 * while it is empty). A value goes straight from who sends to who waits, under the lock (Q2 of waitq.h), so it is never between the
 * two: whoever is cancelled finds that it was sent, or that it was not.
 */
#ifndef COROI_CHAN_H
#define COROI_CHAN_H

#include "guest.h"

#include <string.h>

struct coro_chan {
	/* One cache line: what each use writes. */
	struct coroi_object object;
	size_t count; /* atomic, relaxed: who lingers peeks */
	size_t head;
	struct coroi_waitq senders, receivers;

	size_t bytes;    /* of a value */
	size_t capacity; /* values */
	uint32_t selects; /* waiters of coro_select, and who lingers: they come back here. Not those that were taken out */
	bool closed;
	bool kept; /* Go's: C does not free it */
	unsigned char ring[] __attribute__((aligned(16)));
};
_Static_assert(offsetof(struct coro_chan, senders.first) == COROI_CHAN_SENDERS &&
	       offsetof(struct coro_chan, receivers.first) == COROI_CHAN_RECEIVERS &&
	       offsetof(struct coro_chan, count) == COROI_CHAN_COUNT && offsetof(struct coro_chan, closed) == COROI_CHAN_CLOSED,
	       "Go finds them there");

/* coroi_chan_copy - a value. small: it is known to have COROI_LEAF_BYTES at most, and is copied without a call (the barriers keep
 * compilers from making one of the loops). */
static inline __attribute__((always_inline)) void coroi_chan_copy(void *to, const void *from, size_t bytes, bool small)
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

/* coroi_chan_place, coroi_chan_after - a place in the ring, and the number of the one behind it. */
static inline void *coroi_chan_place(struct coro_chan *c, size_t n, size_t bytes)
{
	return c->ring + n * bytes;
}

static inline size_t coroi_chan_after(const struct coro_chan *c, size_t n)
{
	return n + 1 == c->capacity ? 0 : n + 1;
}

static inline void coroi_chan_set_count(struct coro_chan *c, size_t n)
{
	at_store_rlx(&c->count, n);
}

/* coroi_chan_take - Q2. */
static inline struct coroi_waiter *coroi_chan_take(struct coro_chan *c, struct coroi_waitq *q)
{
	struct coroi_waiter *x = coroi_waitq_take(q);

	if (x && coroi_unlikely(x->several != NULL))
		c->selects--;
	return x;
}

/* The outcome of trying: CORO_OK or CORO_ECLOSED; or COROI_NOT_NOW. */
enum { COROI_NOT_NOW = 1 };

/* coroi_chan_try_send, coroi_chan_try_recv - what can be done at once. *woken: who is to be woken, after the lock. bytes: c's, perhaps known
 * as it is compiled; small: as in coroi_chan_copy. c is entered. */
static inline __attribute__((always_inline)) int coroi_chan_try_send(struct coro_chan *c, const void *value, struct coroi_waiter **woken,
								     size_t bytes, bool small)
{
	if (coroi_unlikely(c->closed))
		return CORO_ECLOSED;
	if (coroi_unlikely(c->receivers.first != NULL)) {
		struct coroi_waiter *x = coroi_chan_take(c, &c->receivers);
		if (x) {
			coroi_chan_copy(x->value, value, bytes, small);
			*woken = x;
			return CORO_OK;
		}
	}
	size_t count = c->count, at = c->head + count;
	if (coroi_unlikely(count == c->capacity))
		return COROI_NOT_NOW;
	coroi_chan_set_count(c, count + 1);
	coroi_chan_copy(coroi_chan_place(c, at < c->capacity ? at : at - c->capacity, bytes), value, bytes, small);
	return CORO_OK;
}

static inline __attribute__((always_inline)) int coroi_chan_try_recv(struct coro_chan *c, void *value, struct coroi_waiter **woken,
								     size_t bytes, bool small)
{
	size_t count = c->count;

	if (coroi_likely(count)) {
		size_t at = c->head;
		c->head = coroi_chan_after(c, at);
		coroi_chan_set_count(c, count - 1);
		coroi_chan_copy(value, coroi_chan_place(c, at, bytes), bytes, small);
		if (coroi_unlikely(c->senders.first != NULL)) {
			struct coroi_waiter *x = coroi_chan_take(c, &c->senders);
			if (x) { /* its value is the last now, in the place that has become free */
				coroi_chan_copy(coroi_chan_place(c, at, bytes), x->value, bytes, small);
				coroi_chan_set_count(c, count);
				*woken = x;
			}
		}
		return CORO_OK;
	}
	if (c->senders.first) {
		struct coroi_waiter *x = coroi_chan_take(c, &c->senders);
		if (x) {
			coroi_chan_copy(value, x->value, bytes, small);
			*woken = x;
			return CORO_OK;
		}
	}
	return c->closed ? CORO_ECLOSED : COROI_NOT_NOW;
}

/* coroi_chan_try - one of the two. */
static inline __attribute__((always_inline)) int coroi_chan_try(struct coro_chan *c, bool send, void *value, struct coroi_waiter **woken,
								size_t bytes, bool small)
{
	return send ? coroi_chan_try_send(c, value, woken, bytes, small) : coroi_chan_try_recv(c, value, woken, bytes, small);
}

/* coroi_chan_queue - of those who wait to send (or receive). */
static inline struct coroi_waitq *coroi_chan_queue(struct coro_chan *c, bool send)
{
	return send ? &c->senders : &c->receivers;
}

#endif
