#include "bodies.h"

#include <stdbool.h>
#include <string.h>

static void size(coro_buffer lines, size_t bytes)
{
	if (coro_buffer_resize(lines, bytes) != CORO_OK)
		coro_fail(NO_MEMORY, "there is no memory for the rows");
}

/* matches - has the line the value in the column? */
static bool matches(const struct query *q, const char *line, const char *end)
{
	for (uint32_t i = 0; i < q->column; i++) {
		line = memchr(line, ',', (size_t)(end - line));
		if (!line)
			return false;
		line++;
	}
	const char *comma = memchr(line, ',', (size_t)(end - line));
	size_t n = (size_t)((comma ? comma : end) - line);

	return n == q->value.n && (n == 0 || !memcmp(line, q->value.at, n));
}

/* search - the rows that a query wants, one after the other, and how many they are. */
CORO_BODY(search, struct query, struct rows, 0)
{
	const char *line = arg->text.at, *end = line + arg->text.n;
	size_t has = 0, room = 0;

	if (coro_buffer_make(0, &result->lines) != CORO_OK)
		coro_fail(NO_MEMORY, "there is no memory for a buffer");
	while (line < end) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));
		const char *next = stop ? stop + 1 : end;
		size_t n = (size_t)(next - line);
		if (matches(arg, line, stop ? stop : end)) {
			if (has + n > room)
				size(result->lines, room = 2 * (has + n));
			memcpy((char *)coro_buffer_at(result->lines, NULL) + has, line, n);
			has += n;
			result->n++;
		}
		line = next;
	}
	size(result->lines, has);
}
