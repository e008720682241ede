/* dense_bodies.c - see dense_bodies.h. */
#include "dense_bodies.h"

#include <string.h>

uint64_t dense_done;

const coro_attr dense_attr = {.size = sizeof(coro_attr), .flags = CORO_DENSE};
const coro_attr dense_joinable = {
	.size = sizeof(coro_attr), .flags = CORO_DENSE | CORO_JOINABLE, .result_bytes = 8};

coro_scheduler *dense_start(uint32_t workers, uint32_t shared_stacks, size_t stack_bytes)
{
	coro_options o = {.size = sizeof o,
			  .workers = workers,
			  .shared_stacks = shared_stacks,
			  .shared_stack_bytes = stack_bytes};
	return start(&o);
}

void dense_spawn(coro_scheduler *s, coro_fn fn, uint64_t arg)
{
	CHECK_EQ(coro_scheduler_spawn(s, &dense_attr, fn, &arg, sizeof arg, NULL), CORO_OK);
}

void dense_yields(void *arg, void *result)
{
	uint64_t id, state;
	(void)result;

	memcpy(&id, arg, 8);
	state = id * 2 + 1;
	for (unsigned i = 0; i < 20; i++)
		CHECK_EQ(pattern_across((unsigned)(rnd(&state) % 40 + 1), id, coro_yield), CORO_OK);
	add_one(&dense_done);
}

void dense_large(void *arg, void *result)
{
	uint64_t id;
	(void)result;

	memcpy(&id, arg, 8);
	for (unsigned i = 0; i < 5; i++)
		CHECK_EQ(pattern_across(id & 1 ? 1500 : 10, id, coro_yield), CORO_OK);
	add_one(&dense_done);
}

void dense_deferred(void *arg)
{
	(void)arg;
	add_one(&dense_done);
}

void dense_ends(void *arg, void *result)
{
	uint64_t id;

	memcpy(&id, arg, 8);
	CHECK_EQ(coro_defer(dense_deferred, NULL), CORO_OK);
	char *text = coro_strdup("kept in the arena");
	CHECK_EQ(pattern_across(8, id, coro_yield), CORO_OK);
	CHECK(text && strcmp(text, "kept in the arena") == 0);
	id++;
	memcpy(result, &id, 8);
	switch (id % 3) {
	case 1:
		coro_exit();
		break;
	case 2:
		coro_abort();
	}
}
