/*
 * task.h - a coroutine that can run, in one word, as queues and parcels hold it.
 *
 *      started       the address of its record
 *      never run     COROI_NEW | words << 60 | class << 56 | COROI_RESULT | function
 *      the same      COROI_NEW | COROI_RECORD << 60 | the address of its record
 *      started, too  the same | COROI_CODED: it goes on with another code than CORO_OK. The short paths take it for one that
 *                    has never run and leave it to settle, in run.c: they count on CORO_OK
 *
 * Most coroutines are spawned without a handle and with a word of argument at most. Such a one has no record before it
 * starts: the word, and beside it the argument, are all there is. The record is taken by the worker that starts it, and
 * is the one that the last coroutine there has just left, in cache.
 */
#ifndef COROI_TASK_H
#define COROI_TASK_H

#include "record.h"

#include <stdbool.h>

#define COROI_NEW (UINT64_C(1) << 63)
#define COROI_WORDS_SHIFT 60
#define COROI_RECORD 7u /* in the place of the words */
#define COROI_CLASS_SHIFT 56
#define COROI_RESULT (UINT64_C(1) << 55) /* its function has a result, which nobody reads */
#define COROI_ADDRESS (COROI_RESULT - 1)
#define COROI_CODED (UINT64_C(1) << COROI_CLASS_SHIFT) /* with COROI_RECORD, which leaves the class to the record */

static inline bool coroi_task_is_new(uint64_t task)
{
	return (int64_t)task < 0;
}

/* coroi_task_words - of argument, 0 to 6, or COROI_RECORD. */
static inline unsigned coroi_task_words(uint64_t task)
{
	return task >> COROI_WORDS_SHIFT & 7;
}

static inline bool coroi_task_has_record(uint64_t task)
{
	return !coroi_task_is_new(task) || coroi_task_words(task) == COROI_RECORD;
}

static inline struct coroi_rec *coroi_task_record(uint64_t task)
{
	return (struct coroi_rec *)(uintptr_t)(task & COROI_ADDRESS);
}

/* coroi_task_resumed - the same where the task is known to have started, or to be none: NULL. */
static inline struct coroi_rec *coroi_task_resumed(uint64_t task)
{
	return (struct coroi_rec *)(uintptr_t)task;
}

static inline coro_fn coroi_task_fn(uint64_t task)
{
	return (coro_fn)(uintptr_t)(task & COROI_ADDRESS);
}

static inline uint8_t coroi_task_class(uint64_t task)
{
	return task >> COROI_CLASS_SHIFT & 15;
}

static inline uint64_t coroi_task_started(const struct coroi_rec *r)
{
	return (uintptr_t)r;
}

static inline uint64_t coroi_task_fresh(const struct coroi_rec *r)
{
	return COROI_NEW | (uint64_t)COROI_RECORD << COROI_WORDS_SHIFT | (uintptr_t)r;
}

static inline uint64_t coroi_task_coded(const struct coroi_rec *r)
{
	return coroi_task_fresh(r) | COROI_CODED;
}

static inline uint64_t coroi_task_new(coro_fn fn, unsigned class, unsigned words, bool result)
{
	return COROI_NEW | (uint64_t)words << COROI_WORDS_SHIFT | (uint64_t)class << COROI_CLASS_SHIFT |
	       (result ? COROI_RESULT : 0) | (uintptr_t)fn;
}

#endif
