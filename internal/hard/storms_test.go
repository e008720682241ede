//go:build cgo

package hard_test

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/organzine/coro"
	"github.com/stretchr/testify/assert"
)

// parked has a body woken by all kinds of callers.
func (w *storm) parked(n int) {
	body := storms(w, background, func(c *coro.Coroutine) (int, error) {
		for range 3 * n {
			if err := c.Park(background); err != nil {
				return 0, err
			}
		}
		w.count.Add(int64(3 * n))
		return n, nil
	}, is(w, n))
	if body == nil {
		return
	}
	missing := 0
	waker := storms(w, background, func(c *coro.Coroutine) (coro.None, error) {
		for i := range n {
			if err := c.Wake(body.Handle()); err != nil {
				return coro.None{}, err
			}
			if i%4 == 3 {
				if err := c.Yield(); err != nil {
					return coro.None{}, err
				}
			}
		}
		w.count.Add(int64(n))
		return coro.None{}, nil
	}, func(_ coro.None, err error) { w.good(err) })
	if waker == nil {
		missing = n
	}
	for range n {
		w.good(body.Wake())
		if startsC(w, background, wake, body.Handle(), func(status int32, err error) {
			w.good(err)
		}) == nil {
			missing++
		}
	}
	if missing > 0 {
		body.Cancel()
	}
}

// fib is a tree of bodies that await each other.
func (w *storm) fib(n int) func(c *coro.Coroutine) (int, error) {
	return func(c *coro.Coroutine) (int, error) {
		w.count.Add(1)
		if n < 2 {
			return n, nil
		}
		a, err := coro.Go(c.Scheduler(), w.fib(n-1))
		if err != nil {
			return 0, err
		}
		b, err := coro.Go(c.Scheduler(), w.fib(n-2))
		if err != nil {
			return 0, err
		}
		x, err := a.Await(background, c)
		if err != nil {
			return 0, err
		}
		y, err := b.Await(background, c)
		return x + y, err
	}
}

// canceled has a body wait in every way, until its context ends at a random moment.
func (w *storm) canceled(n int) {
	ctx, quit := context.WithCancelCause(background)
	forever := startsC(w, ctx, park, coro.None{}, func(_ int32, err error) {
		w.good(err, errStorm)
	})
	plain := startsC(w, background, park, coro.None{}, func(_ int32, err error) { w.good(err) })
	for i := range 1 + n%3 {
		storms(w, ctx, func(c *coro.Coroutine) (coro.None, error) {
			var err error
			switch (i + n) % 4 {
			case 0:
				err = c.Park(background)
			case 1:
				err = c.Sleep(background, time.Hour)
			case 2:
				if forever != nil {
					_, err = forever.Await(background, c)
				}
			case 3:
				if plain != nil {
					_, err = plain.Await(background, c)
				}
			}
			for err == nil && context.Cause(c.Context()) == nil {
				err = c.Yield()
			}
			w.count.Add(1)
			return coro.None{}, errors.Join(err, c.Park(background))
		}, func(_ coro.None, err error) { w.good(err, errStorm) })
	}
	w.pause()
	quit(errStorm)
	if plain != nil {
		w.pause()
		w.good(plain.Wake())
	}
}

func (w *storm) group(n int) {
	g := coro.NewGroup(background, w.s)
	var ran atomic.Int64
	started, refused := int64(0), false
	for i := range n {
		_, err := coro.Go(g, func(c *coro.Coroutine) (int, error) {
			defer ran.Add(1)
			if i == 5 {
				return 0, errStorm
			}
			return i, c.Yield()
		})
		if err == nil {
			started++
			_, err = square.Start(g, int64(i))
		}
		refused = refused || err != nil
		w.good(err, errStorm)
		w.count.Add(2)
	}
	err := g.Wait(background)
	if w.good(err, errStorm) {
		if !refused {
			assert.Less(w.t, n, 6)
			assert.Equal(w.t, started, ran.Load())
		}
	}
}

func (w *storm) deadline() {
	body := storms(w, background, func(c *coro.Coroutine) (int, error) {
		return 1, c.Park(background)
	}, is(w, 1))
	if body == nil {
		return
	}
	ctx, cancel := context.WithTimeout(background, time.Duration(w.IntN(50))*time.Microsecond)
	defer cancel()
	if _, err := body.Wait(ctx); err == nil {
		assert.Fail(w.t, "nobody has woken it")
	} else {
		w.good(err, context.DeadlineExceeded)
	}
	w.count.Add(1)
	w.good(body.Wake())
}

func (w *storm) pingPong(n int) {
	var partner atomic.Uint64
	ping := storms(w, background, func(c *coro.Coroutine) (int, error) {
		for range n {
			if err := c.Park(background); err != nil {
				return 0, err
			}
			if err := c.Wake(coro.Handle(partner.Load())); err != nil {
				return 0, err
			}
		}
		w.count.Add(int64(4 * n))
		return n, nil
	}, is(w, n))
	if ping == nil {
		return
	}
	if storms(w, background, func(c *coro.Coroutine) (int, error) {
		partner.Store(uint64(c.Handle()))
		for range n {
			if err := c.Wake(ping.Handle()); err != nil {
				return 0, err
			}
			if err := c.Park(background); err != nil {
				return 0, err
			}
		}
		return n, nil
	}, is(w, n)) == nil {
		ping.Cancel()
	}
}
