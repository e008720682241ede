//go:build cgo

package coro_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type testKey struct{}

// A stubborn context blocks in each method, or panics, once it is armed.
type stubborn struct {
	context.Context
	armed  *atomic.Bool
	panics bool
	free   <-chan struct{}
}

func (s stubborn) use() {
	if s.armed.Load() {
		if s.panics {
			panic(broken{})
		}
		<-s.free
	}
}

func (s stubborn) Deadline() (time.Time, bool) { s.use(); return s.Context.Deadline() }
func (s stubborn) Done() <-chan struct{}       { s.use(); return s.Context.Done() }
func (s stubborn) Err() error                  { s.use(); return s.Context.Err() }
func (s stubborn) Value(key any) any           { s.use(); return s.Context.Value(key) }

// What users wrote is called by the goroutine that starts, and by what asks for it: a context that
// then blocks or panics holds up neither calls, nor cancels, nor ends, nor Close.
func TestAContextThatBlocksOrPanicsHoldsUpNobody(t *testing.T) {
	for name, panics := range map[string]bool{"blocks": false, "panics": true} {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, coro.WithWorkers(2), coro.WithExecutors(1))
			free := make(chan struct{})
			defer close(free)
			began, ends := make(chan struct{}), make(chan error)
			id := coro.MustExportFunc(func(ctx context.Context, n int64) (int64, error) {
				began <- struct{}{}
				<-ctx.Done()
				ends <- context.Cause(ctx)
				if panics {
					assert.Panics(t, func() { ctx.Value(testKey{}) }, "it is asked")
				}
				return 0, nil
			})
			call := testbody.Call{ID: uint32(id), How: testbody.Offload, ArgBytes: 8,
				ResultBytes: 8}
			for _, done := range []bool{true, false} {
				ctx, cancel := context.WithTimeout(background, time.Hour)
				defer cancel()
				if !done {
					ctx = context.WithoutCancel(ctx)
				}
				armed := &atomic.Bool{}
				ctx = stubborn{context.WithValue(ctx, testKey{}, 1), armed, panics, free}
				g := coro.NewGroup(ctx, s)
				calls, err := callOne.StartContext(ctx, s, call)
				require.NoError(t, err)
				receive(t, began)
				member, err := callOne.StartContext(ctx, g, call)
				require.NoError(t, err)
				receive(t, began)
				parks, err := canceled.StartContext(ctx, s, parksAndTells)
				require.NoError(t, err)
				ready := make(chan struct{})
				body, err := coro.GoContext(ctx, s, func(c *coro.Coroutine) (int, error) {
					close(ready)
					return 0, c.Park(c.Context())
				})
				require.NoError(t, err)
				receive(t, ready)
				parked(t, s, 4)
				armed.Store(true)

				calls.Cancel()
				assert.Equal(t, coro.ErrCanceled, receive(t, ends))
				g.Cancel(errEnough)
				assert.Equal(t, errEnough, receive(t, ends))
				assert.EqualValues(t, 2, calling(t, s, testbody.Offload, increment, 1).Number)
				parks.Cancel()
				body.Cancel()
				_, err = wait(t, parks)
				assert.Equal(t, coro.ErrCanceled, err)
				_, err = wait(t, body)
				assert.Equal(t, coro.ErrCanceled, err)
				for _, task := range []*coro.Task[testbody.Came]{calls, member} {
					_, err = wait(t, task)
					assert.NoError(t, err, "it was not told")
				}
				assert.Equal(t, errEnough, g.Wait(soon(t)))
			}
			assert.NoError(t, s.Close(soon(t)))
		})
	}
}

// A context of another type ends what it was given to, with its cause, and is let go.
func TestContextsOfOtherTypes(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	before := runtime.NumGoroutine()
	for range scaled(100) {
		for _, group := range []bool{false, true} {
			base, cancel := context.WithCancelCause(background)
			done := make(chan struct{})
			ctx := ownDone{base, done}
			var in coro.Scope = s
			if group {
				in = coro.NewGroup(background, s)
			}
			a, err := canceled.StartContext(ctx, in, parksAndTells)
			require.NoError(t, err)
			b, err := coro.GoContext(ctx, in, parksInGo)
			require.NoError(t, err)
			quick, err := coro.GoContext(ctx, s, func(*coro.Coroutine) (int, error) { return 1, nil })
			require.NoError(t, err)
			_, err = wait(t, quick)
			require.NoError(t, err, "before the context ends")
			cancel(errEnough)
			close(done)
			_, err = wait(t, a)
			assert.ErrorIs(t, err, errEnough)
			_, err = wait(t, b)
			assert.ErrorIs(t, err, errEnough)
			if g, ok := in.(*coro.Group); ok {
				assert.ErrorIs(t, g.Wait(background), errEnough)
				_, err := square.StartContext(ownDone{background, nil}, g, 1)
				assert.Equal(t, coro.ErrGroupOver, err)
			}
		}
	}
	finish(t, s)
	eventually(t, func() bool { return runtime.NumGoroutine() <= before+4 }, "nothing is left")
}

// An ownDone has a channel of its own, which package context cannot know.
type ownDone struct {
	context.Context
	done chan struct{}
}

func (o ownDone) Done() <-chan struct{} { return o.done }

// ------------------------------------------------------------------------- what a C body may ask

var asking = coro.MustFunc[testbody.Ask, testbody.Asked](testbody.Asks, coro.FuncName("asks"))

const forever = uint64(math.MaxUint64)

func cause(a testbody.Asked) string {
	text, _, _ := bytes.Cut(a.Cause[:], []byte{0})
	return string(text)
}

func TestACBodyAsksForItsDeadline(t *testing.T) {
	for name, opt := range map[string]coro.FuncOption{
		"on a stack": coro.FuncName("asks"), "dense": coro.FuncDense()} {
		t.Run(name, func(t *testing.T) {
			asking := coro.MustFunc[testbody.Ask, testbody.Asked](testbody.Asks, opt)
			s := newScheduler(t, coro.WithWorkers(2))
			hour, end := context.WithTimeout(background, time.Hour)
			defer end()
			two, endTwo := context.WithTimeout(background, 2*time.Hour)
			defer endTwo()
			inHours := func(at uint64, n int) {
				t.Helper()
				in := time.Duration(at - coro.Now())
				assert.Greater(t, in, time.Duration(n)*time.Hour-time.Minute)
				assert.LessOrEqual(t, in, time.Duration(n)*time.Hour)
			}
			ask := func(ctx context.Context, in coro.Scope, a testbody.Ask) testbody.Asked {
				t.Helper()
				start := func() (*coro.Task[testbody.Asked], error) { return asking.Start(in, a) }
				if ctx != nil {
					start = func() (*coro.Task[testbody.Asked], error) {
						return asking.StartContext(ctx, in, a)
					}
				}
				task, err := start()
				require.NoError(t, err)
				got, err := wait(t, task)
				require.NoError(t, err)
				assert.Zero(t, got.Length, "it is not canceled")
				return got
			}
			for range 200 { // ids are used again
				inHours(ask(hour, s, testbody.Ask{}).Deadline, 1)
				assert.Equal(t, forever, ask(background, s, testbody.Ask{}).Deadline)
				assert.Equal(t, forever, ask(nil, s, testbody.Ask{}).Deadline)
				inHours(ask(context.WithValue(hour, testKey{}, 1), s, testbody.Ask{}).Deadline, 1)
			}
			assert.Equal(t, forever, ask(hour, s, testbody.Ask{Child: 1}).Deadline,
				"a child inherits none")
			g := coro.NewGroup(hour, s)
			inHours(ask(nil, g, testbody.Ask{}).Deadline, 1)
			inHours(ask(two, g, testbody.Ask{}).Deadline, 1)
			inHours(ask(background, g, testbody.Ask{}).Deadline, 1)
			require.NoError(t, g.Wait(background))
			g = coro.NewGroup(two, s)
			inHours(ask(hour, g, testbody.Ask{}).Deadline, 1)
			require.NoError(t, g.Wait(background))

			got := ask(two, s, testbody.Ask{Shield: uint64(time.Hour)})
			inHours(got.Deadline, 2)
			inHours(got.Shielded, 1)
			assert.Equal(t, forever, ask(two, s, testbody.Ask{Shield: forever}).Shielded)
			got = ask(two, s, testbody.Ask{Shield: 1})
			inHours(got.Shielded, 2)

			var tasks []*coro.Task[testbody.Asked]
			var ends []context.CancelFunc
			for i := range 300 { // many ids at a time
				ctx, end := context.WithTimeout(background, time.Duration(1+i%3)*time.Hour)
				ends = append(ends, end)
				task, err := asking.StartContext(ctx, s, testbody.Ask{Waits: 1})
				require.NoError(t, err)
				tasks = append(tasks, task)
			}
			for i, task := range tasks {
				task.Cancel()
				got, err := wait(t, task)
				if err == nil { // else it was canceled before it began
					inHours(got.Deadline, 1+i%3)
				}
				ends[i]()
			}
			finish(t, s)
		})
	}
}

type panickyCause struct{}

func (panickyCause) Error() string { panic("oh") }

// One rule: the text is that of the error that the Task would have.
func TestACBodyAsksWhyItIsCanceled(t *testing.T) {
	for name, opt := range map[string]coro.FuncOption{
		"on a stack": coro.FuncName("asks"), "dense": coro.FuncDense()} {
		t.Run(name, func(t *testing.T) {
			asking := coro.MustFunc[testbody.Ask, testbody.Asked](testbody.Asks, opt)
			s := newScheduler(t, coro.WithWorkers(2), coro.WithCallLimit(1))
			a := testbody.Ask{Waits: 1, Room: 24}
			tells := func(task *coro.Task[testbody.Asked], err error, cancel func(), why string,
				length int) {
				t.Helper()
				require.NoError(t, err)
				parked(t, s, 1)
				cancel()
				got, err := wait(t, task)
				require.NoError(t, err)
				assert.Equal(t, why, cause(got))
				assert.EqualValues(t, length, got.Length)
			}
			for _, c := range []struct {
				cause error
				room  uint32
				why   string
			}{
				{errors.New("no more"), 24, "no more"},
				{errors.New("no more"), 8, "no more"},
				{errors.New("no more"), 7, "no mor"},
				{errors.New("no more"), 1, ""},
				{errors.New("no more"), 0, ""},
			} {
				ctx, cancel := context.WithCancelCause(background)
				ask := a
				ask.Room = c.room
				task, err := asking.StartContext(ctx, s, ask)
				tells(task, err, func() { cancel(c.cause) }, c.why, len("no more"))

				g := coro.NewGroup(background, s)
				task, err = asking.Start(g, ask)
				tells(task, err, func() { g.Cancel(c.cause) }, c.why, len("no more"))
				task, err = asking.StartContext(background, coro.NewGroup(background, s), ask)
				require.NoError(t, err)
				task.Cancel()
				_, _ = wait(t, task)
			}
			ctx, end := context.WithTimeout(background, 5*time.Millisecond)
			defer end()
			task, err := asking.StartContext(ctx, s, a)
			require.NoError(t, err)
			if got, err := wait(t, task); err == nil {
				assert.Equal(t, context.DeadlineExceeded.Error()[:23], cause(got))
			}

			task, err = asking.Start(s, a)
			tells(task, err, func() { task.Cancel() }, coro.ErrCanceled.Error(), 14)
			far, endFar := context.WithTimeout(background, time.Hour)
			defer endFar()
			task, err = asking.StartContext(far, s, a)
			tells(task, err, func() { task.Cancel() }, coro.ErrCanceled.Error(), 14)

			ctx, cancel := context.WithCancelCause(background)
			task, err = asking.StartContext(ctx, s, a)
			require.NoError(t, err)
			parked(t, s, 1)
			cancel(panickyCause{})
			got, err := wait(t, task)
			require.NoError(t, err)
			assert.Contains(t, cause(got), "PANIC=Error method")

			ctx, cancel = context.WithCancelCause(background)
			a.Nowait = 1
			task, err = asking.StartContext(ctx, s, a)
			tells(task, err, func() { cancel(errEnough) }, coro.ErrCanceled.Error(), 14)

			a.Nowait, a.Waits = 0, 0
			task, err = asking.Start(s, a)
			require.NoError(t, err)
			got, err = wait(t, task)
			require.NoError(t, err)
			assert.Zero(t, got.Length)
			assert.Empty(t, cause(got))
			finish(t, s)
		})
	}
}

// The same when the scheduler is closed, where calls into Go are refused.
func TestACBodyAsksWhyItIsCanceledByClose(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	ctx, cancel := context.WithCancelCause(background)
	a := testbody.Ask{Waits: 1, Room: 24}
	ended, err := asking.StartContext(ctx, s, a)
	require.NoError(t, err)
	other, err := asking.StartContext(context.WithValue(background, testKey{}, 1), s, a)
	require.NoError(t, err)
	parked(t, s, 2)
	closedEarly(t, s.Close(expired))
	got, err := ended.Wait(background)
	require.NoError(t, err)
	assert.Equal(t, coro.ErrCanceled.Error(), cause(got))
	got, err = other.Wait(background)
	require.NoError(t, err)
	assert.Equal(t, coro.ErrCanceled.Error(), cause(got))
	cancel(nil)
}
