/*
 * backoff.h - how often to try what may be in vain: after each time in vain half as often, down to
 * once in 64, and always again after one that paid.
 */
#ifndef COROI_BACKOFF_H
#define COROI_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

#define COROI_SKIPS_MOST 63

struct coroi_backoff {
	uint8_t skips, most; /* so many are still to be left out; as many were after the last try */
};

/* coroi_skip - it is not to be tried this time. Else coroi_tried follows. */
static inline bool coroi_skip(struct coroi_backoff *b)
{
	if (!b->skips)
		return false;
	b->skips--;
	return true;
}

static inline void coroi_tried(struct coroi_backoff *b, bool paid)
{
	b->most = paid ? 0
		       : (uint8_t)(b->most < COROI_SKIPS_MOST / 2 ? 2 * b->most + 1
								  : COROI_SKIPS_MOST);
	b->skips = b->most;
}

#endif
