/*
 * brief.h - functions that are declared brief.
 *
 * Between two waits a brief function takes some microseconds. It never blocks its thread, and it
 * needs nothing from the thread that woke it. So any thread may run its coroutines (lend.h). The
 * declaration is a promise of the function's author. A function that breaks it twice in a row, in
 * runs that are timed, is brief no longer, for as long as the process lives. By the clock a
 * function only comes into doubt: its thread may have lost its CPU meanwhile. The next timed run of
 * a function in doubt tells what its thread has used too, and only that proves the second breach.
 *
 * The functions stand in one table of the process, with open addressing and linear probing. A word
 * never leaves the table, and its function never changes. So a look needs no lock:
 *
 *      word   told:1 | revoked:1 | doubt:1 | 0:5 | function:56      0: free
 *
 * told: coroi_brief_taken has returned the function, which is revoked.
 */
#ifndef COROI_BRIEF_H
#define COROI_BRIEF_H

#include "base/atomics.h"
#include "border/policy.h"
#include "coro.h"

#define COROI_BRIEF_WORDS   1024
#define COROI_BRIEF_MOST    512 /* functions in the table: half of the words, so probes are short */
#define COROI_BRIEF_DOUBT   (UINT64_C(1) << 61)
#define COROI_BRIEF_REVOKED (UINT64_C(1) << 62)
#define COROI_BRIEF_TOLD    (UINT64_C(1) << 63)
#define COROI_BRIEF_FN      ((UINT64_C(1) << 56) - 1)

/* Words are atomic, relaxed: a stale word says that a function is not brief yet, or still is. Both
 * were true a moment ago. */
extern uint64_t coroi_brief_table[COROI_BRIEF_WORDS];

/* How many functions are revoked. Atomic, relaxed: a statistic. */
extern uint32_t coroi_brief_revoked;

/* coroi_brief_declare - fn is brief from now on, unless it is revoked. Thread: any. Returns:
 * CORO_OK, or CORO_ENOMEM: COROI_BRIEF_MOST functions are brief already. */
int coroi_brief_declare(coro_fn fn);

/* coroi_brief_late - a run of fn, which is brief, took too long. proven: it did not only seem so
 * because its thread had no CPU. Without proof fn at most comes into doubt. Thread: any. Returns:
 * true if fn is revoked by that. */
bool coroi_brief_late(coro_fn fn, bool proven);

/* coroi_brief_doubted - fn was declared brief, and was late in its last run that was timed. Thread:
 * any. Cost: some loads. */
bool coroi_brief_doubted(coro_fn fn);

/* coroi_brief_in_time - a run of fn, which is brief, has kept the promise. Thread: any. Cost: a
 * load. */
void coroi_brief_in_time(coro_fn fn);

/* coroi_brief_taken - a function that was revoked since the last call; NULL: none. Thread: any.
 * Returns: each such function once. */
coro_fn coroi_brief_taken(void);

/* coroi_is_brief - may any thread run fn's coroutines? Thread: any. Cost: a load, of a line that
 * nobody writes. */
static inline bool coroi_is_brief(coro_fn fn)
{
	uint64_t want = (uint64_t)(uintptr_t)fn;

	for (uint32_t i = (uint32_t)((want >> 4) * UINT32_C(0x9e3779b1));; i++) {
		uint64_t word = at_load_rlx(&coroi_brief_table[i % COROI_BRIEF_WORDS]);
		if (!word)
			return false;
		if ((word & COROI_BRIEF_FN) == want)
			return !(word & COROI_BRIEF_REVOKED);
	}
}

#endif
