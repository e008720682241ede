//go:build cgo

package coro_test

import (
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/trial"
)

// Buffers whose memory faults once they are freed: CORO_BUFFERS=unmap.

func init() { children["a slice that is kept"] = keepsASlice }

func keepsASlice() {
	s, err := coro.New()
	if err != nil {
		panic(err)
	}
	b, err := coro.BufferOf(s, []byte("text"))
	if err != nil {
		panic(err)
	}
	var kept []byte
	_ = b.Use(func(p []byte) error { kept = p; return nil })
	println("before:", kept[0])
	if err := b.Free(); err != nil {
		panic(err)
	}
	println("after:", readsKept(kept))
}

//go:noinline
func readsKept(p []byte) byte { return p[0] }

func TestASliceThatIsKeptFaults(t *testing.T) {
	t.Setenv("CORO_BUFFERS", "unmap")
	out, err := child(t, "a slice that is kept")
	assert.Error(t, err)
	assert.Contains(t, out, "before: 116")
	assert.NotContains(t, out, "after:")
	assert.Contains(t, out, "unexpected fault address")
	assert.Regexp(t, `coro_test\.readsKept\(.*\n.*/buffer_unmap_test\.go:\d+`, out)
}

// The other tests of buffers, in that mode.
func TestBuffersThatAreUnmapped(t *testing.T) {
	args := append(slices.Clone(trial.Emulator), os.Args[0],
		"-test.run=^(TestABuffer|TestANewBuffer|TestBuffers|TestRandomBuffersLeave)",
		"-test.skip=^TestBuffersThatAreUnmapped$", "-test.short")
	cmd := exec.CommandContext(soon(t), args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "CORO_BUFFERS=unmap")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
