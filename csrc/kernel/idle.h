/*
 * idle.h - what a worker does whose queue is empty: it looks for work, and sleeps. The protocol is
 * told in idle.c.
 */
#ifndef COROI_IDLE_H
#define COROI_IDLE_H

#include "kernel/activity.h"

/* How long a worker looks for work before it sleeps, at most and to begin with: as long as a sleep
 * and a wake-up take. */
#define COROI_SPIN_NS 10000

/* coroi_idle_due - w, which is awake, has a deadline now that is earlier than all before it, ns:
 * the standby is to look in time. */
void coroi_idle_due(struct coroi_worker *w, uint64_t due);

/* coroi_idle_spin - w has nothing to run but who asks, who is about to wait for somebody elsewhere:
 * for up to 2 us it looks, as it would if it were idle, until happened(arg), with so many pauses
 * (20 to 60 ns) between two looks, as each takes a line from who writes to it. That saves two
 * switches. False: in vain. */
bool coroi_idle_spin(struct coroi_worker *w, bool (*happened)(void *), void *arg, uint32_t pauses);

/* coroi_share_stacks_locked - give the idle stacks that w keeps to the pool, and wake those who
 * wait for one. In w's door. */
void coroi_share_stacks_locked(struct coroi_worker *w);

/* coroi_idle - called on the native stack by a worker whose queue is empty: find or await work.
 * False: stop. */
bool coroi_idle(struct coroi_worker *w);

#endif
