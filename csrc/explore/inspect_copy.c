/* inspect_copy.c - inspect.c of the explored copy, and a static function of it for scenarios. */
#include "kernel/inspect.c"

#include "world.h"

void world_collect(struct coroi_worker *w)
{
	collect_from(w);
}
