/*
 * change.h - a change of an actor's box, SND1 or CTL2 of box.h, from wherever the caller is, of an
 * actor that is active or dormant. The short ways of a worker's own coroutines are in send.c.
 */
#ifndef COROI_CHANGE_H
#define COROI_CHANGE_H

#include "actor/actors.h"

/* What is to be changed in a box: messages pushed, or a mark set. */
struct coroi_change {
	struct coroi_place *a;
	coro_actor to;
	struct coro_message *first, *last; /* last is NULL: a mark */
	uint32_t n;
	uint64_t mark;
	bool dormant;  /* only if the actor is that */
	bool outside;  /* by a thread that is no worker, and has no lock */
	uint32_t asks; /* HOM3: 1 + the number of the worker where the actor was at home; 0: none */
	uint32_t depth; /* of the last message */
	int status;
};

/* coroi_change_try - SND1 or CTL2, once. */
static inline bool coroi_change_try(struct coroi_change *x, uint64_t *old)
{
	bool done = x->last ? coroi_box_push(&x->a->box, old, x->first, x->last, x->n, &x->depth)
			    : coroi_box_mark(&x->a->box, old, x->mark);

	if (done && coroi_unlikely(*old & COROI_BOX_HOME))
		x->asks = coroi_box_worker(*old) + 1;
	return done;
}

/* coroi_change_active - SND1 or CTL2 if the actor is active, and x is not for a dormant one alone.
 * Returns: was that done, or refused? */
static inline bool coroi_change_active(struct coroi_change *x)
{
	uint64_t old = coroi_box_look(&x->a->box);

	for (;;) {
		x->status = coroi_box_takes(old, x->to) ? CORO_OK : CORO_ESTALE;
		if (x->status)
			return true;
		if (coroi_box_is_dormant(old) || x->dormant)
			return false;
		if (coroi_change_try(x, &old))
			return true;
	}
}

/* coroi_change - SND1 or CTL2, for coroi_task_spawn. change: a struct coroi_change. Returns: was
 * the actor dormant? coroi_change_slow - SND1 and SND2, or CTL2, the general way. Returns: as
 * coro_actor_send. */
bool coroi_change(void *change);
COROI_NOINLINE int coroi_change_slow(struct coroi_actors *all, struct coroi_change *x);

/* coroi_ask_home - HOM3: the actor's worker is to look. */
COROI_COLD void coroi_ask_home(const struct coroi_actors *all, uint32_t worker);

#endif
