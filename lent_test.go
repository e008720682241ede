//go:build cgo

package coro_test

import (
	"bytes"
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/testbody"
)

// Memory that is lent, together with what else there is.

var (
	lentDaemon = lentBody.Daemon()
	lentBrief  = coro.MustFunc[lentArg, uint64](testbody.Lent, coro.FuncBrief())
	lentDense  = coro.MustFunc[lentArg, uint64](testbody.Lent, coro.FuncDense())
	lentRange  = coro.MustRangeFunc[lentArg](testbody.LentRange, coro.FuncName("lent_range"))
)

// A lentPiece is memory that lentBody writes, and what is there when it has done so.
type lentPiece struct{ from, to, want []byte }

func aLentPiece(n int) (p lentPiece) {
	p = lentPiece{make([]byte, n), make([]byte, n), make([]byte, n)}
	for i := range n {
		p.from[i], p.want[i] = byte(i), byte(i+1)
	}
	return p
}

func (p lentPiece) arg(how uint32) lentArg { return lentTo(p.from, p.to, how, sees) }

// written: the body has come to its end.
func (p lentPiece) written(t *testing.T) {
	t.Helper()
	assert.Equal(t, p.want, p.to)
}

// notWritten: the body has not begun.
func (p lentPiece) notWritten(t *testing.T) {
	t.Helper()
	assert.Equal(t, make([]byte, len(p.to)), p.to)
}

// Each kind of Func lends, by each call that starts it.
func TestEachKindOfFuncLends(t *testing.T) {
	for name, f := range map[string]coro.Func[lentArg, uint64]{
		"Daemon": lentDaemon, "OnWorker": lentBody.OnWorker(1), "FuncBrief": lentBrief,
		"FuncDense": lentDense, "dense and brief": coro.MustFunc[lentArg, uint64](
			testbody.Lent, coro.FuncDense(), coro.FuncBrief()),
	} {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, coro.WithWorkers(2))
			for how := range testbody.LentAborts {
				if how == testbody.LentParks {
					continue
				}
				p := aLentPiece(100)
				_, err := f.Call(background, s, p.arg(how))
				require.NoError(t, err)
				p.written(t)
				p = aLentPiece(100)
				task, err := f.Start(s, p.arg(how))
				require.NoError(t, err)
				runtime.GC()
				_, err = task.Wait(background)
				require.NoError(t, err)
				p.written(t)
			}
			ctx, cancel := context.WithCancelCause(background)
			p, q := aLentPiece(10), aLentPiece(10)
			g := coro.NewGroup(background, s)
			task, err := f.StartContext(ctx, g, p.arg(testbody.LentParks))
			require.NoError(t, err)
			go func() {
				for _, n := s.Blocked(0); n < 2; _, n = s.Blocked(0) {
					runtime.Gosched()
				}
				cancel(errEnough)
			}()
			_, err = f.Call(ctx, s, q.arg(testbody.LentParks))
			assert.ErrorIs(t, err, errEnough)
			q.written(t)
			assert.ErrorIs(t, g.Wait(background), errEnough)
			assert.ErrorIs(t, task.Err(), errEnough)
			p.written(t)
			noLoans(t)
		})
	}
}

// Close cancels a daemon that borrows when the others have ended.
func TestADaemonThatBorrowsGivesBackAtTheClose(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	p := aLentPiece(10)
	task, err := lentDaemon.Start(s, p.arg(testbody.LentParks))
	require.NoError(t, err)
	parked(t, s, 1)
	require.NoError(t, s.Wait(soon(t)))
	assert.Equal(t, 1, core.Loans())
	require.NoError(t, s.Close(soon(t)))
	<-task.Done()
	p.written(t)
	noLoans(t)
}

// The end of what borrows is Go's.
func TestACBodyCannotJoinWhatBorrows(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	p := aLentPiece(10)
	task, err := lentBody.Start(s, p.arg(testbody.LentParks))
	require.NoError(t, err)
	status, err := join.Call(background, s, task.Handle())
	require.NoError(t, err)
	assert.EqualValues(t, core.Busy, status)
	task.Cancel()
	_, err = task.Wait(background)
	assert.ErrorIs(t, err, coro.ErrCanceled)
	p.written(t)
	noLoans(t)
}

// What is refused has lent nothing.
func TestAStartThatIsRefusedLendsNothing(t *testing.T) {
	closed := newScheduler(t)
	require.NoError(t, closed.Close(background))
	full := newScheduler(t, coro.WithWorkers(1), coro.WithRecordLimit(1))
	for _, err := park.Start(full, coro.None{}); err == nil; {
		_, err = park.Start(full, coro.None{})
	}
	s := newScheduler(t, coro.WithWorkers(1))
	over, canceled := coro.NewGroup(background, s), coro.NewGroup(background, s)
	require.NoError(t, over.Wait(background))
	canceled.Cancel(errEnough)
	crowded := coro.NewGroup(background, full)
	deadline, cancel := context.WithTimeout(background, time.Hour)
	defer cancel()
	p := aLentPiece(10)
	refused := func(err, want error) { // a worker that is lent may have a record in hand
		if err != nil || want != coro.ErrNoMemory {
			assert.ErrorIs(t, err, want)
		}
	}
	for name, c := range map[string]struct {
		in   coro.Scope
		f    coro.Func[lentArg, uint64]
		want error
	}{
		"closed":                  {closed, lentBody, coro.ErrClosed},
		"closed, brief":           {closed, lentBrief, coro.ErrClosed},
		"at the record limit":     {full, lentBody, coro.ErrNoMemory},
		"pinned, at the limit":    {full, lentBody.OnWorker(0), coro.ErrNoMemory},
		"dense, at the limit":     {full, lentDense, coro.ErrNoMemory},
		"in a group at the limit": {crowded, lentBody, coro.ErrNoMemory},
		"group that is over":      {over, lentBody, coro.ErrGroupOver},
		"group that is canceled":  {canceled, lentBody, errEnough},
	} {
		t.Run(name, func(t *testing.T) {
			arg := p.arg(testbody.LentNothing)
			_, err := c.f.Start(c.in, arg)
			assert.ErrorIs(t, err, c.want)
			_, err = c.f.StartContext(deadline, c.in, arg)
			assert.ErrorIs(t, err, c.want)
			_, err = c.f.StartContext(expired, c.in, arg)
			assert.ErrorIs(t, err, context.Canceled)
			if s, ok := c.in.(*coro.Scheduler); ok {
				called := aLentPiece(10).arg(testbody.LentNothing)
				_, err = c.f.Call(deadline, s, called)
				refused(err, c.want)
				_, err = c.f.Call(background, s, called)
				refused(err, c.want)
				_, err = c.f.Call(expired, s, arg)
				assert.ErrorIs(t, err, context.Canceled)
			}
			assert.Zero(t, core.Loans())
		})
	}
	called := aLentPiece(10).arg(testbody.LentNothing)
	refused(callsLent(background, full, called), coro.ErrNoMemory)
	refused(coro.For(background, full, 10, 1, lentRange, called), coro.ErrNoMemory)
	assert.ErrorIs(t, coro.For(background, closed, 10, 1, lentRange, p.arg(0)), coro.ErrClosed)
	assert.ErrorIs(t, coro.For(expired, s, 10, 1, lentRange, p.arg(0)), context.Canceled)
	_, err := lentBody.OnWorker(9).Start(s, p.arg(0))
	optionError(t, err, "OnWorker")
	_, err = lentBody.OnWorker(9).Call(background, s, p.arg(0))
	optionError(t, err, "OnWorker")
	p.notWritten(t)
	assert.Zero(t, core.Loans())
	require.NoError(t, crowded.Wait(background))
	assert.ErrorIs(t, canceled.Wait(background), errEnough)
}

// Schedulers that are closed and collected, with their tasks, leave no pin: a pinner that is
// collected while it pins would end the process.
func TestSchedulersThatAreCollectedHaveGivenBack(t *testing.T) {
	collected := new(atomic.Int32)
	pieces := make([]lentPiece, 20)
	for i := range pieces {
		func() {
			s, err := coro.New(coro.WithWorkers(1))
			require.NoError(t, err)
			runtime.AddCleanup(s, func(n *atomic.Int32) { n.Add(1) }, collected)
			pieces[i] = aLentPiece(50)
			g := coro.NewGroup(background, s)
			_, err = lentBody.Start(s, pieces[i].arg(testbody.LentYields))
			require.NoError(t, err)
			_, err = lentBody.Start(g, aLentPiece(10).arg(testbody.LentParks))
			require.NoError(t, err)
			parked(t, s, 1)
			_ = s.Close(expired)
			require.NoError(t, s.Close(background))
		}()
	}
	noLoans(t)
	eventually(t, func() bool {
		runtime.GC()
		return collected.Load() == int32(len(pieces))
	}, "all are collected")
	for _, p := range pieces {
		p.written(t)
	}
}

// Panics of contexts leave no pin. Call, CallN and For have then ended what borrows.
func TestAContextThatPanicsLeavesNothingLent(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	group := func(wait func(*coro.Group)) {
		g := coro.NewGroup(background, s)
		_, err := lentBody.Start(g, aLentPiece(10).arg(testbody.LentParks))
		require.NoError(t, err)
		defer func() { _ = g.Wait(expired) }()
		wait(g)
	}
	parks := func(a lentArg) (*coro.Task[uint64], error) { // the context is asked in each case
		a.How = testbody.LentParks
		return lentBody.Start(s, a)
	}
	for name, call := range map[string]func(context.Context, lentArg){
		"Call":  func(ctx context.Context, a lentArg) { _, _ = lentBody.Call(ctx, s, a) },
		"CallN": func(ctx context.Context, a lentArg) { _ = callsLent(ctx, s, a) },
		"For":   func(ctx context.Context, a lentArg) { _ = coro.For(ctx, s, 30, 30, lentRange, a) },
		"StartContext": func(ctx context.Context, a lentArg) {
			task, err := lentBody.StartContext(ctx, s, a)
			if err == nil {
				_, _ = task.Wait(expired)
			}
		},
		"StartContext in a group": func(ctx context.Context, a lentArg) {
			group(func(g *coro.Group) { _, _ = lentBody.StartContext(ctx, g, a) })
		},
		"Group.Wait": func(ctx context.Context, _ lentArg) {
			group(func(g *coro.Group) { _ = g.Wait(ctx) })
		},
		"Wait": func(ctx context.Context, a lentArg) {
			task, err := parks(a)
			require.NoError(t, err)
			defer func() { _, _ = task.Wait(expired) }()
			_, _ = task.Wait(ctx)
		},
		"Completions": func(ctx context.Context, a lentArg) {
			task, err := parks(a)
			require.NoError(t, err)
			defer func() { _, _ = task.Wait(expired) }()
			for range coro.Completions(ctx, task) {
			}
		},
	} {
		for _, how := range []uint32{testbody.LentYields, testbody.LentCalls, testbody.LentParks} {
			t.Run(name, func(t *testing.T) {
				sweep(t, func(ctx context.Context) {
					p := aLentPiece(30)
					defer func() { // the body wrote all, or it had not begun
						assert.Contains(t, [][]byte{p.want, make([]byte, 30)}, p.to)
					}()
					call(ctx, p.arg(how))
				})
				noLoans(t)
			})
		}
	}
}

// callsLent is CallN of one call.
func callsLent(ctx context.Context, s *coro.Scheduler, a lentArg) error {
	return lentBody.CallN(ctx, s, []lentArg{a}, make([]uint64, 1))
}

// Go functions that panic, or end their goroutine, in a call by what borrows.
func TestGoFunctionsThatPanicOrEndWithinWhatBorrows(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	ends := map[string]coro.FuncID{
		"panics": coro.MustExportFunc(func(context.Context, coro.Bytes) (coro.None, error) {
			panic("oh")
		}),
		"Goexit": coro.MustExportFunc(func(context.Context, coro.Bytes) (coro.None, error) {
			runtime.Goexit()
			return coro.None{}, nil
		}),
	}
	never, cancel := context.WithCancel(background)
	defer cancel()
	calls := map[string]func(context.Context, lentArg){
		"Call":  func(ctx context.Context, a lentArg) { _, _ = lentBody.Call(ctx, s, a) },
		"CallN": func(ctx context.Context, a lentArg) { _ = callsLent(ctx, s, a) },
		"For":   func(ctx context.Context, a lentArg) { _ = coro.For(ctx, s, a.To.Len(), 1, lentRange, a) },
		"Wait": func(ctx context.Context, a lentArg) {
			task, err := lentBody.StartContext(ctx, s, a)
			assert.NoError(t, err)
			_, _ = task.Wait(ctx)
		},
		"Group.Wait": func(ctx context.Context, a lentArg) {
			g := coro.NewGroup(ctx, s)
			_, err := lentBody.Start(g, a)
			assert.NoError(t, err)
			_ = g.Wait(ctx)
		},
	}
	for name, call := range calls {
		for what, id := range ends {
			t.Run(name+" "+what, func(t *testing.T) {
				for _, ctx := range []context.Context{background, never} {
					for range 20 {
						p := aLentPiece(8)
						arg := p.arg(testbody.LentCalls)
						arg.ID = id
						seen := make(chan []byte)
						go func() {
							defer func() { seen <- bytes.Clone(p.to) }()
							call(ctx, arg)
						}()
						to := <-seen
						noLoans(t)
						finish(t, s)
						assert.Equal(t, to, p.to, "nothing is written later")
						if name != "For" { // of that parts are left out
							p.written(t)
						}
					}
				}
			})
		}
	}
}

// For pins what it lends once, for all parts.
func TestForLends(t *testing.T) {
	inEachScheduler(t, func(t *testing.T, s *coro.Scheduler) {
		for _, how := range []uint32{testbody.LentNothing, testbody.LentYields,
			testbody.LentCalls, testbody.LentInline} {
			p := aLentPiece(1000)
			require.NoError(t, coro.For(background, s, 1000, 7, lentRange, p.arg(how)))
			p.written(t)
		}
		b := testbody.Malloc(1000) // C's memory is lent as it is
		defer testbody.Free(b)
		p := aLentPiece(1000)
		require.NoError(t, coro.For(background, s, 1000, 7, lentRange, lentTo(p.from, b, 0, 0)))
		assert.Equal(t, p.want, b)
		ctx, cancel := context.WithCancelCause(background)
		go func() {
			for _, n := s.Blocked(0); n == 0; _, n = s.Blocked(0) {
				runtime.Gosched()
			}
			cancel(errEnough)
		}()
		p = aLentPiece(1000)
		assert.ErrorIs(t, coro.For(ctx, s, 1000, 100, lentRange, p.arg(testbody.LentParks)), errEnough)
		assert.NotEqual(t, make([]byte, 1000), p.to, "those that had begun have written")
		err := coro.For(background, s, 10, 1, lentRange, p.arg(testbody.LentFails))
		assert.ErrorContains(t, err, "lent")
		assert.Zero(t, core.Loans())
	})
	_, err := coro.NewRangeFunc[struct{ a [4]coro.Bytes }](testbody.LentRange)
	optionError(t, err, "NewRangeFunc", "at most 48 fit")
	_, err = coro.NewRangeFunc[coro.Slice[*int]](testbody.LentRange)
	optionError(t, err, "NewRangeFunc", "points into Go")
}
