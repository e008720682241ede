//go:build race && linux

package race

import (
	"fmt"
	"iter"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Go's runtime does not tell the race detector of the end of what iter.Pull has started, so that
// some KiB are left of each. Once this fails, docs/limits.md has a limit less.
func TestRaceDetectorKeepsMemoryOfEachPull(t *testing.T) {
	resident := func() (pages int) {
		text, err := os.ReadFile("/proc/self/statm")
		require.NoError(t, err)
		_, err = fmt.Sscan(string(text), new(int), &pages)
		require.NoError(t, err)
		return pages * os.Getpagesize()
	}
	pulls := func(n int) {
		for range n {
			next, stop := iter.Pull(func(yield func(int) bool) { yield(1) })
			next()
			stop()
		}
	}
	pulls(100)
	const n = 2000
	before := resident()
	pulls(n)
	assert.Greater(t, resident()-before, n*4096)
}
