//go:build cgo

package coro

import (
	"testing"

	"github.com/organzine/coro/internal/core"
	"github.com/stretchr/testify/assert"
)

func TestEachStatusHasItsError(t *testing.T) {
	for _, k := range []kind{ofScheduler, ofChan, ofObject, ofWaitGroup} {
		assert.NoError(t, statusError(core.OK, k))
		seen := map[error]core.Status{}
		for _, s := range []core.Status{core.Closed, core.NoMemory, core.Canceled,
			core.Aborted, core.Stale, core.Busy, core.Ended, core.Perm, core.Again,
			core.Overflow, core.Deadlock,
			core.Invalid} {
			err := statusError(s, k)
			assert.Error(t, err)
			assert.NotContains(t, seen, err)
			seen[err] = s
		}
		assert.Equal(t, core.Overflow, seen[ErrOverflow])
		assert.Equal(t, core.Again, seen[ErrThread])
	}
	assert.ErrorContains(t, statusError(core.Invalid, ofScheduler), core.Invalid.Text())
}

func TestAStatusMeansWhatItIsAbout(t *testing.T) {
	for _, c := range []struct {
		status core.Status
		about  kind
		want   error
	}{
		{core.Closed, ofScheduler, ErrClosed},
		{core.Closed, ofChan, ErrChanClosed},
		{core.Perm, ofScheduler, ErrPaused},
		{core.Perm, ofObject, ErrNotLocked},
		{core.Deadlock, ofObject, ErrLockedAlready},
		{core.Invalid, ofObject, ErrDestroyed},
		{core.Invalid, ofWaitGroup, ErrNegativeWaitGroup},
		{core.Overflow, ofWaitGroup, ErrOverflow},
	} {
		assert.Equal(t, c.want, statusError(c.status, c.about))
	}
}
