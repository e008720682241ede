//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/testbody"
)

type addArg struct {
	From, To coro.Bytes
	By       uint64
}

var (
	addLent   = coro.MustFunc[addArg, uint64](testbody.AddBytes)
	addSlowly = coro.MustFunc[addArg, uint64](testbody.AddBytesSlowly) // one byte a turn
)

func lent(from, to []byte, by uint64) addArg {
	return addArg{coro.SliceOf(from), coro.SliceOf(to), by}
}

func TestACoroutineBorrowsSlices(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	ctx := context.Background()
	from, to := []byte{1, 2, 3}, make([]byte, 3)
	sum, err := addLent.Call(ctx, s, lent(from, to, 5))
	require.NoError(t, err)
	assert.EqualValues(t, 21, sum)
	assert.Equal(t, []byte{6, 7, 8}, to)

	task, err := addLent.Start(s, lent(to, from, 1))
	require.NoError(t, err)
	sum, err = task.Wait(ctx)
	require.NoError(t, err)
	assert.EqualValues(t, 24, sum)

	sums := make([]uint64, 3)
	args := []addArg{lent(from, to, 1), {}, lent(from[:1], to, 2)}
	require.NoError(t, addLent.CallN(ctx, s, args, sums))
	assert.Equal(t, []uint64{27, 0, 9}, sums)

	g := coro.NewGroup(ctx, s)
	task, err = addLent.Start(g, lent(from, to, 2))
	require.NoError(t, err)
	require.NoError(t, g.Wait(ctx))
	sum, err = task.Wait(ctx)
	require.NoError(t, err)
	assert.EqualValues(t, 30, sum)
	noLoans(t)
}

// noLoans waits until no coroutine borrows anything.
func noLoans(t *testing.T) {
	t.Helper()
	assert.Eventually(t, func() bool { return core.Loans() == 0 }, time.Minute, time.Millisecond)
}

func TestWhatIsEmptyIsNull(t *testing.T) {
	for _, s := range [][]uint64{nil, {}, make([]uint64, 3)[1:1]} {
		assert.Zero(t, coro.SliceOf(s))
		assert.Nil(t, coro.SliceOf(s).Slice())
	}
	s := coro.SliceOf([]uint64{4, 5})
	assert.Equal(t, 2, s.Len())
	assert.Equal(t, []uint64{4, 5}, s.Slice())
}

// A testbody_lent.
type lentArg struct {
	From, To coro.Bytes
	How      uint32
	ID       coro.FuncID
	By       uint32
}

var lentBody = coro.MustFunc[lentArg, uint64](testbody.Lent, coro.FuncName("lent"))

// lentTo is an argument by which to becomes what from is, and 1 more.
func lentTo(from, to []byte, how uint32, id coro.FuncID) lentArg {
	return lentArg{coro.SliceOf(from), coro.SliceOf(to), how, id, 1}
}

// Calls of a CallN that wait for a cancel hear of the end of its context, and write before CallN
// returns.
func TestACallNThatBorrowsCancelsItsCalls(t *testing.T) {
	for _, workers := range []int{1, 2} {
		s := newScheduler(t, coro.WithWorkers(workers))
		ctx, cancel := context.WithCancelCause(background)
		cause := errors.New("enough")
		const n = 1000
		from, to := []byte{1, 2}, make([]byte, 2*n)
		args := make([]lentArg, n)
		for i := range args {
			args[i] = lentTo(from, to[2*i:2*i+2], testbody.LentParks, 0)
		}
		go func() {
			for _, n := s.Blocked(0); n < 100; _, n = s.Blocked(0) {
				runtime.Gosched()
			}
			cancel(cause)
		}()
		assert.ErrorIs(t, lentBody.CallN(ctx, s, args, make([]uint64, n)), cause)
		ran := 0
		for i := range args {
			if to[2*i] == 2 {
				ran++
			}
		}
		assert.GreaterOrEqual(t, ran, 100)
		assert.Zero(t, core.Loans())
	}
}

// The same where there are not enough records for all: the rest starts when some have ended.
func TestACallNThatBorrowsIsCanceledWithoutRecords(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1), coro.WithRecordLimit(1))
	ctx, cancel := context.WithCancel(background)
	args := make([]lentArg, 1<<13)
	for i := range args {
		args[i] = lentTo(nil, nil, testbody.LentParks, 0)
	}
	go func() {
		for _, n := s.Blocked(0); n < 100; _, n = s.Blocked(0) {
			runtime.Gosched()
		}
		cancel()
	}()
	assert.ErrorIs(t, lentBody.CallN(ctx, s, args, make([]uint64, len(args))), context.Canceled)
}

// A goroutine that ends in a Go function of its calls leaves nothing: what it has deferred may free
// the memory.
func TestAGoroutineThatEndsInACallWaitsForTheEnd(t *testing.T) {
	ends := coro.MustExportFunc(func(context.Context, coro.Bytes) (coro.None, error) {
		runtime.Goexit()
		return coro.None{}, nil
	})
	s := newScheduler(t, coro.WithWorkers(1))
	for name, call := range map[string]func(lentArg){
		"Call":  func(a lentArg) { _, _ = lentBody.Call(background, s, a) },
		"CallN": func(a lentArg) { _ = lentBody.CallN(background, s, []lentArg{a}, make([]uint64, 1)) },
	} {
		t.Run(name, func(t *testing.T) {
			for range 100 {
				asleep(t, s)
				to := make([]byte, 3)
				done := make(chan bool)
				go func() {
					returned := false
					defer func() { done <- returned }()
					defer func() { assert.Equal(t, []byte{2, 3, 4}, to) }()
					call(lentTo([]byte{1, 2, 3}, to, testbody.LentCalls, ends))
					returned = true
				}()
				<-done
				noLoans(t)
			}
		})
	}
	// The count of leaders is right: a stall tells of all that wait.
	told := make(chan int, 1)
	s = newScheduler(t, coro.WithWorkers(1), coro.WithStallHook(func(n int) {
		select {
		case told <- n:
		default:
		}
	}))
	asleep(t, s)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = lentBody.CallN(background, s, []lentArg{lentTo(nil, nil, testbody.LentCalls, ends)},
			make([]uint64, 1))
	}()
	<-done
	require.NoError(t, s.Rest(soon(t)))
	two, err := park.SpawnN(s, 2, coro.None{})
	require.NoError(t, err)
	assert.Equal(t, 2, two)
	select {
	case n := <-told:
		assert.Equal(t, 2, n)
	case <-time.After(patience):
		assert.Fail(t, "no stall")
	}
	assert.ErrorIs(t, s.Close(expired), context.Canceled)
}

// In a bubble nothing waits with a context; what borrows has ended nevertheless.
func TestInABubbleWhatBorrowsHasEnded(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	for name, call := range map[string]func(lentArg) error{
		"Call":  func(a lentArg) error { _, err := lentBody.Call(background, s, a); return err },
		"CallN": func(a lentArg) error { return lentBody.CallN(background, s, []lentArg{a}, make([]uint64, 1)) },
		"Wait": func(a lentArg) error {
			task, err := lentBody.Start(s, a)
			if err == nil {
				_, err = task.Wait(background)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				to := make([]byte, 3)
				err := call(lentTo([]byte{1, 2, 3}, to, testbody.LentParks, 0))
				assert.ErrorIs(t, err, coro.ErrBubble)
				assert.Contains(t, [][]byte{{2, 3, 4}, {0, 0, 0}}, to,
					"it perhaps has not begun")
				assert.Zero(t, core.Loans())
			})
		})
	}
}

// A Go function sees the memory that its caller has: C's own, and what Go has lent to C.
func TestAGoFunctionSeesTheMemoryOfItsCaller(t *testing.T) {
	type both struct {
		Own, Lent coro.Bytes
		By        uint64
	}
	adds := coro.MustExportFunc(func(_ context.Context, a both) (coro.None, error) {
		assert.Equal(t, []byte{1, 2, 3, 4}, a.Own.Slice())
		a.Own.Slice()[0] += byte(a.By)
		copy(a.Lent.Slice(), a.Own.Slice())
		return coro.None{}, nil
	})
	length := coro.MustExportFunc(func(_ context.Context, a coro.Bytes) (coro.None, error) {
		assert.Equal(t, 3, a.Len())
		assert.Equal(t, make([]byte, 3), a.Slice())
		return coro.None{}, nil
	})
	lentBoth := coro.MustFunc[lentArg, int64](testbody.LentBoth)
	s := newScheduler(t, coro.WithWorkers(1))
	for _, how := range []uint32{testbody.LentCalls, testbody.LentInline} {
		to := make([]byte, 4)
		status, err := lentBoth.Call(background, s, lentTo(nil, to, how, adds))
		require.NoError(t, err)
		assert.Zero(t, status)
		assert.Equal(t, []byte{2, 2, 3, 4}, to)
		sum, err := lentBody.Call(background, s, lentTo([]byte{1, 2, 3}, make([]byte, 3), how, length))
		require.NoError(t, err)
		assert.EqualValues(t, 9, sum)
	}
	noLoans(t)
}

// One of several who wait has a context that ends.
func TestAWaitThatEndsCancelsWhatBorrowsForAll(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	task, err := lentBody.Start(s, lentTo(nil, nil, testbody.LentParks, 0))
	require.NoError(t, err)
	parked(t, s, 1)
	assert.NoError(t, task.Err())
	ctx, cancel := context.WithCancel(background)
	others := make(chan error, 3)
	for range cap(others) {
		go func() {
			_, err := task.Wait(background)
			others <- err
		}()
	}
	go cancel()
	_, err = task.Wait(ctx)
	assert.ErrorIs(t, err, context.Canceled)
	assert.NotErrorIs(t, err, coro.ErrCanceled)
	for range cap(others) {
		assert.ErrorIs(t, <-others, coro.ErrCanceled)
	}
	<-task.Done()
	assert.ErrorIs(t, task.Err(), coro.ErrCanceled)
	_, err = task.Wait(expired)
	assert.ErrorIs(t, err, coro.ErrCanceled, "it had ended before")
}

// What a coroutine borrows stays where it is, although the stack of the caller grows.
func TestTheArrayOfAStackIsNotLent(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	var from, to [64]byte
	for i := range from {
		from[i] = byte(i)
	}
	task, err := addSlowly.Start(s, lent(from[:], to[:], 1))
	require.NoError(t, err)
	var pad [512]byte
	grow(100, &pad)
	runtime.GC()
	n, err := task.Wait(context.Background())
	require.NoError(t, err)
	assert.EqualValues(t, len(from), n)
	for i := range to {
		assert.EqualValues(t, i+1, to[i])
	}
	noLoans(t)
}

// Calls return when their coroutine has ended, which then does not write any more.
func TestACallThatBorrowsReturnsAfterTheEnd(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	from, to := make([]byte, 1<<24), make([]byte, 1<<24)
	cause := errors.New("enough")
	for name, call := range map[string]func(context.Context, addArg) error{
		"Call": func(ctx context.Context, a addArg) error {
			_, err := addSlowly.Call(ctx, s, a)
			return err
		},
		"Wait": func(ctx context.Context, a addArg) error {
			task, err := addSlowly.Start(s, a)
			require.NoError(t, err)
			_, err = task.Wait(ctx)
			return err
		},
		"StartContext": func(ctx context.Context, a addArg) error {
			task, err := addSlowly.StartContext(ctx, s, a)
			require.NoError(t, err)
			_, err = task.Wait(context.Background())
			return err
		},
		"Await": func(ctx context.Context, a addArg) error {
			body, err := coro.Go(s, func(c *coro.Coroutine) (coro.None, error) {
				task, err := addSlowly.Start(s, a)
				if err == nil {
					_, err = task.Await(ctx, c)
				}
				return coro.None{}, err
			})
			require.NoError(t, err)
			_, err = body.Wait(context.Background())
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(context.Background())
			before := switches(s)
			go func() {
				for switches(s) < before+1000 {
					runtime.Gosched()
				}
				cancel(cause)
			}()
			err := call(ctx, lent(from, to, 1))
			assert.ErrorIs(t, err, cause)
			assert.Equal(t, make([]byte, len(to)), to, "the body has taken back what it did")
			noLoans(t)
		})
	}
}

func switches(s *coro.Scheduler) (n uint64) {
	for _, w := range s.Stats().PerWorker {
		n += w.Switches
	}
	return n
}

// Nothing stays pinned, whoever forgets what.
func TestATaskThatIsDroppedGivesBack(t *testing.T) {
	for range 20 {
		s := newScheduler(t, coro.WithWorkers(1))
		for range 100 {
			_, err := addSlowly.Start(s, lent(make([]byte, 100), make([]byte, 100), 1))
			require.NoError(t, err)
		}
		runtime.GC()
		require.NoError(t, s.Close(context.Background()))
		noLoans(t)
		_, err := addLent.Start(s, lent([]byte{1}, []byte{2}, 1))
		assert.ErrorIs(t, err, coro.ErrClosed)
		_, err = addLent.Call(context.Background(), s, lent([]byte{1}, []byte{2}, 1))
		assert.ErrorIs(t, err, coro.ErrClosed)
		err = addLent.CallN(context.Background(), s, []addArg{{}}, make([]uint64, 1))
		assert.ErrorIs(t, err, coro.ErrClosed)
		assert.Zero(t, core.Loans())
	}
}

func TestWhereNobodyHearsOfTheEndNothingIsLent(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	const remedy = "until its coroutine ends: use Start, StartContext, Call, CallN or a Group"
	optionError(t, addLent.Spawn(s, addArg{}), "Spawn", remedy)
	optionError(t, addLent.SpawnWait(context.Background(), s, addArg{}), "SpawnWait", remedy)
	_, err := addLent.SpawnN(s, 2, addArg{})
	optionError(t, err, "SpawnN", remedy)
	_, err = addLent.SpawnSeq(s, func(yield func(addArg) bool) { yield(addArg{}) })
	optionError(t, err, "Batch", remedy)
	optionError(t, addLent.Batch(s).Add(addArg{}), "Batch", remedy)
}

func TestTypesThatCannotLend(t *testing.T) {
	const where = "memory that is lent: the argument of a Func, of a RangeFunc, or of an " +
		"exported Go function, may have it"
	s := newScheduler(t, coro.WithWorkers(1))
	_, err := coro.NewFunc[coro.Slice[*int], coro.None](testbody.AddBytes)
	optionError(t, err, "NewFunc", "contains *int, which points into Go")
	_, err = coro.NewFunc[coro.Slice[coro.Bytes], coro.None](testbody.AddBytes)
	optionError(t, err, "NewFunc", where)
	_, err = coro.NewFunc[struct{ p *coro.Bytes }, coro.None](testbody.AddBytes)
	optionError(t, err, "NewFunc", "points into Go")
	_, err = coro.NewFunc[struct{ a [4]coro.Bytes }, coro.None](testbody.AddBytes)
	optionError(t, err, "NewFunc", "use the same type")
	_, err = coro.NewFunc[addArg, coro.Bytes](testbody.AddBytes)
	optionError(t, err, "NewFunc", where)
	_, err = coro.NewChan[coro.Bytes](s, 1)
	optionError(t, err, "NewChan", where)
	_, err = coro.ExportFunc(func(context.Context, int) (coro.Bytes, error) { return coro.Bytes{}, nil })
	optionError(t, err, "ExportFunc", where)
	_, err = coro.ExportBody(func(*coro.Coroutine, coro.Bytes) (int, error) { return 0, nil })
	optionError(t, err, "ExportBody", where)
}

// A lentBuffer is memory to lend: of Go's heap, of the array of a stack, of C's, or a mapping. What
// is not Go's is given back at once, when the coroutine has ended: a write after that ends the
// test.
type lentBuffer struct {
	bytes []byte
	free  func()
}

func newLentBuffer(t *testing.T, r *rand.Rand, n int) lentBuffer {
	switch r.IntN(3) {
	case 0:
		b := testbody.Malloc(n)
		return lentBuffer{b, func() { testbody.Free(b) }}
	case 1:
		if r.IntN(8) == 0 { // each is a system call
			b, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE,
				syscall.MAP_ANON|syscall.MAP_PRIVATE)
			require.NoError(t, err)
			return lentBuffer{b, func() { assert.NoError(t, syscall.Munmap(b)) }}
		}
	}
	return lentBuffer{make([]byte, n), func() {}}
}

// endsByItself tells of what lentBody does whether it does so without a cancel.
func endsByItself(how uint32) bool { return how != testbody.LentParks }

// borrower makes random starts, and looks at each buffer when its coroutine has ended.
type borrower struct {
	t *testing.T
	r *rand.Rand
	s *coro.Scheduler
}

var sees = coro.MustExportFunc(func(_ context.Context, b coro.Bytes) (coro.None, error) {
	sum := byte(0)
	for _, x := range b.Slice() {
		sum += x
	}
	if sum == 0xff {
		runtime.Gosched()
	}
	return coro.None{}, nil
})

// context is one that ends by itself, soon, or never.
func (b *borrower) context(ends bool) (context.Context, context.CancelFunc) {
	switch n := b.r.IntN(4); {
	case ends && n < 2 || n == 0:
		return context.WithTimeout(background, time.Duration(b.r.IntN(200))*time.Microsecond)
	case ends:
		ctx, cancel := context.WithCancel(background)
		go cancel()
		return ctx, cancel
	}
	return background, func() {}
}

// check looks at what a body has written. sum: its result, if it ended with one.
func (b *borrower) check(from, to []byte, by uint32, sum uint64, err error) {
	want, whole := uint64(0), true
	for i := range to {
		x := from[i] + byte(by)
		want += uint64(x)
		whole = whole && to[i] == x
	}
	if err == nil && (!whole || uint32(sum) != uint32(want)) {
		b.t.Errorf("%d bytes: the sum is %d, not %d, and the bytes are there: %t",
			len(to), uint32(sum), want, whole)
	}
}

func (b *borrower) step() {
	n := 1 + b.r.IntN(300)
	var onStack [300]byte
	from, to := newLentBuffer(b.t, b.r, n), newLentBuffer(b.t, b.r, n)
	if b.r.IntN(4) == 0 {
		from.free()
		from = lentBuffer{onStack[:n], func() {}}
	}
	for i := range from.bytes {
		from.bytes[i] = byte(b.r.Uint32())
	}
	arg := lentTo(from.bytes, to.bytes, uint32(b.r.IntN(8)), sees)
	arg.By = b.r.Uint32()
	ctx, cancel := b.context(!endsByItself(arg.How))
	defer cancel()
	var sum uint64
	var err error
	switch b.r.IntN(6) {
	case 0, 1:
		sum, err = lentBody.Call(ctx, b.s, arg)
	case 2:
		args, sums := []lentArg{arg, {}, arg}, make([]uint64, 3)
		args[0].To, args[2].From = coro.Bytes{}, coro.SliceOf(from.bytes)
		err = lentBody.CallN(ctx, b.s, args, sums)
		sum = sums[2]
	case 3:
		g := coro.NewGroup(ctx, b.s)
		task, e := lentBody.Start(g, arg)
		if err = e; e == nil {
			_ = g.Wait(background)
			sum, err = task.Wait(background)
		}
	default:
		var task *coro.Task[uint64]
		if b.r.IntN(2) == 0 {
			task, err = lentBody.Start(b.s, arg)
		} else {
			task, err = lentBody.StartContext(ctx, b.s, arg)
		}
		switch {
		case err != nil:
		case b.r.IntN(4) == 0: // the task is dropped, and the end is heard of
			done := task.Done()
			if !endsByItself(arg.How) || b.r.IntN(2) == 0 {
				task.Cancel()
			}
			task = nil
			<-done
			err = coro.ErrCanceled // not known
		default:
			sum, err = task.Wait(ctx)
		}
	}
	b.check(from.bytes, to.bytes, arg.By, sum, err)
	from.free()
	to.free()
}

// Random coroutines borrow memory of each kind, and end in each way.
func TestRandomBorrowing(t *testing.T) {
	const goroutines = 4
	for rest := int(counted(20000)); rest > 0; rest -= 20000 {
		s, err := coro.New(coro.WithWorkers(2))
		require.NoError(t, err)
		var all sync.WaitGroup
		for i := range goroutines {
			b := &borrower{t: t, s: s, r: rand.New(rand.NewPCG(uint64(rest), uint64(i)))}
			all.Go(func() {
				for range min(rest, 20000) / goroutines {
					b.step()
				}
			})
		}
		all.Wait()
		// Close cancels what nobody waits for; its memory is Go's.
		for range 100 {
			b := make([]byte, 100)
			_, err := lentBody.Start(s, lentTo(b, b, testbody.LentParks, 0))
			require.NoError(t, err)
		}
		runtime.GC()
		_ = s.Close(expired)
		require.NoError(t, s.Close(background))
		noLoans(t)
	}
}
