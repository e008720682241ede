/*
 * policy.h - what the border does to be fast, and could do without: a switch, and tuning constants,
 * as in kernel/policy.h.
 */
#ifndef COROI_BORDER_POLICY_H
#define COROI_BORDER_POLICY_H

#include "base/sanitize.h"

/* ------------------------------------------------------------------------------ calls by Go */

/* The thread of a caller runs the coroutine that it calls (lend.h). */
#define COROI_HAS_LEND 1
/* ns: what is there to run is run for so long after the call's own coroutine has suspended, if the
 * call does not say how long. Go's monitor may take the P of a thread away that is in a call for
 * 20 us or more. docs/border.md. */
#define COROI_LEND_NS 15000
/* Looks at the clock in that time, about: it is exceeded by an eighth. */
#define COROI_LEND_LOOKS 8
/* Runnables from one look to the next, at most; of the form 2^n - 1. By judgement. */
#define COROI_LEND_LOOK_MOST 63
/* ns: a lender spins so long for what is on its way from a worker that is awake. sleeping.md, a
 * worker that is lent. */
#define COROI_LEND_SPIN_NS 2000
/* Looks at the inbox for each at the clock meanwhile. By judgement. */
#define COROI_LEND_SPIN_AT_ONCE 16
/* Lends for each that is timed: to read the clock twice costs as much as a lend. By judgement. */
#define COROI_LEND_TIMED_EVERY 64
/* ns: a run of a brief function that takes longer breaks the promise (brief.h); under sanitizers
 * everything takes longer. docs/border.md. */
#if !defined(COROI_TSAN) && !defined(COROI_ASAN)
#define COROI_BRIEF_NS 100000
#else
#define COROI_BRIEF_NS 1000000
#endif

/* ------------------------------------------------------------------------------ calls into Go */

/* Inline calls that a worker's list has room for: some microseconds of Go for one crossing. By
 * judgement. */
#define COROI_CALLS_AT_ONCE 64
/* Calls of a CallN that the leader spawns before others have their turn (many.c): as many runnables
 * as a queue has room for at first. */
#define COROI_MANY_AT_ONCE 256
/* Places for deadlines of contexts in the first segment; each further one is twice as large. By
 * judgement. */
#define COROI_DEADLINES_FIRST 64u

#endif
