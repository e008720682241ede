package corotest

import (
	"io"
	"time"
)

// Run is Main with another place for the report.
func Run(m interface{ Run() int }, report io.Writer) int { return run(m, report) }

// Hurry makes patience short, until the function that it returns is called.
func Hurry() (calm func()) {
	usual := patience
	patience = 200 * time.Millisecond
	return func() { patience = usual }
}
