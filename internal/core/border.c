//go:build cgo && linux && (amd64 || arm64)
/* border.c - the room border as one unit, which is compiled in less time than its files one by one.
 * Lending is a unit of its own, as run.c is: see kernel.c. */
#include "base/unit.h"

#include "border/brief.c"
#include "border/context.c"
#include "border/gobell.c"
#include "border/gocall.c"
#include "border/goworker.c"
#include "border/hooks.c"
#include "border/large.c"
#include "border/loop.c"
#include "border/many.c"
