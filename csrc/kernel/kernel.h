/*
 * kernel.h - the kernel's interface for the rooms above it. They include nothing else of the
 * kernel, and use no other name of it: scripts/rooms.sh checks both, by the list below. The inline
 * functions stand in the headers of the kernel that are included here, so that no fast path becomes
 * a call.
 *
 * Who runs. A worker is a struct coroi_worker, a coroutine's record a struct coroi_rec: to be
 * passed on, not looked into.
 *   coroi_self          the worker of this thread, or NULL
 *   coroi_here          the same for fast paths: never NULL; where there is no worker it has no current coroutine
 *   coroi_current       the coroutine that runs on a worker, or NULL; coroi_current_here: of what coroi_here returned
 *   coroi_scheduler_of  the scheduler of a worker
 *   coroi_owner         the scheduler of a coroutine
 *   coroi_is_pinned, coroi_is_pinned_here   a coroutine stays with its worker; the current one does, and with this
 *   coroi_is_dense      a coroutine shares its stack
 *   coroi_has_aborted   a coroutine that ends does so by coro_abort
 *   coroi_find          the record that a handle names, or NULL
 *
 * Waiting. A coroutine registers with what it waits for, and then waits for one event; whoever
 * finds the registration sends it. docs/waiting.md and wait.c tell how a deadline and a cancel take
 * a registration back.
 *   coroi_escape        a coroutine's handle, or its record, is about to be known to others
 *   coroi_wait          wait for the event, with a deadline, or committed
 *   coroi_wait_once, COROI_NOT_BEGUN        the same, once, without a deadline
 *   coroi_wait_begin, coroi_wait_commit     the short way, inline
 *   coroi_event_send, coroi_event_send_to   the event, to one that waits; or to one that may have ended
 *   coroi_wake_home, coroi_wake_here, coroi_leave_fed   the short ways, inline
 *   coroi_join_committed   wait for a coroutine's end, whatever cancels the caller
 *   coroi_nothing_else, coroi_idle_spin, coroi_has_inbox   spin before a wait, where nothing else can run
 *   coroi_nowait, coroi_nowait_refuse, coroi_in_nowait     a call that may wait asks first
 *
 * Memory that others reach while a coroutine waits
 *   coroi_is_hidden     an address lies in a stack that the coroutine shares
 *   coroi_aside, coroi_aside_get, coroi_aside_put, coroi_aside_end   memory beside it
 *
 * What goes on outside of all workers
 *   coroi_pending_begin, coroi_pending_end   from one to the other the scheduler is not at rest
 *   coroi_errand, coroi_errand_failed        the native stack does something once a coroutine is suspended
 *   coroi_on_end_elsewhere                   what a coroutine does that ends on a thread that is no worker
 *   coroi_name_thread                        name a thread that works for a scheduler
 *   coroi_bell_ring                          tell Go that there is something for it
 *   coroi_service, coroi_service_register, coroi_service_state   what a room keeps for each scheduler
 *   coroi_driver, coroi_set_driver           what the workers of a scheduler sleep in
 *
 * Seeing
 *   COROI_PROBE         an event in a coroutine's life; nothing unless it is built in
 */
#ifndef COROI_KERNEL_H
#define COROI_KERNEL_H

#include "kernel/dense.h"
#include "kernel/driver.h"
#include "kernel/gobell.h"
#include "kernel/nowait.h"
#include "kernel/probe.h"
#include "kernel/service.h"
#include "kernel/wait.h"

static inline struct coro_scheduler *coroi_scheduler_of(const struct coroi_worker *w)
{
	return w->sched;
}

/* coroi_service_state - where the state of a service hangs, NULL to begin with: init sets it,
 * destroy clears it. */
static inline void **coroi_service_state(struct coro_scheduler *s,
					 const struct coroi_service *service)
{
	return &s->service[service->id];
}

/* coroi_set_driver - from a service's init: the workers of s sleep in that. */
static inline void coroi_set_driver(struct coro_scheduler *s, const struct coroi_driver *driver)
{
	s->driver = driver;
}

/* coroi_name_thread - the calling thread is named as the workers of s are, with the number after
 * theirs. */
static inline void coroi_name_thread(const struct coro_scheduler *s)
{
	coroi_thread_name(s->name, s->workers);
}

#endif
