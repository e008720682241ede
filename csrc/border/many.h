/*
 * many.h - many calls of one function, for a caller that waits until all of them have ended.
 *
 * Each call is a coroutine. One more coroutine, the leader, spawns them, some at a time, and waits
 * for their ends. The caller lends its thread to the leader (lend.h), and so to the calls that the
 * leader has spawned; other workers steal some. Arguments and results lie in one block of memory,
 * the caller's, which outlives the leader.
 *
 *   MNY1  leader: `waiter` = itself; then count itself out of `left`. That was the last: nobody
 *         will send an event
 *   MNY2  a call has ended: count it out of `left`. That was the last: take `waiter`. If there is
 *         one, send it its event
 *   MNY3  leader, canceled: take `waiter`. If it is gone, the event is on its way. Else set
 *         COROI_MANY_CANCELED, so that no more calls begin, register again, and look at `left`: if
 *         that is 0 by now, MNY2 may have found nobody. The one that takes `waiter` then knows that
 *         the event comes, or does not
 *   MNY4  if the calls lend: a call sets `handle`, and then looks at `state` before it begins. The
 *         leader sets COROI_MANY_CANCELED, and then looks at each `handle`, and cancels the call.
 *         One of both sees the other's. The handle of a call that has ended is stale
 *
 * left, waiter, state and handle change by sequentially consistent read-modify-writes, but state by
 * a relaxed store where the calls do not lend: it is a hint there.
 */
#ifndef COROI_MANY_H
#define COROI_MANY_H

#include "base/extras.h"
#include "kernel/worker.h"

struct coroi_many;

/* One call of many. */
struct coroi_one {
	struct coroi_many *of;
	int32_t status; /* how the call has ended, as coro_join says */
	int32_t code;   /* with CORO_EFAILED, and text, which is the caller's to release */
	char *text;
	uint64_t handle;         /* of calls that lend, once begun (MNY4). Atomic */
	unsigned char payload[]; /* the result, and behind it the argument */
};

/* What coroi_many.state has. Nothing: calls go on after a cancel of the leader. */
enum {
	COROI_MANY_CANCELED = 1, /* calls that have not begun do not */
	COROI_MANY_LENDS = 2,    /* a cancel of the leader is one of the calls that have begun */
	/* Arguments have buffers, which have passed: a call that never begins frees its own. One
	 * that has a status from the start does not begin: its buffers have not passed. */
	COROI_MANY_CARRIES = 4,
};

struct coroi_many {
	uint64_t fn;
	uint32_t count;
	uint32_t stride;                  /* bytes from one call to the next */
	uint32_t arg_at;                  /* where in the payload the argument is */
	uint16_t arg_bytes, result_bytes; /* up to CORO_LARGE_BYTES */
	uint32_t left;   /* calls that have not ended, and one for the leader. Atomic */
	uint32_t state;  /* COROI_MANY_... Atomic */
	uint64_t waiter; /* the leader's record, while it waits. Atomic */
	uint32_t failed; /* some status is not CORO_OK. Atomic, relaxed: read after the end */
	uint8_t class, arg_buffers, unused[2];
	unsigned char ones[]; /* [count] struct coroi_one, stride bytes apart */
};

/* coroi_many_lead - the leader's body. arg: the address of a struct coroi_many. */
void coroi_many_lead(void *arg, void *result);

/* coroi_many_one - the body of each call. */
void coroi_many_one(void *arg, void *result);

/* coroi_many_ended - me, the current coroutine, whose body is coroi_many_one, has ended, and has
 * run what it had deferred. Thread: a worker, in no door. */
void coroi_many_ended(struct coroi_rec *me);

/* coroi_many_fail - coroi_fail of me, whose body is coroi_many_one. */
void coroi_many_fail(struct coroi_rec *me, struct coroi_failure f);

/* coroi_many_unstarted_locked - a call that was spawned ends without having run; one is its
 * argument. In w's door. */
COROI_COLD void coroi_many_unstarted_locked(struct coroi_worker *w, uint64_t one, int status);

/* coroi_is_one - r is a call of many. */
static inline bool coroi_is_one(const struct coroi_rec *r)
{
	return r->fn == coroi_many_one;
}

#endif
