/*
 * steal.h - how a worker gets what others have. One that has nothing to run spins for a remote
 * wake, and steals, before it sleeps. A busy one stirs.
 */
#ifndef COROI_STEAL_H
#define COROI_STEAL_H

#include "kernel/worker.h"

/* coroi_search - spin for a short while for what comes into the inbox and, as one of few workers,
 * for something to steal. Thread: w's, in no door. Blocking: for up to COROI_SPIN_NS, and for a
 * round of steals. Returns: true if there is something to run or in the inbox. */
bool coroi_search(struct coroi_worker *w);

/* coroi_stir_look - w is busy and shares its work, and has just looked at the clock: has another
 * worker far more to do? Then w is to go to its native stack, and stir. The caller is inside w's
 * door. Cost: a peek every 200 us. coroi_stir - take half of the difference. Thread: w's, on its
 * native stack, in no door: two that stir, each knocking at the other's door, do not wait for each
 * other. Blocking: as a steal. */
void coroi_stir_look(struct coroi_worker *w);
void coroi_stir(struct coroi_worker *w);

/* coroi_note_turns - remember how often each worker has switched (w->steal.seen). */
void coroi_note_turns(struct coroi_worker *w);
/* coroi_is_stuck - v has something to run and has not switched since coroi_note_turns, or a
 * deadline of v is late. Of a dedicated v: it has a remote wake or a spawn in its inbox, and has
 * not switched. */
bool coroi_is_stuck(struct coroi_worker *w, struct coroi_worker *v);

/* coroi_has_surplus - v has two coroutines or more in its queue, and a thief may take of them. */
bool coroi_has_surplus(struct coroi_worker *v);

#endif
