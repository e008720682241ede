//go:build cgo

package coro_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
	"github.com/organzine/coro/corotest"
)

// A streamUser uses one stream, with a C filter at its other end, in random ways.
type streamUser struct {
	s     *coro.Scheduler
	st    *coro.Stream
	total int
	seed  uint64
	whole bool // nobody disturbs: each byte comes through
}

// brief is a context that mostly ends soon, or a deadline does.
func (u *streamUser) brief(ctx context.Context, r *rand.Rand, set func(time.Time) error) (
	context.Context, context.CancelFunc,
) {
	soon := time.Duration(r.IntN(100)) * time.Microsecond
	switch r.IntN(6) {
	case 0, 1:
		return context.WithTimeout(ctx, soon)
	case 2:
		ctx, cancel := context.WithCancel(ctx)
		go cancel()
		return ctx, cancel
	case 3:
		_ = set(time.Now().Add(soon))
		return ctx, func() { _ = set(time.Time{}) }
	}
	return ctx, func() {}
}

// goesOn tells whether an error is that of the context or the deadline of one call.
func (u *streamUser) goesOn(ctx context.Context, err error) bool {
	return ctx.Err() == nil && (err == nil || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.Is(err, context.Canceled) && !errors.Is(err, coro.ErrCanceled))
}

func (u *streamUser) writes(ctx context.Context) error {
	r := rand.New(rand.NewPCG(u.seed, 1))
	for at := 0; at < u.total; {
		one, cancel := u.brief(ctx, r, u.st.SetWriteDeadline)
		n, err := u.st.WriteContext(one, bodyAt(at, min(u.total-at, 1+r.IntN(300))))
		cancel()
		at += n
		if !u.goesOn(ctx, err) {
			return err
		}
		slowly(r)
	}
	return u.st.CloseWrite()
}

func (u *streamUser) reads(ctx context.Context) error {
	r := rand.New(rand.NewPCG(u.seed, 2))
	for at := 0; ; {
		one, cancel := u.brief(ctx, r, u.st.SetReadDeadline)
		to := make([]byte, 1+r.IntN(300))
		n, err := u.st.ReadContext(one, to)
		cancel()
		if !bytes.Equal(flipped(bodyAt(at, n)), to[:n]) {
			return fmt.Errorf("%w at %d", errBroken, at)
		}
		at += n
		if err == io.EOF && at == u.total {
			return nil
		}
		if !u.goesOn(ctx, err) {
			return err
		}
		slowly(r)
	}
}

// disturb ends something of the stream, at a random moment.
func (u *streamUser) disturb(r *rand.Rand, task *coro.Task[int64]) {
	for range 1 + r.IntN(3) {
		time.Sleep(time.Duration(r.IntN(500)) * time.Microsecond)
		switch r.IntN(4) {
		case 0:
			task.Cancel()
		case 1:
			_ = u.st.Close()
		case 2:
			_ = u.st.CloseWrite()
		case 3:
			_ = u.st.CloseWithError(syscall.EIO)
		}
	}
}

// explained: what a call that was disturbed may return.
func explained(t *testing.T, err error) {
	var code *coro.StreamError
	if err == nil || errors.As(err, &code) {
		return
	}
	for _, is := range []error{io.EOF, io.ErrClosedPipe, syscall.EIO, coro.ErrClosed,
		coro.ErrDestroyed, coro.ErrCanceled} {
		if errors.Is(err, is) {
			return
		}
	}
	assert.NoError(t, err)
}

func (u *streamUser) run(t *testing.T, inside bool) {
	r := rand.New(rand.NewPCG(u.seed, 3))
	task, err := streamFlip.Start(u.s, streamArg{u.st.Address(), uint64(1 + r.IntN(300)),
		uint64(r.IntN(2))})
	if err != nil {
		require.ErrorIs(t, err, coro.ErrClosed)
		return
	}
	var all sync.WaitGroup
	for _, side := range []func(context.Context) error{u.writes, u.reads} {
		all.Go(func() {
			err := error(nil)
			if inside {
				var body *coro.Task[coro.None]
				body, err = coro.Go(u.s, func(c *coro.Coroutine) (coro.None, error) {
					return coro.None{}, side(c.Context())
				})
				if err == nil {
					_, err = body.Wait(background)
				}
			} else {
				err = side(background)
			}
			if u.whole {
				assert.NoError(t, err)
			} else {
				explained(t, err)
			}
		})
	}
	if !u.whole {
		u.disturb(r, task)
		_ = u.st.Close()
	}
	all.Wait()
	_, err = task.Wait(background)
	if u.whole {
		assert.NoError(t, err)
	} else {
		explained(t, err)
	}
	if r.IntN(2) == 0 {
		_ = u.st.Free()
	}
}

// Random calls at random streams. Their contexts, their deadlines, their ends and their scheduler
// end at random moments; what is read is what was written; and nothing is left.
func TestRandomStreams(t *testing.T) {
	corotest.VerifyNone(t)
	before := runtime.NumGoroutine()
	const each = 40
	for round, rest := 0, int(counted(200)); rest > 0; round, rest = round+1, rest-each {
		s, err := coro.New(coro.WithWorkers(1+round%3), coro.WithExecutors(8))
		require.NoError(t, err)
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				for k := range min(each, rest) / 4 {
					seed := uint64(round*each + 4*k + i)
					r := rand.New(rand.NewPCG(seed, 4))
					st, err := coro.NewStream(s, 1+r.IntN(1+1<<r.IntN(12)))
					if !assert.NoError(t, err) {
						return
					}
					u := &streamUser{s, st, r.IntN(4000), seed, round%4 != 3 && r.IntN(2) == 0}
					u.run(t, r.IntN(3) == 0)
				}
			})
		}
		if round%4 == 3 {
			time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
			closeNow(t, s)
		}
		all.Wait()
		closeNow(t, s)
	}
	eventually(t, func() bool { return runtime.NumGoroutine() <= before }, "all goroutines end")
}
