package nats

import (
	"context"
	"errors"
	"fmt"
	"time"

	natsgo "github.com/nats-io/nats.go"
)

// ended is the error of a context that has ended: errors.Is finds its Err in it, and its cause.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if err == nil || errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// limited gives ctx that much time if it has no deadline.
func limited(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, d)
}

// persist calls f until that succeeds, or says that calling it again is of no use, or the
// connection is closed, or ctx ends, or left, which is the node's: then the error has the cause of
// that. It waits longer from call to call, up to most.
func persist(
	ctx, left context.Context, most time.Duration, f func() (again bool, err error),
) error {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	var last error
	for wait := callFirst; ; wait = min(2*wait, most) {
		again, err := f()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil && last != nil:
			return errors.Join(ended(ctx), last) // which says more than the call that was cut off
		case ctx.Err() != nil:
			return errors.Join(ended(ctx), err)
		case !again || errors.Is(err, natsgo.ErrConnectionClosed):
			return err
		}
		last = err
		select {
		case <-ctx.Done():
			return errors.Join(ended(ctx), err)
		case <-time.After(wait):
		case <-left.Done():
			return errors.Join(context.Cause(left), err)
		}
	}
}
