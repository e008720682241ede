/*
 * idle_copy.c - search.c and idle.c, with what a scenario wants of their static functions.
 */
#include "../search.c"
#include "../idle.c"

#include "world.h"

bool world_steal(struct coroi_worker *w, struct coroi_worker *v)
{
	return steal(w, v);
}

void world_sleep(void)
{
	if (coroi_token_drop(sched))
		coroi_rested(sched);
}

void world_nap(struct coroi_worker *w)
{
	nap(w, false);
}

void world_grant(void)
{
	coroi_token_grant(sched);
}
