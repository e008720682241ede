/* bodies.h - blocks that are encoded. */
#ifndef FANOUT_BODIES_H
#define FANOUT_BODIES_H

#include "coro.h"

/* What failed, as codes of coro_fail. */
enum { NO_MEMORY = 1 };

#endif
