/*
 * gostand.h - a stand-in for Go, which makes inline and offloaded calls.
 */
#ifndef GOSTAND_H
#define GOSTAND_H

#include "test.h"

struct coroi_worker;

/* stand_in - serve makes the inline calls from now on: all that a worker has at a time. */
void stand_in(void (*serve)(struct coroi_worker *w));

/* start_go - start_with, and Go is there. */
coro_scheduler *start_go(uint32_t workers, uint32_t flags);

/* go_made - lists of inline calls by adds, those calls, and the longest list. */
extern struct go_made {
	uint64_t lists, served, longest;
} go_made;

/* adds - for stand_in. It knows function 1: an int64_t, to which it adds 1; 2: fails; 3: the
 * largest text; 4: fails without one. Before each list it calls adds_first, unless that is NULL. */
extern void (*adds_first)(struct coroi_worker *w);
void adds(struct coroi_worker *w);

/* clerk_once - makes the offloaded calls that are there, the latest first, of functions 1 and 2.
 * Returns how many. clerk - a thread's: so until clerks_stop; when there are none it sleeps until
 * the bell would be rung. */
uint64_t clerk_once(coro_scheduler *s);
extern uint64_t clerks_stop;
void *clerk(void *scheduler);

#endif
