/*
 * states.h - the states that the search has come to. See states.c.
 */
#ifndef EXPLORE_STATES_H
#define EXPLORE_STATES_H

#include "search.h"

/* state_now - a hash of everything that the rest of the schedule depends on. No thread runs. */
struct fingerprint state_now(void);

/* states_open - no state has been seen. */
void states_open(const struct plan *p);

/* state_decides - s is the state at a new decision of several choices, the depth-th of the path,
 * with `left` preemptions left. True: everything from here on has been explored. */
bool state_decides(struct fingerprint s, unsigned depth, unsigned left);

/* state_ends - s is the state at the end of a schedule. */
void state_ends(struct fingerprint s, unsigned depth);

#endif
