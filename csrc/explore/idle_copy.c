/*
 * idle_copy.c - idle.c, with what a scenario wants of its static functions.
 */
#include "../idle.c"

#include "world.h"

bool world_steal(struct coroi_worker *w, struct coroi_worker *v)
{
	return steal(w, v);
}

void world_sleep(void)
{
	if (drop(sched))
		coroi_rested(sched);
}

void world_nap(struct coroi_worker *w)
{
	nap(w, false);
}

void world_grant(void)
{
	grant(sched);
}
