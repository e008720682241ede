//go:build cgo && linux && (amd64 || arm64)
/* buffer.c - the room buffer as one unit, which is compiled in less time than its
 * files one by one. */
#include "base/unit.h"

#include "buffer/buffer.c"
#include "buffer/pool.c"
