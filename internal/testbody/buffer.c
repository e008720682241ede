#include "buffer.h"

#include <stddef.h>

static void capitals(coro_buffer b)
{
	size_t n;
	unsigned char *at = coro_buffer_at(b, &n);

	for (size_t i = 0; i < n; i++)
		if (at[i] >= 'a' && at[i] <= 'z')
			at[i] -= 32;
}

static void child(void *arg, void *result)
{
	coro_buffer *b = arg;

	capitals(*b);
	*(coro_buffer *)result = *b;
}

/* with_child - the buffer goes to a child, and comes back by its result if that is wanted. */
static int with_child(coro_buffer *b, int wanted)
{
	coro_attr attr = {.flags = CORO_JOINABLE,
			  .result_bytes = sizeof *b,
			  .arg_buffers = 1,
			  .result_buffers = 1};
	coro_buffer sent = *b;
	coro_handle h;
	int status = coro_spawn_attr(&attr, child, b, sizeof *b, &h);

	if (status)
		return status;
	if (coro_buffer_free(sent) != CORO_ESTALE)
		return CORO_EINVAL;
	*b = (coro_buffer){0};
	return wanted ? coro_join(h, b, sizeof *b) : coro_detach(h);
}

/* with_go - the buffer goes to a Go body, and comes back by its result if that is wanted. */
static int with_go(coro_go_id id, coro_buffer *b, int wanted)
{
	coro_buffer sent = *b;
	coro_handle h;
	int status = coro_spawn_go(id, &sent, sizeof sent, wanted ? &h : NULL);

	if (status)
		return status;
	if (coro_buffer_free(sent) != CORO_ESTALE)
		return CORO_EINVAL;
	*b = (coro_buffer){0};
	if (wanted && (status = coro_join(h, b, sizeof *b)) == CORO_ECANCELED)
		coro_detach(h); /* it was the join that was canceled, or this is stale */
	return status;
}

CORO_BODY(testbody_buffer, struct testbody_buffer_arg, struct testbody_buffer_result, 0)
{
	coro_buffer b = arg->buffer;

	result->buffer = b;
	switch ((enum testbody_buffer_does)arg->does) {
	case TESTBODY_BUFFER_RETURN:
		capitals(b);
		break;
	case TESTBODY_BUFFER_FREE:
		result->status = coro_buffer_free(b);
		result->buffer = (coro_buffer){0};
		break;
	case TESTBODY_BUFFER_FAIL:
		coro_fail(7, "it failed with a buffer");
		break;
	case TESTBODY_BUFFER_CANCEL:
		while (coro_park() == CORO_OK)
			;
		break;
	case TESTBODY_BUFFER_ABORT:
		coro_abort();
		break;
	case TESTBODY_BUFFER_CALL:
	case TESTBODY_BUFFER_NO_RESULT:
		result->buffer = (coro_buffer){0};
		result->status = arg->does == TESTBODY_BUFFER_CALL
					 ? coro_call_go((coro_go_id)arg->id, &b, sizeof b,
							&result->buffer, sizeof result->buffer,
							NULL)
					 : coro_call_go((coro_go_id)arg->id, &b, sizeof b, NULL, 0,
							NULL);
		if (result->status == CORO_OK && coro_buffer_free(b) != CORO_ESTALE)
			result->status = CORO_EINVAL;
		break;
	case TESTBODY_BUFFER_CHILD:
	case TESTBODY_BUFFER_DROP:
		result->status = with_child(&b, arg->does == TESTBODY_BUFFER_CHILD);
		result->buffer = b;
		break;
	case TESTBODY_BUFFER_SPAWN_GO:
	case TESTBODY_BUFFER_DROP_GO:
		result->status = with_go((coro_go_id)arg->id, &b,
					 arg->does == TESTBODY_BUFFER_SPAWN_GO);
		result->buffer = b;
		break;
	}
}
