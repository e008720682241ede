// Package ctxerr has the error that a call returns whose context has ended.
package ctxerr

import "context"

// Of is the error of a context that has ended: errors.Is and errors.As find its cause in it, and
// its Err. It is the cause itself where that has the Err, and reads as the cause.
func Of(ctx context.Context) error { return By(context.Cause(ctx), ctx.Err()) }

// By is Of, by the cause and the Err. It calls no method of the cause, which is a user's.
func By(cause, err error) error {
	switch c := cause.(type) {
	case nil:
		return err
	case *over:
		return c
	case *Sentinel:
		if c.Err == err {
			return c
		}
	}
	if err == nil || cause == err {
		return cause
	}
	return &over{cause, err}
}

type over struct{ cause, err error }

func (e *over) Error() string   { return e.cause.Error() }
func (e *over) Unwrap() []error { return []error{e.cause, e.err} }

// A Sentinel is an error that errors.Is finds to be Err, too.
type Sentinel struct {
	Text string
	Err  error
}

func (e *Sentinel) Error() string { return e.Text }
func (e *Sentinel) Unwrap() error { return e.Err }
