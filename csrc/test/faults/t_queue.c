/*
 * t_queue.c - a queue that cannot grow, in use.
 */
#include "layer.h"

#include "../test.h"

#include "kernel/worker.h"

#include <errno.h>

static uint32_t turn_of[600], turns_taken;

static void takes_turns(void *arg, void *result)
{
	uint64_t me = *(uint64_t *)arg;

	(void)result;
	for (uint32_t round = 0; round < 3; round++) {
		turn_of[me] = turns_taken++;
		/* after its neighbour, in each round */
		CHECK(me == 0 || turn_of[me - 1] + 1 == turn_of[me]);
		CHECK_EQ(coro_yield(), CORO_OK);
	}
}

static void spawns_without_memory(void *arg, void *result)
{
	(void)arg;
	(void)result;
	fault_set(FAULT_ALLOC, 0, FAULT_ALL, ENOMEM);
	for (uint64_t i = 0; i < 600; i++)
		spawn_in(takes_turns, &i, sizeof i);
	CHECK(fault_clear() > 0);
	CHECK(coroi_self()->queue.spill.count > 0);
}

/* A coroutine that yields goes behind those that did not fit. */
TEST(queue_that_cannot_grow_keeps_turns)
{
	coro_scheduler *s = start_with(1, 0);
	spawn(s, spawns_without_memory, NULL, 0);
	finish(s);
	CHECK_EQ(turns_taken, 3 * 600);
}
