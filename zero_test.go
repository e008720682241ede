//go:build cgo

package coro_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/organzine/coro"
	"github.com/stretchr/testify/assert"
)

// inTurn calls every method of v, with arguments that a caller could give, and what a method
// returns as an iterator, and tells report what each call panicked with; nil: with nothing.
func inTurn(v any, report func(method string, panicked any)) {
	methods := reflect.ValueOf(v)
	for i := range methods.NumMethod() {
		func() {
			defer func() { report(methods.Type().Method(i).Name, recover()) }()
			call(methods.Method(i))
		}()
	}
}

var contextType = reflect.TypeFor[context.Context]()

// call calls f, and the functions that it returns.
func call(f reflect.Value) {
	ctx, cancel := context.WithTimeout(background, 50*time.Millisecond)
	defer cancel()
	in := make([]reflect.Value, f.Type().NumIn())
	for i := range in {
		switch t := f.Type().In(i); {
		case t == contextType:
			in[i] = reflect.ValueOf(ctx)
		case t.Kind() == reflect.Func:
			in[i] = reflect.MakeFunc(t, func([]reflect.Value) []reflect.Value {
				out := make([]reflect.Value, t.NumOut())
				for k := range out {
					out[k] = reflect.Zero(t.Out(k))
				}
				return out
			})
		case t.Kind() == reflect.Int:
			in[i] = reflect.ValueOf(1)
		default:
			in[i] = reflect.Zero(t)
		}
	}
	var out []reflect.Value
	if f.Type().IsVariadic() {
		out = f.CallSlice(in)
	} else {
		out = f.Call(in)
	}
	for _, result := range out {
		if result.Kind() == reflect.Func && !result.IsNil() {
			call(result)
		}
	}
}

func TestZeroObjectsPanicWithTheConstructor(t *testing.T) {
	for maker, v := range map[string]any{
		"NewChan":      new(coro.Chan[int]),
		"NewSemaphore": new(coro.Semaphore),
		"NewMutex":     new(coro.Mutex),
		"NewRWMutex":   new(coro.RWMutex),
		"NewWaitGroup": new(coro.WaitGroup),
		"NewCond":      new(coro.Cond),
		"NewOnce":      new(coro.Once),
		"NewGenerator": new(coro.Generator),
	} {
		inTurn(v, func(method string, panicked any) {
			text := "make it with " + maker
			if method == "Address" || maker != "NewGenerator" && method == "Free" {
				// the same method of all objects
				text = "make the object with NewChan, NewMutex or the like"
			}
			assert.Contains(t, fmt.Sprint(panicked), text, "%T.%s", v, method)
		})
	}
	assert.PanicsWithValue(t, "coro: Chan(zero value): make it with NewChan", func() {
		coro.Select(background, coro.OnRecv(new(coro.Chan[int]), nil)) //nolint:errcheck // panics
	})
}

// A struct that has a lock by value, as one has a sync.RWMutex.
func TestAZeroRWMutexInAStructPanics(t *testing.T) {
	var service struct {
		name  string
		guard coro.RWMutex
	}
	assert.PanicsWithValue(t, "coro: RWMutex(zero value): make it with NewRWMutex", func() {
		_ = service.guard.RLock(background)
	})
}

// Whatever a method of a zero value or a nil pointer does: the process goes on.
func TestZeroAndNilValuesDoNoHarm(t *testing.T) {
	panics := 0
	for _, v := range []any{
		new(coro.Group), (*coro.Group)(nil),
		new(coro.Coroutine), (*coro.Coroutine)(nil),
		new(coro.Batch[int, coro.None]), (*coro.Batch[int, coro.None])(nil),
		coro.Func[int, coro.None]{}, coro.Handle(0), coro.Case{},
		(*coro.Chan[int])(nil), (*coro.Semaphore)(nil), (*coro.Mutex)(nil), (*coro.RWMutex)(nil),
		(*coro.WaitGroup)(nil), (*coro.Cond)(nil), (*coro.Once)(nil), (*coro.Generator)(nil),
	} {
		inTurn(v, func(_ string, panicked any) {
			if panicked != nil {
				panics++
			}
		})
	}
	assert.NotZero(t, panics)
}

func TestNothingIsMadeWithoutAScheduler(t *testing.T) {
	for _, s := range []*coro.Scheduler{nil, new(coro.Scheduler)} {
		for what, err := range map[string]error{
			"NewChan":      second(coro.NewChan[int](s, 1)),
			"NewSemaphore": second(coro.NewSemaphore(s, 1)),
			"NewMutex":     second(coro.NewMutex(s)),
			"NewRWMutex":   second(coro.NewRWMutex(s)),
			"NewWaitGroup": second(coro.NewWaitGroup(s, 1)),
			"NewOnce":      second(coro.NewOnce(s)),
			"NewCond":      second(coro.NewCond(nil)),
		} {
			var option *coro.OptionError
			if assert.ErrorAs(t, err, &option, what) {
				assert.Equal(t, what, option.What)
			}
		}
	}
	assert.Error(t, second(coro.NewCond(new(coro.Mutex))))
}
