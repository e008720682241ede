/* stage.c - see stage.h. */
#include "stage.h"

coro_actor actor(coro_scheduler *s, const coro_actor_kind *kind, void *state)
{
	coro_actor a = 0;

	CHECK_EQ(coro_actor_spawn(s, kind, state, &a), CORO_OK);
	CHECK(a != 0);
	return a;
}

void tell(coro_actor to, uint32_t kind, uint64_t word)
{
	CHECK_EQ(coro_actor_send(to, kind, &word, sizeof word), CORO_OK);
}

uint64_t dead(const coro_actor_stats *t)
{
	uint64_t n = 0;

	for (int i = 0; i < CORO_DEAD_CAUSES; i++)
		n += t->dead[i];
	return n;
}

coro_actor_stats settled(coro_scheduler *s)
{
	coro_actor_stats t;

	CHECK_EQ(coro_actor_stats_of(s, &t), CORO_OK);
	CHECK_EQ(t.accepted, t.handled + dead(&t) + t.taken_back);
	return t;
}
