#include "bodies.h"

#include <lz4frame.h>

#define PIECE (16 << 10) /* bytes that are read at a time */
#define STACK (48 << 10) /* for a piece, and for LZ4 */

/* receive - the next bytes of the stream; 0: its end. */
static size_t receive(coro_stream *st, void *to, size_t room)
{
	int64_t n = coro_stream_read(st, to, room, CORO_FOREVER);

	if (n < 0)
		coro_abort(); /* the rest does not come */
	return (size_t)n;
}

static void send(coro_stream *st, const void *from, size_t n)
{
	if (coro_stream_write(st, from, n, CORO_FOREVER) < (int64_t)n)
		coro_abort(); /* nobody wants the rest */
}

/* check - what LZ4 has returned, unless it is an error. */
static size_t check(size_t n)
{
	if (LZ4F_isError(n))
		coro_fail(DAMAGED, LZ4F_getErrorName(n));
	return n;
}

static char *memory(size_t bytes)
{
	char *at = coro_malloc(bytes); /* freed at the end */

	if (!at)
		coro_fail(NO_MEMORY, "there is no memory for the codec");
	return at;
}

static void free_packer(void *lz4)
{
	LZ4F_freeCompressionContext(lz4);
}

static void free_unpacker(void *lz4)
{
	LZ4F_freeDecompressionContext(lz4);
}

/* pack - compresses what comes by the stream, and sends it back. */
CORO_BODY_STACK(pack, coro_stream *, coro_none, STACK, 0)
{
	coro_stream *st = *arg;
	char from[PIECE], *to;
	size_t n, room = LZ4F_compressBound(PIECE, NULL) + LZ4F_HEADER_SIZE_MAX;
	LZ4F_cctx *lz4;

	coro_defer(coro_stream_drop, st); /* an end that is not closed then is an error */
	to = memory(room);
	check(LZ4F_createCompressionContext(&lz4, LZ4F_VERSION));
	coro_defer(free_packer, lz4);
	send(st, to, check(LZ4F_compressBegin(lz4, to, room, NULL)));
	while ((n = receive(st, from, PIECE)) > 0)
		send(st, to, check(LZ4F_compressUpdate(lz4, to, room, from, n, NULL)));
	send(st, to, check(LZ4F_compressEnd(lz4, to, room, NULL)));
	coro_stream_close(st, CORO_STREAM_IN | CORO_STREAM_OUT, 0);
}

/* unpack - the way back. */
CORO_BODY_STACK(unpack, coro_stream *, coro_none, STACK, 0)
{
	coro_stream *st = *arg;
	char from[PIECE], *to;
	size_t n, left = 1; /* 0: a frame of LZ4 has ended */
	LZ4F_dctx *lz4;

	coro_defer(coro_stream_drop, st);
	to = memory(PIECE);
	check(LZ4F_createDecompressionContext(&lz4, LZ4F_VERSION));
	coro_defer(free_unpacker, lz4);
	while ((n = receive(st, from, PIECE)) > 0) {
		size_t at = 0, took, made = 0;
		while (at < n || (left && made == PIECE)) {
			took = n - at;
			made = PIECE;
			left = check(LZ4F_decompress(lz4, to, &made, from + at, &took, NULL));
			at += took;
			send(st, to, made);
		}
	}
	if (left)
		coro_fail(CUT_OFF, "the end is missing");
	coro_stream_close(st, CORO_STREAM_IN | CORO_STREAM_OUT, 0);
}
