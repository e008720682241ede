//go:build cgo

package coro_test

import (
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Two goroutines that use one Batch: a call that comes while another is in one is ErrBusy, and has
// done nothing.
func TestABatchInTwoHandsIsBusyAndWhole(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	for _, f := range []coro.Func[int64, coro.None]{add, add.OnWorker(1)} {
		testbody.Reset()
		var added atomic.Int64
		for range scaled(200) {
			b := f.Batch(s)
			var both sync.WaitGroup
			for range 2 {
				both.Go(func() {
					n := 0
					for range 5000 {
						switch err := b.Add(1); err {
						case nil:
							n++
						case coro.ErrBusy:
						default:
							assert.NoError(t, err)
						}
					}
					added.Add(int64(n))
					for b.Flush() == coro.ErrBusy {
						runtime.Gosched()
					}
				})
			}
			both.Wait()
		}
		finish(t, s)
		assert.Equal(t, added.Load(), testbody.Sum())
		assert.Positive(t, added.Load())
	}
}

// What an iterator has yielded before it panics, or ends its goroutine, is started, and nothing
// stays taken.
func TestAnIteratorThatPanicsLosesNothing(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithRecordLimit(1))
	const each, rounds = 100, 200 // with what they leave taken, more than the limit
	for name, end := range map[string]func(){
		"panic":  func() { panic(errEnough) },
		"Goexit": runtime.Goexit,
	} {
		testbody.Reset()
		for range rounds {
			done := make(chan any)
			go func() {
				defer func() { done <- recover() }()
				_, _ = add.SpawnSeq(s, func(yield func(int64) bool) {
					for range each {
						if !yield(1) {
							return
						}
					}
					end()
				})
			}()
			if v := receive(t, done); v != nil {
				require.Equal(t, errEnough, v)
			}
			finish(t, s)
		}
		assert.EqualValues(t, each*rounds, testbody.Sum(), name)
	}
	require.NoError(t, add.Spawn(s, 1))
	finish(t, s)
}

// A method of a zero value or a nil pointer returns, or panics in the goroutine that calls it,
// where the panic can be recovered.
func TestMethodsOfZeroValuesPanicInTheCaller(t *testing.T) {
	var (
		nobody *coro.Scheduler
		task   coro.Task[int64]
		batch  coro.Batch[int64, coro.None]
	)
	for _, v := range []any{
		nobody, new(coro.Scheduler), &task, (*coro.Task[int64])(nil), &batch,
		new(coro.Group), (*coro.Group)(nil), new(coro.Coroutine), (*coro.Coroutine)(nil),
		new(coro.Generator), coro.Handle(0), coro.Func[int64, coro.None]{}, coro.Stats{},
		coro.BlockedCoroutine{}, &coro.PanicError{}, &coro.DeadlockError{}, &coro.RunningError{},
		&coro.OptionError{}, &coro.NoWaitError{},
	} {
		value := reflect.ValueOf(v)
		for i := range value.NumMethod() {
			method := value.Method(i)
			args := make([]reflect.Value, method.Type().NumIn())
			for i := range args {
				args[i] = reflect.Zero(method.Type().In(i))
				if method.Type().In(i) == reflect.TypeOf(&background).Elem() {
					args[i] = reflect.ValueOf(ends(t))
				}
			}
			returned := make(chan struct{})
			go func() {
				defer close(returned)
				defer func() { _ = recover() }()
				call := method.Call
				if method.Type().IsVariadic() {
					call = method.CallSlice
				}
				call(args)
			}()
			receive(t, returned)
		}
	}
	assert.Panics(t, func() { _ = task.Err() })
	assert.Panics(t, func() { _ = nobody.Run(ends(t)) })
}
