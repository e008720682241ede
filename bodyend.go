package coro

import (
	"context"
	"errors"
	"fmt"

	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/panicked"
)

// How the end of a Go body looks to C bodies that join it.

// tellEnd tells the core how the body has ended. Result: there is one for C joiners.
func (c *Coroutine) tellEnd() (flags uint8, result bool) {
	err := c.typed.conclude()
	switch {
	case c.next == nil:
		c.pool.ends.unstarted(c.pool.quits.Load())
		return core.EndCanceled, false
	case err == nil:
		return 0, true
	}
	canceled, code, text := c.readError(err)
	if canceled {
		return core.EndCanceled, false
	}
	c.pool.ends.failed.Add(1)
	c.pool.core.Fail(c.join, int32(code), text)
	return 0, false
}

// readError is what the error of a body says. It, and its methods, are the program's.
func (c *Coroutine) readError(err error) (canceled bool, code int, text string) {
	text = "an error whose methods call runtime.Goexit"
	_ = panicked.Call(func() {
		if canceled = c.saysCanceled(err); !canceled {
			code = codeOf(err)
			text = fmt.Sprint(err)
		}
	})
	return canceled, code, text
}

// saysCanceled tells whether the error of a body says that the body was canceled: it is the cause,
// or what its context's Err returns.
func (c *Coroutine) saysCanceled(err error) (says bool) {
	cause := c.canceledBy()
	if cause == nil {
		return false
	}
	defer func() { says = recover() == nil && says }()
	return errors.Is(err, cause) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded)
}

// codeOf is the code of a C body that has failed and whose error is, or is wrapped in, err; or 0.
func codeOf(err error) (code int) {
	defer func() {
		if recover() != nil {
			code = 0
		}
	}()
	var failed *BodyError
	if errors.As(err, &failed) {
		return failed.Code
	}
	return 0
}
