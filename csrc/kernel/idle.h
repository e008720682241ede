/*
 * idle.h - what a worker does whose queue is empty: it looks for work, and sleeps. idle.c tells the
 * protocol.
 */
#ifndef COROI_IDLE_H
#define COROI_IDLE_H

#include "kernel/activity.h"

/* coroi_idle_due - w, which is awake, has now a deadline (ns) that is earlier than all its others:
 * wake the standby if it would look around too late for that. The caller is in w's door. */
void coroi_idle_due(struct coroi_worker *w, uint64_t due);

/* coroi_idle_spin - spin before a wait. w has nothing to run but the caller, which is about to wait
 * for another thread. If that happens in time, two switches are saved.
 * pauses: between two calls of happened(arg), 20 to 60 ns each, since each look takes a line from
 * the threads that write there.
 * Thread: w's, in no door. Blocking: for up to 2 us. Returns: happened(arg). False at once if
 * spinning was of no use lately. */
bool coroi_idle_spin(struct coroi_worker *w, bool (*happened)(void *), void *arg, uint32_t pauses);

/* coroi_share_stacks_locked - give the unused stacks that w keeps to the pool, and wake the workers
 * whose coroutines await a stack. The caller is in w's door. */
void coroi_share_stacks_locked(struct coroi_worker *w);

/* coroi_has_work - SLP2's look: does something wait for w, which is awake? Batches are detached
 * (BTW3). Thread: w's, in no door. */
bool coroi_has_work(struct coroi_worker *w);

/* coroi_threadless_init - make the worker of s without a thread: it sleeps, and has no token.
 * coroi_threadless_park - SLP1 to SLP4 of idle.c for it. One caller at a time. True: it sleeps; the
 * thread that claims it sets ev, and asks those outside to look (hooks.h). False: there is more to
 * do. */
void coroi_threadless_init(struct coro_scheduler *s);
bool coroi_threadless_park(struct coroi_worker *w);

/* coroi_idle - the queue is empty: find work, or sleep until there is some. Thread: w's, on its
 * native stack, in no door. Returns: false if the worker is to end. */
bool coroi_idle(struct coroi_worker *w);

#endif
