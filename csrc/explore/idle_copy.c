/*
 * idle_copy.c - steal.c and idle.c, with what a scenario wants of their static functions.
 */
#include "kernel/steal.c"
#include "kernel/idle.c"

#include "world.h"

bool world_steal(struct coroi_worker *w, struct coroi_worker *v)
{
	return steal(w, v);
}

void world_sleep(void)
{
	if (coroi_awake_end(sched))
		coroi_rested(sched);
}

void world_nap(struct coroi_worker *w)
{
	sleep_until_claimed(w, false);
}

void world_grant(void)
{
	coroi_awake_begin(sched);
}
