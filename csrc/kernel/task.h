/*
 * task.h - tasks: coroutines without a handle, with one word of argument, which a room above the
 * kernel starts by the million. Such a coroutine has no record before it starts (runnable.h).
 *
 * A room starts a task when a word of its own has changed in some way, and only then; and once the
 * word has changed, the task has to start. So all that a start needs is taken first, then the word
 * is changed, by a CAS, and then the task is started, or what was taken is given back.
 */
#ifndef COROI_TASK_H
#define COROI_TASK_H

#include "kernel/run.h"

/* coroi_task_feeds - somebody is to be woken if one more is queued at w: see
 * coroi_notify_queued. */
static inline bool coroi_task_feeds(const struct coroi_worker *w)
{
	uint32_t hungry = at_load_rlx(&w->sched->hungry);

	return coroi_unlikely(hungry) && (hungry != COROI_HUNGRY_SURPLUS || w->queue.count);
}

/* coroi_task_begin - take what a task needs: room in w's queue, and credit. w is from coroi_here,
 * has a current coroutine, and is not dedicated. True: w's door is entered, and coroi_task_commit
 * or coroi_task_drop has to come next. False: take the general way, coroi_task_spawn. */
static inline __attribute__((always_inline)) bool coroi_task_begin(struct coroi_worker *w)
{
	if (coroi_likely(coroi_door_try(w) && !coroi_task_feeds(w) &&
			 coroi_mags_less_one(&w->mags) >= 0 && coroi_deque_has_room(&w->queue)))
		return true;
	coroi_door_leave(w);
	return false;
}

/* coroi_task_runnable - a task that starts at w, without its argument. */
static inline uint64_t coroi_task_runnable(const struct coroi_worker *w)
{
	return coroi_runnable_new(coroi_tasks.fn, w->sched->class, 1, false);
}

/* coroi_task_queue - coroi_task_commit of a task whose credit is spent. */
static inline __attribute__((always_inline)) void coroi_task_queue(struct coroi_worker *w,
								   uint64_t arg)
{
	struct coroi_deque *d = &w->queue;

	*coroi_deque_arg(d, d->head + d->count) = arg;
	coroi_deque_put(d, coroi_task_runnable(w));
	at_bump(&w->spawned);
	coroi_door_leave(w);
}

/* coroi_task_commit - the task starts, at the back of w's queue. kept: for what w keeps, which is one
 * less then; else for the credit that coroi_task_begin has found. */
static inline __attribute__((always_inline)) void coroi_task_commit(struct coroi_worker *w,
								    uint64_t arg, bool kept)
{
	if (kept)
		w->tasks.kept--;
	else
		w->mags.credit--;
	coroi_task_queue(w, arg);
}

static inline void coroi_task_drop(struct coroi_worker *w)
{
	coroi_door_leave(w);
}

/*
 * coroi_task_spawn - the same, the general way: take what a task needs, call change(ctx), and start
 * the task if that returns true. change is to take no more than some instructions: it is called in
 * a door, or under a lock.
 *
 * The task goes to the back of the calling worker's queue; from a dedicated worker, and from
 * outside, to a worker that is not dedicated. With pin not 0 it is pinned to worker pin - 1, which
 * is not lent any more; coroi_task_begin is not for these.
 *
 * Thread:  any, in no door.
 * Returns: CORO_OK: change was called; CORO_ENOMEM; CORO_ECLOSED from outside.
 */
int coroi_task_spawn(struct coro_scheduler *s, uint32_t pin, uint64_t arg, bool (*change)(void *),
		     void *ctx);

/* coroi_task_put_locked - the general way of coroi_task_spawn on w, in w's door. Nobody is woken
 * for it. *out: a task was put at the back of w's queue. Returns: CORO_OK, CORO_ENOMEM. */
int coroi_task_put_locked(struct coroi_worker *w, uint64_t arg, bool (*change)(void *), void *ctx,
			  bool *out);

/* coroi_task_given - a number that is another one when others have taken something from w's queue.
 * Thread: w; outside its door, others may take something meanwhile. coroi_task_hold - nothing was
 * taken since the number was `given`: what w has put into its queue is there, unless w has taken
 * it. True: w's door is entered, and coroi_task_drop has to come. False: something was taken, or
 * the door wants more. Thread: w. */
static inline uint32_t coroi_task_given(const struct coroi_worker *w)
{
	return at_load_rlx(&w->queue.given);
}

static inline __attribute__((always_inline)) bool coroi_task_hold(struct coroi_worker *w,
								  uint32_t given)
{
	if (coroi_likely(coroi_door_try(w) && coroi_task_given(w) == given))
		return true;
	coroi_door_leave(w);
	return false;
}

/*
 * What a task needs can be kept for the next one, so that it starts without a step that others see:
 * a room keeps it for a task that has come to its end, and may start again on the same worker.
 *
 *   coroi_task_keep          take it. True: w's door is entered, and coroi_task_kept or
 *                            coroi_task_drop has to come next. False: there is none. Thread: w
 *   coroi_task_kept          w keeps what a task needs. The door is left
 *   coroi_task_commit        with `kept`, after coroi_task_begin: the task starts, and w keeps one
 *                            less
 *   coroi_task_spawn_kept    the same the general way: call change(ctx), as coroi_task_spawn does,
 *                            and start the task if that returns true. False: it was not called, or
 *                            has returned false. Thread: w
 *   coroi_task_unkeep_locked   w keeps one less, and if `starts`, the task starts. False: there is
 *                            no memory for that now, and nothing has changed. In w's door, on any
 *                            thread
 *   coroi_task_ask           w is to settle those that are to start, soon. Thread: any, while the
 *                            scheduler is not destroyed. Cost: an exchange, and if w was not asked
 *                            before, a compare-and-swap, and perhaps a wake-up
 *
 * A worker that has nothing to run settles all, and so keeps nothing while it sleeps, or rests. It
 * settles all where its credit is collected, too. While a worker is lent, nothing is kept there:
 * coroi_task_keep fails, as all fast paths do.
 */
static inline __attribute__((always_inline)) bool coroi_task_keep(struct coroi_worker *w)
{
	if (coroi_likely(coroi_door_try(w) && coroi_mags_less_one(&w->mags) >= 0))
		return true;
	coroi_door_leave(w);
	return false;
}

static inline void coroi_task_kept(struct coroi_worker *w)
{
	w->mags.credit--;
	w->tasks.kept++;
	coroi_door_leave(w);
}

bool coroi_task_spawn_kept(struct coroi_worker *w, uint64_t arg, bool (*change)(void *), void *ctx);
bool coroi_task_unkeep_locked(struct coroi_worker *w, uint64_t arg, bool starts);
void coroi_task_ask(struct coroi_worker *w);

/* coroi_end_call - the current coroutine, a task, has come to the end of one of the calls that it
 * makes for others: run what that has deferred, and free its arena. It may be suspended meanwhile.
 *  */
static inline void coroi_end_call(void)
{
	if (coroi_unlikely(coroi_self()->current->flags & COROI_F_EXTRAS))
		coroi_end_extras();
}

/* coroi_task_here - the argument of the task that w's current coroutine is, as `ended` gets it;
 * NULL: it is none. Thread: w. */
static inline void *coroi_task_here(const struct coroi_worker *w)
{
	return w && w->current && coroi_is_task(w->current) ? coroi_cold(w->current)->payload
							    : NULL;
}

/* coroi_room - where the room of tasks keeps something for w; NULL: nothing. Written when
 * w's scheduler has its room, once, by a release; read by an acquire, so that what is there is seen
 * whole. w may be from coroi_here. */
static inline void **coroi_room(struct coroi_worker *w)
{
	return &w->tasks.room;
}

#endif
