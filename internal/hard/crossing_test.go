//go:build cgo && corohostile

package hard_test

import (
	"runtime"
	"testing"

	"github.com/organzine/coro"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The build is the hostile one: without it there are far fewer collections.
func TestCrossingsCollect(t *testing.T) {
	s := newScheduler(t)
	task, err := park.Start(s, coro.None{})
	require.NoError(t, err)
	collections := func() uint32 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.NumGC
	}
	before := collections()
	eventually(t, func() bool { s.Stats(); return collections() >= before+5 }, "collections")
	require.NoError(t, task.Wake())
	_, err = wait(t, task)
	assert.NoError(t, err)
}
