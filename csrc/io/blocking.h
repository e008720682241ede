/*
 * blocking.h - calls that block, on threads of their own.
 *
 * The problem: a call that keeps its thread waiting (a file, a name to look up, a library) would
 * keep all coroutines of its worker waiting. So a thread of a pool makes the call, while the
 * coroutine is suspended. Threads are made as they are needed, up to a number; calls above that
 * number wait in a queue. A thread that has had nothing to do for a while ends.
 *
 * A look-up of a name may hang for as long as a name server does not answer, and its caller gives
 * up before: the next caller then takes another thread. So look-ups have half of the threads at
 * most. The others wait in a line of their own, before the queue.
 *
 *   BLK1  the coroutine takes a pending-work token: the scheduler is not at rest before the call
 *         has ended
 *   BLK2  the job goes to an idle thread, or to a new one, or to the back of the queue. If there is
 *         no thread, and none can be made, the call fails, and so do those in the queue. A look-up
 *         above half of the threads goes to the back of the line
 *   BLK3  the coroutine waits for its event. A cancel takes a job back that is still in the queue,
 *         or in the line; a look-up is also taken back by its deadline
 *   BLK4  the thread makes the call, sends the event, and gives the token back
 *   BLK5  a look-up that was not in the line has ended, or was taken back: the first of the line
 *         goes to the back of the queue
 *
 * A look-up that a thread has begun goes on without its caller (resolve.c), who gives the token
 * back. The end of the pool waits for it.
 *
 * The queue has a job only while no thread is idle: BLK2 looks for one first, and a thread looks at
 * the queue, after BLK5, before it is idle. The line has one only while half of the threads have
 * look-ups, or are about to have them.
 *
 * With coro_thread_begin the job is the coroutine itself: the thread goes on with the coroutine's
 * context, and sends the event when the coroutine comes to coro_thread_end. The native stack
 * submits the job, since the coroutine must be suspended by then.
 */
#ifndef COROI_BLOCKING_H
#define COROI_BLOCKING_H

#include "base/lock.h"
#include "coro.h"

#include <stdbool.h>

struct coroi_rec;
struct coro_scheduler;
struct coroi_pool;
struct coroi_thread;

/* A call that is to be made. */
struct coroi_job {
	struct coroi_job *next, *prev;
	struct coroi_pool *pool;
	void (*fn)(void *);
	void *arg;
	struct coroi_rec
		*rec; /* the coroutine that waits; NULL: fn sends the event, and ends BLK1 */
	coro_fn what; /* the function that reports name: of the user's, or public */
	bool is_lookup;
	bool refused; /* in the queue, and then no thread could be had */
	enum { COROI_JOB_TAKEN, COROI_JOB_QUEUED, COROI_JOB_IN_LINE } where;
};

#define COROI_BLOCKING_THREADS 64 /* most threads, unless an option says otherwise */

struct coroi_jobs {
	struct coroi_job *first, *last;
};

struct coroi_pool {
	struct coroi_lock lock;
	struct coro_scheduler *sched;
	struct coroi_jobs queue; /* jobs that no thread has */
	struct coroi_jobs line;  /* look-ups that are not to have one yet */
	uint32_t lookups, lookups_most;
	struct coroi_thread *idle; /* last in, first out */
	struct coroi_thread *all;
	uint32_t threads, most;
	uint64_t idle_ns; /* an idle thread ends after this time */
	uint32_t left;    /* a futex: how many threads have ended */
	bool closing, has_dead;
	pthread_t dead; /* the thread that ended last: the next thread that ends joins it */
};

/* coroi_blocking - coro_blocking of fn, under the name of the function `what`. */
int coroi_blocking(void (*fn)(void *), void *arg, coro_fn what);

/* coroi_blocking_alone - BLK1 and BLK2 for a job whose fn sends the event itself, and gives the
 * token back. If no thread can be had later, j->refused is set, and any thread calls fn, which is
 * not to block then. j is fn's to free. Thread: a worker of s. Returns: CORO_OK; CORO_EAGAIN: there
 * is no thread, and fn is not called. */
int coroi_blocking_alone(struct coro_scheduler *s, struct coroi_job *j);

/* coroi_blocking_take_back - BLK3, with the token. False: a thread has the job, or it is refused
 * just now. Thread: any. */
bool coroi_blocking_take_back(struct coroi_job *j);

/* coroi_blocking_pool - the pool of s; NULL once s is closed. */
struct coroi_pool *coroi_blocking_pool(struct coro_scheduler *s);

#endif
