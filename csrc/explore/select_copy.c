/*
 * select_copy.c - sync/select.c in the explored copy. The state of its random numbers is one word
 * for all modelled threads, and is put back before each schedule.
 */
#include "world.h"

#include "base/sys.h"
#include "sync/chan.h"
#include "sync/select.h"
#include "sync/source.h"

#define __thread
#include "sync/select.c"

void world_select_regions(void)
{
	world_region(&random_state, sizeof random_state);
}
