//go:build cgo && linux && (amd64 || arm64)
/* kernel_lend.c - one more unit of the room kernel: see kernel.c. */
#include "base/unit.h"

#include "kernel/lend.c"
#include "kernel/lendrun.c"
