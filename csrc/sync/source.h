/*
 * source.h - what coro_select waits at besides channels: descriptors, which the room io knows, and
 * streams.
 *
 * This room does not know io. A source is what a select asks of a case that is no channel. There is
 * one for each kind of case, and it is registered, as a service is. coroi_case is such a case, from
 * `enter` to `leave`. It lies with the select's waiters, on the caller's stack or aside (dense.h).
 *
 * A select does the steps of coro_fd_wait for each such case, and those of a channel's waiter for
 * each channel (waitq.h). All of its registrations share the word `chosen`:
 *
 *   - enter all, and ask of all whether they are ready: system calls, with no lock held
 *   - watch all, if none is ready and the select may wait
 *   - enter the channels. A case that can be done is done. Else the channels' waiters are added,
 *     and then the sources' cases. If one of these has become ready, the select is withdrawn
 *   - leave the channels, and wait
 *   - take all registrations back. If a channel was chosen, its operation is done. If a source's
 *     case was, all begins again: the event may have been spurious, and other cases may be ready by
 *     now
 *
 * A source does for its events what coroi_waitq_take does for a channel's waiter: coroi_case_take
 * changes `chosen` from 0, or fails, since another registration was first. The caller sends the
 * event only if it has succeeded. A source with a queue of its own (waitq.h) adds the case's waiter,
 * and coroi_waitq_take does it. After dequeue no other thread looks at the case.
 */
#ifndef COROI_SOURCE_H
#define COROI_SOURCE_H

#include "base/atomics.h"
#include "sync/waitq.h"

/* The kinds of cases: the second byte of a direction. */
enum { COROI_SOURCE_FD, COROI_SOURCE_STREAM, COROI_SOURCES };

struct coroi_source;

struct coroi_case {
	const struct coroi_source *source;
	uint64_t name;                 /* what the source knows it by */
	uint32_t direction;            /* not 0 */
	uint32_t mark;                 /* what `chosen` becomes if this case is chosen; not 0 */
	struct coroi_several *several; /* its `chosen` is 0: no case of the select is chosen yet */
	struct coroi_rec *me;          /* the coroutine that selects */
	void *place;                   /* the source's, from enter to leave; NULL: not entered */
	/* 1: the case can be done; below 0: it can, with this status; 0: it cannot */
	int32_t ready;
	struct coroi_waiter *waiter; /* of a source with a queue; in none at first */
};

/* Thread of all calls: the coroutine's, in no door. */
struct coroi_source {
	/* enter - the current coroutine begins to use x. Returns: CORO_OK: until leave.
	 * CORO_ECLOSED, CORO_ESTALE: not entered, and x can be done with that status. Another: not
	 * entered, and coro_select returns it. */
	int (*enter)(struct coroi_case *x);

	/* look - set x->ready. What comes after the look makes enqueue fail. waits: the caller will
	 * wait if nothing is ready, so what is known need not be asked again. */
	void (*look)(struct coroi_case *x, bool waits);

	/* watch - events of x are told from now on. Returns: CORO_OK, or what coro_select
	 * returns. */
	int (*watch)(struct coroi_case *x);

	/* enqueue - register x. May be called with channels' locks held. False: something has come
	 * since the look, and x is not registered. */
	bool (*enqueue)(struct coroi_case *x);

	/* dequeue - take the registration back, if it is still there. */
	void (*dequeue)(struct coroi_case *x);
	void (*leave)(struct coroi_case *x);
};

/* coroi_source_register - the source of a kind. From a constructor. */
void coroi_source_register(unsigned kind, const struct coroi_source *source);

/* coroi_case_take - the event of x, which is registered, has come. True: x is chosen, and the
 * caller sends x->me its event, once, when nothing of x is looked at any more. */
static inline bool coroi_case_take(const struct coroi_case *x)
{
	uint32_t none = 0;

	return at_cas(&x->several->chosen, &none, x->mark);
}

#endif
