//go:build cgo && linux && (amd64 || arm64)
/* dispatch.c - the room dispatch as one unit, which is compiled in less time than its
 * files one by one. */
#include "base/unit.h"

#include "dispatch/dispatch.c"
#include "dispatch/gq.c"
#include "dispatch/ll.c"
#include "dispatch/policy.c"
#include "dispatch/rr.c"
