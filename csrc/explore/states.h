/*
 * states.h - the states that the search has come to; see states.c.
 */
#ifndef EXPLORE_STATES_H
#define EXPLORE_STATES_H

#include "search.h"

/* state_now - everything that the rest of the schedule depends on. No thread of the schedule
 * runs. */
struct fingerprint state_now(void);

/* states_open - none has been seen. */
void states_open(const struct plan *p);

/* state_decides - at a new decision of several choices, the depth-th of the path, with so many
 * preemptions left: it needs not be explored. */
bool state_decides(struct fingerprint s, unsigned depth, unsigned left);

/* state_ends - nobody goes on any more. */
void state_ends(struct fingerprint s, unsigned depth);

#endif
