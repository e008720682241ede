#include "lines.h"

#include <string.h>

/* answer - put a to z in upper case, up to the end of the last whole line. Returns: the bytes of
 * the whole lines. */
static size_t answer(char *text, size_t bytes)
{
	while (bytes > 0 && text[bytes - 1] != '\n')
		bytes--;
	for (size_t i = 0; i < bytes; i++)
		if (text[i] >= 'a' && text[i] <= 'z')
			text[i] -= 'a' - 'A';
	return bytes;
}

/* upper_lines - answers each line with the same in upper case, until the peer ends. It ends at a
 * line that is longer than LINE_BYTES, too. The result is how many bytes were answered. */
CORO_BODY(upper_lines, coro_stream *, uint64_t, 0)
{
	coro_stream *peer = *arg;
	char text[LINE_BYTES];
	size_t has = 0, whole;
	int64_t n;

	coro_defer(coro_stream_drop, peer); /* what is not closed then is told as an error */
	while (has < sizeof text) {
		n = coro_stream_read(peer, text + has, sizeof text - has, CORO_FOREVER);
		if (n < 0)
			return;
		if (n == 0)
			break;
		has += (size_t)n;
		whole = answer(text, has);
		n = coro_stream_write(peer, text, whole, CORO_FOREVER);
		if (n > 0)
			*result += (uint64_t)n;
		if (n < (int64_t)whole)
			return;
		has -= whole;
		memmove(text, text + whole, has);
	}
	coro_stream_close(peer, CORO_STREAM_IN | CORO_STREAM_OUT, 0);
}
