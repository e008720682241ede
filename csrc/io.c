//go:build cgo && linux && (amd64 || arm64)
/* io.c - the room io as one unit, which is compiled in less time than its
 * files one by one. */
#include "base/unit.h"

#include "io/blocking.c"
