/*
 * runnable.h - a coroutine that can run, in one word, as queues and batches hold it.
 *
 *      bit 63  62..60         59..56  55      54..0
 *      0       the address of its record                     has started
 *      NEW     words          class   RESULT  its function   has not run, and has no record
 *      NEW     COROI_RECORD   0               its record     has not run
 *      NEW     COROI_RECORD   CODED           its record     has started; see below
 *
 * CODED: the coroutine goes on with another code than CORO_OK. The short paths count on CORO_OK.
 * They take this word for one that has not run, and leave it to resolve_locked in run.c.
 *
 * Most coroutines are spawned without a handle, and with at most one word of argument. Such a
 * coroutine has no record before it starts: all there is is the word, and the argument beside it.
 * The worker that starts it takes the record. That is the one that the last coroutine there has
 * just left, so it is in cache.
 */
#ifndef COROI_RUNNABLE_H
#define COROI_RUNNABLE_H

#include "kernel/record.h"

#include <stdbool.h>

#define COROI_NEW         (UINT64_C(1) << 63)
#define COROI_WORDS_SHIFT 60
#define COROI_RECORD      7u /* instead of a number of words */
#define COROI_CLASS_SHIFT 56
#define COROI_RESULT      (UINT64_C(1) << 55) /* its function has a result, which is never read */
#define COROI_ADDRESS     (COROI_RESULT - 1)
/* With COROI_RECORD: the class is in the record, and this bit is free. */
#define COROI_CODED (UINT64_C(1) << COROI_CLASS_SHIFT)

/* coroi_runnable_is_new - the runnable has not run, or is CODED. */
static inline bool coroi_runnable_is_new(uint64_t runnable)
{
	return (int64_t)runnable < 0;
}

/* coroi_runnable_words - how many words of argument it has, 0 to 6; or COROI_RECORD. */
static inline unsigned coroi_runnable_words(uint64_t runnable)
{
	return runnable >> COROI_WORDS_SHIFT & 7;
}

static inline bool coroi_runnable_has_record(uint64_t runnable)
{
	return !coroi_runnable_is_new(runnable) || coroi_runnable_words(runnable) == COROI_RECORD;
}

static inline struct coroi_rec *coroi_runnable_record(uint64_t runnable)
{
	return (struct coroi_rec *)(uintptr_t)(runnable & COROI_ADDRESS);
}

/* coroi_runnable_resumed - the record of a runnable that is known to have started; NULL for 0. */
static inline struct coroi_rec *coroi_runnable_resumed(uint64_t runnable)
{
	return (struct coroi_rec *)(uintptr_t)runnable;
}

static inline coro_fn coroi_runnable_fn(uint64_t runnable)
{
	return (coro_fn)(uintptr_t)(runnable & COROI_ADDRESS);
}

static inline uint8_t coroi_runnable_class(uint64_t runnable)
{
	return runnable >> COROI_CLASS_SHIFT & 15;
}

static inline uint64_t coroi_runnable_started(const struct coroi_rec *r)
{
	return (uintptr_t)r;
}

static inline uint64_t coroi_runnable_fresh(const struct coroi_rec *r)
{
	return COROI_NEW | (uint64_t)COROI_RECORD << COROI_WORDS_SHIFT | (uintptr_t)r;
}

static inline uint64_t coroi_runnable_coded(const struct coroi_rec *r)
{
	return coroi_runnable_fresh(r) | COROI_CODED;
}

static inline uint64_t coroi_runnable_new(coro_fn fn, unsigned class, unsigned words, bool result)
{
	return COROI_NEW | (uint64_t)words << COROI_WORDS_SHIFT |
	       (uint64_t) class << COROI_CLASS_SHIFT | (result ? COROI_RESULT : 0) | (uintptr_t)fn;
}

#endif
