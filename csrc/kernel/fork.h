/*
 * fork.h - forks: calls that may run beside their caller.
 *
 *      w->forks   ring | .. head ........ tail .. |   all of them begun on the stack that w runs on
 *                           oldest      newest
 *
 * The problem: a tree of children that are spawned and joined is walked in breadth, since own
 * children run first come, first served. Each parent waits on a stack of its own, and a child costs
 * a stack and two switches. Fork and join wants depth: a parent calls its newest child, and a worker
 * that has nothing to do takes the oldest one, which is the largest. (After Frigo, Leiserson,
 * Randall, "The Implementation of the Cilk-5 Multithreaded Language", PLDI 1998. That the deque is
 * private, and its owner hands entries out, is after Acar, Charguéraud, Rainey, "Scheduling Parallel
 * Programs by Work Stealing with Private Deques", PPoPP 2013; that the join calls the child is after
 * TBB.)
 *
 * A fork lies in its parent's frame. Until its child starts there is no record, and no credit was
 * spent. Its word says what becomes of it:
 *
 *      0        begun: in w->forks, or stolen or promoted and not joined yet
 *      PRIVATE  no other worker gets it: the join calls it
 *      record   its parent waits for it
 *      DONE·s   it has run elsewhere, with the status s
 *      SETTLED  with DONE: its parent has ended by FEX1, and joins it, if at all, in what it has
 *               deferred
 *
 * The deque belongs to the stack that w runs on: what suspends takes its forks along, or promotes
 * them. So no entry outlives its frame, and a worker that sleeps, or is on its native stack, has
 * none. Everything but the push is done in w's door; so a pop and a steal need no protocol of their
 * own.
 *
 *   FRK1  begin, in no door: fill f, with the stack that the caller owns; ring[tail] = f; FORKS is set in w->nowait, so that fast paths
 *         are not taken; tail + 1 (release, pairs with FST1). If the ring is full: FSU2 first.
 *   FRK2  if a sleeper is hungry, wake it: one fork is enough, as the parent runs.
 *   FRK3  join, in the door, if f is the newest: tail - 1; a credit and a record r, which is
 *         INLINED: it has its parent's stack. The parent is INLINES, COMMITTED to wait for the end
 *         of r, in no queue, and has no saved context. r is current, and f's function is called
 *         there; on a stack of its own, if less than half of a stack of its class is left.
 *   FRK4  it has returned, on whatever worker: r ends, the parent is current again.
 *   FRK5  f is not the newest: take it out of the middle, and go on at FRK3.
 *   FRK6  f is not there: CAS word 0 -> the parent's record, and wait for the event. The wait
 *         withdraws by FCA2, and goes on.
 *   FST1  thief, in v's door, if the queue has nothing to give: acquire tail; f = ring[head];
 *         head + 1; a credit of v's; f is among those that are away from its stack. The thief gets
 *         a runnable that calls coroi_fork_run.
 *   FST2  coroi_fork_run: child = its handle, by an exchange: if CANCEL was there, the function is
 *         not called.
 *   FST3  the end, of whatever kind: exchange word -> DONE·s (release: the result is seen; f may be
 *         gone afterwards). If a record was there: its event.
 *   FSU1  a yield by the clock (budget.h) takes its forks along: they are unlinked into a list, and
 *         pushed again when it goes on. So a tree under time slices stays depth first, on one stack.
 *         At every COROI_FORK_TURNS-th such yield of a stack the oldest one is promoted: a parent
 *         may look again and again for what its child is to do.
 *   FSU2  whatever else suspends promotes them: each becomes a runnable at the back of the queue,
 *         the oldest first, and is away from its stack. Without credit or room: PRIVATE.
 *   FMV1  records on one stack have one home: where r moves and is INLINED, its parents move with
 *         it, in the door of the home that they leave (inlined.h).
 *   FCA1  a cancel of an INLINES, at home in its door, is one of its child, and so on up the stack;
 *         but not beyond a shield section.
 *   FCA2  a cancel ends the wait of FRK6, which goes on: for each fork of the waiting coroutine that
 *         is away, exchange child -> CANCEL; if a handle was there, cancel that. Of FST2 and FCA2
 *         the second one sees the first.
 *   FEX1  exit of a coroutine: its own forks at the deque's end are dropped; those that are away are
 *         canceled (FCA2) and awaited (FRK6), as its frames stay until then. An INLINED one then
 *         goes on at FRK4, by the context that FRK3 has saved.
 *
 * Rejected: the continuation of the parent is stolen (Cilk). Each child would need a stack, and the
 * code after a fork would change threads. A parent that waits takes other work (leapfrogging): with
 * children that wait it could not go on when its own is done. Chase-Lev's deque beside the door: the
 * owner would pay a fence.
 */
#ifndef COROI_FORK_H
#define COROI_FORK_H

#include "kernel/worker.h"

/* wants of a steal buffer: half of the queue, or else a fork; one fork, and nothing of the queue. */
#define COROI_WANTS_ALL  UINT32_MAX
#define COROI_WANTS_FORK (UINT32_MAX - 1)

/* coroi_has_forks - there is one to take. Thread: any; a hint, exact in the door. */
static inline bool coroi_has_forks(const struct coroi_worker *w)
{
	return at_load_rlx(&w->forks.head) != at_load_rlx(&w->forks.tail);
}

/* coroi_forks_may_go - a fork that the current coroutine of w begins now may be taken by others. */
bool coroi_forks_may_go(const struct coroi_worker *w);

/* coroi_give_locked - give worker t up to `half` and t's wants of v's queue; if that gives nothing,
 * and t wants all or a fork, FST1. Returns: how many there are in t's steal buffer. */
uint32_t coroi_give_locked(struct coroi_worker *v, struct coroi_worker *t, uint32_t half);

/* coroi_forks_keep_locked - FSU1: the current coroutine of w yields by the clock. Returns: what
 * coroi_forks_return is given when it goes on, outside the door. */
coro_fork *coroi_forks_keep_locked(struct coroi_worker *w);
void coroi_forks_return(coro_fork *first);

/* coroi_forks_promote_locked - FSU2. coroi_forks_suspend_locked - the same, if w has any: the
 * current coroutine of w is about to suspend. */
COROI_COLD void coroi_forks_promote_locked(struct coroi_worker *w);

static inline void coroi_forks_suspend_locked(struct coroi_worker *w)
{
	if (coroi_unlikely(w->nowait & COROI_HOLDS_FORKS))
		coroi_forks_promote_locked(w);
}

/* coroi_forks_left - the current coroutine of w, which is not INLINED, has returned, and run what it
 * had deferred. If there are forks that it has not joined, say so, and drop those that have not
 * begun. Thread: w, in no door. */
COROI_COLD void coroi_forks_left(struct coroi_worker *w);

/* coroi_fork_run - the body of a fork that was stolen or promoted. coroi_fork_ended - FST3 of me,
 * the current coroutine, with that body, which has not returned. coroi_fork_unstarted_locked - FST3
 * of one that ends without having run, in w's door. */
void coroi_fork_run(void *arg, void *result);
void coroi_fork_ended(struct coroi_rec *me);
void coroi_fork_unstarted_locked(struct coroi_worker *w, uint64_t arg, int status);

/* coroi_fork_exit - FEX1: me, the current coroutine of w, gives its frames up. Returns unless me is
 * INLINED. Blocking: until its children have ended. */
void coroi_fork_exit(struct coroi_worker *w);

#endif
