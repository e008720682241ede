//go:build cgo

package coro_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/testbody"
)

// Groups, and Completions, of what borrows.

// startsLent starts n coroutines that wait for a cancel, and then write.
func startsLent(t *testing.T, in coro.Scope, n int) (
	pieces []lentPiece, tasks []*coro.Task[uint64],
) {
	for range n {
		p := aLentPiece(50)
		task, err := lentBody.Start(in, p.arg(testbody.LentParks))
		require.NoError(t, err)
		pieces, tasks = append(pieces, p), append(tasks, task)
	}
	return pieces, tasks
}

// endsWhen is a context that ends, with errEnough, when n coroutines of s wait.
func endsWhen(s *coro.Scheduler, n int) context.Context {
	ctx, cancel := context.WithCancelCause(background)
	go func() {
		for _, k := s.Blocked(0); k < n; _, k = s.Blocked(0) {
			runtime.Gosched()
		}
		cancel(errEnough)
	}()
	return ctx
}

func written(t *testing.T, pieces []lentPiece) {
	t.Helper()
	for _, p := range pieces {
		p.written(t)
	}
}

// perhapsWritten: bodies that had begun have come to their ends.
func perhapsWritten(t *testing.T, pieces []lentPiece) {
	t.Helper()
	for _, p := range pieces {
		assert.Contains(t, [][]byte{p.want, make([]byte, len(p.to))}, p.to)
	}
}

// The end of a Wait's context cancels a group that borrows, and Wait returns when nothing is lent.
func TestAWaitOfAGroupThatBorrowsReturnsAfterTheEnds(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	for range scaled(50) {
		g := coro.NewGroup(background, s)
		pieces, tasks := startsLent(t, g, 20)
		err := g.Wait(endsWhen(s, 20))
		written(t, pieces)
		assert.Zero(t, core.Loans())
		assert.ErrorIs(t, err, errEnough)
		assert.ErrorIs(t, err, context.Canceled)
		for _, task := range tasks {
			assert.ErrorIs(t, task.Err(), errEnough)
		}
		assert.ErrorIs(t, g.Wait(background), errEnough)
		_, err = lentBody.Start(g, pieces[0].arg(0))
		assert.ErrorIs(t, err, coro.ErrGroupOver)
		finish(t, s)
	}
}

// What borrows nothing is canceled with the rest, and Wait does not wait for it.
func TestAWaitOfAGroupWaitsForThoseThatBorrowAlone(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	g := coro.NewGroup(background, s)
	stays, err := large.Start(g, aLarge(testbody.LargeStays, 4))
	require.NoError(t, err)
	assert.ErrorIs(t, g.Wait(expired), context.Canceled)
	assert.NoError(t, g.Context().Err(), "nothing borrows: nothing is canceled")
	pieces, _ := startsLent(t, g, 5)
	assert.ErrorIs(t, g.Wait(endsWhen(s, 6)), errEnough)
	written(t, pieces)
	assert.ErrorIs(t, context.Cause(g.Context()), errEnough)
	assert.NoError(t, stays.Err())
	assert.ErrorIs(t, g.Wait(expired), context.Canceled, "the group is not over")
	require.NoError(t, stays.Wake())
	assert.ErrorIs(t, g.Wait(background), errEnough)
	noLoans(t)
}

// A result stands; an error of a task is the group's; it comes before the cause.
func TestHowAGroupThatBorrowsEnds(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	g := coro.NewGroup(background, s)
	p, q := aLentPiece(20), aLentPiece(20)
	task, err := lentBody.Start(g, p.arg(testbody.LentYields))
	require.NoError(t, err)
	require.NoError(t, g.Wait(background))
	assert.NoError(t, task.Err())
	require.NoError(t, g.Wait(expired))
	p.written(t)

	g = coro.NewGroup(background, s)
	pieces, _ := startsLent(t, g, 10)
	_, err = lentBody.Start(g, q.arg(testbody.LentFails))
	require.NoError(t, err)
	var failed *coro.BodyError
	require.ErrorAs(t, g.Wait(background), &failed)
	assert.Equal(t, 7, failed.Code)
	perhapsWritten(t, pieces)
	require.ErrorAs(t, g.Wait(expired), &failed)

	ctx, cancel := context.WithCancelCause(background)
	g = coro.NewGroup(ctx, s)
	pieces, _ = startsLent(t, g, 10)
	cancel(errEnough)
	assert.ErrorIs(t, g.Wait(expired), errEnough)
	perhapsWritten(t, pieces)
	noLoans(t)
}

// Groups within groups: each Wait waits for what its own group has lent.
func TestNestedGroupsThatBorrow(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	outer := coro.NewGroup(background, s)
	inner := coro.NewGroup(outer.Context(), s)
	outerPieces, _ := startsLent(t, outer, 5)
	innerPieces, _ := startsLent(t, inner, 5)
	assert.ErrorIs(t, outer.Wait(endsWhen(s, 10)), errEnough)
	written(t, outerPieces)
	assert.ErrorIs(t, inner.Wait(expired), errEnough)
	written(t, innerPieces)
	assert.Zero(t, core.Loans())

	outer = coro.NewGroup(background, s)
	_, err := coro.Go(outer, func(c *coro.Coroutine) (coro.None, error) {
		inner := coro.NewGroup(c.Context(), s)
		innerPieces, _ = startsLent(t, inner, 5)
		return coro.None{}, inner.Wait(c.Context())
	})
	require.NoError(t, err)
	parked(t, s, 5)
	outer.Cancel(errEnough)
	assert.ErrorIs(t, outer.Wait(background), errEnough)
	written(t, innerPieces)
	assert.Zero(t, core.Loans())
}

// A group whose scheduler has no records left, and whose starts are refused.
func TestAGroupThatBorrowsWithoutRecords(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1), coro.WithRecordLimit(1))
	g := coro.NewGroup(background, s)
	p := aLentPiece(10)
	started := 0
	for ; ; started++ {
		if _, err := lentBody.Start(g, p.arg(testbody.LentParks)); err != nil {
			assert.ErrorIs(t, err, coro.ErrNoMemory)
			break
		}
	}
	assert.Equal(t, started, core.Loans())
	assert.NoError(t, g.Context().Err())
	assert.ErrorIs(t, g.Wait(endsWhen(s, started)), errEnough)
	p.written(t)
	assert.Zero(t, core.Loans())
}

// Goroutines start in a group while others wait with contexts that end. Then the memory is freed.
func TestAWaitOfAGroupSeesWhatStartsMeanwhile(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	from := make([]byte, 64)
	for range scaled(300) {
		to := testbody.Malloc(64)
		g := coro.NewGroup(background, s)
		arg := lentTo(from, to, testbody.LentParks, 0)
		ctx, cancel := context.WithCancel(background)
		var starters, waiters sync.WaitGroup
		for range 2 {
			starters.Go(func() {
				for i := range 1000 {
					if _, err := lentBody.Start(g, arg); err != nil {
						return
					}
					if i == 20 {
						cancel()
					}
				}
			})
			waiters.Go(func() {
				<-ctx.Done()
				assert.ErrorIs(t, g.Wait(ctx), context.Canceled)
			})
		}
		waiters.Wait()
		testbody.Free(to)
		starters.Wait()
		cancel()
		assert.Zero(t, core.Loans())
	}
}

// Within a task of the group, a Wait whose context ends waits for nobody; nor do Completions of the
// task itself.
func TestWhatBorrowsDoesNotWaitForItself(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	var g *coro.Group
	self := make(chan *coro.Task[uint64], 1)
	asks := coro.MustExportFunc(func(context.Context, coro.Bytes) (coro.None, error) {
		assert.ErrorIs(t, g.Wait(expired), coro.ErrInside, "although it may be starting yet")
		task := <-self
		for task, err := range coro.Completions(expired, task) {
			assert.Nil(t, task)
			assert.ErrorIs(t, err, context.Canceled)
		}
		_, err := task.Wait(expired)
		assert.ErrorIs(t, err, coro.ErrInside)
		return coro.None{}, nil
	})
	for range scaled(1000) {
		g = coro.NewGroup(background, s)
		p := aLentPiece(10)
		task, err := lentBody.Start(g, lentTo(p.from, p.to, testbody.LentCalls, asks))
		require.NoError(t, err)
		self <- task
		require.NoError(t, g.Wait(background))
		p.written(t)
		assert.Zero(t, core.Loans())
	}
}

// Before they yield the end of their context, Completions end what borrows; what has ended has come
// before.
func TestCompletionsOfWhatBorrows(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	stays, err := lentBody.Start(s, lentArg{How: testbody.LentYields})
	require.NoError(t, err)
	pieces, tasks := startsLent(t, s, 10)
	all, ended, causes := append(tasks, stays), 0, 0
	for task, err := range coro.Completions(endsWhen(s, 10), all...) {
		if task != nil {
			require.NoError(t, err)
			assert.Equal(t, stays, task)
			ended++
			continue
		}
		causes++
		assert.ErrorIs(t, err, errEnough)
		assert.Zero(t, core.Loans())
		written(t, pieces)
	}
	assert.Equal(t, 1, causes)
	assert.LessOrEqual(t, ended, 1)
	for _, task := range tasks {
		assert.ErrorIs(t, task.Err(), coro.ErrCanceled)
	}

	// A range that is left cancels nothing.
	pieces, tasks = startsLent(t, s, 2)
	all = append(tasks, stays)
	for task := range coro.Completions(expired, all...) {
		if task == stays {
			break
		}
	}
	for _, task := range tasks {
		task.Cancel()
		<-task.Done()
	}
	noLoans(t)
	finish(t, s)
}

// In a bubble a Wait, or Completions, cannot wait with a context; what borrows has ended
// nevertheless.
func TestInABubbleAGroupThatBorrowsHasEnded(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	g := coro.NewGroup(background, s)
	pieces, _ := startsLent(t, g, 3)
	alone, tasks := startsLent(t, s, 3)
	parked(t, s, 6)
	synctest.Test(t, func(t *testing.T) {
		assert.ErrorIs(t, g.Wait(background), coro.ErrBubble)
		written(t, pieces)
		for task, err := range coro.Completions(background, tasks...) {
			assert.Nil(t, task)
			assert.ErrorIs(t, err, coro.ErrBubble)
			written(t, alone)
		}
		p := aLentPiece(10)
		arg := p.arg(testbody.LentParks)
		assert.ErrorIs(t, coro.For(background, s, 10, 10, lentRange, arg), coro.ErrBubble)
		assert.Contains(t, [][]byte{p.want, make([]byte, 10)}, p.to, "it perhaps has not begun")
		assert.Zero(t, core.Loans())
	})
	assert.ErrorIs(t, g.Wait(background), coro.ErrBubble)
}

// Tasks and groups that are dropped and collected: what they have lent stays lent until the ends.
func TestGroupsThatAreDroppedGiveBack(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	ctx, cancel := context.WithCancel(background)
	var pieces []lentPiece
	for range 20 {
		some, _ := startsLent(t, coro.NewGroup(ctx, s), 5)
		pieces = append(pieces, some...)
	}
	parked(t, s, len(pieces))
	for range 3 {
		runtime.GC()
	}
	assert.Equal(t, len(pieces), core.Loans())
	cancel()
	noLoans(t)
	written(t, pieces)
	finish(t, s)
}

// A deadline of the group, of a member, and of the Wait.
func TestAGroupThatBorrowsUntilADeadline(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	soon := func() context.Context {
		ctx, cancel := context.WithTimeout(background, time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	for name, c := range map[string]struct{ group, member, wait func() context.Context }{
		"group":  {group: soon},
		"member": {member: soon},
		"wait":   {wait: soon},
	} {
		t.Run(name, func(t *testing.T) {
			of := func(f func() context.Context) context.Context {
				if f == nil {
					return background
				}
				return f()
			}
			g := coro.NewGroup(of(c.group), s)
			p := aLentPiece(100)
			task, err := lentBody.StartContext(of(c.member), g, p.arg(testbody.LentParks))
			if err == nil {
				err = g.Wait(of(c.wait))
				assert.ErrorIs(t, task.Err(), context.DeadlineExceeded)
			}
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Contains(t, [][]byte{p.want, make([]byte, 100)}, p.to)
			assert.Zero(t, core.Loans())
			_ = g.Wait(background)
		})
	}
}
