/*
 * policy.h - what the kernel does to be fast or fair, and could do without.
 *
 * Each policy has a switch here. Where it is 0 the policy is not compiled in: a build without it
 * is slower, or keeps a bound of docs/fairness.md no more, and is right in all else.
 * bench/ablate measures what each one earns, and writes docs/rent.md, which says why it stays.
 */
#ifndef COROI_KERNEL_POLICY_H
#define COROI_KERNEL_POLICY_H

/* A worker spins before it sleeps, for as long as that was of use lately (steal.c). */
#define COROI_HAS_SPIN 1
/* A coroutine alone on its worker spins before it waits for another thread (idle.c). */
#define COROI_HAS_WAIT_SPIN 1
/* A sleeping worker looks around by the clock while others run (idle.c). */
#define COROI_HAS_STANDBY 1
/* So does one while something may come from outside of all workers (idle.c). */
#define COROI_HAS_RESERVE 1
/* What the driver brings to an idle worker is the worker's own for a moment (activity.h). */
#define COROI_HAS_FED 1
/* A worker that has taken its waker's CPU sleeps again for a moment (idle.c). */
#define COROI_HAS_COALESCE_WAKES 1
/* A worker to which spawns stream lets some of them come together (steal.c). */
#define COROI_HAS_COALESCE_SPAWNS 1
/* A busy worker takes from one that has far more to do (steal.c). */
#define COROI_HAS_STIR 1
/* A thief whose loot was worth less than its transport steals less often (steal.c). */
#define COROI_HAS_HOLD_OFF 1
/* Where turns are long, what comes from outside goes ahead of the queue at times (run.h). */
#define COROI_HAS_FAVORS 1
/* A coroutine that another busy worker wakes moves there at times (wait.c). */
#define COROI_HAS_FOLLOWS 1
/* The run loop fetches the records and stacks that run next (deque.h). */
#define COROI_HAS_LOOK_AHEAD 1
/* The length of a chain of hand-overs adapts to that of turns (run.c). */
#define COROI_HAS_CHAINS 1
/* Waits that end at once are counted, and one yields after 20 us (budget.h). */
#define COROI_HAS_WAIT_BUDGET 1
/* The thread of a caller runs the coroutine that it calls (lend.h). */
#define COROI_HAS_LEND 1
/* A fresh coroutine takes over the record of the one that has just ended (run.c). */
#define COROI_HAS_SUCCEED 1
/* An idle worker polls its driver less often where that was of no use (idle.c). */
#define COROI_HAS_POLL_LESS 1

#endif
