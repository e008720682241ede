/* stream.c - blocks that come from Go, and go back. */
#include "cbody.h"

#include "coro_io.h"

void cb_stream_echo(void *arg, void *result)
{
	coro_stream *st = *(coro_stream **)arg;
	char *block = coro_malloc(CB_STREAM_BLOCK);
	int64_t n = CORO_ENOMEM;
	(void)result;

	coro_defer(coro_stream_drop, st);
	while (block && (n = coro_stream_read(st, block, CB_STREAM_BLOCK, CORO_FOREVER)) > 0)
		if (coro_stream_write(st, block, (size_t)n, CORO_FOREVER) != n)
			n = CORO_ECLOSED;
	if (n)
		cb_fail((int)n);
	coro_stream_close(st, CORO_STREAM_IN | CORO_STREAM_OUT, 0);
}

static int64_t write_fd(coro_fd f, const char *from, int64_t n)
{
	for (int64_t k; n; from += k, n -= k)
		if ((k = coro_write(f, from, (size_t)n, CORO_FOREVER)) < 0)
			return k;
	return CORO_OK;
}

void cb_stream_echo_fd(void *arg, void *result)
{
	coro_fd f = *(coro_fd *)arg;
	char *block = coro_malloc(CB_STREAM_BLOCK);
	int64_t n = CORO_ENOMEM, status = CORO_OK;
	(void)result;

	while (block && !status && (n = coro_read(f, block, CB_STREAM_BLOCK, CORO_FOREVER)) > 0)
		status = write_fd(f, block, n);
	if (n || status)
		cb_fail((int)(status ? status : n));
	coro_fd_close(f);
}
