//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
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
					_, err = coro.Await(ctx, c, task)
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
	const where = "memory that is lent: the argument of a Func, or of an exported Go function, may have it"
	s := newScheduler(t, coro.WithWorkers(1))
	_, err := coro.NewFunc[coro.Slice[*int], coro.None](testbody.AddBytes)
	optionError(t, err, "NewFunc", "contains *int, which points into Go")
	_, err = coro.NewFunc[coro.Slice[coro.Bytes], coro.None](testbody.AddBytes)
	optionError(t, err, "NewFunc", where)
	_, err = coro.NewFunc[struct{ p *coro.Bytes }, coro.None](testbody.AddBytes)
	optionError(t, err, "NewFunc", "points into Go")
	_, err = coro.NewFunc[struct{ a [4]coro.Bytes }, coro.None](testbody.AddBytes)
	optionError(t, err, "NewFunc", "at most 48 fit")
	_, err = coro.NewFunc[addArg, coro.Bytes](testbody.AddBytes)
	optionError(t, err, "NewFunc", where)
	_, err = coro.NewChan[coro.Bytes](s, 1)
	optionError(t, err, "NewChan", where)
	_, err = coro.ExportFunc(func(context.Context, int) (coro.Bytes, error) { return coro.Bytes{}, nil })
	optionError(t, err, "ExportFunc", where)
	_, err = coro.ExportBody(func(*coro.Coroutine, coro.Bytes) (int, error) { return 0, nil })
	optionError(t, err, "ExportBody", where)
}
