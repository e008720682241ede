/* bodies.h - chunks that LZ4 compresses. */
#ifndef LZ4_BODIES_H
#define LZ4_BODIES_H

#include <stdint.h>

#include "coro.h"

struct chunk {
	coro_bytes from, to;
};

/* What failed, as codes of coro_fail. */
enum { NO_ROOM = 1, DAMAGED };

#endif
