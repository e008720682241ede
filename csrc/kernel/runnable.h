/*
 * runnable.h - a coroutine that can run, in one word, as queues and batches hold it.
 *
 *      started       the address of its record
 *      never run     COROI_NEW | words << 60 | class << 56 | COROI_RESULT | function
 *      the same      COROI_NEW | COROI_RECORD << 60 | the address of its record
 *      started, too  the same | COROI_CODED: it goes on with another code than CORO_OK. The short
 *                    paths take it for one that has never run and leave it to settle, in run.c:
 *                    they count on CORO_OK
 *
 * Most coroutines are spawned without a handle and with a word of argument at most. Such a one has
 * no record before it starts: the word, and beside it the argument, are all there is. The record is
 * taken by the worker that starts it, and is the one that the last coroutine there has just left,
 * in cache.
 */
#ifndef COROI_RUNNABLE_H
#define COROI_RUNNABLE_H

#include "kernel/record.h"

#include <stdbool.h>

#define COROI_NEW         (UINT64_C(1) << 63)
#define COROI_WORDS_SHIFT 60
#define COROI_RECORD      7u /* in the place of the words */
#define COROI_CLASS_SHIFT 56
#define COROI_RESULT      (UINT64_C(1) << 55) /* its function has a result, which nobody reads */
#define COROI_ADDRESS     (COROI_RESULT - 1)
/* with COROI_RECORD, which leaves the class to the record */
#define COROI_CODED (UINT64_C(1) << COROI_CLASS_SHIFT)

static inline bool coroi_runnable_is_new(uint64_t runnable)
{
	return (int64_t)runnable < 0;
}

/* coroi_runnable_words - of argument, 0 to 6, or COROI_RECORD. */
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

/* coroi_runnable_resumed - the same where the runnable is known to have started, or to be none:
 * NULL. */
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
