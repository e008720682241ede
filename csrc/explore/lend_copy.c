/*
 * lend_copy.c - lend.c of the explored copy, and its thread-local hint.
 */
#include "border/lend.c"

#include "world.h"

void world_lend_regions(void)
{
	world_region(&last, sizeof last);
}
