//go:build cgo && linux && (amd64 || arm64)
/* kernel_run.c - one more unit of the room kernel: see kernel.c. */
#include "base/unit.h"

#include "kernel/run.c"
