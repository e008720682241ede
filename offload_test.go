//go:build cgo

package coro

import (
	"context"
	"runtime"
	"sync"
	"testing"

	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestIdleOffloadWorkersGo(t *testing.T) {
	s, err := New(WithWorkers(1))
	require.NoError(t, err)
	const n = 20
	var here sync.WaitGroup
	here.Add(n)
	id := MustExportFunc(func(context.Context, int64) (int64, error) {
		here.Done()
		here.Wait()
		return 0, nil
	})
	call := MustFunc[testbody.Calls, None](testbody.CallMany)
	_, err = call.SpawnN(s, n, testbody.Calls{ID: uint32(id), How: testbody.Offload, N: 1})
	require.NoError(t, err)
	require.NoError(t, s.Wait(context.Background()))

	o := &s.offload
	k, all, _ := o.Idle()
	for ; k < all || all < n; k, all, _ = o.Idle() { // some are on their way to sleep
		runtime.Gosched()
	}
	o.TrimNow() // there were calls since it was set
	for k > 0 {
		before := k
		o.TrimNow()
		k, all, _ = o.Idle()
		assert.LessOrEqual(t, k, before/2)
		assert.Equal(t, k, all)
	}
	o.TrimNow()
	_, _, trims := o.Idle()
	assert.False(t, trims, "nobody is idle")
	require.NoError(t, s.Close(context.Background()))
}
