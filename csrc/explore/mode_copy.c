/*
 * mode_copy.c - io/mode.c of the explored copy, and its table: the world's descriptors are in the
 * first lines.
 */
#include "io/mode.c"

#include "world.h"

void world_mode_regions(void)
{
	world_region(lines, (1 + WORLD_DESCRIPTORS) * sizeof *lines);
}
