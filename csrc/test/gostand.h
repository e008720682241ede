/*
 * gostand.h - a stand-in for Go, which makes inline and offloaded calls.
 */
#ifndef GOSTAND_H
#define GOSTAND_H

#include "test.h"

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

#endif
