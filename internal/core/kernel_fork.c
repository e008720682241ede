//go:build cgo && linux && (amd64 || arm64)
/* kernel_fork.c - one more unit of the room kernel: see kernel.c. */
#include "base/unit.h"

#include "kernel/fork.c"
