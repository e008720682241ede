//go:build cgo

package coro

import (
	"testing"

	"github.com/organzine/coro/csrc"
	"github.com/stretchr/testify/assert"
)

func TestEachStatusHasItsError(t *testing.T) {
	assert.NoError(t, statusError(csrc.OK))
	seen := map[error]csrc.Status{}
	for _, s := range []csrc.Status{csrc.Closed, csrc.NoMemory, csrc.Canceled, csrc.Aborted, csrc.Stale, csrc.Busy, csrc.Ended,
		csrc.Perm, csrc.Again, csrc.Overflow} {
		err := statusError(s)
		assert.Error(t, err)
		assert.NotContains(t, seen, err)
		seen[err] = s
	}
	assert.Equal(t, csrc.Overflow, seen[ErrTooManyWakes])
	assert.Equal(t, csrc.Again, seen[ErrThread])
	assert.ErrorContains(t, statusError(csrc.Invalid), csrc.Invalid.Text())
}
