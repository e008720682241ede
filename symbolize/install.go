//go:build cgo && linux && (amd64 || arm64)

package symbolize

// #cgo CFLAGS: -std=gnu11 -D_GNU_SOURCE -O2 -fvisibility=hidden -Wall -I${SRCDIR}/../csrc -I${SRCDIR}/../csrc/include
// #include "report.h"
import "C"

import (
	_ "github.com/ianlancetaylor/cgosymbolizer"
	_ "github.com/organzine/coro/internal/core" // whose handler writes the reports
)

func init() {
	C.coroi_report_install()
}
