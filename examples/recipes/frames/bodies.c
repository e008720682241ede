#include "bodies.h"

#define ENDED 1

/* fill - read so many bytes. Returns: CORO_OK; ENDED, before the first one; a code below 0. */
static int fill(coro_stream *from, void *to, size_t bytes)
{
	size_t has = 0;

	while (has < bytes) {
		int64_t n = coro_stream_read(from, (char *)to + has, bytes - has, CORO_FOREVER);
		if (n < 0)
			return (int)n;
		if (n == 0)
			return has > 0 ? FAULT_CUT_OFF : ENDED;
		has += (size_t)n;
	}
	return CORO_OK;
}

/* hand_on - read a frame, and give it to Go. Returns: as fill. */
static int hand_on(const struct frames *a)
{
	unsigned char head[4];
	coro_buffer frame;
	int status = fill(a->from, head, sizeof head);

	if (status != CORO_OK)
		return status;
	uint32_t bytes = (uint32_t)head[0] << 24 | head[1] << 16 | head[2] << 8 | head[3];
	if (bytes > MOST_BYTES)
		return FAULT_TOO_LONG;
	status = coro_buffer_make(bytes, &frame);
	if (status != CORO_OK)
		return status;
	status = fill(a->from, coro_buffer_at(frame, NULL), bytes);
	if (status == CORO_OK)
		status = coro_call_go(a->take, &frame, sizeof frame, NULL, 0, NULL);
	if (status != CORO_OK)
		coro_buffer_free(frame); /* it is stale, and nothing to free, if Go has it */
	return status == ENDED ? FAULT_CUT_OFF : status;
}

/* parse - gives each frame of a stream to Go. The result is how many. */
CORO_BODY(parse, struct frames, uint64_t, 0)
{
	int status;

	coro_defer(coro_stream_drop, arg->from);
	while ((status = hand_on(arg)) == CORO_OK)
		++*result;
	coro_stream_close(arg->from, CORO_STREAM_IN | CORO_STREAM_OUT,
			  status == ENDED ? 0 : status);
}
