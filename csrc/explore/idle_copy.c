/*
 * idle_copy.c - steal.c and idle.c of the explored copy, and two of their static functions for
 * scenarios.
 */
#include "kernel/steal.c"
#include "kernel/idle.c"

#include "world.h"

bool world_steal(struct coroi_worker *w, struct coroi_worker *v)
{
	return steal(w, v);
}

void world_nap(struct coroi_worker *w)
{
	sleep_until_claimed(w, false);
}
