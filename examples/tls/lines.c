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

/* upper_lines - answers each line with the same in upper case, until the peer ends, and closes the
 * descriptor. It ends at a line that is longer than LINE_BYTES, too. The result is how many bytes
 * were answered. */
CORO_BODY(upper_lines, coro_fd, uint64_t, 0)
{
	char text[LINE_BYTES];
	size_t has = 0, whole, put;
	int64_t n;

	while (has < sizeof text) {
		n = coro_read(*arg, text + has, sizeof text - has, CORO_FOREVER);
		if (n <= 0)
			break;
		has += (size_t)n;
		whole = answer(text, has);
		if (coro_write_all(*arg, text, whole, &put, CORO_FOREVER) != CORO_OK)
			break;
		*result += put;
		has -= whole;
		memmove(text, text + whole, has);
	}
	coro_fd_close(*arg);
}
