/* scenarios_stream.c - streams: their bytes go to an echo, and come back. */
#include "ledger.h"

#define BYTES UINT64_C(900) /* that the writer writes, and the reader reads, if nothing fails */

static coro_stream *near_end, *far_end;
static uint64_t wrote, echoed, came;

static unsigned char byte_at(uint64_t at)
{
	return (unsigned char)(at * 7 + at / 256);
}

static uint64_t briefly(void)
{
	return coro_now() + 200000;
}

/* goes_on - n is what a call at a stream has returned. False: the coroutine gives up. Others that
 * failed may never come. */
static bool goes_on(int64_t n, int *in_vain)
{
	if (n > 0) {
		*in_vain = 0;
		return true;
	}
	++*in_vain;
	if (n == CORO_ETIMEDOUT)
		return *in_vain < 50 || !may_fail();
	if (n == 0 || n == CORO_ECLOSED || n == -77)
		return false;
	return !went_well((int)n, CORO_ENOMEM) && (*in_vain < 2 || !lasting);
}

static void writes(void *arg, void *result)
{
	unsigned char piece[70];
	int in_vain = 0;
	int64_t n = 1;

	(void)arg;
	(void)result;
	for (uint64_t at = 0; at < BYTES && goes_on(n, &in_vain);) {
		size_t bytes = at + sizeof piece < BYTES ? sizeof piece : BYTES - at;
		for (size_t i = 0; i < bytes; i++)
			piece[i] = byte_at(at + i);
		n = coro_stream_write(near_end, piece, bytes, briefly());
		at += n > 0 ? (uint64_t)n : 0;
		wrote = at;
	}
	CHECK(wrote == BYTES || may_fail());
	CHECK_EQ(coro_stream_close(near_end, CORO_STREAM_OUT, 0), CORO_OK);
	count(&ran);
}

/* sends_back - false: there is nobody to read it. */
static bool sends_back(const unsigned char *piece, int64_t bytes)
{
	int in_vain = 0;
	int64_t n = 1;

	for (int64_t at = 0; at<bytes; at += n> 0 ? n : 0) {
		if (!goes_on(n, &in_vain))
			return false;
		n = coro_stream_write(far_end, piece + at, (size_t)(bytes - at), briefly());
		echoed += n > 0 ? (uint64_t)n : 0;
	}
	return true;
}

static void echoes(void *arg, void *result)
{
	unsigned char piece[50];
	int in_vain = 0;
	int64_t n = 1;

	(void)arg;
	(void)result;
	while (goes_on(n, &in_vain)) {
		coro_case one = {.stream = far_end, .direction = CORO_STREAM_IN};
		n = coro_select(&one, 1, briefly());
		if (n)
			continue;
		n = coro_stream_read(far_end, piece, sizeof piece, briefly());
		if (n > 0 && !sends_back(piece, n))
			break;
	}
	CHECK_EQ(coro_stream_close(far_end, CORO_STREAM_OUT, -77), CORO_OK);
	count(&ran);
}

static void reads(void *arg, void *result)
{
	unsigned char piece[60];
	int in_vain = 0;
	int64_t n = 1;

	(void)arg;
	(void)result;
	while (goes_on(n, &in_vain)) {
		n = coro_stream_read(near_end, piece, sizeof piece, briefly());
		for (int64_t i = 0; i < n; i++)
			CHECK_EQ(piece[i], byte_at(came + (uint64_t)i));
		came += n > 0 ? (uint64_t)n : 0;
	}
	CHECK(n == -77 || may_fail());
	count(&ran);
}

/* goes_through - a stream whose rings are blocks of the C library, or mappings. */
static void goes_through(coro_scheduler *s, size_t bytes, const coro_attr *attr)
{
	wrote = echoed = came = 0;
	if (!again(QUIET(coro_stream_new(&near_end, &far_end, bytes)), CORO_ENOMEM))
		return;
	outside_attr(s, attr, writes, NULL, 0);
	outside_attr(s, attr, echoes, NULL, 0);
	outside_attr(s, attr, reads, NULL, 0);
	CHECK_EQ(QUIET(coro_scheduler_wait(s)), CORO_OK);
	CHECK(came <= echoed && echoed <= wrote);
	CHECK(may_fail() || (came == BYTES && echoed == BYTES));
	CHECK_EQ(QUIET(coro_stream_free(far_end)), CORO_OK);
	CHECK_EQ(QUIET(coro_stream_free(near_end)), CORO_OK);
}

SCENARIO(streams)
{
	static const coro_attr dense = {.size = sizeof dense, .flags = CORO_DENSE};
	coro_scheduler *s = begin(2, 0, 0);

	if (!s)
		return;
	goes_through(s, 32, NULL);
	goes_through(s, (size_t)64 << 10, &dense);
	end(s);
}
