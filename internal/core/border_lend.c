//go:build cgo && linux && (amd64 || arm64)
/* border_lend.c - one more unit of the room border: see border.c. */
#include "base/unit.h"

#include "border/lend.c"
#include "border/lendrun.c"
