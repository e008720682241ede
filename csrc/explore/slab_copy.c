/* slab_copy.c - slab.c of the explored copy, and its chunks for scenarios. */
#include "kernel/slab.c"

#include "world.h"

void world_chunks(void)
{
	world_region(chunk_info, coroi_chunk_count * sizeof *chunk_info);
	world_region(&coroi_chunk_count, sizeof coroi_chunk_count);
	world_region(&dir_frees, sizeof dir_frees);
}
