//go:build cgo

package coro

import (
	"testing"

	"github.com/organzine/coro/csrc"
	"github.com/stretchr/testify/assert"
)

func TestEachStatusHasItsError(t *testing.T) {
	for _, k := range []kind{ofScheduler, ofChan, ofObject, ofWaitGroup} {
		assert.NoError(t, statusError(csrc.OK, k))
		seen := map[error]csrc.Status{}
		for _, s := range []csrc.Status{csrc.Closed, csrc.NoMemory, csrc.Canceled,
			csrc.Aborted, csrc.Stale, csrc.Busy, csrc.Ended, csrc.Perm, csrc.Again,
			csrc.Overflow, csrc.Deadlock,
			csrc.Invalid} {
			err := statusError(s, k)
			assert.Error(t, err)
			assert.NotContains(t, seen, err)
			seen[err] = s
		}
		assert.Equal(t, csrc.Overflow, seen[ErrOverflow])
		assert.Equal(t, csrc.Again, seen[ErrThread])
	}
	assert.ErrorContains(t, statusError(csrc.Invalid, ofScheduler), csrc.Invalid.Text())
}

func TestAStatusMeansWhatItIsAbout(t *testing.T) {
	for _, c := range []struct {
		status csrc.Status
		about  kind
		want   error
	}{
		{csrc.Closed, ofScheduler, ErrClosed},
		{csrc.Closed, ofChan, ErrChanClosed},
		{csrc.Perm, ofScheduler, ErrPaused},
		{csrc.Stale, ofActor, ErrActorEnded},
		{csrc.Overflow, ofActor, ErrMailboxFull},
		{csrc.Perm, ofObject, ErrNotLocked},
		{csrc.Deadlock, ofObject, ErrLockedAlready},
		{csrc.Invalid, ofObject, ErrDestroyed},
		{csrc.Invalid, ofWaitGroup, ErrNegativeWaitGroup},
		{csrc.Overflow, ofWaitGroup, ErrOverflow},
	} {
		assert.Equal(t, c.want, statusError(c.status, c.about))
	}
}
