/*
 * hooks.h - what the kernel asks of rooms above it: of the border (csrc/border), and of the room
 * that has tasks (csrc/actor).
 *
 * The border's table is constant, and the linker finds it: border/hooks.c has it. So no function is
 * NULL, nothing is set at run time, and a call costs a load more than one by name. The kernel asks
 * at points that a test leads to which is there anyhow: a worker is lent, a list has calls, a
 * coroutine ends in an unusual way, a thread has said that it wants to be asked.
 *
 * A function that is called in a door or a lock does not leave it. A function blocks only where its
 * comment says that it may.
 */
#ifndef COROI_HOOKS_H
#define COROI_HOOKS_H

#include "base/current.h"
#include "coro.h"

#include <stdbool.h>
#include <stdint.h>

struct coroi_failure;
struct coroi_rec;
struct coroi_worker;

struct coroi_hooks {
	/* ---- calls that the native stack makes (`calls` of a worker) */

	/* coroi_work (life.h) has returned true for the first time: make the calls, and call
	 * coroi_work, by turns, until that returns false. Called by: a worker's thread, or a host.
	 * Thread: w, on its native stack, in no door. Blocking: for as long as the worker lives. */
	void (*serve)(struct coroi_worker *w);

	/* The calls in w's list were made: queue the coroutines that wait for them, and empty the
	 * list. Called by: coroi_run. Thread: w, on its native stack, in its door. Returns: the one
	 * that goes on without the queue, or NULL. */
	struct coroi_rec *(*made_locked)(struct coroi_worker *w);

	/* ---- a worker that is lent: another thread is the worker */

	/* coroi_pick_locked. Called by: that. Thread: w, in its door. */
	uint64_t (*pick_locked)(struct coroi_worker *w);

	/* The current coroutine has suspended, and no other thread can take it yet. Called by: the
	 * native stack, before an errand (run.h). Thread: w, in no door. */
	void (*suspended)(struct coroi_worker *w);

	/* me, for whose end the lender waits (coroi_is_lenders), has ended, or does so unstarted.
	 * Others are told of its end afterwards. Called by: the run loop, and nostack.c. Thread: w,
	 * in its door. */
	void (*ended_locked)(struct coroi_worker *w, struct coroi_rec *me);

	/* The current coroutine is about to be where thieves get at it, and wants a child with that
	 * function to begin ahead of the queue. Called by: coro_spawn_first. Thread: w, in its
	 * door. Returns: may the child begin here? */
	bool (*may_begin_locked)(struct coroi_worker *w, coro_fn fn);

	/* ---- a thread that wants to be asked about what it wakes (coroi_waker_tls is not NULL) */

	/* A wake-up of r, whose function is fn, is about to be pushed to w. Called by: coro_wake
	 * and its like. Thread: any, in a door or not. Returns: true: it is not to be pushed, but
	 * the callee will deliver it (coroi_remote_wake_locked). */
	bool (*wakes)(struct coroi_worker *w, struct coroi_rec *r, coro_fn fn);

	/* The thread, no worker of the scheduler, has been counted at *count (wait.c), and what
	 * `wakes` has kept is the scheduler's. Called by: the same, afterwards. Returns: true: the
	 * callee counts the thread out. */
	bool (*keeps)(uint32_t *count);

	/* ---- ends */

	/* me, the current coroutine, which is no task (task.h), has ended otherwise than by
	 * returning, or has run what it had deferred. Called by: the run loop. Thread: a worker, in
	 * no door. */
	void (*ended)(struct coroi_rec *me);

	/* A coroutine with that function and that argument ends without having run. Called by: the
	 * run loop, and nostack.c. Thread: w, or a thief, in w's door. */
	void (*unstarted_locked)(struct coroi_worker *w, coro_fn fn, uint64_t arg, int status);

	/* me, the current coroutine, is about to end by coro_fail. Called by: coroi_fail. Returns:
	 * true: the callee has taken f and its text. */
	bool (*fails)(struct coroi_rec *me, struct coroi_failure f);

	/* r has ended, and its join word says COROI_JOIN_GO with that id: those outside are to be
	 * told. r is theirs from now on. Called by: the end (JOI2 of join.c). Thread: any that is
	 * awake, in a door or not. */
	void (*ended_for)(struct coro_scheduler *s, struct coroi_rec *r, uint32_t id);

	/* ---- who watches from outside */

	/* There is something to look at: credit, a rest, or something for the worker without a
	 * thread. Called by: what has made it so. Thread: any, in a door or not. */
	void (*look)(struct coro_scheduler *s);
};
extern const struct coroi_hooks coroi_hooks __attribute__((visibility("hidden")));

/* What the tasks of a room above are (task.h). Written once, by a constructor. */
struct coroi_tasks {
	coro_fn fn;
	/* The task has ended by coro_exit, coro_abort or coro_fail (aborted: not by the first), and
	 * what it had deferred has run. arg is its argument, with CORO_INLINE_BYTES that are its
	 * own. Thread: the worker, in the task's coroutine; it may wait. */
	void (*ended)(void *arg, bool aborted);
	/* See coroi_task_keep. End what a worker keeps, each by coroi_task_unkeep_locked; if not
	 * `all`, only what is to start. room: of that worker (coroi_room). kept: for how many tasks
	 * it keeps something. The caller is in its door. Returns: has anything ended? */
	bool (*settle)(void *room, uint32_t kept, bool all);
};
extern struct coroi_tasks coroi_tasks;

/* Not NULL: the thread wants to be asked (`wakes`). The border's. */
COROI_THREAD_LOCAL void *coroi_waker_tls;

#endif
