/*
 * blocking.h - calls that block, on threads of their own.
 *
 * The problem: a call that keeps its thread waiting (a file, a name to look up, a library) would
 * keep all coroutines of its worker waiting. So a thread of a pool makes it, while the coroutine is
 * suspended: threads are made as they are needed, up to a number; with more calls than that, calls
 * wait their turn; who has had nothing to do for a while ends.
 *
 *   K1  a pending-work token is taken: the end is not before the call
 *   K2  the job goes to an idle thread, or to a new one, or to the back of the queue. If no thread
 *       can be had and there is none, the call fails, and so do those in the queue
 *   K3  the coroutine waits for its event. A cancel takes a job back that is still in the queue
 *   K4  the thread makes the call, sends the event, and gives the token back
 *
 * coro_thread_begin is the same with the coroutine itself for a job: the thread goes on with its
 * context, and sends the event when it comes to coro_thread_end. It is suspended by then: the
 * native stack hands it over.
 */
#ifndef COROI_BLOCKING_H
#define COROI_BLOCKING_H

#include "base/lock.h"
#include "coro.h"

#include <stdbool.h>

struct coroi_rec;
struct coro_scheduler;
struct coroi_job;
struct coroi_thread;

#define COROI_BLOCKING_THREADS 64 /* most, unless said otherwise */

struct coroi_pool {
	struct coroi_lock lock;
	struct coro_scheduler *sched;
	struct coroi_job *first, *last; /* that no thread has */
	struct coroi_thread *idle;      /* last in, first out */
	uint32_t threads, most;
	uint64_t idle_ns; /* an idle thread ends after so long */
	uint32_t left;    /* futex: times that a thread has ended */
	bool closing, has_dead;
	pthread_t dead; /* the last that has ended: whoever ends next joins it */
};

/* coroi_blocking_pool - the pool of s; NULL once s is closed. */
struct coroi_pool *coroi_blocking_pool(struct coro_scheduler *s);

#endif
