/*
 * ask_copy.c - actor/ask.c of the explored copy, and what it keeps for the process.
 */
#include "actor/ask.c"

#include "world.h"

void world_ask_regions(void)
{
	struct question *q[WORLD_QUESTIONS];

	EX_CHECK(questions_get(q, WORLD_QUESTIONS));
	questions_put(q, WORLD_QUESTIONS);
	world_region(&questions_lock, sizeof questions_lock);
	world_region(&questions, sizeof questions);
	world_region(asking, sizeof asking);
	world_region(&searches, sizeof searches);
}
