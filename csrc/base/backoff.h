/*
 * backoff.h - how often to try what may not pay: after each try that did not pay half as often,
 * down to once in 64, and always again after one that paid.
 */
#ifndef COROI_BACKOFF_H
#define COROI_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

#define COROI_SKIPS_MOST 63

struct coroi_backoff {
	uint8_t skips; /* tries still to be left out */
	uint8_t most;  /* tries that were to be left out after the last one */
};

/* coroi_skip - true: leave the try out this time. False: try, then call coroi_tried. */
static inline bool coroi_skip(struct coroi_backoff *b)
{
	if (!b->skips)
		return false;
	b->skips--;
	return true;
}

/* coroi_tried - a try was made, and paid or not. */
static inline void coroi_tried(struct coroi_backoff *b, bool paid)
{
	b->most = paid ? 0
		       : (uint8_t)(b->most < COROI_SKIPS_MOST / 2 ? 2 * b->most + 1
								  : COROI_SKIPS_MOST);
	b->skips = b->most;
}

#endif
