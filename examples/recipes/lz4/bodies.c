#include "bodies.h"

#include <lz4.h>

/* LZ4 keeps its tables on the stack: 16 KiB and some hundred bytes. */
#define COMPRESS_STACK (64 << 10)

/* compress - compresses from into to. The result is the number of bytes there. */
CORO_BODY_STACK(compress, struct chunk, int32_t, COMPRESS_STACK, 0)
{
	*result = LZ4_compress_default(arg->from.at, arg->to.at, (int)arg->from.n, (int)arg->to.n);
	if (*result <= 0)
		coro_fail(NO_ROOM, "LZ4 has no room for the compressed bytes");
}

/* decompress - the way back. */
CORO_BODY(decompress, struct chunk, int32_t, 0)
{
	*result = LZ4_decompress_safe(arg->from.at, arg->to.at, (int)arg->from.n, (int)arg->to.n);
	if (*result < 0)
		coro_fail(DAMAGED, "this is nothing that LZ4 has compressed");
}
