//go:build cgo

package coro_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	fail       = coro.MustFunc[testbody.Failure, coro.None](testbody.Fail, coro.FuncName("fail"))
	joinFailed = coro.MustFunc[coro.Handle, testbody.Joined](testbody.JoinFailed)
	trade      = coro.MustFunc[testbody.Trader, int64](testbody.Trade, coro.FuncName("trade"))
	shielded   = coro.MustFunc[uint64, coro.None](testbody.ShieldedFor, coro.FuncName("shielded"))
)

func failing(code int32, text string) (f testbody.Failure) {
	f.Code = code
	copy(f.Text[:39], text)
	return f
}

func TestACBodyEndsWithAnError(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	for _, start := range []func(f testbody.Failure) (*coro.Task[coro.None], error){
		func(f testbody.Failure) (*coro.Task[coro.None], error) { return fail.Start(s, f) },
		func(f testbody.Failure) (*coro.Task[coro.None], error) {
			return fail.StartContext(context.WithoutCancel(background), s, f)
		},
	} {
		task, err := start(failing(-42, "no such order"))
		require.NoError(t, err)
		_, err = wait(t, task)
		var failed *coro.BodyError
		require.ErrorAs(t, fmt.Errorf("wrapped: %w", err), &failed)
		assert.Equal(t, coro.BodyError{Func: "fail", Code: -42, Text: "no such order"}, *failed)
		assert.EqualError(t, err, "coro: fail failed: no such order (code -42)")
		assert.Equal(t, err, task.Err())

		task, err = start(failing(7, ""))
		require.NoError(t, err)
		_, err = wait(t, task)
		assert.EqualError(t, err, "coro: fail failed: code 7")
	}

	g := coro.NewGroup(background, s)
	_, err := coro.Go(g, func(c *coro.Coroutine) (int, error) { return 0, c.Park(background) })
	require.NoError(t, err)
	_, err = fail.Start(g, failing(3, "the first"))
	require.NoError(t, err)
	assert.EqualError(t, g.Wait(background), "coro: fail failed: the first (code 3)")

	task, err := coro.Go(s, func(c *coro.Coroutine) (int, error) {
		child, err := fail.Start(s, failing(5, "awaited"))
		require.NoError(t, err)
		_, err = coro.Await(background, c, child)
		return 0, err
	})
	require.NoError(t, err)
	_, err = wait(t, task)
	assert.EqualError(t, err, "coro: fail failed: awaited (code 5)")

	for range 100 { // nobody asks
		require.NoError(t, fail.Spawn(s, failing(1, "dropped")))
		_, err := fail.Start(s, failing(1, "dropped"))
		require.NoError(t, err)
	}
	finish(t, s)
}

func TestAGeneratorEndsWithAnError(t *testing.T) {
	g, err := coro.NewGenerator(testbody.FailByHand, 0, 0)
	require.NoError(t, err)
	for range 3 {
		_, more, err := g.Resume(1)
		require.True(t, more)
		require.NoError(t, err)
		_, more, err = g.Resume(1)
		assert.False(t, more)
		var failed *coro.BodyError
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, 3, failed.Code)
		assert.Equal(t, "by hand", failed.Text)
		_, _, err = g.Resume(1)
		assert.Equal(t, coro.ErrEnded, err)
		require.NoError(t, g.Reset(testbody.FailByHand, 0))
	}
	require.NoError(t, g.Close())
}

type panickyError struct{}

func (panickyError) Error() string   { panic("Error") }
func (panickyError) Is(error) bool   { panic("Is") }
func (panickyError) Unwrap() []error { panic("Unwrap") }
func (panickyError) As(any) bool     { panic("As") }

// A C body that joins a Go body gets the text of its error, and hears of its cancel.
func TestACBodyJoinsAGoBodyThatFails(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	joined := func(body func(*coro.Coroutine) (int64, error), cancel bool) (int32, int32, string) {
		task, err := coro.Go(s, body)
		require.NoError(t, err)
		if cancel {
			task.Cancel()
		}
		j, err := joinFailed.Start(s, task.Handle())
		require.NoError(t, err)
		got, err := wait(t, j)
		require.NoError(t, err)
		text, _, _ := bytes.Cut(got.Text[:], []byte{0})
		return got.Status, got.Code, string(text)
	}
	for _, c := range []struct {
		err          error
		cancel       bool
		status, code int32
		text         string
	}{
		{nil, false, testbody.OK, 0, ""},
		{errors.New("no such order"), false, testbody.EFAILED, 0, "no such order"},
		{fmt.Errorf("it: %w", &coro.BodyError{Func: "f", Code: 9}), false, testbody.EFAILED, 9,
			"it: coro: f failed: code 9"},
		{context.Canceled, false, testbody.EFAILED, 0, "context canceled"},
	} {
		status, code, text := joined(func(*coro.Coroutine) (int64, error) { return 1, c.err }, false)
		assert.Equal(t, c.status, status, "%v", c.err)
		assert.Equal(t, c.code, code)
		assert.Equal(t, c.text, text)
	}
	status, _, _ := joined(func(*coro.Coroutine) (int64, error) { return 1, panickyError{} }, false)
	assert.Equal(t, testbody.EFAILED, status)
	status, _, text := joined(func(*coro.Coroutine) (int64, error) { panic("oh") }, false)
	assert.Equal(t, testbody.EFAILED, status)
	assert.Contains(t, text, "oh")
	status, _, _ = joined(func(c *coro.Coroutine) (int64, error) {
		return 1, c.Park(background)
	}, true)
	assert.Equal(t, testbody.ECANCELED, status)
	finish(t, s)
}

// exchange is an order book, which fills no order, and takes each back.
func exchange(t *testing.T, s *coro.Scheduler) (*coro.Chan[testbody.Order], *coro.Chan[int64]) {
	book, err := coro.NewChan[testbody.Order](s, 0)
	require.NoError(t, err)
	answers, err := coro.NewChan[int64](s, 0)
	require.NoError(t, err)
	go func() {
		for order := range book.All(background) {
			if order.Cancels == 1 {
				_ = answers.Send(background, -order.ID)
			}
		}
	}()
	return book, answers
}

// The recipe of docs/waiting.md.
func TestACanceledBodyCleansUp(t *testing.T) {
	type key struct{}
	s := newScheduler(t, coro.WithWorkers(2))
	book, answers := exchange(t, s)
	audited := make(chan int64, 10)
	audit := coro.MustExportFunc(func(ctx context.Context, answer int64) (coro.None, error) {
		deadline, ok := ctx.Deadline()
		assert.True(t, ok, "the section's")
		assert.Less(t, time.Until(deadline), 2*time.Second)
		assert.NoError(t, ctx.Err())
		assert.Equal(t, "trace", ctx.Value(key{}))
		select {
		case <-ctx.Done():
			assert.Fail(t, "the cancel is held off")
		case <-time.After(5 * time.Millisecond):
		}
		audited <- answer
		return coro.None{}, nil
	})
	reason := errors.New("the client went away")
	for finishes := range uint32(2) {
		ctx, cancel := context.WithCancelCause(context.WithValue(background, key{}, "trace"))
		task, err := trade.StartContext(ctx, s, testbody.Trader{Book: book.Address(),
			Answers: answers.Address(), ID: 11, Audit: uint32(audit), Finishes: finishes})
		require.NoError(t, err)
		parked(t, s, 1)
		cancel(reason)
		got, err := wait(t, task)
		assert.EqualValues(t, -11, receive(t, audited))
		if finishes == 1 {
			require.NoError(t, err)
			assert.EqualValues(t, -11, got)
		} else {
			assert.ErrorIs(t, err, reason)
		}
	}
	require.NoError(t, book.Close())
	finish(t, s)
}

func TestACanceledGoBodyCleansUp(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	book, answers := exchange(t, s)
	task, err := coro.Go(s, func(c *coro.Coroutine) (int64, error) {
		why := c.Park(background)
		require.Equal(t, coro.ErrCanceled, why)
		ctx, end := c.Shield(10 * time.Second)
		defer end()
		require.NoError(t, book.Send(ctx, testbody.Order{ID: 12, Cancels: 1}))
		answer, err := answers.Recv(ctx)
		require.NoError(t, err)
		require.NoError(t, c.Sleep(background, time.Millisecond))
		_, endInner := c.Shield(time.Millisecond)
		require.Equal(t, coro.ErrCanceled, c.Park(background), "when the section is over")
		require.Equal(t, coro.ErrCanceled, c.Park(background))
		endInner()
		endInner()
		require.NoError(t, c.Wake(c.Handle()))
		require.NoError(t, c.Park(background))
		require.NoError(t, c.Sleep(background, time.Millisecond), "in the outer one")
		end()
		require.Equal(t, coro.ErrCanceled, c.Sleep(background, time.Hour))
		return answer, nil
	})
	require.NoError(t, err)
	parked(t, s, 1)
	task.Cancel()
	got, err := wait(t, task)
	require.NoError(t, err, "a Go body that returns no error has finished")
	assert.EqualValues(t, -12, got)
	require.NoError(t, book.Close())

	// The cancel comes in the section; the body ends in it.
	task, err = coro.Go(s, func(c *coro.Coroutine) (int64, error) {
		began := time.Now()
		c.Shield(20 * time.Millisecond)
		err := c.Park(background)
		assert.GreaterOrEqual(t, time.Since(began), 20*time.Millisecond)
		c.Shield(time.Hour)
		return 0, err
	})
	require.NoError(t, err)
	parked(t, s, 1)
	task.Cancel()
	_, err = wait(t, task)
	assert.Equal(t, coro.ErrCanceled, err)

	var kept *coro.Coroutine
	task, err = coro.Go(s, func(c *coro.Coroutine) (int64, error) { kept = c; return 0, nil })
	require.NoError(t, err)
	_, err = wait(t, task)
	require.NoError(t, err)
	ctx, end := kept.Shield(time.Hour)
	assert.Equal(t, coro.ErrNotCurrent, context.Cause(ctx))
	end()
	finish(t, s)
}

// A section does not hold Close up for longer than Close waits for anything.
func TestCloseNamesWhoIsShielded(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	long := 3 * time.Second
	task, err := shielded.Start(s, uint64(long))
	require.NoError(t, err)
	_, err = coro.Go(s, func(c *coro.Coroutine) (int64, error) {
		c.Shield(long)
		return 0, c.Park(background)
	})
	require.NoError(t, err)
	parked(t, s, 2)
	began := time.Now()
	var running *coro.RunningError
	require.ErrorAs(t, s.Close(expired), &running)
	assert.Less(t, time.Since(began), long)
	assert.Contains(t, running.Funcs, "shielded")
	assert.Len(t, running.Funcs, 2)
	require.NoError(t, s.Close(background), "the sections end")
	_, err = task.Wait(background)
	assert.Equal(t, coro.ErrCanceled, err)
}

// The context of an exported function is that of its caller: values, deadline, and cause.
func TestAnExportedFunctionHasTheContextOfItsCaller(t *testing.T) {
	type key struct{}
	inEachWay(t, func(t *testing.T, s *coro.Scheduler, how uint32) {
		var kept context.Context
		deadline := time.Now().Add(time.Hour)
		id := coro.MustExportFunc(func(ctx context.Context, n int64) (int64, error) {
			if n == 1 {
				kept = ctx
			}
			at, ok := ctx.Deadline()
			if n > 0 {
				assert.True(t, ok && at.Equal(deadline))
				assert.Equal(t, "trace", ctx.Value(key{}))
			} else {
				assert.False(t, ok)
				assert.Nil(t, ctx.Value(key{}))
			}
			return n, ctx.Err()
		})
		ctx, cancel := context.WithDeadline(context.WithValue(background, key{}, "trace"), deadline)
		defer cancel()
		g := coro.NewGroup(ctx, s)
		call := testbody.Call{ID: uint32(id), How: how, Number: 1, ArgBytes: 8, ResultBytes: 8}
		for range 3 {
			task, err := callOne.StartContext(ctx, s, call)
			require.NoError(t, err)
			got, err := wait(t, task)
			require.NoError(t, err)
			assert.Equal(t, testbody.OK, got.Status)
			assert.Error(t, kept.Err(), "it has ended with the call")
			member := call
			member.Number = 2
			_, err = callOne.Start(g, member)
			require.NoError(t, err)
			assert.EqualValues(t, testbody.OK, calling(t, s, how, id, 0).Status)
		}
		require.NoError(t, g.Wait(background))
	})
}

func TestTheCauseReachesTheCalledFunction(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	began := make(chan struct{})
	type ended struct{ err, cause error }
	ends := make(chan ended, 1)
	id := coro.MustExportFunc(func(ctx context.Context, n int64) (int64, error) {
		began <- struct{}{}
		<-ctx.Done()
		ends <- ended{ctx.Err(), context.Cause(ctx)}
		return 0, nil
	})
	call := testbody.Call{ID: uint32(id), How: testbody.Offload, ArgBytes: 8, ResultBytes: 8}
	reason := errors.New("the client went away")
	for range scaled(20) {
		ctx, cancel := context.WithCancelCause(background)
		_, err := callOne.StartContext(ctx, s, call)
		require.NoError(t, err)
		receive(t, began)
		cancel(reason)
		assert.Equal(t, ended{context.Canceled, reason}, receive(t, ends))
	}
	ctx, cancel := context.WithTimeout(background, 10*time.Millisecond)
	defer cancel()
	_, err := callOne.StartContext(ctx, s, call)
	require.NoError(t, err)
	receive(t, began)
	assert.Equal(t, ended{context.DeadlineExceeded, context.DeadlineExceeded}, receive(t, ends))

	g := coro.NewGroup(background, s)
	_, err = callOne.Start(g, call)
	require.NoError(t, err)
	receive(t, began)
	g.Cancel(reason)
	assert.Equal(t, ended{context.Canceled, reason}, receive(t, ends))

	task, err := callOne.Start(s, call)
	require.NoError(t, err)
	receive(t, began)
	task.Cancel()
	assert.Equal(t, ended{context.Canceled, coro.ErrCanceled}, receive(t, ends))
	finish(t, s)
}
