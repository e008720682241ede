//go:build cgo && linux && (amd64 || arm64)

package symbolize

// #cgo CFLAGS: -std=gnu11 -D_GNU_SOURCE -O2 -fvisibility=hidden -Wall -I${SRCDIR}/../csrc -I${SRCDIR}/../csrc/include
// #include "report.h"
import "C"

import (
	_ "github.com/ianlancetaylor/cgosymbolizer"
	_ "github.com/organzine/coro/csrc" // its handler of faults is installed before this one
)

func init() {
	C.coroi_report_install()
}
