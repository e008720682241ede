/* bodies.h - a search in a table of text. */
#ifndef ROWS_BODIES_H
#define ROWS_BODIES_H

#include "coro.h"

/* Lines of columns between commas. The rows that are wanted have `value` in a column. */
struct query {
	coro_bytes text, value;
	uint32_t column; /* from 0 */
};

struct rows {
	coro_buffer lines;
	uint64_t n;
};

/* What failed, as codes of coro_fail. */
enum { NO_MEMORY = 1 };

#endif
