//go:build cgo && linux && (amd64 || arm64)
/* base.c - the room base as one unit, which is compiled in less time than its
 * files one by one. */
#include "base/unit.h"

#include "base/abi.c"
#include "base/body.c"
#include "base/current.c"
#include "base/delay.c"
#include "base/extras.c"
#include "base/fault.c"
#include "base/heap.c"
#include "base/manual.c"
#include "base/stack.c"
#include "base/sys.c"
#include "base/sysio.c"
