/* scenarios_buffer.c - buffers: made, grown and freed, by coroutines and from outside. */
#include "ledger.h"

#include <string.h>

static uint64_t made;

/* kept - makes a buffer, lets it grow, and frees it. A refusal changes nothing. */
static void kept(coro_scheduler *from, size_t bytes)
{
	coro_buffer b = {0};
	size_t n;

	if (!again(QUIET(from ? coro_buffer_make_on(from, bytes, &b) : coro_buffer_make(bytes, &b)),
		   CORO_ENOMEM))
		return;
	count(&made);
	memset(coro_buffer_at(b, &n), 5, bytes);
	CHECK_EQ(n, bytes);
	if (again(QUIET(coro_buffer_resize(b, 3 * bytes)), CORO_ENOMEM))
		bytes *= 3;
	unsigned char *at = coro_buffer_at(b, &n);
	CHECK_EQ(n, bytes);
	CHECK(at[0] == 5);
	CHECK_EQ(QUIET(coro_buffer_free(b)), CORO_OK);
	CHECK_EQ(QUIET(coro_buffer_free(b)), CORO_ESTALE);
}

static void keeps(void *arg, void *result)
{
	(void)arg;
	(void)result;
	for (size_t bytes = 1; bytes < 200000; bytes *= 7)
		kept(NULL, bytes);
	count(&ran);
}

SCENARIO(buffers)
{
	coro_scheduler *s = begin(2, 0, 0);
	coro_stats t;

	if (!s)
		return;
	made = 0;
	for (int i = 0; i < 3; i++)
		outside(s, keeps, NULL, 0);
	for (size_t bytes = 1; bytes < 200000; bytes *= 9)
		kept(s, bytes);
	CHECK_EQ(QUIET(coro_scheduler_wait(s)), CORO_OK);
	CHECK_EQ(QUIET(coro_scheduler_stats(s, &t, NULL, 0)), CORO_OK);
	CHECK_EQ(t.buffers_made, made);
	CHECK_EQ(t.buffers_freed, made);
	CHECK_EQ(t.buffer_bytes, 0);
	end(s);
}
