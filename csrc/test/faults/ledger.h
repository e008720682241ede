/*
 * ledger.h - the books of a scenario: coroutines that were accepted, coroutines that ran, calls
 * that were refused. Every refusal needs a planned fault, or a machine at its limit.
 */
#ifndef LEDGER_H
#define LEDGER_H

#include "layer.h"
#include "scenarios.h"

#include "coro_io.h"

#include <errno.h>

/* QUIET - the value of a call that must leave errno alone. */
#define QUIET(call)                             \
	({                                      \
		errno = 4711;                   \
		__typeof__(call) got_ = (call); \
		CHECK_EQ(errno, 4711);          \
		got_;                           \
	})

/* accepted - coroutines whose spawn returned CORO_OK. ran - coroutines that came to their end. */
extern uint64_t accepted, ran;

/* count - one more, by any thread. */
void count(uint64_t *counter);

/* may_fail - there is a reason for an error. */
bool may_fail(void);

/* went_well - status is CORO_OK; else status is `error`, and a call has failed. */
bool went_well(int status, int error);

/* again - went_well, for a call that is made a second time if it fails. The second try succeeds,
 * unless faults last. */
#define again(call, error) \
	(went_well(call, error) || (went_well(call, error) || (CHECK(lasting), false)))

/* was_refused - status is the documented one of a scheduler or a pool that was not made. */
void was_refused(int status);

/* begin - a scheduler. NULL: it was refused as documented. Unless the fault lasts, the second try
 * succeeds. begin_with - the same, with options; the workers are pinned to CPU 0. */
coro_scheduler *begin(uint32_t workers, uint32_t flags, size_t stack_limit);
coro_scheduler *begin_with(const coro_options *options);

/* end - s is waited for and destroyed. All that was accepted has ended, and has run. While faults
 * last, a coroutine that never had a stack has not run. */
void end(coro_scheduler *s);

/* end_of_forks - the same, where children are forks, and not in the books: the join spawns one again
 * that had no stack, and not at all one that is canceled. */
void end_of_forks(coro_scheduler *s);

/* outside - spawn from a thread. inside - spawn from a coroutine; *out is 0 if no memory was left
 * for it. */
bool outside(coro_scheduler *s, coro_fn fn, const void *arg, size_t bytes);
bool outside_attr(coro_scheduler *s, const coro_attr *attr, coro_fn fn, const void *arg,
		  size_t bytes);
bool inside(const coro_attr *attr, coro_fn fn, const void *arg, size_t bytes, coro_handle *out);

/* joined - joins h; 0: nothing. A coroutine that was canceled while it waited for a stack counts as
 * one that ran, which needs a fault. until_seen - the current coroutine yields until n are counted.
 * After a fault it does not wait: some may never come. */
void joined(coro_handle h);
void until_seen(const uint64_t *counter, uint64_t n);

/* io_went_well - n is a number of bytes, or the documented error of a call that has failed.
 * adopted_here - a descriptor that the core closes in the end, or this function; then it is 0. */
bool io_went_well(int64_t n);
coro_fd adopted_here(int fd);

/* Bodies. ends_at_once - counts itself. leaf - looks whether its stack is guarded, yields. parks -
 * waits for a permit; its result is three times its argument, a uint32_t. */
void ends_at_once(void *arg, void *result);
void leaf(void *arg, void *result);
void parks(void *arg, void *result);

/* small - twenty leaves, and the end of s. */
void small(coro_scheduler *s);

/* what_it_owns - the current coroutine, of any layer, takes memory, defers functions, calls on a
 * deeper stack. *ends is what it was when all that was deferred has run. own_ends - for that. */
void what_it_owns(uint64_t *ends);
extern uint64_t own_ends;

/* frames_filled - a stretch of the stack gets a pattern. frames_kept - the pattern is still
 * there. */
void frames_filled(char *frame, size_t bytes);
void frames_kept(const char *frame, size_t bytes);

#endif
