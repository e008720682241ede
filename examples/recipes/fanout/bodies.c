#include "bodies.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void put(char *to, uint32_t bits, size_t has)
{
	for (size_t i = 0; i < 4; i++)
		to[i] = i <= has ? digits[bits >> (18 - 6 * i) & 63] : '=';
}

/* encode - the base64 form of a block. */
CORO_BODY(encode, coro_buffer, coro_buffer, 0)
{
	size_t n, i;
	const uint8_t *from = coro_buffer_at(*arg, &n);

	if (coro_buffer_make((n + 2) / 3 * 4, result) != CORO_OK) {
		coro_buffer_free(*arg); /* the block is the body's */
		coro_fail(NO_MEMORY, "there is no memory for a block");
	}
	char *to = coro_buffer_at(*result, NULL);
	for (i = 0; i + 3 <= n; i += 3, to += 4)
		put(to, (uint32_t)from[i] << 16 | from[i + 1] << 8 | from[i + 2], 3);
	if (n - i == 2)
		put(to, (uint32_t)from[i] << 16 | from[i + 1] << 8, 2);
	else if (n - i == 1)
		put(to, (uint32_t)from[i] << 16, 1);
	coro_buffer_free(*arg);
}
