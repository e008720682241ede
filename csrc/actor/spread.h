/*
 * spread.h - whether the actors of a scheduler are better spread over its workers.
 *
 * Actors that send to each other lose where a thief takes half of them: their messages then travel
 * from one CPU's cache to another's, which takes longer than to handle them. To a thief such turns
 * look long, and so as if stealing paid (kernel/steal.c). So the thief counts what all workers
 * send and handle, before and after. If together they do no more than without it, the thief gives
 * its actors back: what its coroutines wake from then on starts at the victim, and turns that yield
 * go on there. And it steals nothing for a while. Where it does not know how much was done before,
 * it finds out in the same way. Where messages are long, stealing pays whatever is counted.
 */
#ifndef COROI_SPREAD_H
#define COROI_SPREAD_H

#include "actor/actors.h"

/* How much all workers had done at a time: messages that were sent, and those that were handled. */
struct coroi_count {
	uint64_t ns, work; /* ns is 0: none */
};

struct coroi_spread {
	struct coroi_count idle[2]; /* while the worker had nothing to run: lately, and before */
	uint64_t idle_own;          /* what the worker itself had done then */
	uint64_t before;            /* ps for each, before the steal; 0: not known */
	struct coroi_count began;   /* the steal that is not judged yet */
	uint64_t own;               /* what the worker itself had done then */
	uint32_t holds_off;         /* how often the time to hold off was doubled */
	uint32_t victim;
	uint32_t gathers; /* how many are still to be given back */
};

/* coroi_watch_spread - of coroi_tasks: see kernel/task.h. */
void coroi_watch_spread(void *hand, int what, uint32_t other);

/* coroi_gather_spawn - coroi_task_spawn of a task that a coroutine of h's worker starts, while that
 * gathers. False: it does not. */
bool coroi_gather_spawn(struct coroi_hand *h, struct coroi_place *a, bool (*change)(void *),
			void *ctx, int *status);

/* coroi_gather_yield - coroi_yield_at by a turn on h's worker, while that gathers. False: it does
 * not. */
bool coroi_gather_yield(struct coroi_hand *h);

#endif
