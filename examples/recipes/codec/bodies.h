/* bodies.h - LZ4 as a filter of a stream. */
#ifndef CODEC_BODIES_H
#define CODEC_BODIES_H

#include "coro.h"

/* What failed, as codes of coro_fail. */
enum { NO_MEMORY = 1, DAMAGED, CUT_OFF };

#endif
