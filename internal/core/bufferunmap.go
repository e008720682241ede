//go:build cgo && linux && (amd64 || arm64)

package core

// #include "buffer/buffer.h"
import "C"

import "os"

// bufferunmap.go - with CORO_BUFFERS=unmap the memory of buffers faults once they are freed.

func init() {
	if os.Getenv("CORO_BUFFERS") == "unmap" {
		C.coroi_buffers_unmap = true
	}
}
