/*
 * kernel.h - the kernel's interface for the rooms above it. They include no other header of the
 * kernel, and use no other name of it: scripts/rooms.sh checks both, by the list below. The inline
 * functions stand in the headers that are included here, so that no fast path becomes a call.
 *
 * The current coroutine. A worker is a struct coroi_worker, and a coroutine's record is a struct
 * coroi_rec. The rooms above pass both on, and do not look into them.
 *   coroi_self           the worker of this thread, or NULL
 *   coroi_here           the same for fast paths: never NULL; on a thread that is no worker, a
 *                        worker without a current coroutine
 *   coroi_current        the coroutine that runs on a worker, or NULL
 *   coroi_current_here   the same for a worker that coroi_here has returned
 *   coroi_scheduler_of   the scheduler of a worker
 *   coroi_worker_at, coroi_workers_of, coroi_worker_id   a worker by its number
 *   coroi_is_pinned_here   is the current coroutine pinned, and to this worker?
 *   coroi_is_dense       does a coroutine share its stack?
 *   coroi_has_aborted    does a coroutine that ends do so by coro_abort?
 *   coroi_find           the record that a handle names, or NULL
 *   coroi_name, COROI_NAME_SHIFT, COROI_NAME_FREE   a number that no other coroutine ever has
 *   coroi_generation, coroi_low, coroi_half       its halves
 *   coroi_be_named       the current coroutine is about to be known by its name
 *   coroi_is_named       a coroutine is; coroi_is_pinned_named: and it is pinned
 *   coroi_has_ended      has the coroutine with that name ended?
 *   coroi_owners         what a room with locks is asked at the end of a coroutine that was named
 *   coroi_be_known_as    the function that reports and lending take the current coroutine for
 *   coroi_inner, coroi_inner_register   the user's function by which reports name a body of a room
 *
 * Waiting. A coroutine registers with what it waits for, and then waits for one event. The code
 * that finds the registration sends the event. wait.h tells how a deadline or a cancel takes a
 * registration back; docs/waiting.md tells what users see of it.
 *   coroi_escape         a coroutine's handle, or its record, is about to be known to others
 *   coroi_wait           wait for the event, with a deadline, or committed
 *   coroi_wait_once, COROI_NOT_BEGUN      the same, once, without a deadline
 *   coroi_wait_begin, coroi_wait_commit   the short way, inline
 *   coroi_tell           a wait has returned CORO_ECANCELED: the coroutine has been told
 *   coroi_refused        would a wait return CORO_ECANCELED at once?
 *   coroi_waits_for      what a coroutine waits for
 *   coroi_event_send     send the event, to a coroutine that waits
 *   coroi_event_send_to  send the event, to a coroutine that may have ended
 *   coroi_events_send    send the events of several coroutines that wait
 *   coroi_wake_home, coroi_wake_here, coroi_leave_fed   the short ways, inline
 *   coroi_join_committed   wait for a coroutine's end; no cancel of the caller ends the wait
 *   coroi_nothing_else_now, coroi_idle_spin, coroi_has_inbox  spin before a wait, where nothing
 *   else
 *                        can run
 *   coroi_nowait, coroi_nowait_refuse, coroi_in_nowait, COROI_BOUNDED   may the current coroutine
 *                        wait?
 *   coroi_spend, coroi_spend_here, coroi_spend_ahead, COROI_SPEND_MOST, coroi_has_spent,
 *   coroi_spent          waits that end at once have a budget
 *   coroi_is_over        is a deadline over? without a look at the clock
 *   coroi_has_woken      has the current coroutine woken another, which has not run?
 *
 * Forks (coro_fork.h)
 *   coroi_forks_may_go   could another worker take a fork that the current coroutine begins now?
 *
 * Memory that others reach while a coroutine waits
 *   coroi_is_hidden      does an address lie in a stack that the coroutine shares?
 *   coroi_aside, coroi_aside_get, coroi_aside_put, coroi_aside_end   memory outside that stack
 *
 * Waits that a cancel does not end
 *   coroi_shield_ready, coroi_shield_whole   a section beyond those around it
 *
 * What goes on outside of all workers
 *   coroi_pending_begin, coroi_pending_end   between the two the scheduler is not at rest
 *   coroi_errand, coroi_errand_failed        let the native stack act for a suspended coroutine
 *   coroi_elsewhere_begin, coroi_elsewhere_end   run a coroutine on a thread that is no worker
 *   coroi_on_end_elsewhere   brings a coroutine that ends on a thread that is no worker back
 *   coroi_name_thread    name a thread that works for a scheduler
 *   coroi_where_of       what the report of a fault says of a coroutine
 *   coroi_service, coroi_service_register, coroi_service_state   what a room keeps for each
 *                        scheduler
 *   coroi_driver, coroi_set_driver   what the workers of a scheduler sleep in
 *   coroi_futex_sleep, coroi_futex_kick, coroi_is_to_sleep   the first driver, as a part of another
 *   coroi_watch, coroi_watches   how much a driver watches for a worker
 *
 * Tasks: coroutines that a room starts when a word of its own has changed (task.h)
 *   coroi_tasks          what a room's tasks are
 *   coroi_task_begin, coroi_task_commit, coroi_task_drop   start one, inline
 *   coroi_task_given, coroi_task_hold   does what was started here still wait in this queue? inline
 *   coroi_task_spawn     start one, from any thread
 *   coroi_task_keep, coroi_task_kept, coroi_task_spawn_kept, coroi_task_unkeep_locked,
 *   coroi_task_ask       keep what the next one needs, with its worker
 *   coroi_task_here      the argument of the task that runs
 *   coroi_end_call       a call that a task has made for another is over
 *   coroi_room           what the room keeps for each worker
 *   coroi_guest_begin, coroi_guest_end   the scheduler is not destroyed meanwhile
 *   coroi_is_dedicated   is a worker dedicated?
 *
 * Coroutines whose argument or result holds buffers
 *   coroi_carry          what the room of the buffers does with those of a payload
 */
#ifndef COROI_KERNEL_H
#define COROI_KERNEL_H

#include "kernel/budget.h"
#include "kernel/dense.h"
#include "kernel/driver.h"
#include "kernel/inner.h"
#include "kernel/nowait.h"
#include "kernel/service.h"
#include "kernel/task.h"
#include "kernel/wait.h"

/* coroi_scheduler_of - the scheduler of w. Thread: any. */
static inline struct coro_scheduler *coroi_scheduler_of(const struct coroi_worker *w)
{
	return w->sched;
}

/* coroi_service_state - the place of a service's state in s. It is NULL to begin with; the
 * service's init sets it, and destroy clears it. */
static inline void **coroi_service_state(struct coro_scheduler *s,
					 const struct coroi_service *service)
{
	return &s->service[service->id];
}

/* coroi_set_driver - the workers of s sleep in this driver from now on. To be called by a service's
 * init. */
static inline void coroi_set_driver(struct coro_scheduler *s, const struct coroi_driver *driver)
{
	s->driver = driver;
}

/* coroi_name_thread - name the calling thread as the workers of s are named, with the number after
 * theirs. */
static inline void coroi_name_thread(const struct coro_scheduler *s)
{
	coroi_thread_name(s->name, s->workers);
}

#endif
