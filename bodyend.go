package coro

import (
	"context"
	"errors"
	"fmt"

	"github.com/organzine/coro/csrc"
)

// How the end of a Go body looks to C bodies that join it.

// tellEnd tells the core how the body has ended. Result: there is one for C joiners. The error and
// its methods are the user's.
func (c *Coroutine) tellEnd() (flags uint8, result bool) {
	err := c.typed.outcome()
	switch {
	case c.next == nil:
		c.pool.ends.unstarted(c.pool.quits.Load())
		return csrc.EndCanceled, false
	case err == nil:
		return 0, true
	case c.saysCanceled(err):
		return csrc.EndCanceled, false
	}
	c.pool.ends.failed.Add(1)
	c.pool.core.Fail(c.join, int32(codeOf(err)), fmt.Sprint(err))
	return 0, false
}

// saysCanceled tells whether the error of a body says that the body was canceled: it is the cause,
// or what its context's Err returns.
func (c *Coroutine) saysCanceled(err error) (says bool) {
	cause := c.why()
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
