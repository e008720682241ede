/* bodies.h - frames of a stream: 4 bytes, the most significant first, say how many follow. */
#ifndef FRAMES_BODIES_H
#define FRAMES_BODIES_H

#include "coro.h"

#define MOST_BYTES (1 << 20) /* of a frame */

struct frames {
	coro_stream *from;
	coro_go_id take; /* gets each frame: a coro_buffer */
};

/* What a stream fails with that has no frames. */
enum fault {
	FAULT_TOO_LONG = -10001,
	FAULT_CUT_OFF = -10002,
};

#endif
