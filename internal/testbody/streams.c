#include "streams.h"

static coro_stream *begin(const struct testbody_stream *a)
{
	coro_stream *st = (coro_stream *)(uintptr_t)a->stream;

	coro_defer(coro_stream_drop, st);
	return st;
}

static void pause_if(uint64_t slow, uint64_t *n)
{
	if (!slow)
		return;
	coro_yield();
	if (++*n % 64 == 0)
		coro_sleep_until(coro_now() + 20000);
}

void testbody_stream_flip(void *arg, void *result)
{
	const struct testbody_stream *a = arg;
	coro_stream *st = begin(a);
	unsigned char buffer[4096];
	int64_t *total = result, n;
	uint64_t pauses = 0;

	*total = 0;
	while ((n = coro_stream_read(st, buffer, a->bytes, CORO_FOREVER)) > 0) {
		for (int64_t i = 0; i < n; i++)
			buffer[i] = (unsigned char)~buffer[i];
		pause_if(a->slow, &pauses);
		int64_t k = coro_stream_write(st, buffer, (size_t)n, CORO_FOREVER);
		if (k < n) {
			*total = k < 0 ? k : CORO_ECLOSED;
			return;
		}
		*total += n;
	}
	if (n < 0)
		*total = n;
	else
		coro_stream_close(st, CORO_STREAM_IN | CORO_STREAM_OUT, 0);
}

void testbody_stream_fails(void *arg, void *result)
{
	coro_stream *st = begin(arg);
	char c;

	*(int64_t *)result = coro_stream_read(st, &c, 1, CORO_FOREVER);
	coro_stream_close(st, CORO_STREAM_IN | CORO_STREAM_OUT, -70000);
}

void testbody_stream_closes(void *arg, void *result)
{
	const struct testbody_stream *a = arg;

	*(int64_t *)result = coro_stream_close(begin(a), CORO_STREAM_IN | CORO_STREAM_OUT,
					       (int)-(int64_t)a->bytes);
}

void testbody_stream_goodbye(void *arg, void *result)
{
	coro_stream *st = begin(arg);
	char buffer[64];
	int64_t n, *total = result;

	*total = 0;
	coro_stream_write(st, "goodbye", 7, CORO_FOREVER);
	coro_stream_close(st, CORO_STREAM_OUT, 0);
	while ((n = coro_stream_read(st, buffer, sizeof buffer, CORO_FOREVER)) > 0)
		*total += n;
	if (n < 0)
		*total = n;
	else
		coro_stream_close(st, CORO_STREAM_IN, 0);
}

void testbody_stream_reads(void *arg, void *result)
{
	const struct testbody_stream *a = arg;
	coro_stream *st = begin(a);
	unsigned char buffer[4096];
	int64_t n;

	while ((n = coro_stream_read(st, buffer, a->bytes, CORO_FOREVER)) > 0)
		;
	*(int64_t *)result = n;
}

void testbody_stream_writes(void *arg, void *result)
{
	static const unsigned char zeros[4096];
	const struct testbody_stream *a = arg;
	coro_stream *st = begin(a);
	int64_t n;

	while ((n = coro_stream_write(st, zeros, a->bytes, CORO_FOREVER)) > 0)
		;
	*(int64_t *)result = n;
}

void testbody_stream_keeps(void *arg, void *result)
{
	(void)arg;
	*(int64_t *)result = 0;
}
