/* bodies.h - matches of a pattern in a text. */
#ifndef PCRE2_BODIES_H
#define PCRE2_BODIES_H

#include <stdint.h>

#include "coro.h"

/* Where a match begins and ends, in bytes of its text. */
struct span {
	uint32_t from, to;
};

CORO_SLICE(spans, struct span);

struct search {
	coro_bytes text, pattern;
	spans found;
};

#endif
