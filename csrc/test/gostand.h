/*
 * gostand.h - a stand-in for Go, which makes inline and offloaded calls, and whose threads lend
 * themselves.
 */
#ifndef GOSTAND_H
#define GOSTAND_H

#include "test.h"

#include "border/lend.h"

struct coroi_worker;

/* stand_in - from now on `serve` makes the inline calls: all that a worker has at a time. */
void stand_in(void (*serve)(struct coroi_worker *w));

/* start_go - start_with, for a scheduler that Go uses. */
coro_scheduler *start_go(uint32_t workers, uint32_t flags);

/* go_made - lists of inline calls that `adds` made, the calls in them, and the longest list. */
extern struct go_made {
	uint64_t lists, served, longest;
} go_made;

/* adds - for stand_in. Function 1 adds 1 to an int64_t; 2 fails; 3 fails with the largest text; 4
 * fails without a text. adds_first, unless NULL, is called before each list. */
extern void (*adds_first)(struct coroi_worker *w);
void adds(struct coroi_worker *w);

/* clerk_once - make the offloaded calls that are there, the latest first, of functions 1 and 2.
 * Returns the number of calls. clerk - a thread that does so until clerks_stop; without calls it
 * sleeps until the bell would be rung. */
uint64_t clerk_once(coro_scheduler *s);
extern uint64_t clerks_stop;
void *clerk(void *scheduler);

/* make_call - the call c, of functions 1 and 2, but not its completion. complete - OFF6 of
 * gocall.h: c is made. */
void make_call(struct coroi_call *c);
void complete(struct coro_scheduler *s, struct coroi_call *c);

/* ---------------------------------------------------------------------------- lends (lend.h) */

/* until_asleep - return when every worker of s that may be lent sleeps. */
void until_asleep(coro_scheduler *s);

/* lend_of - a call of fn with that argument, and a result of so many bytes. Its end is the
 * lender's. */
struct coroi_lend lend_of(coro_scheduler *s, coro_fn fn, const void *arg, size_t arg_bytes,
			  size_t result_bytes);

/* lend - coroi_lend_call, again until a worker can be lent. Returns: another outcome than
 * COROI_LEND_NONE, or an error. */
int lend(struct coroi_lend *l);

/* take_end - the coroutine of l has suspended: wait for its end, and take the end as Go does.
 * Returns: the status; l has that, the result, and what the coroutine failed with. */
int take_end(struct coroi_lend *l);

/* lend_to_end - lend, make the calls into Go, and take the end. Returns: the status. */
int lend_to_end(struct coroi_lend *l);

#endif
