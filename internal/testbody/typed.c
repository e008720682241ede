#include "typed.h"

CORO_BODY(testbody_plus, struct testbody_pair, int64_t, 0)
{
	*result = arg->small + arg->large;
}

CORO_BODY(testbody_idle, coro_none, coro_none, CORO_BRIEF)
{
}

CORO_BODY_STACK(testbody_deep_room, coro_none, uint64_t, 64 << 10, 0)
{
	*result = coro_stack_left();
}

CORO_BODY(testbody_dense_room, coro_none, uint64_t, CORO_DENSE)
{
	*result = coro_stack_left();
}

CORO_BODY(testbody_stuck, coro_none, coro_none, 0)
{
	coro_park();
}

static struct coro_body_desc strange;

struct coro_body_desc *testbody_strange(int way)
{
	strange = testbody_idle_body;
	switch (way) {
	case TESTBODY_NO_ENTRY:
		strange.entry = NULL;
		break;
	case TESTBODY_FLAGS:
		strange.flags = CORO_DAEMON;
		break;
	case TESTBODY_DENSE_STACK:
		strange.flags = CORO_DENSE;
		strange.stack_bytes = CORO_STACK_DEFAULT;
		break;
	case TESTBODY_STACK:
		strange.stack_bytes = SIZE_MAX;
		break;
	case TESTBODY_MAGIC:
		strange.magic++;
		break;
	}
	return &strange;
}
