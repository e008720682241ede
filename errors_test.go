//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/organzine/coro"
	"github.com/stretchr/testify/assert"
)

func TestErrorsSayWhereTheyComeFromAndDiffer(t *testing.T) {
	all := []error{
		coro.ErrClosed, coro.ErrNoMemory, coro.ErrCanceled, coro.ErrAborted, coro.ErrStale,
		coro.ErrBusy, coro.ErrEnded,
		coro.ErrPaused, coro.ErrThread, coro.ErrNoCgo, coro.ErrOverflow,
		&coro.OptionError{What: "WithX", Value: 3,
			Reason: "must be less"}, &coro.DeadlockError{}, &coro.RunningError{},
	}
	seen := map[string]bool{}
	for _, err := range all {
		assert.True(t, strings.HasPrefix(err.Error(), "coro: "), err.Error())
		assert.False(t, seen[err.Error()])
		seen[err.Error()] = true
	}
	assert.Equal(t, "coro: WithX(3): must be less", all[11].Error())
}

func TestADeadlockErrorNamesTheFirstFew(t *testing.T) {
	e := &coro.DeadlockError{Count: 12}
	for i := range 9 {
		e.Blocked = append(e.Blocked, coro.BlockedCoroutine{Func: fmt.Sprint("f", i),
			Waits: "park"})
	}
	assert.Equal(t,
		"coro: deadlock: 12 coroutines wait for ever; f0 in park; f1 in park; f2 in park; "+
			"f3 in park; f4 in park; f5 in park; f6 in park; f7 in park; …", e.Error())
	e = &coro.DeadlockError{Count: 1, Blocked: []coro.BlockedCoroutine{{Func: "f",
		Waits: "join"}}}
	assert.Equal(t, "coro: deadlock: 1 coroutines wait for ever; f in join", e.Error())
}

func TestARunningErrorNamesAndWraps(t *testing.T) {
	var err error = &coro.RunningError{Funcs: []string{"f", "g"},
		Cause: context.DeadlineExceeded}
	assert.Equal(t, "coro: close: still running: f, g: context deadline exceeded", err.Error())
	assert.True(t, errors.Is(err, context.DeadlineExceeded))
}
