/*
 * steal.h - what a worker does that has nothing to run, before it sleeps: it spins for a remote
 * wake, and steals.
 */
#ifndef COROI_STEAL_H
#define COROI_STEAL_H

#include "kernel/worker.h"

#define COROI_LATE_NS 200000 /* a deadline is so late: its worker does not get to it */

/* coroi_search - spin for a short while for a remote wake, and, as one of few, for something to
 * steal. True: w has something. */
bool coroi_search(struct coroi_worker *w);

/* coroi_note_turns - remember how far the others are. coroi_is_stuck - v has something and has not
 * switched since, or has missed a deadline. */
void coroi_note_turns(struct coroi_worker *w);
bool coroi_is_stuck(struct coroi_worker *w, struct coroi_worker *v);

/* coroi_has_surplus - a thief would get something from v. */
bool coroi_has_surplus(struct coroi_worker *v);

#endif
