package coro

import (
	"context"
	"time"
)

// A shield is a section of a body in which its cancel is held off.
type shield struct {
	outer *shield
	ctx   context.Context // ends when the section is over
	quit  context.CancelFunc
	stop  func() bool // unbinds ctx
}

// Shield begins a section in which the cancel of the coroutine is held off for at most d, and
// returns the section's context and the function that ends the section:
//
//	ctx, end := c.Shield(time.Second)
//	defer end()
//	err := orders.Send(ctx, cancelOrder) // although c is canceled
//
// It is for clean-up that has to wait: coro_shield_begin is the same for C bodies. In the section
// the waits of Coroutine do not end by the cancel. The context has the values of Context, and the
// section's deadline; to other waits, and to what the body calls in Go, it is to be given in place
// of Context, which has ended. When d is over a cancel has its effect again, and ends the wait of
// that moment. Close is held off likewise, and does not wait longer for that: see Close.
//
// Sections nest, and none lasts longer than the one around it. A section that is open when the body
// returns ends then. Shield costs about 1 µs. It is for the body itself: from elsewhere the context
// has ended, with ErrNotCurrent for its cause.
func (c *Coroutine) Shield(d time.Duration) (ctx context.Context, end func()) {
	if err := c.check(); err != nil {
		ctx, quit := context.WithCancelCause(context.Background())
		quit(err)
		return ctx, func() {}
	}
	sh := &shield{outer: c.shield}
	from := context.WithoutCancel(c.Context())
	if sh.outer != nil {
		from = sh.outer.ctx
	}
	sh.ctx, sh.quit = context.WithTimeout(from, d)
	s := c.pool.s
	awaited := s.awaitDeadline(sh.ctx)
	c.setShield(sh)
	sh.stop = s.bind(sh.ctx, awaited, c.settle)
	return sh.ctx, func() {
		if c.check() == nil {
			c.endShield(sh)
		}
	}
}

// endShield ends sh and the sections in it, unless it has ended.
func (c *Coroutine) endShield(sh *shield) {
	for open := c.shield; open != nil; open = open.outer {
		if open != sh {
			continue
		}
		for inner := c.shield; inner != sh.outer; inner = inner.outer {
			inner.stop()
			inner.quit()
		}
		c.setShield(sh.outer)
		return
	}
}

// endShields ends all sections.
func (c *Coroutine) endShields() {
	for c.shield != nil {
		c.endShield(c.shield)
	}
}

// setShield makes sh the innermost section. The body alone calls it.
func (c *Coroutine) setShield(sh *shield) {
	c.mu.Lock()
	c.shield = sh
	c.mu.Unlock()
	c.settle()
}

// settle lets the cancel have its effect, if there is one and no section holds it off, or takes its
// effect back. It may be called from anywhere, after each change of one of these.
func (c *Coroutine) settle() {
	c.mu.Lock()
	held := c.shield != nil && c.shield.ctx.Err() == nil
	old := uint64(isCanceled)
	switch {
	case held:
		c.state.And(^uint64(isCanceled))
	case c.cause != nil:
		old = c.state.Or(isCanceled)
	}
	c.mu.Unlock()
	if old&(isCanceled|isEnded|isUnborn) == 0 {
		// if the coroutine waits, its state is looked at again
		c.pool.s.core.SendEvent(c.join)
	}
}

// isShielded tells whether the coroutine is in a section.
func (c *Coroutine) isShielded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shield != nil
}
